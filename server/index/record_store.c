/* SPDX-License-Identifier: Apache-2.0
 * Records, states and buildings from and to a store. */
#include "record.h"

static pml_outcome append(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    (void)index;
    return pml_bytes_append(context, bytes, size);
}

pml_outcome pml_blob_say(pml_outcome outcome, const char *what, struct pml_message *message)
{
    switch (outcome) {
    case PML_DONE:
    case PML_OTHER_VERSION: /* who found it has said which */
        break;
    case PML_NO_MEMORY:
        pml_say_memory(message);
        break;
    case PML_ABSENT:
        pml_say(message,
                "the store lacks %s. Restore it from a copy, or make the gallery again: index --features --force.",
                what);
        break;
    case PML_DAMAGED:
        pml_say(
            message,
            "%s is damaged in the store. Restore it from a copy, or make the gallery again: index --features --force.",
            what);
        break;
    default:
        pml_say(message, "%s cannot be read from the store now. Check it, and run the same command again.", what);
    }
    return outcome;
}

pml_outcome pml_blob_load(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *name, const char *what,
                          struct pml_bytes *bytes, struct pml_message *message)
{
    return pml_blob_say(pml_store_get(store, shelf, name, 1, append, bytes), what, message);
}

static pml_outcome save(struct pml_store *store, pml_outcome outcome, struct pml_bytes *bytes, struct pml_name *name,
                        struct pml_message *message)
{
    if (outcome == PML_DONE)
        outcome = pml_store_put(store, PML_PRIVATE, bytes->bytes, bytes->size, name, message);
    else
        pml_say_memory(message);
    pml_bytes_free(bytes);
    return outcome;
}

pml_outcome pml_state_load(struct pml_store *store, const struct pml_name *name, struct pml_state *state,
                           struct pml_message *message)
{
    static const char what[] = "what index knows about a version";
    struct pml_bytes bytes = {0};
    *state = (struct pml_state){0};
    pml_outcome outcome = pml_blob_load(store, PML_PRIVATE, name, what, &bytes, message);
    if (outcome == PML_DONE)
        outcome = pml_blob_say(pml_state_read(bytes.bytes, bytes.size, state, message), what, message);
    pml_bytes_free(&bytes);
    return outcome;
}

pml_outcome pml_record_load(struct pml_store *store, const struct pml_name *name, struct pml_record *record,
                            struct pml_message *message)
{
    static const char what[] = "the record of the gallery";
    struct pml_bytes bytes = {0};
    *record = (struct pml_record){0};
    pml_outcome outcome = pml_blob_load(store, PML_PRIVATE, name, what, &bytes, message);
    if (outcome == PML_DONE)
        outcome = pml_blob_say(pml_record_read(bytes.bytes, bytes.size, record, message), what, message);
    pml_bytes_free(&bytes);
    return outcome;
}

pml_outcome pml_building_load(struct pml_store *store, const struct pml_name *name, struct pml_building *building,
                              struct pml_message *message)
{
    static const char what[] = "what an unfinished index has done";
    struct pml_bytes bytes = {0};
    *building = (struct pml_building){0};
    pml_outcome outcome = pml_blob_load(store, PML_PRIVATE, name, what, &bytes, message);
    if (outcome == PML_DONE)
        outcome = pml_blob_say(pml_building_read(bytes.bytes, bytes.size, building, message), what, message);
    pml_bytes_free(&bytes);
    return outcome;
}

pml_outcome pml_state_save(struct pml_store *store, const struct pml_state *state, struct pml_name *name,
                           struct pml_message *message)
{
    struct pml_bytes bytes = {0};
    return save(store, pml_state_write(state, &bytes), &bytes, name, message);
}

pml_outcome pml_record_save(struct pml_store *store, const struct pml_record *record, struct pml_name *name,
                            struct pml_message *message)
{
    struct pml_bytes bytes = {0};
    return save(store, pml_record_write(record, &bytes), &bytes, name, message);
}

pml_outcome pml_building_save(struct pml_store *store, const struct pml_building *building, struct pml_name *name,
                              struct pml_message *message)
{
    struct pml_bytes bytes = {0};
    return save(store, pml_building_write(building, &bytes), &bytes, name, message);
}
