/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_CROWD_ACCOUNT_H
#define PML_CROWD_ACCOUNT_H
#include "crowd_law.h"

/* What a policy gives for one use. */
typedef struct pml_account {
    pml_law law;
    pml_losses losses; /* when there are several messages */
    double *spare;     /* 3·PML_CROWD_GRID doubles, free when there is one message */
    uint32_t times;    /* messages */
    double told;       /* 1−γ, or 1 */
    double sampler;    /* distance of the samplers from the law, all clients and epochs together */
    double floor;      /* ε₀ of all queries together; 0: none */
} pml_account;

/* Computes it in pml_crowd_scratch doubles. */
pml_status pml_account_make(const pml_crowd *crowd, const pml_crowd_use *use, double *scratch, size_t count,
                            pml_account *account);
double pml_account_delta(const pml_account *account, double epsilon);

/* The least value from `start` on that is enough, rounded up by at most 2^-bits of it, where all above it are enough too;
 * else one that is enough. A value above `end` means: none. */
double pml_ascend(double start, double end, int bits, bool (*is_enough)(void *context, double value), void *context);

#endif
