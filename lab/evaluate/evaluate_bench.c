/* SPDX-License-Identifier: Apache-2.0
 * In: public rows, a gallery, a number of cells, a share. Out: a service that answers releases.
 * Never sees a query. */
#include "evaluate_bench.h"

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
    return pml_cells_round((double)options->cells_per_item / share); /* every item in so many: m = L/f */
}

/* ---- the pack, and what depends on it alone ---- */

static void drop_pack(struct evaluate_bench *bench)
{
    if (bench->cells > 0)
        pack_file_close(&bench->pack);
    bench->cells = 0;
}

static int build_pack(struct evaluate_bench *bench, unsigned cells)
{
    const struct evaluate_options *options = bench->options;
    const struct evaluate_set *set = &bench->data->public;
    const struct pml_build_options build = {.cells = cells,
                                            .slots = options->slots,
                                            .slot_count = (unsigned)options->slot_count,
                                            .sketch = (unsigned)options->sketch,
                                            .rows_per_prototype = (unsigned)options->rows_per_prototype,
                                            .rows_are_public = 1, /* nobody gets this pack */
                                            .gaussian = options->mechanism == PML_GAUSSIAN,
                                            .seed = options->seed,
                                            .threads = (unsigned)options->threads};
    struct pml_message message = {""};
    struct pml_build_report report;
    uint8_t *bytes = NULL;
    size_t size = 0;
    int failed = pml_pack_build(&set->features, set->labels.values ? &set->labels : NULL, &build, &bytes, &size,
                                &report, &message);
    if (failed)
        return command_input(command, failed, &message);
    int status = pack_file_adopt(&bench->pack, bytes, size);
    if (status != PML_OK) {
        free(bytes);
        return command_status(command, "the pack", status);
    }
    bench->cells = cells;
    return -1;
}

/* Slots of the gallery. When they are not what they were, the lists begin anew. */
static int take_slots(struct evaluate_bench *bench)
{
    const struct evaluate_set *sets[] = {&bench->data->gallery, &bench->data->queries};
    static const char *const names[] = {"gallery", "queries"};
    bool changed = false;
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
    return -1;
}

static int sketch_item(void *context, size_t index)
{
    const struct evaluate_bench *bench = context;
    const struct pml_features *features = &bench->data->gallery.features;
    const size_t width = bench->pack.info.sketch;
    int8_t row[PML_FEATURES_MAX], *sketch = bench->sketches + index * width;
    if (pml_quantise(features->values + index * features->columns, features->columns, row) != PML_OK ||
        pml_sketch(&bench->pack.pack, pml_rows_kernels(), row, sketch) != PML_OK)
        return -1;
    bench->inverse[index] = pml_inverse_norm(sketch, width);
    return 0;
}

static int set_pack(struct evaluate_bench *bench, unsigned cells)
{
    const size_t rows = bench->data->gallery.features.rows;
    drop_pack(bench);
    int code = build_pack(bench, cells);
    if (code >= 0)
        return code;
    if (!bench->items) {
        bench->items = malloc(rows * sizeof *bench->items);
        bench->slots = calloc(rows, sizeof *bench->slots);
        bench->inverse = malloc(rows * sizeof *bench->inverse);
        bench->popular = malloc(rows * sizeof *bench->popular);
        for (size_t i = 0; bench->items && i < rows; i++)
            bench->items[i] = i;
    }
    free(bench->sketches);
    bench->sketches = malloc(rows * bench->pack.info.sketch);
    if (!bench->items || !bench->slots || !bench->inverse || !bench->popular || !bench->sketches)
        return command_no_memory(command);
    if (pml_parallel((unsigned)bench->options->threads, rows, sketch_item, bench, NULL) != 0)
        return command_status(command, "the gallery's sketches", PML_ERROR_FEATURES);
    return take_slots(bench);
}

/* ---- the store ---- */

static void drop_service(struct evaluate_bench *bench)
{
    pml_service_close(bench->service);
    pml_store_close(bench->store);
    bench->service = NULL;
    bench->store = NULL;
}

