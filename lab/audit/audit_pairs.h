/* SPDX-License-Identifier: Apache-2.0
 * Pairs of neighbouring records, and the one that releases tell apart best. */
#ifndef CLI_AUDIT_PAIRS_H
#define CLI_AUDIT_PAIRS_H

#include "audit_candidates.h"
#include "audit_mechanisms.h"

enum { AUDIT_PAIRS_MIN = 2, AUDIT_PAIRS_MAX = 256 };

/* Fills `pairs` with `count` of them; their features belong to the pool, which it opens. */
pml_status audit_pairs_make(struct audit_pool *pool, const struct pack_file *file, pml_mechanism mechanism,
                            struct audit_pair *pairs, size_t count);

/* Makes some releases of each pair, keeps the better half, makes more of these, until one is left: pairs[0]. `trials` is
 * the number of releases per side and pair in the first round. At the deadline the best so far is taken. */
pml_status audit_pairs_search(struct audit_bench *bench, struct audit_pair *pairs, size_t count, uint64_t trials,
                              double deadline);

#endif
