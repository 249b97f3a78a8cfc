/* SPDX-License-Identifier: Apache-2.0
 * The versions of a gallery: which there are, which is served, how many are kept, and copies in other stores. */
#ifndef PML_GALLERY_VERSIONS_H
#define PML_GALLERY_VERSIONS_H

#include "record.h"
#include "server/gallery/manifest.h"

/* What a store says about the gallery of a pack. Free it in any case. */
struct pml_gallery_about {
    struct pml_pointer pointer;
    struct pml_manifest manifest; /* of the version that is served; zeroed when there is none */
    struct pml_record record;     /* zeroed when there is none: a published copy */
    struct pml_settings settings; /* of the version that is served; zeroed likewise */
};

/* Returns PML_DONE, PML_ABSENT when the store knows nothing of the pack, or another outcome; all but PML_DONE with a
 * message. */
pml_outcome pml_gallery_look(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], struct pml_gallery_about *about,
                             struct pml_message *message);
void pml_gallery_about_free(struct pml_gallery_about *about);

/* Keeps so many versions, 1 at least, and takes away what is only of others. Returns PML_DONE, or another outcome with a
 * message. */
pml_outcome pml_gallery_keep(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], uint32_t keep, uint64_t *swept,
                             struct pml_message *message);

/* Serves a kept version again; changes start from it. Returns PML_DONE, PML_ABSENT when that version is not kept, or another
 * outcome; all but PML_DONE with a message. */
pml_outcome pml_gallery_switch(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], const struct pml_name *version,
                               struct pml_message *message);

struct pml_publish_report {
    struct pml_name version;
    size_t blobs, copied; /* of the version, and how many the other store did not have */
    uint64_t bytes;       /* of those */
    uint64_t swept;
    bool at_target; /* what failed was about the other store */
};

/* Copies the version that is served into another store: blobs that are missing there, then the pointer. Then what neither
 * this version nor the one before needs is taken away there. `with_private`: also what index knows, so that the copy can be
 * changed. Returns PML_DONE, or another outcome with a message. */
pml_outcome pml_gallery_publish(struct pml_store *from, struct pml_store *to, const uint8_t pack[PML_ID_SIZE],
                                bool with_private, struct pml_publish_report *report, struct pml_message *message);

#endif
