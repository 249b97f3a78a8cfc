/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_BUNDLE_H
#define PML_BUNDLE_H
#include "base/random.h"

#define BUNDLE_ENTRIES (PML_CROWD_OWN_MAX + PML_CROWD_CLUSTERS_CUT)

/* What is still to be sent: symbols, and how often each. First the own messages, then the clusters. */
struct bundle {
    uint32_t symbol[BUNDLE_ENTRIES];
    uint8_t left[BUNDLE_ENTRIES];
    uint32_t total; /* of `left` */
};

/* bundle.c (SPEC 5.16): draws the cover, which becomes symbol 0 and is not yet sent, and the clusters; `rate` is q. */
void pml_bundle_draw(pml_random *random, uint32_t rate, uint32_t symbols, uint32_t copies, struct bundle *bundle);

/* The first `own` symbols are own messages. */
void pml_bundle_own(struct bundle *bundle, uint32_t own);

/* The next message's symbol, of a bundle that is not empty; *own is 1 and more for own messages, 0 for a fake. */
uint32_t pml_bundle_pick(pml_random *random, struct bundle *bundle, unsigned *own);

#endif
