/* SPDX-License-Identifier: Apache-2.0
 * The exact nearest points in a few dimensions, by a k-d tree. */
#ifndef PML_KDTREE_H
#define PML_KDTREE_H

#include "common/message.h"

#include <stddef.h>
#include <stdint.h>

#define PML_KDTREE_ALL 0xFFFFFFFFu

struct pml_kdtree;

/* 1 ≤ count < 2^32 points of `dimensions` finite numbers, which are copied. Returns PML_DONE or
 * PML_NO_MEMORY. */
pml_outcome pml_kdtree_build(struct pml_kdtree **tree, const double *points, size_t count, unsigned dimensions);
void pml_kdtree_free(struct pml_kdtree *tree);

/* The `wanted` points nearest to `query`, nearest first, ties by smaller index, and their squared distances: Σ of the
 * squares in the order of the coordinates, in double. Never point `except` (PML_KDTREE_ALL: all may be). There must
 * be that many. Any number of threads may call it at once. */
void pml_kdtree_nearest(const struct pml_kdtree *tree, const double *query, unsigned wanted, uint32_t except,
                        uint32_t *indices, double *squares);

#endif
