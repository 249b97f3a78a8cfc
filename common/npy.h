/* SPDX-License-Identifier: Apache-2.0
 * Reads .npy files (numpy's format, versions 1 to 3): features and labels. */
#ifndef PML_NPY_H
#define PML_NPY_H

#include "message.h"

#include <stddef.h>
#include <stdint.h>

/* n×d float32, little-endian, C order, n ≥ 1, 1 ≤ d ≤ 10^6 (a pack without a front takes 4096), every value finite, no row all zero. */
struct pml_features {
    float *values; /* owned: pml_features_free */
    size_t rows, columns;
};

/* Returns PML_DONE, or another outcome with a message that names the file and never a value of it. Refused are other
 * types, Fortran order, big-endian numbers, files that are empty, truncated or longer than their header says, and rows
 * that hold NaN, an infinite value or only zeros (the message names the row). */
pml_outcome pml_features_read(const char *path, struct pml_features *features, struct pml_message *message);

/* The same for variances of features: one per row (an array of one dimension) or one per feature of each row. Zeros are
 * fine, negative numbers are refused too. */
pml_outcome pml_variances_read(const char *path, struct pml_features *variances, struct pml_message *message);

/* Wipes and frees: features may be a person's. */
void pml_features_free(struct pml_features *features);

/* n integers of any width and sign (bool excluded), one-dimensional, little-endian; values must fit int32. */
struct pml_labels {
    int32_t *values; /* owned */
    size_t rows;
};
pml_outcome pml_labels_read(const char *path, struct pml_labels *labels, struct pml_message *message);
void pml_labels_free(struct pml_labels *labels);

/* They write a whole file or none (see files.h). */
pml_outcome pml_features_write(const char *path, const float *values, size_t rows, size_t columns,
                               struct pml_message *message);
pml_outcome pml_labels_write(const char *path, const int32_t *values, size_t rows, struct pml_message *message);
pml_outcome pml_doubles_write(const char *path, const double *values, size_t count, struct pml_message *message);

#endif
