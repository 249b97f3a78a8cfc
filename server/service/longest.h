/* SPDX-License-Identifier: Apache-2.0
 * How long answers can get (SPEC 10.5): public constants of pack and gallery. */
#ifndef PML_LONGEST_H
#define PML_LONGEST_H

#include "server/gallery/manifest.h"
#include "server/gallery/places.h"

/* Bytes that no answer to a release of each kind exceeds; 0: the gallery has nothing for the kind. */
struct pml_longest {
    uint64_t message;  /* to a message of a crowd */
    uint64_t response; /* to any other response release */
    uint64_t gaussian;
};

/* Whether the manifest's constant length is that of its parts. */
bool pml_longest_sound(const struct pml_manifest *manifest, const pml_pack_info *pack);

/* `places` are those of all slots, or NULL; `nearest` is R of SPEC 6.5. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_longest_measure(const struct pml_manifest *manifest, const pml_pack_info *pack,
                                const struct pml_places *const *places, uint32_t nearest, struct pml_longest *longest);

/* Bytes that the pages of a slot have together, at most. */
uint64_t pml_longest_pages(const struct pml_places *places, const pml_pack_info *pack);

/* Bytes of a message of a crowd before it is sealed: the length of its release (SPEC 2). */
size_t pml_longest_message(const pml_pack_info *pack);

/* The longest answer to a release of so many bytes, whatever its kind; 0 when no release of this pack has that length.
 * A release's length is no secret: it depends on nothing but pack and kind. */
uint64_t pml_longest_for(const struct pml_longest *longest, const pml_pack_info *pack, size_t release_size);

#endif
