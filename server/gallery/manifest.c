/* SPDX-License-Identifier: Apache-2.0
 * Manifests as bytes. In: what anybody may have written. Out: a manifest whose counts fit its length. */
#include "manifest.h"
#include "blob_kind.h"
#include "cbor_items.h"
#include "little_endian.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 56, ENTRY = PML_NAME_SIZE + 4 };

static const struct pml_blob_kind kind = {{'P', 'M', 'G', 'M'}, 1, "the manifest of the gallery"};

size_t pml_manifest_entries(const struct pml_manifest *manifest)
{
    return (size_t)manifest->slots * manifest->cells + (manifest->dimensions > 0 ? manifest->slots : 0);
}

pml_outcome pml_manifest_allocate(struct pml_manifest *manifest)
{
    manifest->parts = calloc(pml_manifest_entries(manifest) + 1, sizeof *manifest->parts);
    if (!manifest->parts)
        return PML_NO_MEMORY;
    manifest->places = manifest->parts + (size_t)manifest->slots * manifest->cells;
    return PML_DONE;
}

void pml_manifest_free(struct pml_manifest *manifest)
{
    free(manifest->parts);
    *manifest = (struct pml_manifest){0};
}

pml_outcome pml_manifest_write(const struct pml_manifest *manifest, struct pml_bytes *bytes)
{
    const size_t entries = pml_manifest_entries(manifest);
    if (pml_bytes_reserve(bytes, HEAD + entries * ENTRY) != PML_DONE)
        return PML_NO_MEMORY;
    uint8_t *at = bytes->bytes + bytes->size;
    pml_blob_begin(&kind, at);
    memcpy(at + 8, manifest->pack, PML_ID_SIZE);
    pml_put64(at + 24, manifest->items);
    pml_put32(at + 32, manifest->list);
    pml_put32(at + 36, manifest->slots);
    pml_put32(at + 40, manifest->cells);
    pml_put32(at + 44, manifest->dimensions);
    pml_put64(at + 48, manifest->longest);
    at += HEAD;
    for (size_t i = 0; i < entries; i++, at += ENTRY) {
        memcpy(at, manifest->parts[i].name.bytes, PML_NAME_SIZE);
        pml_put32(at + PML_NAME_SIZE, manifest->parts[i].size);
    }
    bytes->size += HEAD + entries * ENTRY;
    return PML_DONE;
}

pml_outcome pml_manifest_read(const uint8_t *bytes, size_t size, struct pml_manifest *manifest,
                              struct pml_message *message)
{
    *manifest = (struct pml_manifest){0};
    const pml_outcome begun = pml_blob_begins(&kind, bytes, size, message);
    if (begun != PML_DONE || size < HEAD)
        return begun != PML_DONE ? begun : PML_DAMAGED;
    memcpy(manifest->pack, bytes + 8, PML_ID_SIZE);
    manifest->items = pml_get64(bytes + 24);
    manifest->list = pml_get32(bytes + 32);
    manifest->slots = pml_get32(bytes + 36);
    manifest->cells = pml_get32(bytes + 40);
    manifest->dimensions = pml_get32(bytes + 44);
    manifest->longest = pml_get64(bytes + 48);
    const bool sound = manifest->items > 0 && manifest->slots > 0 && manifest->slots <= PML_SLOTS_MAX &&
                       manifest->cells <= PML_CELLS_MAX && (manifest->cells > 0) == (manifest->longest > 0);
    if (!sound || size - HEAD != pml_manifest_entries(manifest) * ENTRY)
        return PML_DAMAGED;
    if (pml_manifest_allocate(manifest) != PML_DONE)
        return PML_NO_MEMORY;
    const uint8_t *at = bytes + HEAD;
    for (size_t i = 0; i < pml_manifest_entries(manifest); i++, at += ENTRY) {
        memcpy(manifest->parts[i].name.bytes, at, PML_NAME_SIZE);
        manifest->parts[i].size = pml_get32(at + PML_NAME_SIZE);
    }
    return PML_DONE;
}

bool pml_manifest_fits(const struct pml_manifest *manifest, const pml_pack_info *pack)
{
    return memcmp(manifest->pack, pack->id, PML_ID_SIZE) == 0 && manifest->slots == pack->slots &&
           (manifest->cells == 0 || manifest->cells == pack->cells) &&
           (manifest->dimensions == 0 || (pack->anchors > 0 && manifest->dimensions == pack->dimensions));
}

uint64_t pml_answer_header_size(const pml_pack_info *pack, uint32_t slots, uint64_t items)
{
    return 1 + 1 + pml_cbor_head_size(PML_ID_SIZE) + PML_ID_SIZE + pml_cbor_head_size(slots) +
           pml_cbor_head_size(pack->sketch) + pml_cbor_head_size(items);
}

uint64_t pml_manifest_constant(const pml_pack_info *pack, uint64_t items, uint64_t longest_part)
{
    const uint64_t sum = pml_answer_header_size(pack, 1, items) + longest_part;
    uint64_t step = 1;
    while (step * 64 <= sum)
        step *= 2;
    return (sum + step - 1) / step * step;
}
