/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_EXPONENTIAL_H
#define PML_EXPONENTIAL_H
#include "base.h"

/* exponential.c (SPEC 5.5): integers only. Neither time nor addresses depend on an argument but lambda. */

/* 2^31·e^(−x/2^27), at most 8 away from it */
/*@ terminates \true;
    assigns \nothing;
    ensures \result <= 0x80000000; */
uint32_t pml_exp31(uint32_t x);

/* 2^31·e^(−λ(1 − cosine)), λ in 2^-16 and the cosine in 2^-60 */
/*@ terminates \true;
    assigns \nothing;
    ensures \result <= 0x80000000; */
uint32_t pml_kernel31(int64_t cosine, uint32_t lambda);

#endif
