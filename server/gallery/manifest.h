/* SPDX-License-Identifier: Apache-2.0
 * Manifests (SPEC 8.1): which part belongs to which cell, in one version of a gallery. */
#ifndef PML_MANIFEST_H
#define PML_MANIFEST_H

#include "common/bytes.h"
#include "server/store/name.h"

#include <privatemail_public.h>

struct pml_entry {
    struct pml_name name;
    uint32_t size;
};

/* A zeroed struct may be freed. */
struct pml_manifest {
    uint8_t pack[PML_ID_SIZE];
    uint64_t items;          /* N */
    uint32_t list;           /* items per list; 0: items are listed in their own cells, or in none */
    uint32_t slots, cells;   /* G; m, or 0 when there are no lists */
    uint32_t dimensions;     /* k of the places, or 0 */
    uint64_t longest;        /* the constant length; 0 without lists */
    struct pml_entry *parts; /* G·m */
    struct pml_entry *places; /* G, or none when there are no places; of the same memory */
};

/* Entries of both kinds, all zero. The fields before them are set. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_manifest_allocate(struct pml_manifest *manifest);
void pml_manifest_free(struct pml_manifest *manifest);

/* Number of entries: cells, then places. */
size_t pml_manifest_entries(const struct pml_manifest *manifest);

/* Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_manifest_write(const struct pml_manifest *manifest, struct pml_bytes *bytes);

/* Returns PML_DONE, PML_NO_MEMORY, PML_DAMAGED when the bytes are no manifest, or PML_OTHER_VERSION with a message. Free
 * it in any case. */
pml_outcome pml_manifest_read(const uint8_t *bytes, size_t size, struct pml_manifest *manifest,
                              struct pml_message *message);

/* Whether a manifest may be one of this pack: id, slots, cells and dimensions. */
bool pml_manifest_fits(const struct pml_manifest *manifest, const pml_pack_info *pack);

/* Bytes of the header of an answer with so many slots (SPEC 3). */
uint64_t pml_answer_header_size(const pml_pack_info *pack, uint32_t slots, uint64_t items);

/* The constant length for parts of at most so many bytes (SPEC 8.1). */
uint64_t pml_manifest_constant(const pml_pack_info *pack, uint64_t items, uint64_t longest_part);

#endif
