/* SPDX-License-Identifier: Apache-2.0
 * The similarity that carries one set of points onto another (Umeyama 1991). SPEC 6.4. */
#ifndef PML_ALIGN_H
#define PML_ALIGN_H

#include <privatemail.h>

/* x ↦ scale·rotation·x + shift; rotation is orthogonal, k×k, row by row. */
struct pml_similarity {
    unsigned dimensions; /* k */
    double scale;
    double rotation[PML_DIMENSIONS_MAX * PML_DIMENSIONS_MAX];
    double shift[PML_DIMENSIONS_MAX];
};

/* The least-squares similarity from `from` to `to`, `count` ≥ 1 points of `dimensions` numbers each. `reflections`:
 * false allows proper rotations only. Points without extent give scale 1, no rotation, and the shift of the means. What
 * the points leave free is not turned. Scale 0: nothing is nearer than the mean. */
void pml_align(const double *from, const double *to, size_t count, unsigned dimensions, bool reflections,
               struct pml_similarity *similarity);

/* In place. */
void pml_similarity_apply(const struct pml_similarity *similarity, double *points, size_t count);

#endif
