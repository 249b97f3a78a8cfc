/* SPDX-License-Identifier: Apache-2.0
 * Reads .npy files (numpy's format, versions 1 to 3): features and labels. */
#ifndef PML_NPY_H
#define PML_NPY_H

#include "message.h"

#include <stddef.h>
#include <stdint.h>

/* n×d float32, little-endian, C order, n ≥ 1, 1 ≤ d ≤ 4096, every value finite, no row all zero. */
struct pml_features {
    float *values; /* owned: pml_features_free */
    size_t rows, columns;
};

/* 0, or not with a message that names the file, never a value of it. Refused: other types, Fortran order, big-endian, empty, truncated,
 * longer than its header says, NaN, infinite and zero rows (the row is named). */
int pml_features_read(const char *path, struct pml_features *features, struct pml_message *message);

/* Wipes and frees: they may be a person's. */
void pml_features_free(struct pml_features *features);

/* n integers of any width and sign (bool excluded), one-dimensional, little-endian; values must fit int32. */
struct pml_labels {
    int32_t *values; /* owned */
    size_t rows;
};
int pml_labels_read(const char *path, struct pml_labels *labels, struct pml_message *message);
void pml_labels_free(struct pml_labels *labels);

/* Writers for samples and tests: whole file or none (see files.h). */
int pml_features_write(const char *path, const float *values, size_t rows, size_t columns, struct pml_message *message);
int pml_labels_write(const char *path, const int32_t *values, size_t rows, struct pml_message *message);

#endif
