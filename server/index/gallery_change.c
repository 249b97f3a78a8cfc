/* SPDX-License-Identifier: Apache-2.0
 * The conductor of index. The order is: rows, neighbours, lists, parts, state, record, pointer. Everything before the pointer
 * is blobs that nobody knows yet, so a failure leaves the version before. */
#include "gallery_change.h"
#include "gallery_pages.h"
#include "gallery_sweep.h"
#include "gallery_there.h"
#include "server/lists/index_own.h"
#include "server/embedding/embedding.h"

#include <stdlib.h>
#include <string.h>

struct work {
    struct pml_store *store;
    const pml_pack *pack;
    pml_pack_info info;
    const struct pml_newcomers *newcomers;
    const struct pml_working *working;
    struct pml_pointer pointer;
    struct pml_record record;
    struct pml_state before, state; /* states of both versions */
    struct pml_items old, items;    /* items of both */
    struct pml_succession succession;
    struct pml_voters voters;
    struct pml_neighbours neighbours;
    struct pml_change_report *report;
    struct pml_message *message;
};

static bool lists_have_a_length(const struct work *work)
{
    return work->info.cells > 0 && work->state.settings.list > 0;
}

static struct pml_progress stage(const struct work *work, const char *name)
{
    return (struct pml_progress){work->working->report, work->working->context, name};
}

static pml_outcome begin(struct work *work)
{
    *work->report = (struct pml_change_report){0};
    if (pml_pack_describe(work->pack, &work->info) != PML_OK)
        return pml_say_memory(work->message);
    const pml_outcome outcome = pml_store_pointer(work->store, work->info.id, &work->pointer);
    if (outcome != PML_DONE && outcome != PML_ABSENT)
        return pml_blob_say(outcome, "the pointer of the pack", work->message);
    return pml_there_known(work->store, &work->pointer, work->message);
}

static void end(struct work *work)
{
    pml_record_free(&work->record);
    pml_state_free(&work->before);
    pml_state_free(&work->state);
    pml_items_free(&work->old);
    pml_items_free(&work->items);
    pml_succession_free(&work->succession);
    pml_voters_free(&work->voters);
    free(work->neighbours.places);
}

/* ---- rows ---- */

static pml_outcome write_rows(struct work *work)
{
    const struct pml_progress progress = stage(work, "items");
    const struct pml_pages_change pages = {&work->before,   &work->old, &work->succession,
                                           work->newcomers, &progress,  &work->report->inputs_at_fault};
    struct pml_embedding *embedding = NULL;
    pml_outcome outcome = PML_DONE;
    if (work->info.anchors > 0) {
        const struct pml_progress anchors = stage(work, "anchors");
        outcome = pml_embedding_make(&embedding, work->pack, work->state.settings.iterations, work->working->threads,
                                     &anchors, work->message);
    }
    if (outcome == PML_DONE)
        outcome = pml_items_follow(&work->items, &work->old, &work->succession, work->newcomers, work->pack, embedding,
                                   work->working->threads, work->message);
    pml_embedding_free(embedding);
    if (outcome == PML_DONE)
        outcome = pml_pages_write(work->store, &pages, &work->items, &work->state, work->message);
    return outcome;
}

/* ---- neighbours ---- */

/* `known`: of the old items; NULL: nothing is. */
static pml_outcome find_neighbours(struct work *work, const struct pml_neighbours *known)
{
    const struct pml_progress progress = stage(work, "neighbours");
    const struct pml_neighbours_change change = {.before = &work->old,
                                                 .after = &work->items,
                                                 .known = known,
                                                 .was = work->succession.was,
                                                 .slots = work->info.slots,
                                                 .exact = work->working->exact,
                                                 .looked_at = work->working->looked_at,
                                                 .threads = pml_parallel_threads(work->working->threads),
                                                 .progress = &progress};
    if (pml_neighbours_follow(&change, &work->neighbours) != PML_DONE)
        return pml_say_memory(work->message);
    return pml_neighbours_save(work->store, &work->neighbours, &work->items, work->info.slots, &work->state,
                               work->message);
}

/* ---- parts ---- */

