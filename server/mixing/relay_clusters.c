/* SPDX-License-Identifier: Apache-2.0
 * In: the law of the relay's clusters (SPEC 5.17) and a key per epoch. Out: symbols and sizes, and the releases that carry
 * them. Never keeps how many there were. */
#include "relay_clusters.h"

#include "core/base/random.h"

#include <math.h>
#include <string.h>

#if PML_WITH_CROWD

/* Poisson(R'): the sum of h = ⌈2R⌉ parts, each with a mean of at most ½. */
static uint64_t draw_count(pml_random *random, double clusters)
{
    const double parts = ceil(2.0 * clusters);
    const uint32_t rate = (uint32_t)(4294967296.0 * (clusters / parts));
    uint64_t count = 0;
    for (double i = 0.0; i < parts; i += 1.0)
        count += pml_random_poisson(random, rate);
    return count;
}

pml_outcome relay_clusters_draw(const struct relay_law *law, const uint8_t key[32], relay_cluster_fn take,
                                void *context)
{
    pml_random random;
    pml_outcome outcome = PML_DONE;
    pml_random_start(&random, key);
    for (uint64_t left = draw_count(&random, law->clusters); left > 0 && outcome == PML_DONE; left--) {
        const uint32_t symbol = pml_random_below(&random, law->symbols);
        outcome = take(context, symbol, 1 + pml_random_below(&random, law->copies));
    }
    pml_wipe(&random, sizeof random);
    return outcome;
}

#else

pml_outcome relay_clusters_draw(const struct relay_law *law, const uint8_t key[32], relay_cluster_fn take,
                                void *context)
{
    (void)law, (void)key, (void)take, (void)context;
    return PML_REFUSED;
}

#endif

/* A release of one symbol has mechanism 1 for a pack of one slot, and 3 for others. */
void relay_release_begin(struct relay_release *release, const pml_pack_info *pack)
{
    const uint32_t symbols = pack->slots * pack->cells;
    uint8_t *at = release->bytes;
    size_t bits = 1;
    while (((uint64_t)1 << bits) < symbols)
        bits++;
    const size_t body = (bits + 7) / 8;
    *at++ = 0xA4, *at++ = 0, *at++ = 1, *at++ = 1, *at++ = 0x50;
    memcpy(at, pack->id, PML_ID_SIZE);
    at += PML_ID_SIZE;
    *at++ = 2, *at++ = pack->slots == 1 ? PML_RESPONSE : PML_CROWD;
    *at++ = 4, *at++ = (uint8_t)(0x40 | body);
    release->head = (size_t)(at - release->bytes);
    release->size = release->head + body;
}

void relay_release_symbol(struct relay_release *release, uint32_t symbol)
{
    for (size_t i = release->head; i < release->size; i++, symbol >>= 8)
        release->bytes[i] = (uint8_t)symbol;
}
