/* SPDX-License-Identifier: Apache-2.0
 * Copies a version into another store. Its readers see the version before until everything is there. */
#include "gallery_sweep.h"
#include "gallery_versions.h"

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 16 }; /* blobs that are asked for in one call */

struct copying {
    struct pml_store *from, *to;
    enum pml_shelf shelf;
    struct pml_publish_report *report;
    struct pml_message *message;
};

static pml_outcome take(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    const struct copying *copying = context;
    struct pml_name name;
    (void)index;
    copying->report->copied++;
    copying->report->bytes += size;
    return pml_store_put(copying->to, copying->shelf, bytes, size, &name, copying->message);
}

static pml_outcome copy_some(struct copying *copying, const struct pml_name *names, size_t count)
{
    copying->message->text[0] = 0;
    const pml_outcome outcome = pml_store_get(copying->from, copying->shelf, names, count, take, copying);
    if (outcome != PML_DONE && copying->message->text[0] == 0) /* else putting has failed, and said so */
        pml_blob_say(outcome, "a part of the version", copying->message);
    return outcome;
}

/* All of the set that are not there. */
static pml_outcome copy(struct copying *copying, const struct pml_name_set *wanted)
{
    struct pml_name names[AT_ONCE];
    struct pml_name_set there = {0};
    size_t count = 0;
    pml_outcome outcome = pml_name_set_read(&there, copying->to, copying->shelf, copying->message);
    copying->report->blobs += wanted->count;
    for (size_t i = 0; i < wanted->capacity && outcome == PML_DONE; i++) {
        if (pml_name_none(&wanted->slots[i]) || pml_name_set_has(&there, &wanted->slots[i]))
            continue;
        names[count++] = wanted->slots[i];
        if (count == AT_ONCE) {
            outcome = copy_some(copying, names, count);
            count = 0;
        }
    }
    if (outcome == PML_DONE && count > 0)
        outcome = copy_some(copying, names, count);
    pml_name_set_free(&there);
    return outcome;
}

static pml_outcome copy_parts(struct copying *copying, const struct pml_name *version)
{
    struct pml_name_set parts = {0};
    copying->shelf = PML_PARTS;
    pml_outcome outcome = pml_version_parts(copying->from, version, &parts, copying->message);
    if (outcome == PML_DONE)
        outcome = copy(copying, &parts);
    pml_name_set_free(&parts);
    return outcome;
}

/* The state of the version, and a record there that begins with it. */
static pml_outcome copy_private(struct copying *copying, const struct pml_gallery_about *about,
                                struct pml_gallery_about *there, struct pml_pointer *pointer)
{
    struct pml_name_set blobs = {0};
    struct pml_state state = {0};
    const struct pml_kept *kept = &about->record.history[0];
    copying->shelf = PML_PRIVATE;
    pml_outcome outcome = pml_state_load(copying->from, &kept->state, &state, copying->message);
    if (outcome == PML_DONE &&
        (pml_name_set_add(&blobs, &kept->state) != PML_DONE || pml_state_blobs(&state, &blobs) != PML_DONE))
        outcome = pml_say_memory(copying->message);
    if (outcome == PML_DONE)
        outcome = copy(copying, &blobs);
    memcpy(there->record.pack, about->record.pack, PML_ID_SIZE);
    there->record.keep = about->record.keep;
    if (outcome == PML_DONE && pml_record_push(&there->record, kept) != PML_DONE)
        outcome = pml_say_memory(copying->message);
    if (outcome == PML_DONE)
        outcome = pml_record_save(copying->to, &there->record, &pointer->record, copying->message);
    pml_state_free(&state);
    pml_name_set_free(&blobs);
    return outcome;
}

static pml_outcome check(const struct pml_gallery_about *about, const struct pml_gallery_about *there,
                         bool with_private, struct pml_message *message)
{
    if (pml_name_none(&about->pointer.version))
        return pml_say(message,
                       "the store has no finished gallery of this pack. Make it: privatemail index --features.");
    if (with_private && pml_name_none(&about->pointer.record))
        return pml_say(message, "the store has nothing private to copy: it is a published copy itself. Leave --private "
                                "out.");
    if (!with_private && !pml_name_none(&there->pointer.record))
        return pml_say(message, "the other store has a gallery of this pack that index may change. Choose another "
                                "place, or add --private.");
    return PML_DONE;
}

static pml_outcome publish(struct copying *copying, const uint8_t pack[PML_ID_SIZE], bool with_private,
                           const struct pml_gallery_about *about, struct pml_gallery_about *there)
{
    struct pml_pointer pointer = {.version = about->pointer.version};
    pml_outcome outcome = check(about, there, with_private, copying->message);
    if (outcome == PML_DONE)
        outcome = copy_parts(copying, &pointer.version);
    if (outcome == PML_DONE && with_private)
        outcome = copy_private(copying, about, there, &pointer);
    if (outcome == PML_DONE)
        outcome = pml_store_switch(copying->to, pack, &pointer, copying->message);
    copying->report->version = pointer.version;
    if (outcome != PML_DONE)
        return outcome;
    copying->report->at_target = true;
    return pml_gallery_sweep(copying->to, &there->pointer.version, &copying->report->swept, copying->message);
}

pml_outcome pml_gallery_publish(struct pml_store *from, struct pml_store *to, const uint8_t pack[PML_ID_SIZE],
                                bool with_private, struct pml_publish_report *report, struct pml_message *message)
{
    struct pml_gallery_about about = {0}, there = {0};
    struct copying copying = {.from = from, .to = to, .report = report, .message = message};
    *report = (struct pml_publish_report){0};
    pml_outcome outcome = pml_gallery_look(from, pack, &about, message);
    if (outcome == PML_DONE) {
        outcome = pml_gallery_look(to, pack, &there, message);
        outcome = outcome == PML_ABSENT && pml_name_none(&there.pointer.version) ? PML_DONE : outcome;
        report->at_target = outcome != PML_DONE;
    }
    if (outcome == PML_DONE)
        outcome = publish(&copying, pack, with_private, &about, &there);
    pml_gallery_about_free(&about);
    pml_gallery_about_free(&there);
    return outcome;
}
