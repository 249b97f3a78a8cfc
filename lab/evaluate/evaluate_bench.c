/* SPDX-License-Identifier: Apache-2.0
 * Builds a pack and a service that answers releases. This file never sees a query. */
#include "evaluate_bench.h"
#include "evaluate_noiseless.h"

#include "server/index/index_build.h"
#include "server/store/store_memory.h"
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

static exit_code build_pack(struct evaluate_bench *bench, unsigned cells, bool crowd)
{
    const struct evaluate_options *options = bench->options;
    const struct evaluate_set *set = &bench->data->public;
    const struct pml_build_options build = {.cells = cells,
                                            .slots = options->slots,
                                            .slot_count = (unsigned)options->slot_count,
                                            .sketch = (unsigned)options->sketch,
                                            .rows_per_prototype = (unsigned)options->rows_per_prototype,
                                            .soft = crowd || options->soft,
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

static pml_outcome sketch_item(void *context, size_t index)
{
    const struct evaluate_bench *bench = context;
    const struct pml_rows *rows = &bench->data->gallery.rows;
    const size_t width = bench->pack.info.sketch;
    int8_t *sketch = bench->sketches + index * width;
    if (pml_sketch(&bench->pack.pack, pml_rows_kernels(), rows->values + index * rows->columns, sketch) != PML_OK)
        return PML_REFUSED;
    bench->inverse[index] = pml_inverse_norm(sketch, width);
    return PML_DONE;
}

static exit_code set_pack(struct evaluate_bench *bench, unsigned cells, bool crowd)
{
    const size_t rows = bench->data->gallery.features.rows;
    drop_pack(bench);
    exit_code code = build_pack(bench, cells, crowd);
    if (code != EXIT_OK)
        return code;
    if (!bench->items) {
        bench->items = malloc(rows * sizeof *bench->items);
        bench->slots = calloc(rows, sizeof *bench->slots);
        bench->inverse = malloc(rows * sizeof *bench->inverse);
        bench->popular = malloc(rows * sizeof *bench->popular);
        if (bench->data->voters.labels.values)
            bench->voter_slots = calloc(bench->data->voters.labels.rows, sizeof *bench->voter_slots);
        for (size_t i = 0; bench->items && i < rows; i++)
            bench->items[i] = i;
    }
    free(bench->sketches);
    bench->sketches = malloc(rows * bench->pack.info.sketch);
    if (!bench->items || !bench->slots || !bench->inverse || !bench->popular || !bench->sketches ||
        (bench->data->voters.labels.values && !bench->voter_slots))
        return command_no_memory(command);
    if (pml_parallel((unsigned)bench->options->threads, rows, sketch_item, bench, NULL) != PML_DONE)
        return command_status(command, "the gallery's sketches", PML_ERROR_FEATURES);
    return take_slots(bench);
}

/* ---- cells in a crowd ---- */

enum { FEWEST = 2 }; /* cells */

static exit_code count_slots(struct evaluate_bench *bench, size_t *slots)
{
    *slots = 1;
    if (bench->options->slots == PML_SLOTS_ONE)
        return EXIT_OK;
    exit_code code = bench->cells > 0 ? EXIT_OK : set_pack(bench, FEWEST, true);
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
    const size_t rows = bench->data->public.features.rows + front_inputs_rows(&bench->data->fronts);
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
    pml_service_close(bench->service);
    pml_store_close(bench->store);
    bench->service = NULL;
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

static pml_outcome fill_store(struct evaluate_bench *bench, const struct pml_store_info *info,
                              struct pml_message *message)
{
    const struct evaluate_set *set = &bench->data->gallery;
    const unsigned threads = (unsigned)bench->options->threads;
    struct pml_cell_lists lists = {0};
    struct pml_embedding *embedding = NULL;
    struct pml_store_writer *writer;
    const struct pml_gallery gallery = {.rows = &set->rows,
                                        .items = bench->items,
                                        .labels = set->labels.values,
                                        .slots = bench->slots,
                                        .lists = &lists};
    pml_outcome outcome = pml_store_memory_make(&bench->store, &writer, info, message);
    if (outcome == PML_DONE)
        outcome = know_gallery(bench);
    if (outcome == PML_DONE && info->share > 0)
        outcome = pml_lists_make(&lists, bench->gallery, &bench->pack.pack, info->share, threads, NULL);
    if (outcome == PML_DONE && info->dimensions > 0)
        outcome = pml_embedding_make(&embedding, &bench->pack.pack, info->iterations, threads, NULL, message);
    if (outcome == PML_DONE)
        outcome = pml_index_fill(writer, info, &bench->pack.pack, embedding, &gallery, 0, threads, NULL, message);
    if (outcome == PML_DONE)
        outcome = pml_store_finish(writer, message);
    pml_embedding_free(embedding);
    pml_lists_free(&lists);
    return outcome;
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
    exit_code code = bench->cells == cells && bench->crowd == crowd ? EXIT_OK : set_pack(bench, cells, crowd);
    if (code != EXIT_OK)
        return code;
    const bool own = options->mechanism == PML_GAUSSIAN || options->cells_per_item > 0;
    const struct pml_index_choice choice = {.cells_per_item =
                                                options->cells_per_item > 0 ? (uint32_t)options->cells_per_item : 1,
                                            .share = own ? 0 : (uint32_t)(share * PML_SHARE_UNIT + 0.5),
                                            .iterations = (uint32_t)options->iterations};
    const struct pml_store_info info = pml_index_describe(&bench->pack.info, rows, &choice);
    const double nearest = share * (double)rows / bench->pack.info.slots + 0.5; /* the Gaussian's: M = f·N/G */
    const struct pml_service_options serving = {.nearest = nearest < 1.0 ? 1 : (uint32_t)nearest,
                                                .threads = (unsigned)options->threads};
    drop_service(bench);
    pml_outcome outcome = fill_store(bench, &info, &message);
    if (outcome == PML_DONE)
        outcome = pml_service_open(&bench->service, &bench->pack.pack, bench->store, &serving, &message);
    if (outcome == PML_DONE && options->mechanism == PML_GAUSSIAN)
        outcome = measure_noiseless(bench, serving.nearest, &message);
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
    free(bench->sketches);
    free(bench->inverse);
    free(bench->popular);
    free(bench->noiseless);
}