static pml_outcome make_lists(struct work *work, struct pml_cell_lists *lists)
{
    const struct pml_settings *settings = &work->state.settings;
    const struct pml_progress progress = stage(work, "lists");
    const unsigned threads = pml_parallel_threads(work->working->threads);
    if (work->info.cells == 0)
        return PML_DONE;
    if (settings->list == 0)
        return pml_lists_own(lists, work->pack, &work->items.rows, work->items.slots, settings->cells_per_item,
                             threads);
    const struct pml_lists_source source = {.rows = &work->items.rows,
                                            .slots = work->items.slots,
                                            .slot_count = work->info.slots,
                                            .items = work->items.numbers,
                                            .voters = work->voters.rows.count > 0 ? &work->voters.rows : NULL,
                                            .voter_slots = work->voters.slots,
                                            .known = work->neighbours.places,
                                            .exact = work->working->exact,
                                            .looked_at = work->working->looked_at,
                                            .threads = threads};
    struct pml_lists_gallery *gallery = NULL;
    uint32_t *wanted = malloc(work->info.slots * sizeof *wanted);
    pml_outcome outcome = wanted ? pml_lists_gallery_make(&gallery, &source) : PML_NO_MEMORY;
    for (uint32_t s = 0; s < work->info.slots && outcome == PML_DONE; s++)
        wanted[s] = settings->list;
    if (outcome == PML_DONE)
        outcome = pml_lists_make(lists, gallery, work->pack, wanted, threads, &progress);
    pml_lists_gallery_free(gallery);
    free(wanted);
    return outcome;
}

static pml_outcome put_manifest(struct work *work, const struct pml_manifest *manifest)
{
    struct pml_bytes bytes = {0};
    pml_outcome outcome = pml_manifest_write(manifest, &bytes);
    if (outcome != PML_DONE)
        pml_say_memory(work->message);
    else
        outcome = pml_store_put(work->store, PML_PARTS, bytes.bytes, bytes.size, &work->report->version, work->message);
    pml_bytes_free(&bytes);
    return outcome;
}

static pml_outcome make_parts(struct work *work)
{
    const struct pml_items *items = &work->items;
    const struct pml_progress progress = stage(work, "parts");
    struct pml_cell_lists lists = {0};
    struct pml_manifest manifest = {0};
    struct pml_payloads payloads;
    for (size_t i = 0; i < items->count; i++) {
        work->report->payloads += items->payload_sizes[i] > 0;
        work->report->payload_bytes += items->payload_sizes[i];
    }
    pml_payloads_begin(&payloads, work->store, &work->state, items);
    const struct pml_parts_source source = {.pack = work->pack,
                                            .count = items->count,
                                            .items = items->numbers,
                                            .labels = items->labels,
                                            .slots = items->slots,
                                            .sketches = items->sketches,
                                            .payload_sizes = work->report->payloads > 0 ? items->payload_sizes : NULL,
                                            .payload = pml_payloads_read,
                                            .payload_context = &payloads,
                                            .lists = work->info.cells > 0 ? &lists : NULL,
                                            .list = work->state.settings.list,
                                            .places = work->info.anchors > 0 ? items->places : NULL,
                                            .iterations = work->state.settings.iterations,
                                            .held = work->working->held,
                                            .threads = work->working->threads,
                                            .progress = &progress};
    pml_outcome outcome = make_lists(work, &lists);
    if (outcome != PML_DONE)
        pml_say_memory(work->message);
    else
        outcome = pml_parts_make(work->store, &source, &manifest, &work->report->parts, work->message);
    if (outcome == PML_DONE)
        outcome = put_manifest(work, &manifest);
    pml_payloads_end(&payloads);
    pml_lists_free(&lists);
    pml_manifest_free(&manifest);
    return outcome;
}

/* ---- the new version ---- */

static pml_outcome publish(struct work *work)
{
    struct pml_kept kept = {.version = work->report->version};
    pml_outcome outcome = pml_state_save(work->store, &work->state, &kept.state, work->message);
    if (outcome == PML_DONE && pml_record_push(&work->record, &kept) != PML_DONE)
        outcome = pml_say_memory(work->message);
    if (outcome == PML_DONE)
        outcome = pml_record_save(work->store, &work->record, &work->pointer.record, work->message);
    work->pointer.version = kept.version;
    if (outcome == PML_DONE)
        outcome = pml_store_switch(work->store, work->info.id, &work->pointer, work->message);
    if (outcome != PML_DONE)
        return outcome;
    work->report->items = work->items.count;
    work->report->settings = work->state.settings;
    work->report->dimensions = work->state.dimensions;
    work->report->added = work->succession.added;
    work->report->replaced = work->succession.replaced;
    work->report->removed = work->succession.removed;
    struct pml_message unswept = {""};
    if (pml_gallery_sweep(work->store, NULL, &work->report->swept, &unswept) != PML_DONE)
        work->report->unswept = unswept;
    return PML_DONE;
}

/* ---- from nothing ---- */

