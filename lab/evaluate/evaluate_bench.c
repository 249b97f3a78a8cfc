/* SPDX-License-Identifier: Apache-2.0
 * Builds a pack and a service that answers releases. This file never sees a query. */
#include "evaluate_bench.h"
#include "evaluate_noiseless.h"

#include "server/index/gallery_items.h"
#include "server/lists/index_own.h"
#include "server/index/index_parts.h"
#include "server/store/store.h"
#include "tools/pack/cells_rule.h"
#include "tools/pack/pack_builder.h"

#include <stdlib.h>
#include <string.h>

static const struct command *const command = &command_evaluate;

unsigned evaluate_bench_cells(const struct evaluate_options *options, double epsilon, double share)
{
    if (options->mechanism == PML_GAUSSIAN)
        return 2;
    if (options->cells > 0)
        return (unsigned)options->cells;
    if (options->cells_per_item == 0)
        return pml_cells_rule(epsilon, share);
    return pml_cells_round((double)options->cells_per_item / share); /* every item is in L cells: m = L/f */
}

/* ---- the pack, and what depends on it alone ---- */

static void drop_pack(struct evaluate_bench *bench)
{
    if (bench->cells > 0)
        pack_file_close(&bench->pack);
    bench->cells = 0;
}

/* Cells of a given number are refined for pack's own choice of a share, others for that of the lists. */
static double refined_share(const struct evaluate_options *options, double share)
{
    return options->cells > 0 || options->cells_per_item > 0 || options->mechanism == PML_GAUSSIAN ? 0.0 : share;
}

static exit_code build_pack(struct evaluate_bench *bench, unsigned cells, double share, bool crowd)
{
    const struct evaluate_options *options = bench->options;
    const struct evaluate_set *set = &bench->data->public, *gallery = &bench->data->gallery;
    const struct pml_build_options build = {.cells = cells,
                                            .slots = options->slots,
                                            .slot_count = (unsigned)options->slot_count,
                                            .sketch = (unsigned)options->sketch,
                                            .plain_sketches = options->plain_sketches,
                                            .rows_per_prototype = (unsigned)options->rows_per_prototype,
                                            .soft = crowd || options->soft,
                                            /* The Gaussian does not look at cells. */
                                            .refine = options->mechanism == PML_GAUSSIAN ? -1 : options->refine,
                                            .list_share = refined_share(options, share),
                                            .gallery = options->with_gallery ? &gallery->features : NULL,
                                            .gallery_modality = gallery->modality,
                                            .rows_are_public = 1, /* the pack never leaves this process */
                                            .gaussian = options->mechanism == PML_GAUSSIAN,
                                            .codes = options->mechanism == PML_GAUSSIAN ? (enum pml_codes)options->codes
                                                                                        : PML_CODES_RANDOM,
                                            .dimensions = (unsigned)options->dims,
                                            .neighbours = (unsigned)options->neighbours,
                                            .fronts = &bench->data->fronts.fronts,
                                            .modality = set->modality,
                                            .with = bench->data->fronts.with,
                                            .seed = options->seed,
                                            .threads = (unsigned)options->threads};
    struct pml_message message = {""};
    struct pml_build_report report;
    uint8_t *bytes = NULL;
    size_t size = 0;
    pml_outcome outcome = pml_pack_build(&set->features, set->labels.values ? &set->labels : NULL, &build, &bytes,
                                         &size, &report, &message);
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    pml_status status = pack_file_adopt(&bench->pack, bytes, size);
    if (status != PML_OK) {
        free(bytes);
        return command_status(command, "the pack", status);
    }
    bench->cells = cells;
    bench->crowd = crowd;
    bench->share = refined_share(options, share);
    return EXIT_OK;
}

/* Slots that the voters vote in; a class that the pack lacks has none. Returns whether they changed. */
static bool seat_voters(struct evaluate_bench *bench)
{
    const struct pml_labels *labels = &bench->data->voters.labels;
    bool changed = false;
    for (size_t i = 0; labels->values && i < labels->rows; i++) {
        uint32_t slot;
        if (pml_pack_slot(&bench->pack.pack, labels->values[i], &slot) != PML_OK)
            slot = PML_LISTS_NO_SLOT;
        changed = changed || bench->voter_slots[i] != slot;
        bench->voter_slots[i] = slot;
    }
    return changed;
}

