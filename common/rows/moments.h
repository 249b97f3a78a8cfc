/* SPDX-License-Identifier: Apache-2.0
 * Second moments of unit rows, and the directions in which they extend most. Same numbers on every platform that has IEEE
 * doubles, whatever the number of threads. */
#ifndef PML_MOMENTS_H
#define PML_MOMENTS_H

#include "common/rows/directions.h"
#include "common/rows/rows.h"

#define PML_MOMENTS_SAMPLE 4096u /* rows looked at, at most */

struct pml_moments {
    const struct pml_rows *rows;
    uint32_t indices[PML_MOMENTS_SAMPLE]; /* of the rows looked at */
    int16_t *columns;                     /* while the sums are made */
    double *sums;                         /* size × size */
    size_t sample, chunks;
    size_t size; /* features, rounded up to PML_TILE */
};

/* The classes of rows, and their means as unit vectors are counted: `columns` values per class. */
struct pml_centres {
    const double *means;
    const uint32_t *classes; /* of each row; NULL: there is one class */
};

/* Sums x·xᵀ over a sample of the unit rows, drawn with `seed`; with centres, of the rows minus the mean of their class. The
 * sums are exact integers, in an arbitrary unit. Needs 8 bytes × columns² of memory. Returns PML_DONE or PML_NO_MEMORY. Free
 * it after a failure too. */
pml_outcome pml_moments_sum(struct pml_moments *moments, const struct pml_rows *rows, const struct pml_centres *centres,
                            uint64_t seed, unsigned threads);
void pml_moments_free(struct pml_moments *moments);

/* The sum of the squared lengths of all rows looked at, and the sum of their squares along one direction. */
double pml_moments_total(const struct pml_moments *moments);
double pml_moments_along(const struct pml_moments *moments, const struct pml_directions *directions, size_t index);

/* Leaves in `directions`, which are allocated, the largest ones first, as many as there can be with these rows; any others
 * follow. Ask for PML_MOMENTS_SPARE more than are wanted, for these to settle sooner. Returns PML_DONE or PML_NO_MEMORY. */
#define PML_MOMENTS_SPARE 8u
pml_outcome pml_moments_directions(const struct pml_moments *moments, struct pml_directions *directions,
                                   struct pml_generator *generator, unsigned threads,
                                   const struct pml_progress *progress);

#endif
