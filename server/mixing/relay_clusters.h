/* SPDX-License-Identifier: Apache-2.0
 * The relay's own clusters (SPEC 5.17), before they are sealed. The relay sends what is drawn here, and the audit attacks
 * it. */
#ifndef RELAY_CLUSTERS_H
#define RELAY_CLUSTERS_H

#include "common/message.h"

#include <privatemail.h>

struct relay_law {
    double clusters;  /* R */
    uint32_t copies;  /* V */
    uint32_t symbols; /* S */
};

/* Draws the clusters of one epoch under its key. Ends, and returns what `take` returned, when that is not PML_DONE.
 * Returns PML_REFUSED in a build without crowds. */
typedef pml_outcome (*relay_cluster_fn)(void *context, uint32_t symbol, uint32_t copies);
pml_outcome relay_clusters_draw(const struct relay_law *law, const uint8_t key[32], relay_cluster_fn take,
                                void *context);

/* The release of a fake (SPEC 2). */
struct relay_release {
    uint8_t bytes[64];
    size_t head, size; /* up to the symbol, and in all */
};

void relay_release_begin(struct relay_release *release, const pml_pack_info *pack);
void relay_release_symbol(struct relay_release *release, uint32_t symbol);

#endif
