/* SPDX-License-Identifier: Apache-2.0
 * Mechanism: the fakes of a bundle and its order (SPEC 5.16; PRIVACY.md, section 11). In: random words, before the query
 * is known. Out: clusters, then message after message. The query's symbols are carried along, and nothing looks at them. */
#include "bundle.h"

void pml_bundle_draw(pml_random *random, uint32_t rate, uint32_t symbols, uint32_t copies, struct bundle *bundle)
{
    uint32_t clusters = 0;
    memset(bundle, 0, sizeof *bundle);
    bundle->symbol[0] = pml_random_below(random, symbols); /* the cover */
    for (int part = 0; part < 8; part++)
        clusters += pml_random_poisson(random, rate);
    if (clusters > PML_CROWD_CLUSTERS_CUT)
        clusters = PML_CROWD_CLUSTERS_CUT;
    for (uint32_t i = PML_CROWD_OWN_MAX; i < PML_CROWD_OWN_MAX + clusters; i++) {
        bundle->symbol[i] = pml_random_below(random, symbols);
        bundle->left[i] = (uint8_t)(1 + pml_random_below(random, copies));
        bundle->total += bundle->left[i];
    }
}

void pml_bundle_own(struct bundle *bundle, uint32_t own)
{
    memset(bundle->left, 1, own);
    bundle->total += own;
}

/* By masks over all entries: the time does not tell an own message from a fake. */
uint32_t pml_bundle_pick(pml_random *random, struct bundle *bundle, unsigned *own)
{
    const uint32_t chosen = pml_random_below(random, bundle->total);
    uint32_t symbol = 0, sum = 0;
    uint64_t before = ~(uint64_t)0;
    *own = 0;
    for (uint32_t i = 0; i < BUNDLE_ENTRIES; i++) {
        sum += bundle->left[i];
        uint64_t here = before & mask_less(chosen, sum);
        before &= ~here;
        symbol |= bundle->symbol[i] & (uint32_t)here;
        *own |= (i < PML_CROWD_OWN_MAX ? i + 1 : 0) & (uint32_t)here;
        bundle->left[i] = (uint8_t)(bundle->left[i] - (1 & here));
    }
    bundle->total--;
    return symbol;
}