/* Slots of the gallery. When they change, the lists are made again. */
static exit_code take_slots(struct evaluate_bench *bench)
{
    const struct evaluate_set *sets[] = {&bench->data->gallery, &bench->data->queries};
    static const char *const names[] = {"gallery", "queries"};
    bool changed = seat_voters(bench);
    for (size_t which = 0; which < 2; which++) {
        for (size_t i = 0; i < sets[which]->features.rows; i++) {
            const int32_t label = sets[which]->labels.values ? sets[which]->labels.values[i] : 0;
            uint32_t slot;
            if (pml_pack_slot(&bench->pack.pack, label, &slot) != PML_OK)
                return command_fail(command, EXIT_INPUT,
                                    "row %zu of the %s has a class that no public row has. Leave that row out, or give "
                                    "public rows of all classes.",
                                    i, names[which]);
            if (which == 0) {
                changed = changed || bench->slots[i] != slot;
                bench->slots[i] = slot;
            }
        }
    }
    if (changed) {
        pml_lists_gallery_free(bench->gallery);
        bench->gallery = NULL;
    }
    return EXIT_OK;
}

static exit_code set_pack(struct evaluate_bench *bench, unsigned cells, double share, bool crowd)
{
    const size_t rows = bench->data->gallery.features.rows;
    drop_pack(bench);
    exit_code code = build_pack(bench, cells, share, crowd);
    if (code != EXIT_OK)
        return code;
    if (!bench->items) {
        bench->items = malloc(rows * sizeof *bench->items);
        bench->slots = calloc(rows, sizeof *bench->slots);
        bench->popular = malloc(rows * sizeof *bench->popular);
        if (bench->data->voters.labels.values)
            bench->voter_slots = calloc(bench->data->voters.labels.rows, sizeof *bench->voter_slots);
        for (size_t i = 0; bench->items && i < rows; i++)
            bench->items[i] = i;
    }
    if (!bench->items || !bench->slots || !bench->popular || (bench->data->voters.labels.values && !bench->voter_slots))
        return command_no_memory(command);
    return take_slots(bench);
}

/* ---- cells in a crowd ---- */

enum { FEWEST = 2 }; /* cells */

static exit_code count_slots(struct evaluate_bench *bench, size_t *slots)
{
    *slots = 1;
    if (bench->options->slots == PML_SLOTS_ONE)
        return EXIT_OK;
    exit_code code = bench->cells > 0 ? EXIT_OK : set_pack(bench, FEWEST, PML_SHARE_DEFAULT, true);
    if (code == EXIT_OK)
        *slots = bench->pack.info.slots;
    return code;
}

/* The rule wants the share of all that comes down, fakes' answers included, and says how it is divided: the total is
 * raised until the rule gives the own messages the share that was asked for. A symbol needs about as many fakes in any
 * pack, so the pack of fewest cells tells how many. */
exit_code evaluate_bench_crowd_cells(struct evaluate_bench *bench, double epsilon, double share, unsigned *cells)
{
    enum { ROUNDS = 50 };
    const struct evaluate_options *options = bench->options;
    struct crowd_promise promise;
    size_t slots;
    *cells = (unsigned)options->cells;
    if (options->cells > 0)
        return EXIT_OK;
    exit_code code = count_slots(bench, &slots);
    if (code == EXIT_OK)
        code = crowd_policy_make(command, &options->crowd, epsilon, options->delta, slots * FEWEST, &promise);
    if (code != EXIT_OK)
        return code;
    const double fakes = options->crowd.relay ? 0.0 : promise.fakes / (double)(slots * FEWEST);
    const size_t rows = bench->data->public.features.rows + front_inputs_rows(&bench->data->fronts) +
                        (options->with_gallery ? bench->data->gallery.features.rows : 0);
    double total = share;
    for (int round = 0; round < ROUNDS; round++) {
        *cells = pml_cells_rule_crowd(total, fakes, options->crowd.floor, rows, slots).cells;
        total = 0.5 * (total + share * (1.0 + fakes * (double)slots * *cells));
    }
    return EXIT_OK;
}

