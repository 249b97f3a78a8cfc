/* SPDX-License-Identifier: Apache-2.0
 * Reads and moves the pointer of a pack. */
#include "gallery_versions.h"
#include "gallery_sweep.h"

#include <stdlib.h>
#include <string.h>

void pml_gallery_about_free(struct pml_gallery_about *about)
{
    pml_manifest_free(&about->manifest);
    pml_record_free(&about->record);
    *about = (struct pml_gallery_about){0};
}

static pml_outcome load_manifest(struct pml_store *store, struct pml_gallery_about *about, struct pml_message *message)
{
    struct pml_bytes bytes = {0};
    pml_outcome outcome =
        pml_blob_load(store, PML_PARTS, &about->pointer.version, "the manifest of the gallery", &bytes, message);
    if (outcome == PML_DONE)
        outcome = pml_blob_say(pml_manifest_read(bytes.bytes, bytes.size, &about->manifest, message),
                               "the manifest of the gallery", message);
    pml_bytes_free(&bytes);
    return outcome;
}

static pml_outcome load_record(struct pml_store *store, struct pml_gallery_about *about, struct pml_message *message)
{
    struct pml_state state = {0};
    pml_outcome outcome = pml_record_load(store, &about->pointer.record, &about->record, message);
    if (outcome == PML_DONE && !pml_name_same(&about->record.history[0].version, &about->pointer.version))
        outcome = pml_blob_say(PML_DAMAGED, "the record of the gallery", message);
    if (outcome == PML_DONE)
        outcome = pml_state_load(store, &about->record.history[0].state, &state, message);
    about->settings = state.settings;
    pml_state_free(&state);
    return outcome;
}

pml_outcome pml_gallery_look(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], struct pml_gallery_about *about,
                             struct pml_message *message)
{
    *about = (struct pml_gallery_about){0};
    pml_outcome outcome = pml_store_pointer(store, pack, &about->pointer);
    if (outcome == PML_ABSENT)
        pml_say(message, "the store has no gallery of this pack. Make it: privatemail index --features.");
    else
        pml_blob_say(outcome, "the pointer of the pack", message);
    if (outcome == PML_DONE && !pml_name_none(&about->pointer.version))
        outcome = load_manifest(store, about, message);
    if (outcome == PML_DONE && !pml_name_none(&about->pointer.record))
        outcome = load_record(store, about, message);
    return outcome;
}

/* The same of a gallery that is finished and can be changed. */
static pml_outcome look_closer(struct pml_store *store, const uint8_t pack[PML_ID_SIZE],
                               struct pml_gallery_about *about, struct pml_message *message)
{
    const pml_outcome outcome = pml_gallery_look(store, pack, about, message);
    if (outcome == PML_DONE && pml_name_none(&about->pointer.version))
        return pml_say(
            message, "the store has no finished gallery of this pack. Make it: run the same privatemail index again.");
    if (outcome == PML_DONE && pml_name_none(&about->pointer.record))
        return pml_say(message, "the gallery was published without what index knows about it, so there are no other "
                                "versions. Use the store that it came from.");
    return outcome;
}

static pml_outcome move_pointer(struct pml_store *store, const uint8_t pack[PML_ID_SIZE],
                                struct pml_gallery_about *about, struct pml_message *message)
{
    about->pointer.version = about->record.history[0].version;
    const pml_outcome outcome = pml_record_save(store, &about->record, &about->pointer.record, message);
    return outcome == PML_DONE ? pml_store_switch(store, pack, &about->pointer, message) : outcome;
}

pml_outcome pml_gallery_keep(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], uint32_t keep, uint64_t *swept,
                             struct pml_message *message)
{
    struct pml_gallery_about about;
    *swept = 0;
    pml_outcome outcome = look_closer(store, pack, &about, message);
    if (outcome == PML_DONE) {
        about.record.keep = keep;
        about.record.count = about.record.count < keep ? about.record.count : keep;
        outcome = move_pointer(store, pack, &about, message);
    }
    if (outcome == PML_DONE)
        outcome = pml_gallery_sweep(store, NULL, swept, message);
    pml_gallery_about_free(&about);
    return outcome;
}

pml_outcome pml_gallery_switch(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], const struct pml_name *version,
                               struct pml_message *message)
{
    struct pml_gallery_about about;
    pml_outcome outcome = look_closer(store, pack, &about, message);
    size_t at = 0;
    while (outcome == PML_DONE && at < about.record.count && !pml_name_same(&about.record.history[at].version, version))
        at++;
    if (outcome == PML_DONE && at == about.record.count) {
        pml_say(message, "that version is not kept. Choose one that privatemail gallery shows.");
        outcome = PML_ABSENT;
    }
    if (outcome == PML_DONE) {
        const struct pml_kept kept = about.record.history[at];
        outcome = pml_record_push(&about.record, &kept) == PML_DONE ? move_pointer(store, pack, &about, message)
                                                                    : pml_say_memory(message);
    }
    pml_gallery_about_free(&about);
    return outcome;
}