/* The pointer says what is done, so that another run can go on there. */
static pml_outcome checkpoint(struct work *work, const struct pml_index_job *job, enum pml_stage done)
{
    struct pml_building building = {.done = done};
    memcpy(building.inputs, job->inputs, sizeof building.inputs);
    pml_outcome outcome = pml_state_save(work->store, &work->state, &building.state, work->message);
    if (outcome == PML_DONE)
        outcome = pml_building_save(work->store, &building, &work->pointer.building, work->message);
    return outcome == PML_DONE ? pml_store_switch(work->store, work->info.id, &work->pointer, work->message) : outcome;
}

static pml_outcome index_rows(struct work *work, const struct pml_index_job *job)
{
    memcpy(work->state.pack, work->info.id, PML_ID_SIZE);
    work->state.settings = job->settings;
    pml_outcome outcome = pml_succession_make(&work->succession, &work->old, &job->items, NULL, 0, work->message);
    work->report->inputs_at_fault = outcome == PML_REFUSED;
    work->state.settings.fixed_at = work->succession.count;
    if (outcome == PML_DONE)
        outcome = write_rows(work);
    if (outcome == PML_DONE && job->voters)
        outcome = pml_voters_save(work->store, job->voters, &work->state, work->message);
    return outcome == PML_DONE ? checkpoint(work, job, PML_STAGE_ROWS) : outcome;
}

/* Loads what an earlier run has done. */
static pml_outcome go_on(struct work *work, const struct pml_building *building)
{
    work->report->resumed = building->done;
    pml_outcome outcome = pml_state_load(work->store, &building->state, &work->state, work->message);
    if (outcome == PML_DONE)
        outcome = pml_pages_load(work->store, &work->state, &work->items, work->message);
    work->succession.added = work->items.count;
    if (outcome == PML_DONE && building->done >= PML_STAGE_NEIGHBOURS && lists_have_a_length(work))
        outcome = pml_neighbours_load(work->store, &work->state, &work->items, work->info.slots, &work->neighbours,
                                      work->message);
    return outcome;
}

/* What cannot be gone on with is forgotten, so that the next run begins anew. */
static pml_outcome forget(struct work *work, pml_outcome outcome)
{
    if (outcome != PML_ABSENT && outcome != PML_DAMAGED)
        return outcome;
    work->pointer.building = (struct pml_name){0};
    if (pml_store_switch(work->store, work->info.id, &work->pointer, work->message) != PML_DONE)
        return outcome;
    pml_say(work->message,
            "what an earlier run had done is lost or damaged. Run the same command again: it begins anew.");
    return outcome;
}

static pml_outcome index_all(struct work *work, const struct pml_index_job *job)
{
    struct pml_building building = {0};
    enum pml_stage done = PML_STAGE_NONE;
    pml_outcome outcome = pml_there_replaceable(&work->pointer, job->force, work->message);
    if (outcome == PML_DONE)
        outcome = pml_there_unfinished(work->store, &work->pointer, job->inputs, &building, &done, work->message);
    if (outcome == PML_DONE)
        outcome = pml_there_record(work->store, &work->pointer, &work->record, work->message);
    if (outcome != PML_DONE)
        return outcome;
    work->report->restarted = done == PML_STAGE_NONE && !pml_name_none(&work->pointer.building);
    memcpy(work->record.pack, work->info.id, PML_ID_SIZE);
    work->record.keep = job->keep;
    outcome = done == PML_STAGE_NONE ? index_rows(work, job) : forget(work, go_on(work, &building));
    if (outcome == PML_DONE && done < PML_STAGE_NEIGHBOURS && lists_have_a_length(work)) {
        outcome = find_neighbours(work, NULL);
        if (outcome == PML_DONE)
            outcome = checkpoint(work, job, PML_STAGE_NEIGHBOURS);
    }
    if (outcome == PML_DONE)
        outcome = pml_voters_load(work->store, &work->state, &work->voters, work->message);
    if (outcome == PML_DONE)
        outcome = make_parts(work);
    work->pointer.building = (struct pml_name){0};
    return outcome == PML_DONE ? publish(work) : outcome;
}

/* ---- a change ---- */

static pml_outcome can_change(const struct pml_pointer *pointer, struct pml_message *message)
{
    if (pml_name_none(&pointer->version))
        return pml_say(message,
                       "the store has no finished gallery of this pack. Make it first: privatemail index --features.");
    if (pml_name_none(&pointer->record))
        return pml_say(message, "the gallery was published without what index knows about it, so it cannot be changed "
                                "here. Make the change in the store that it came from, and publish again.");
    return PML_DONE;
}

