/* SPDX-License-Identifier: Apache-2.0
 * Makes a gallery in a store, and changes it: every change is one new version. The same items with the same settings are the
 * same version, byte for byte, whatever the way there, where neighbours are exact (slots of up to PML_LISTS_EXACT items). */
#ifndef PML_GALLERY_CHANGE_H
#define PML_GALLERY_CHANGE_H

#include "gallery_items.h"
#include "gallery_neighbours.h"
#include "index_parts.h"

#define PML_KEEP_DEFAULT 3u /* versions */

/* How to work; zeros are as index_lists.h and index_parts.h say, and all processors. */
struct pml_working {
    size_t exact, looked_at, held;
    unsigned threads;
    void (*report)(void *context, const char *stage, double done); /* as in pml_progress; may be NULL */
    void *context;
};

struct pml_change_report {
    struct pml_name version;
    uint64_t items;
    struct pml_settings settings;
    uint32_t dimensions;
    size_t added, replaced, removed;
    size_t payloads; /* items that have one */
    uint64_t payload_bytes;
    struct pml_parts_report parts;
    enum pml_stage resumed;     /* what an earlier run had done */
    bool restarted;             /* an earlier run had begun with other inputs: its work is lost */
    bool inputs_at_fault;       /* after a failure: neither the store nor the machine is */
    uint64_t swept;             /* blobs that nobody needed any more */
    struct pml_message unswept; /* why they are still there; empty when they are not */
};

/* What an earlier index of exactly these inputs has done, so that the caller need not do it again. Returns PML_DONE,
 * PML_REFUSED when a gallery of this pack is there and `force` is not set, or another outcome; all but PML_DONE with a
 * message. */
pml_outcome pml_gallery_unfinished(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], const uint8_t inputs[32],
                                   bool force, enum pml_stage *done, struct pml_message *message);

struct pml_index_job {
    const pml_pack *pack;
    struct pml_newcomers items;      /* not looked at when rows were written by an earlier run */
    const struct pml_voters *voters; /* NULL: none. Likewise */
    struct pml_settings settings;    /* of what the pack has */
    uint8_t inputs[32];              /* digest of all of this */
    uint32_t keep;                   /* versions, 1 at least */
    bool force;                      /* replace a gallery of this pack that is there */
    struct pml_working working;
};

/* Indexes from nothing. Stopped anywhere, it goes on there when it is called again with the same inputs. Returns PML_DONE, or
 * another outcome with a message. */
pml_outcome pml_gallery_index(struct pml_store *store, const struct pml_index_job *job,
                              struct pml_change_report *report, struct pml_message *message);

struct pml_change_job {
    const pml_pack *pack;
    struct pml_newcomers items;
    const uint64_t *removed; /* numbers */
    size_t removed_count;
    uint32_t keep; /* versions; 0: as many as before */
    struct pml_working working;
};

/* Changes the gallery of this pack. After a failure it is as it was. Returns PML_DONE, or another outcome with a message. */
pml_outcome pml_gallery_change(struct pml_store *store, const struct pml_change_job *job,
                               struct pml_change_report *report, struct pml_message *message);

/* The largest number of the current version. Returns PML_DONE, PML_REFUSED when there is no gallery that can be changed, or
 * another outcome; all but PML_DONE with a message. */
pml_outcome pml_gallery_last(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], uint64_t *last,
                             struct pml_message *message);

#endif
