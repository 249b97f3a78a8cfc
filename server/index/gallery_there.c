/* SPDX-License-Identifier: Apache-2.0
 * What index finds in a store. In: blobs of any version, lost or damaged ones. What is damaged may be made again; what a later
 * version wrote is never replaced. */
#include "gallery_there.h"
#include "gallery_change.h"
#include "server/gallery/manifest.h"

#include <string.h>

/* What is lost or damaged is as if it were not there. */
static pml_outcome refuse_other(pml_outcome outcome, const struct pml_message *said, struct pml_message *message)
{
    if (outcome != PML_OTHER_VERSION)
        return PML_DONE;
    pml_say(message, "%s", said->text);
    return outcome;
}

pml_outcome pml_there_known(struct pml_store *store, const struct pml_pointer *pointer, struct pml_message *message)
{
    struct pml_manifest manifest = {0};
    struct pml_bytes bytes = {0};
    pml_outcome outcome = PML_DONE;
    if (!pml_name_none(&pointer->version) &&
        pml_blob_load(store, PML_PARTS, &pointer->version, "", &bytes, NULL) == PML_DONE &&
        pml_manifest_read(bytes.bytes, bytes.size, &manifest, message) == PML_OTHER_VERSION)
        outcome = PML_OTHER_VERSION;
    pml_manifest_free(&manifest);
    pml_bytes_free(&bytes);
    return outcome;
}

pml_outcome pml_there_replaceable(const struct pml_pointer *pointer, bool force, struct pml_message *message)
{
    if (pml_name_none(&pointer->version) || force)
        return PML_DONE;
    return pml_say(message, "there is a gallery of this pack already. Change it with --add and --remove, or replace it "
                            "with --force.");
}

pml_outcome pml_there_unfinished(struct pml_store *store, const struct pml_pointer *pointer, const uint8_t inputs[32],
                                 struct pml_building *building, enum pml_stage *done, struct pml_message *message)
{
    struct pml_message said = {""};
    *done = PML_STAGE_NONE;
    if (pml_name_none(&pointer->building))
        return PML_DONE;
    const pml_outcome outcome = pml_building_load(store, &pointer->building, building, &said);
    if (outcome == PML_DONE && memcmp(building->inputs, inputs, 32) == 0)
        *done = building->done;
    return refuse_other(outcome, &said, message);
}

pml_outcome pml_there_record(struct pml_store *store, const struct pml_pointer *pointer, struct pml_record *record,
                             struct pml_message *message)
{
    struct pml_message said = {""};
    if (pml_name_none(&pointer->record))
        return PML_DONE;
    struct pml_state state = {0};
    pml_outcome outcome = pml_record_load(store, &pointer->record, record, &said);
    if (outcome != PML_DONE)
        pml_record_free(record);
    else
        outcome = pml_state_load(store, &record->history[0].state, &state, &said);
    pml_state_free(&state);
    return refuse_other(outcome, &said, message);
}

pml_outcome pml_gallery_unfinished(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], const uint8_t inputs[32],
                                   bool force, enum pml_stage *done, struct pml_message *message)
{
    struct pml_pointer pointer = {0};
    struct pml_building building;
    pml_outcome outcome = pml_store_pointer(store, pack, &pointer);
    *done = PML_STAGE_NONE;
    if (outcome != PML_DONE)
        return outcome == PML_ABSENT ? PML_DONE : pml_blob_say(outcome, "the pointer of the pack", message);
    outcome = pml_there_known(store, &pointer, message);
    if (outcome == PML_DONE)
        outcome = pml_there_unfinished(store, &pointer, inputs, &building, done, message);
    return outcome == PML_DONE ? pml_there_replaceable(&pointer, force, message) : outcome;
}
