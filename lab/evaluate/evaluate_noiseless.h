/* SPDX-License-Identifier: Apache-2.0
 * What the Gaussian would carry without its noise: how much of the truth the embedding itself keeps. */
#ifndef CLI_EVALUATE_NOISELESS_H
#define CLI_EVALUATE_NOISELESS_H

#include "evaluate_bench.h"

/* For each query the share of the true nearest among the `nearest` items that are nearest to its row before any noise, in
 * its slot. The bench has a pack and a store with places. NOT PRIVATE: for averages over all queries only. */
pml_outcome evaluate_noiseless(const struct evaluate_bench *bench, uint32_t nearest, double *shares,
                               struct pml_message *message);

#endif