/* Who is near whom, and who is near many: of these slots. −1 without memory. */
static int know_gallery(struct evaluate_bench *bench)
{
    const struct pml_features *features = &bench->data->gallery.features;
    const struct pml_lists_source source = {.features = features->values,
                                            .rows = features->rows,
                                            .columns = features->columns,
                                            .slots = bench->slots,
                                            .slot_count = bench->pack.info.slots,
                                            .items = bench->items,
                                            .threads = (unsigned)bench->options->threads};
    size_t bad;
    if (bench->gallery)
        return 0;
    return pml_lists_gallery_make(&bench->gallery, &source, &bad) != 0 ||
                   pml_lists_popular(bench->gallery, bench->popular) != 0
               ? -1
               : 0;
}

static int fill_store(struct evaluate_bench *bench, const struct pml_store_info *info, struct pml_message *message)
{
    const struct evaluate_set *set = &bench->data->gallery;
    const unsigned threads = (unsigned)bench->options->threads;
    struct pml_cell_lists lists = {0};
    struct pml_embedding *frames = NULL;
    struct pml_store_writer *writer;
    const struct pml_gallery gallery = {.features = &set->features,
                                        .items = bench->items,
                                        .labels = set->labels.values,
                                        .slots = bench->slots,
                                        .lists = &lists};
    int failed = pml_store_memory_make(&bench->store, &writer, info, message);
    if (!failed && know_gallery(bench) != 0)
        failed = PML_NO_MEMORY;
    if (!failed && info->share > 0 &&
        pml_lists_make(&lists, bench->gallery, &bench->pack.pack, info->share, threads, NULL) != 0)
        failed = PML_NO_MEMORY;
    if (!failed && info->dimensions > 0)
        failed = pml_embedding_make(&frames, &bench->pack.pack, info->iterations, threads, NULL, message);
    if (!failed)
        failed = pml_index_fill(writer, info, &bench->pack.pack, frames, &gallery, 0, threads, NULL, message);
    if (!failed)
        failed = pml_store_finish(writer, message);
    pml_embedding_free(frames);
    pml_lists_free(&lists);
    return failed;
}

int evaluate_bench_set(struct evaluate_bench *bench, unsigned cells, double share)
{
    const struct evaluate_options *options = bench->options;
    const size_t rows = bench->data->gallery.features.rows;
    struct pml_message message = {"there is no memory. Close other programs."};
    int code = bench->cells == cells ? -1 : set_pack(bench, cells);
    if (code >= 0)
        return code;
    const bool own = options->mechanism == PML_GAUSSIAN || options->cells_per_item > 0;
    const struct pml_index_choice choice = {.cells_per_item =
                                                options->cells_per_item > 0 ? (uint32_t)options->cells_per_item : 1,
                                            .share = own ? 0 : (uint32_t)(share * PML_SHARE_UNIT + 0.5),
                                            .iterations = PML_ITERATIONS_DEFAULT};
    const struct pml_store_info info = pml_index_describe(&bench->pack.info, rows, &choice);
    const double nearest = share * (double)rows / bench->pack.info.slots + 0.5; /* the Gaussian's: M = f·N/G */
    const struct pml_service_options serving = {.nearest = nearest < 1.0 ? 1 : (uint32_t)nearest,
                                                .threads = (unsigned)options->threads};
    drop_service(bench);
    int failed = fill_store(bench, &info, &message);
    if (!failed)
        failed = pml_service_open(&bench->service, &bench->pack.pack, bench->store, &serving, &message);
    return failed ? command_input(command, failed, &message) : -1;
}

void evaluate_bench_close(struct evaluate_bench *bench)
{
    drop_service(bench);
    drop_pack(bench);
    pml_lists_gallery_free(bench->gallery);
    free(bench->items);
    free(bench->slots);
    free(bench->sketches);
    free(bench->inverse);
    free(bench->popular);
}