/* ---- the store ---- */

static void drop_service(struct evaluate_bench *bench)
{
    pml_service_unref(bench->service);
    pml_cache_close(bench->cache);
    pml_store_close(bench->store);
    bench->service = NULL;
    bench->cache = NULL;
    bench->store = NULL;
}

/* Finds which items of these slots are near one another, and which are near many. */
static pml_outcome know_gallery(struct evaluate_bench *bench)
{
    const struct evaluate_data *data = bench->data;
    const struct pml_lists_source source = {.rows = &data->gallery.rows,
                                            .slots = bench->slots,
                                            .slot_count = bench->pack.info.slots,
                                            .items = bench->items,
                                            .voters = data->voters.rows.count > 0 ? &data->voters.rows : NULL,
                                            .voter_slots = bench->voter_slots,
                                            .threads = (unsigned)bench->options->threads};
    if (bench->gallery)
        return PML_DONE;
    if (pml_lists_gallery_make(&bench->gallery, &source) != PML_DONE ||
        pml_lists_popular(bench->gallery, bench->popular) != PML_DONE)
        return PML_NO_MEMORY;
    return PML_DONE;
}

/* Every cell lists a share of its own slot; with a share of 0 items are in the lists of their own cells. The Gaussian needs
 * no lists. */
static pml_outcome make_lists(const struct evaluate_bench *bench, uint32_t share, struct pml_cell_lists *lists)
{
    const struct evaluate_options *options = bench->options;
    const unsigned threads = (unsigned)options->threads;
    if (options->mechanism == PML_GAUSSIAN)
        return PML_DONE;
    if (share == 0)
        return pml_lists_own(lists, &bench->pack.pack, &bench->data->gallery.rows, bench->slots,
                             (uint32_t)options->cells_per_item, threads);
    uint32_t *wanted = malloc(bench->pack.info.slots * sizeof *wanted);
    if (!wanted)
        return PML_NO_MEMORY;
    pml_lists_wanted_each(bench->gallery, share, wanted);
    const pml_outcome outcome = pml_lists_make(lists, bench->gallery, &bench->pack.pack, wanted, threads, NULL);
    free(wanted);
    return outcome;
}

/* Sketches and places of all items. */
static pml_outcome describe_items(const struct evaluate_bench *bench, struct pml_items *items,
                                  struct pml_message *message)
{
    const struct evaluate_set *set = &bench->data->gallery;
    const unsigned threads = (unsigned)bench->options->threads;
    const struct pml_newcomers newcomers = {
        .rows = &set->rows, .items = bench->items, .labels = set->labels.values, .slots = bench->slots};
    const struct pml_items nobody = {0};
    struct pml_succession succession;
    struct pml_embedding *embedding = NULL;
    pml_outcome outcome = pml_succession_make(&succession, &nobody, &newcomers, NULL, 0, message);
    if (outcome == PML_DONE && bench->pack.info.anchors > 0)
        outcome = pml_embedding_make(&embedding, &bench->pack.pack, (unsigned)bench->options->iterations, threads, NULL,
                                     message);
    if (outcome == PML_DONE)
        outcome =
            pml_items_follow(items, &nobody, &succession, &newcomers, &bench->pack.pack, embedding, threads, message);
    pml_embedding_free(embedding);
    pml_succession_free(&succession);
    return outcome;
}

static pml_outcome put_version(const struct evaluate_bench *bench, const struct pml_manifest *manifest,
                               struct pml_message *message)
{
    struct pml_bytes bytes = {0};
    struct pml_pointer pointer = {0};
    pml_outcome outcome = pml_manifest_write(manifest, &bytes);
    if (outcome == PML_DONE)
        outcome = pml_store_put(bench->store, PML_PARTS, bytes.bytes, bytes.size, &pointer.version, message);
    if (outcome == PML_DONE)
        outcome = pml_store_switch(bench->store, manifest->pack, &pointer, message);
    pml_bytes_free(&bytes);
    return outcome;
}

