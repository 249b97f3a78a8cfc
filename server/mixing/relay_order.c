/* SPDX-License-Identifier: Apache-2.0
 * Durstenfeld's shuffle with the exactly uniform numbers of SPEC 5.10: every order is equally likely, but for what a key
 * of 256 bits can tell apart. In: entropy. Out: an order. Never writes it anywhere else. */
#include "relay_order.h"

#include "core/base/random.h"

pml_outcome relay_order(uint32_t *order, uint32_t count, pml_entropy_fn entropy, void *context)
{
    pml_random random;
    uint8_t key[32];
    if (entropy(context, key, sizeof key) != 0)
        return PML_UNAVAILABLE;
    pml_random_start(&random, key);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t other = pml_random_below(&random, (uint64_t)i + 1);
        order[i] = i;
        order[i] = order[other];
        order[other] = i;
    }
    pml_wipe(key, sizeof key);
    pml_wipe(&random, sizeof random);
    return PML_DONE;
}
