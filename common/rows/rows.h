/* SPDX-License-Identifier: Apache-2.0
 * Quantised rows (SPEC 5.1, 5.2) and their dot products. */
#ifndef PML_ROWS_H
#define PML_ROWS_H

#include "common/parallel.h"

#include <stdint.h>

#include <privatemail_public.h>

/* count × columns int8 values, each row with its inverse norm and Σ q². Rows have max |q| = 127, so rows of one
 * direction are equal, and two rows are equal exactly when their dot product is Σ q² of both. */
struct pml_rows {
    int8_t *values;
    uint32_t *inverse, *squared;
    size_t count, columns;
};

/* Returns PML_DONE or PML_NO_MEMORY. A zeroed struct may be freed. */
pml_outcome pml_rows_allocate(struct pml_rows *rows, size_t count, size_t columns);
void pml_rows_free(struct pml_rows *rows);

/* Fills inverse and squared of a row from its values. */
void pml_rows_measure(struct pml_rows *rows, size_t index);

/* Rows first … first+count−1 of `rows`; owns nothing. */
struct pml_rows pml_rows_slice(const struct pml_rows *rows, size_t first, size_t count);

/* A copy of rows[indices[0 … count−1]], to be freed. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_rows_gather(const struct pml_rows *rows, const uint32_t *indices, size_t count, struct pml_rows *out);

/* Chooses which of `count` rows to look at when `most` are enough: all of them, or one drawn from each of `most` equal
 * stretches, so that no order of the rows can hide some. Writes their indices, ascending, and returns how many. */
size_t pml_rows_sample(size_t count, size_t most, uint64_t seed, uint32_t *indices);

/* The one way from features to rows. Maps count rows of front->inputs floats (SPEC 5.18); rows->columns is front->outputs.
 * `bad` becomes the first row that is not finite, is all zero or is mapped to zeros, or `count` when there is none. Returns
 * PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_rows_map(struct pml_rows *rows, const pml_front *front, const float *values, unsigned threads,
                         const struct pml_progress *progress, size_t *bad);

/* The same without a front: quantises count × columns floats. */
pml_outcome pml_rows_quantise(struct pml_rows *rows, const float *values, unsigned threads,
                              const struct pml_progress *progress, size_t *bad);

/* The direction of the mean of the unit vectors rows[indices[0 … count−1]], quantised. `weights` of at most 2^12, or NULL
 * when all count the same. Returns PML_DONE, PML_NO_MEMORY, or PML_REFUSED with `out` unchanged when the vectors cancel out
 * and there is no direction. */
pml_outcome pml_rows_mean(const struct pml_rows *rows, const uint32_t *indices, const uint32_t *weights, size_t count,
                          int8_t *out);

/* 1 − cosine in 2^-30, and a little more, so that it is never 0: of a row with this inverse norm and another, by the
 * row's score with the other (SPEC 5.3). */
static inline uint64_t pml_rows_distance(int64_t score, uint32_t inverse)
{
    return (uint64_t)(((int64_t)1 << 60) - score * (int64_t)inverse) / (1u << 30) + 1;
}

/* The kernels that all functions here use. */
const struct pml_kernels *pml_rows_kernels(void);

int32_t pml_dot(const int8_t *left, const int8_t *right, size_t columns);

/* out[r] = ⟨query, row r⟩ of rows that follow one another in memory: faster than one by one. */
void pml_dots(const int8_t *query, const int8_t *rows, size_t columns, size_t row_count, int32_t *out);

/* Many queries against many rows, at most PML_TILE each: out[q·PML_TILE + r] = ⟨query q, row r⟩ */
#define PML_TILE 64u

void pml_tile_dots(const int8_t *queries, size_t query_count, const int8_t *rows, size_t row_count, size_t columns,
                   int32_t *out);

/* The same, faster where values are small: with pml_largest_group of each query and each row. */
uint32_t pml_largest_group(const int8_t *row, size_t columns);
void pml_tile_dots_grouped(const int8_t *queries, const uint32_t *query_groups, size_t query_count, const int8_t *rows,
                           const uint32_t *row_groups, size_t row_count, size_t columns, int32_t *out);

#endif