/* `share` in millionths. */
static pml_outcome fill_store(struct evaluate_bench *bench, uint32_t share, struct pml_message *message)
{
    struct pml_cell_lists lists = {0};
    struct pml_items items = {0};
    struct pml_manifest manifest = {0};
    struct pml_parts_report report;
    pml_outcome outcome = pml_store_memory_open(&bench->store);
    if (outcome == PML_DONE)
        outcome = know_gallery(bench);
    if (outcome == PML_DONE)
        outcome = make_lists(bench, share, &lists);
    if (outcome == PML_DONE)
        outcome = describe_items(bench, &items, message);
    const struct pml_parts_source source = {.pack = &bench->pack.pack,
                                            .count = items.count,
                                            .items = items.numbers,
                                            .labels = items.labels,
                                            .slots = items.slots,
                                            .sketches = items.sketches,
                                            .lists = lists.starts ? &lists : NULL,
                                            .list = share > 0 ? 1 : 0, /* it differs from slot to slot */
                                            .places = items.dimensions > 0 ? items.places : NULL,
                                            .iterations = (uint32_t)bench->options->iterations,
                                            .threads = (unsigned)bench->options->threads};
    if (outcome == PML_DONE)
        outcome = pml_parts_make(bench->store, &source, &manifest, &report, message);
    if (outcome == PML_DONE)
        outcome = put_version(bench, &manifest, message);
    pml_manifest_free(&manifest);
    pml_items_free(&items);
    pml_lists_free(&lists);
    return outcome;
}

/* Parts are proved when they are read from the store, so they are read once. */
static pml_outcome open_service(struct evaluate_bench *bench, uint32_t nearest, struct pml_message *message)
{
    const struct pml_service_options options = {
        .nearest = nearest, .threads = (unsigned)bench->options->threads, .cache = bench->cache};
    if (!bench->cache)
        return PML_NO_MEMORY;
    pml_outcome outcome = pml_service_open(&bench->service, &bench->pack.pack, bench->store, &options, message);
    return outcome == PML_DONE ? pml_service_fill_cache(bench->service) : outcome;
}

static pml_outcome measure_noiseless(struct evaluate_bench *bench, uint32_t nearest, struct pml_message *message)
{
    free(bench->noiseless);
    bench->noiseless = malloc(bench->data->queries.features.rows * sizeof *bench->noiseless);
    return bench->noiseless ? evaluate_noiseless(bench, nearest, bench->noiseless, message) : PML_NO_MEMORY;
}

exit_code evaluate_bench_set(struct evaluate_bench *bench, unsigned cells, double share, bool crowd)
{
    const struct evaluate_options *options = bench->options;
    const size_t rows = bench->data->gallery.features.rows;
    struct pml_message message = {"out of memory. Close other programs."};
    const double refined = refined_share(options, share);
    const bool ready =
        bench->cells == cells && bench->crowd == crowd && !(bench->share < refined) && !(bench->share > refined);
    exit_code code = ready ? EXIT_OK : set_pack(bench, cells, share, crowd);
    if (code != EXIT_OK)
        return code;
    const bool own = options->mechanism == PML_GAUSSIAN || options->cells_per_item > 0;
    const double share_nearest = share * (double)rows / bench->pack.info.slots + 0.5; /* the Gaussian's: M = f·N/G */
    const uint32_t nearest = share_nearest < 1.0 ? 1 : (uint32_t)share_nearest;
    drop_service(bench);
    bench->cache = pml_cache_open(SIZE_MAX / 2);
    pml_outcome outcome = fill_store(bench, own ? 0 : (uint32_t)(share * PML_SHARE_UNIT + 0.5), &message);
    if (outcome == PML_DONE)
        outcome = open_service(bench, nearest, &message);
    if (outcome == PML_DONE && options->mechanism == PML_GAUSSIAN)
        outcome = measure_noiseless(bench, nearest, &message);
    return outcome != PML_DONE ? command_input(command, outcome, &message) : EXIT_OK;
}

void evaluate_bench_close(struct evaluate_bench *bench)
{
    drop_service(bench);
    drop_pack(bench);
    pml_lists_gallery_free(bench->gallery);
    free(bench->items);
    free(bench->slots);
    free(bench->voter_slots);
    free(bench->popular);
    free(bench->noiseless);
}
