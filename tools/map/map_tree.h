/* SPDX-License-Identifier: Apache-2.0
 * How points of a plane push each other apart, far ones taken together (Barnes and Hut 1986). */
#ifndef PML_MAP_TREE_H
#define PML_MAP_TREE_H

#include "common/message.h"

#include <stddef.h>
#include <stdint.h>

#define PML_MAP_GROUP 16u /* points that look at the tree together */

struct pml_map_node;

struct pml_map_tree {
    size_t count, nodes;
    float theta;
    uint32_t *order;           /* of the points along the curve */
    uint32_t *keys, *scratch;  /* where on the curve they are, ascending; for sorting, 2 per point */
    float *x, *y;              /* in that order, the last one repeated to a whole group */
    struct pml_map_node *list; /* parents before children */
};

/* A smaller theta is more exact; 0 takes nothing together. Returns PML_DONE or PML_NO_MEMORY. A zeroed struct may be
 * freed. */
pml_outcome pml_map_tree_allocate(struct pml_map_tree *tree, size_t count, float theta);
void pml_map_tree_free(struct pml_map_tree *tree);

/* Sorts the points along a curve and builds the tree. `places` has 2 numbers per point. */
void pml_map_tree_fill(struct pml_map_tree *tree, const float *places);

static inline size_t pml_map_tree_groups(const struct pml_map_tree *tree)
{
    return (tree->count + PML_MAP_GROUP - 1) / PML_MAP_GROUP;
}

/* For each point i of the group, with q = 1/(1 + ‖y_i − y_j‖²): push[2i …] = Σ_j q²·(y_i − y_j). Returns the sum of all
 * q, of i with itself too. Any number of threads may call it at once. */
double pml_map_tree_push(const struct pml_map_tree *tree, size_t group, float *push);

#endif
