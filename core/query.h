/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_QUERY_H
#define PML_QUERY_H
#include "pack/pack.h"

/* query.c: what client and ranking do first with a query. Both have a frame of their own, for pml_wipe_stack. */

/* Are the pointers there, and the number of features right? Looks at nothing private. */
pml_status pml_query_check(const pml_query *query, const pml_pack *pack);

/* Quantised row (as many values as the pack has features) and slot of a query that was checked. What is invalid became a
 * public default, the first unit vector and slot 0, and *valid (a mask) is not set. Without `substitute` that is an
 * error; with it, nobody can see it: the one test is always true. */
pml_status pml_query_read(const pml_query *query, const pml_pack *pack, bool substitute, int8_t *row, uint32_t *slot,
                          uint64_t *valid);

#endif
