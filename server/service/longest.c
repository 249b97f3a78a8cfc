/* SPDX-License-Identifier: Apache-2.0
 * In: a manifest, and the places it names. Out: the length that no answer exceeds, so that all can be padded to it. */
#include "longest.h"
#include "server/gallery/cbor_items.h"

#include <stdlib.h>

/* What a candidate has besides its sketch and its payload, at most. Version 1: the heads of the array (1), the item (9),
 * the class (5), the sketch (3) and the payload (3). Version 2: item (10), class (5) and size (3) in base 128, which is
 * less. */
#define CANDIDATE_MOST 21u

/* What a list has besides its candidates, at most. Version 2: the heads of the array (1), the slot (3), the count (5), the
 * form (1), the class (5) and the string (9). Version 1 has the first three of these. */
#define LIST_MOST 24u

/* ---- cells ---- */

static uint64_t longest_part(const struct pml_manifest *manifest, uint32_t slot)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < manifest->cells; i++) {
        const uint32_t size = manifest->parts[(size_t)slot * manifest->cells + i].size;
        longest = size > longest ? size : longest;
    }
    return longest;
}

bool pml_longest_sound(const struct pml_manifest *manifest, const pml_pack_info *pack)
{
    uint64_t longest = 0;
    for (uint32_t slot = 0; slot < manifest->slots; slot++) {
        const uint64_t own = longest_part(manifest, slot);
        longest = own > longest ? own : longest;
    }
    return manifest->longest == (manifest->cells > 0 ? pml_manifest_constant(pack, manifest->items, longest) : 0);
}

/* ---- places ---- */

/* Bytes of the `wanted` longest payloads together. */
static uint64_t longest_payloads(const struct pml_places *places, size_t wanted, uint32_t *counts)
{
    uint64_t sum = 0;
    for (size_t size = 0; size <= PML_PAYLOAD_MAX; size++)
        counts[size] = 0;
    for (size_t i = 0; i < places->count; i++)
        counts[places->payloads[i]]++;
    for (size_t size = PML_PAYLOAD_MAX; size > 0 && wanted > 0; size--) {
        const size_t taken = counts[size] < wanted ? counts[size] : wanted;
        sum += taken * size;
        wanted -= taken;
    }
    return sum;
}

uint64_t pml_longest_pages(const struct pml_places *places, const pml_pack_info *pack)
{
    uint64_t sum = (uint64_t)places->page_count * LIST_MOST + (uint64_t)places->count * (CANDIDATE_MOST + pack->sketch);
    for (size_t i = 0; i < places->count; i++)
        sum += places->payloads[i];
    return sum;
}

pml_outcome pml_longest_measure(const struct pml_manifest *manifest, const pml_pack_info *pack,
                                const struct pml_places *const *places, uint32_t nearest, struct pml_longest *longest)
{
    uint32_t *counts = malloc(((size_t)PML_PAYLOAD_MAX + 1) * sizeof *counts);
    *longest = (struct pml_longest){.message = manifest->longest};
    if (!counts)
        return PML_NO_MEMORY;
    longest->response = manifest->cells > 0 ? pml_answer_header_size(pack, pack->slots, manifest->items) : 0;
    longest->gaussian = places ? pml_answer_header_size(pack, pack->slots, manifest->items) : 0;
    for (uint32_t slot = 0; slot < pack->slots; slot++) {
        longest->response += longest_part(manifest, slot);
        if (!places)
            continue;
        const size_t most = nearest < places[slot]->count ? nearest : places[slot]->count;
        longest->gaussian +=
            LIST_MOST + most * (CANDIDATE_MOST + (uint64_t)pack->sketch) + longest_payloads(places[slot], most, counts);
    }
    free(counts);
    return PML_DONE;
}

/* ---- releases ---- */

/* SPEC 2: a release with so many bytes of symbols or values. */
static size_t release_size(size_t values, bool step)
{
    const size_t version = 2, id = 1 + 1 + PML_ID_SIZE, mechanism = 2, step_size = step ? 1 + 1 + 4 : 0;
    return 1 + version + id + mechanism + step_size + 1 + (size_t)pml_cbor_head_size(values) + values;
}

static uint32_t bits_of(uint64_t symbols)
{
    uint32_t bits = 0;
    while ((uint64_t)1 << bits < symbols)
        bits++;
    return bits;
}

size_t pml_longest_message(const pml_pack_info *pack)
{
    return release_size((bits_of((uint64_t)pack->slots * pack->cells) + 7) / 8, false);
}

uint64_t pml_longest_for(const struct pml_longest *longest, const pml_pack_info *pack, size_t release)
{
    const size_t symbols = ((size_t)pack->slots * bits_of(pack->cells) + 7) / 8;
    const size_t values = (size_t)pack->slots * pack->dimensions;
    uint64_t most = 0;
    if (release == pml_longest_message(pack) && longest->message > most)
        most = longest->message;
    if (release == release_size(symbols, false) && longest->response > most)
        most = longest->response;
    if ((release == release_size(values, true) || release == release_size(2 * values, true)) &&
        longest->gaussian > most)
        most = longest->gaussian;
    return most;
}
