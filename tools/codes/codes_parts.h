/* SPDX-License-Identifier: Apache-2.0
 * What the files of the codes share; for them alone. */
#ifndef PML_CODES_PARTS_H
#define PML_CODES_PARTS_H

#include "codes.h"
#include "common/rows/directions.h"

int16_t pml_codes_round(double code);

/* codes_draw.c: PML_CODES_RANDOM and _CLASS. */
void pml_codes_draw(struct pml_code_book *book, enum pml_codes kind, const struct pml_code_source *source);

/* Points in k dimensions, one per row: what codes are before they are put onto the sphere. `dimensions` is what was
 * asked for, or 0, and becomes k. The caller frees the points. Each returns PML_DONE, or another outcome with a message. */
pml_outcome pml_codes_principal(const struct pml_code_source *source, unsigned *dimensions, double **points,
                                struct pml_message *message);
pml_outcome pml_codes_graph(const struct pml_code_source *source, unsigned *dimensions, double **points,
                            struct pml_message *message);
pml_outcome pml_codes_classes(const struct pml_code_source *source, unsigned *dimensions, double **points,
                              struct pml_message *message);

/* Checks the dimensions asked for against those possible (at least 1), or fills in the default. `why` says in the message
 * what the number of possible ones is. */
pml_outcome pml_codes_dimensions(unsigned *dimensions, size_t possible, const char *why, struct pml_message *message);

/* The means of unit rows, `columns` values per class, and how many rows each class has. `classes`: the class of each row;
 * NULL: there is one. */
void pml_codes_means(const struct pml_rows *rows, const uint32_t *classes, size_t class_count, double *means,
                     double *members);

/* `length` neighbours of each row: the source's, or its own, which the caller frees. Returns PML_DONE or PML_NO_MEMORY. */
struct pml_code_lists {
    const uint32_t *values;
    uint32_t *own;
    unsigned length;
};
pml_outcome pml_codes_lists(const struct pml_code_source *source, struct pml_code_lists *lists);

/* points[i·k + c] = scale[c] · ⟨row i as a unit vector − mean, direction c⟩ for the first k of the directions. Returns
 * PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_codes_project(const struct pml_code_source *source, const struct pml_directions *directions, unsigned k,
                              const double *mean, const double *scale, double **points);

#endif
