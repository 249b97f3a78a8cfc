/* SPDX-License-Identifier: Apache-2.0
 * From the items of a gallery to its parts (SPEC 8): the list of every cell, the places of every slot and their pages. Same
 * items, same lists, same bytes, whatever the number of threads. */
#ifndef PML_INDEX_PARTS_H
#define PML_INDEX_PARTS_H

#include "server/lists/index_lists.h"
#include "server/gallery/manifest.h"
#include "server/store/store.h"

#define PML_PARTS_HELD ((size_t)256 << 20) /* bytes of lists and payloads that are held at once */

struct pml_parts_source {
    const pml_pack *pack;
    size_t count;          /* items */
    const uint64_t *items; /* their numbers, ascending */
    const int32_t *labels; /* class of each; NULL: all 0 */
    const uint32_t *slots;
    const int8_t *sketches; /* one behind the other */
    /* Bytes of each payload; NULL: none has one. `payload` is asked for those that are not 0, in ascending order and several
     * times for all, and its bytes are valid until the next call. */
    const uint16_t *payload_sizes;
    pml_outcome (*payload)(void *context, size_t row, const uint8_t **bytes, struct pml_message *message);
    void *payload_context;
    const struct pml_cell_lists *lists; /* which cells list an item; NULL: there are no lists */
    uint32_t list;                      /* items per list, for the manifest; 0: items are in their own cells */
    const float *places;                /* of each item; NULL: there are no places */
    uint32_t iterations;
    size_t held; /* 0: as above */
    unsigned threads;
    const struct pml_progress *progress; /* may be NULL */
};

struct pml_parts_report {
    size_t parts, added;  /* all of this version, and how many the store did not have; without the manifest */
    uint64_t added_bytes; /* of those */
    size_t cells, empty;  /* lists, and how many of them are empty */
    double smallest, median, largest; /* items of a list; NaN: there are no lists */
};

/* Puts all parts that the store does not have, and fills the manifest, which is to be freed in any case. Neither puts the
 * manifest nor moves a pointer. Returns PML_DONE, or another outcome with a message. */
pml_outcome pml_parts_make(struct pml_store *store, const struct pml_parts_source *source,
                           struct pml_manifest *manifest, struct pml_parts_report *report, struct pml_message *message);

#endif