static pml_outcome load_before(struct work *work)
{
    pml_outcome outcome = can_change(&work->pointer, work->message);
    if (outcome == PML_DONE)
        outcome = pml_record_load(work->store, &work->pointer.record, &work->record, work->message);
    if (outcome == PML_DONE && !pml_name_same(&work->record.history[0].version, &work->pointer.version))
        outcome = pml_blob_say(PML_DAMAGED, "the record of the gallery", work->message);
    if (outcome == PML_DONE)
        outcome = pml_state_load(work->store, &work->record.history[0].state, &work->before, work->message);
    if (outcome == PML_DONE &&
        (memcmp(work->before.pack, work->info.id, PML_ID_SIZE) != 0 || work->before.columns != work->info.features ||
         work->before.sketch != work->info.sketch))
        outcome = pml_blob_say(PML_DAMAGED, "what index knows about the gallery", work->message);
    return outcome == PML_DONE ? pml_pages_load(work->store, &work->before, &work->old, work->message) : outcome;
}

static pml_outcome carry_over(struct work *work)
{
    memcpy(work->state.pack, work->info.id, PML_ID_SIZE);
    work->state.settings = work->before.settings;
    work->state.voter_count = work->before.voter_count;
    work->state.voters = malloc(((size_t)work->before.voter_count + 1) * sizeof *work->state.voters);
    if (!work->state.voters)
        return pml_say_memory(work->message);
    memcpy(work->state.voters, work->before.voters, work->before.voter_count * sizeof *work->state.voters);
    return pml_voters_load(work->store, &work->before, &work->voters, work->message);
}

static pml_outcome change_neighbours(struct work *work)
{
    struct pml_neighbours known = {0};
    pml_outcome outcome =
        pml_neighbours_load(work->store, &work->before, &work->old, work->info.slots, &known, work->message);
    if (outcome == PML_DONE)
        outcome = find_neighbours(work, &known);
    free(known.places);
    return outcome;
}

static pml_outcome change_all(struct work *work, const struct pml_change_job *job)
{
    pml_outcome outcome = load_before(work);
    work->report->inputs_at_fault = outcome == PML_REFUSED;
    if (outcome != PML_DONE)
        return outcome;
    work->record.keep = job->keep > 0 ? job->keep : work->record.keep;
    outcome = pml_succession_make(&work->succession, &work->old, &job->items, job->removed, job->removed_count,
                                  work->message);
    work->report->inputs_at_fault = outcome == PML_REFUSED;
    if (outcome == PML_DONE)
        outcome = carry_over(work);
    if (outcome == PML_DONE)
        outcome = write_rows(work);
    if (outcome == PML_DONE && lists_have_a_length(work))
        outcome = change_neighbours(work);
    if (outcome == PML_DONE)
        outcome = make_parts(work);
    return outcome == PML_DONE ? publish(work) : outcome;
}

/* ---- both ---- */

/* One of the two jobs; the other is NULL. */
static pml_outcome do_job(struct pml_store *store, const struct pml_index_job *index,
                          const struct pml_change_job *change, struct pml_change_report *report,
                          struct pml_message *message)
{
    struct work work = {.store = store,
                        .pack = index ? index->pack : change->pack,
                        .newcomers = index ? &index->items : &change->items,
                        .working = index ? &index->working : &change->working,
                        .report = report,
                        .message = message};
    pml_outcome outcome = begin(&work);
    if (outcome == PML_DONE)
        outcome = index ? index_all(&work, index) : change_all(&work, change);
    end(&work);
    return outcome;
}

pml_outcome pml_gallery_index(struct pml_store *store, const struct pml_index_job *job,
                              struct pml_change_report *report, struct pml_message *message)
{
    return do_job(store, job, NULL, report, message);
}

pml_outcome pml_gallery_change(struct pml_store *store, const struct pml_change_job *job,
                               struct pml_change_report *report, struct pml_message *message)
{
    return do_job(store, NULL, job, report, message);
}

pml_outcome pml_gallery_last(struct pml_store *store, const uint8_t pack[PML_ID_SIZE], uint64_t *last,
                             struct pml_message *message)
{
    struct pml_record record = {0};
    struct pml_state state = {0};
    struct pml_pointer pointer = {0};
    pml_outcome outcome = pml_store_pointer(store, pack, &pointer);
    if (outcome == PML_DONE || outcome == PML_ABSENT)
        outcome = can_change(&pointer, message);
    else
        pml_blob_say(outcome, "the pointer of the pack", message);
    if (outcome == PML_DONE)
        outcome = pml_record_load(store, &pointer.record, &record, message);
    if (outcome == PML_DONE)
        outcome = pml_state_load(store, &record.history[0].state, &state, message);
    if (outcome == PML_DONE)
        outcome = pml_pages_last(store, &state, last, message);
    pml_record_free(&record);
    pml_state_free(&state);
    return outcome;
}
