/* SPDX-License-Identifier: Apache-2.0
 * The relay's own clusters (SPEC 5.17), sealed as everybody's messages are. */
#ifndef RELAY_NOISE_H
#define RELAY_NOISE_H

#include "relay_spool.h"

#include <privatemail.h>
#include <stdatomic.h>

struct pml_relay_noise {
    double clusters;       /* R, mean clusters per epoch and pack; 0: none, or planned */
    uint32_t copies;       /* V, the largest cluster; of a plan, the largest that it may use */
    double epsilon, delta; /* plan for this promise; 0: no plan */
};

/* R and V of a pack: as given, or planned. Returns PML_DONE, or PML_REFUSED when no plan keeps the promise. */
pml_outcome relay_noise_plan(const struct pml_relay_noise *noise, const pml_pack_info *info, double *clusters,
                             uint32_t *copies);

struct relay_fakes {
    uint64_t epoch;
    const pml_pack_info *pack;
    double clusters; /* R */
    uint32_t copies; /* V */
    uint32_t message_size;
    const struct relay_spool *spool; /* they are written one after the other */
    const atomic_bool *stop;
    uint32_t count; /* how many there are; more are added */
};

/* Draws the fakes of an epoch and seals them with the first key of the configuration. Returns PML_DONE, PML_REFUSED when there is
 * no such key or the messages have another length, or PML_UNAVAILABLE. */
pml_outcome relay_noise_draw(struct relay_fakes *fakes, const void *keys, size_t size);

#endif
