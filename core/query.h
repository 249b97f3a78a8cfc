/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_QUERY_H
#define PML_QUERY_H
#include "pack/pack.h"

/* query.c: what client and ranking do first with a query. Both have a frame of their own, for pml_wipe_stack. */

/* Returns the bytes behind `row` of pml_query_read: the row, and what a front needs. */
size_t pml_query_memory(const pml_pack *pack);

/* Are the pointers there, the modality, and the number of features right? Looks at nothing private. */
pml_status pml_query_check(const pml_query *query, const pml_pack *pack);

/* Row of int8 values (as many as the pack has features) and slot of a query that was checked. What is invalid became a
 * public default, the first unit vector and slot 0, and *valid (a mask) is not set. Without `substitute` that is an
 * error; with it, nobody can see it: the one test is always true. `row` is aligned for int64_t and has the memory that
 * pml_query_memory says; what stands behind the row is secret too. */
pml_status pml_query_read(const pml_query *query, const pml_pack *pack, const struct pml_kernels *kernels,
                          bool substitute, int8_t *row, uint32_t *slot, uint64_t *valid);

/* What a call returns that makes no release: the verdict on the features, made of the mask without a branch. */
static inline pml_status verdict(uint64_t valid)
{
    return (pml_status)(int32_t)((uint32_t)PML_ERROR_FEATURES & ~(uint32_t)valid);
}

/* The row alone, of a query that was checked: a mask says whether its features are valid. `row` as above. */
uint64_t pml_query_row(const pml_query *query, const pml_pack *pack, const struct pml_kernels *kernels, int8_t *row);

/* query_front.c: the row of a query behind a front; the mask says whether it is valid. `memory` has what pml_front_scratch
 * says and holds something secret afterwards. */
uint64_t pml_query_map(const pml_query *query, const pml_front *front, const struct pml_kernels *kernels, int8_t *row,
                       int64_t *memory);

#endif
