/* SPDX-License-Identifier: Apache-2.0
 * Builds a pack by calling the stages in order. Each stage is a file of its own. */
#include "pack_builder.h"
#include "build_options.h"
#include "build_rows.h"
#include "cells.h"
#include "cells_choice.h"
#include "common/generator.h"
#include "common/message.h"
#include "common/rows/knn.h"
#include "pack_bytes.h"
#include "privatemail_public.h"
#include "tools/sketch/projection.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PML_WITH_GAUSSIAN
#define PML_WITH_GAUSSIAN 1
#endif

struct build {
    struct pml_build_options options;
    struct pml_message *message;
    struct pml_progress progress;
    struct pml_rows rows;             /* public; as they came, then ordered by slot */
    struct pml_rows all;              /* with those of the gallery behind them; none without a gallery */
    const struct pml_rows *cell_rows; /* either of them: what cells are made of, with … */
    const uint32_t *cell_starts;      /* … where each slot begins */
    uint32_t all_starts[2];           /* of the only slot */
    struct pml_labels labels;         /* of the rows as they came */
    struct pml_slot_map map;
    struct pml_code_book codes;
    size_t prototype_count; /* of a slot */
    int8_t *prototypes;
    uint32_t *prototype_cells;     /* the cell of each, within its slot */
    uint32_t *cells;               /* of each anchor, likewise */
    size_t *distinct;              /* prototypes of each slot that do not repeat */
    bool *thin;                    /* slots with fewer rows than a prototype is the mean of */
    int8_t *projection;            /* of plain sketches, or NULL, and … */
    struct pml_sketch_coder coder; /* … coded ones */
    uint32_t *lists;
    double bandwidth;
};

static void begin_stage(struct build *build, const char *name)
{
    build->progress.stage = name;
    pml_progress_tell(&build->progress, 0.0);
}

/* ---- rows and slots ---- */

static pml_outcome map_rows(struct build *build, const struct pml_features *features, const struct pml_labels *labels)
{
    begin_stage(build, "features");
    pml_outcome outcome = pml_build_rows(&build->rows, &build->options, features, &build->progress, build->message);
    const int needed = build->options.slots != PML_SLOTS_ONE || build->options.codes == PML_CODES_LDA;
    if (outcome == PML_DONE && labels && labels->values && needed &&
        pml_build_rows_labels(&build->labels, &build->options, features, labels) != PML_DONE)
        outcome = pml_say_memory(build->message);
    return outcome;
}

static pml_outcome order_rows(struct build *build)
{
    struct pml_rows ordered;
    if (pml_rows_gather(&build->rows, build->map.order, build->rows.count, &ordered) != PML_DONE)
        return pml_say_memory(build->message);
    pml_rows_free(&build->rows);
    build->rows = ordered;
    return PML_DONE;
}

static pml_outcome make_slots(struct build *build)
{
    const struct pml_build_options *options = &build->options;
    begin_stage(build, "slots");
    pml_outcome outcome = pml_slots_build(&build->map, &build->rows, &build->labels, options->slots,
                                          options->slot_count, options->seed, options->threads, build->message);
    if (outcome != PML_DONE)
        return outcome;
    const unsigned factor = options->prototypes_per_cell > 0 ? options->prototypes_per_cell : 1; /* the least */
    if ((uint64_t)build->map.slots * options->cells * factor > PML_PROTOTYPES_MAX)
        return pml_say(
            build->message,
            "%zu slots of %u cells with %u prototypes each are more than the %u prototypes a pack holds: give "
            "fewer --cells, slots or --prototypes-per-cell.",
            build->map.slots, options->cells, factor, PML_PROTOTYPES_MAX);
    return order_rows(build);
}

/* Cells and prototypes are made of public rows and those of the gallery, everything else of public rows. */
static pml_outcome add_gallery(struct build *build)
{
    const struct pml_build_options *options = &build->options;
    build->cell_rows = &build->rows;
    build->cell_starts = build->map.starts;
    if (!options->gallery || options->gallery->rows == 0)
        return PML_DONE;
    pml_outcome outcome = pml_build_rows_gallery(&build->all, &build->rows, options, build->message);
    build->cell_rows = &build->all;
    build->cell_starts = build->all_starts;
    build->all_starts[1] = (uint32_t)build->all.count;
    return outcome;
}

/* ---- lists, bandwidth, codes ---- */

static pml_outcome find_neighbours(struct build *build)
{
    const struct pml_build_options *options = &build->options;
    if (!options->gaussian)
        return PML_DONE;
    begin_stage(build, "neighbours");
    build->lists = malloc(build->rows.count * options->neighbours * sizeof *build->lists);
    if (!build->lists ||
        pml_knn(&build->rows, options->neighbours, options->threads, &build->progress, build->lists) != PML_DONE)
        return pml_say_memory(build->message);
    build->bandwidth = options->bandwidth;
    if (!(build->bandwidth > 0.0) &&
        pml_knn_bandwidth(&build->rows, options->neighbours, build->lists, &build->bandwidth) != PML_DONE)
        return pml_say_memory(build->message);
    if (!(build->bandwidth > 0.0))
        return pml_say(build->message,
                       "Every row has %u equal ones, so no bandwidth can be found: give --bandwidth, or remove "
                       "duplicates.",
                       options->neighbours);
    return PML_DONE;
}

static pml_outcome make_codes(struct build *build)
{
    const struct pml_build_options *options = &build->options;
    begin_stage(build, "codes");
    const struct pml_code_source source = {
        .rows = &build->rows,
        .starts = build->map.starts,
        .slots = build->map.slots,
        .labels = build->labels.values,
        .order = build->map.order,
        .lists = build->lists,
        .neighbours = options->neighbours,
        .seed = options->seed,
        .threads = options->threads,
        .progress = &build->progress,
    };
    build->codes.dimensions = options->dimensions;
    pml_outcome outcome = pml_codes_make(&build->codes, options->codes, &source, build->message);
    build->options.dimensions = build->codes.dimensions;
    return outcome;
}

/* ---- cells and sketches ---- */

static struct pml_cell_choice choice_of(const struct build *build)
{
    const struct pml_build_options *options = &build->options;
    return (struct pml_cell_choice){
        .rows = build->cell_rows,
        .starts = build->cell_starts,
        .slots = build->map.slots,
        .cells = options->cells,
        .rows_per_prototype = options->rows_per_prototype,
        .seed = options->seed,
        .threads = options->threads,
        .progress = &build->progress,
    };
}

static pml_outcome count_prototypes(struct build *build)
{
    unsigned factor = build->options.prototypes_per_cell;
    if (factor == 0) {
        begin_stage(build, "prototypes per cell");
        const struct pml_cell_choice choice = choice_of(build);
        if (pml_cells_choose(&choice, &factor) != PML_DONE)
            return pml_say_memory(build->message);
    }
    build->prototype_count = (size_t)build->options.cells * factor;
    return PML_DONE;
}

static pml_outcome make_cells_of(void *context, size_t slot)
{
    struct build *build = context;
    const struct pml_build_options *options = &build->options;
    const size_t first = build->cell_starts[slot], before = slot * build->prototype_count;
    const struct pml_rows rows = pml_rows_slice(build->cell_rows, first, build->cell_starts[slot + 1] - first);
    struct pml_generator generator = pml_generator_start(options->seed, PML_STREAM_CELLS + slot);
    const int alone = build->map.slots == 1,
              listed = alone && build->lists && !build->all.count && options->neighbours >= PML_CELL_NEIGHBOURS;
    const struct pml_cell_plan plan = {
        .cells = options->cells,
        .prototypes = build->prototype_count,
        .public_count = build->all.count > 0 ? build->rows.count : rows.count,
        .rows_per_prototype = options->rows_per_prototype,
        .soft = options->soft != 0,
        .rounds = (unsigned)options->refine,
        .share = options->list_share,
        .seed = pml_generator_next(&generator),
        /* Slots run side by side; a single one is shared out inside. */
        .threads = alone ? options->threads : 1,
        .progress = alone ? &build->progress : NULL,
        .lists = listed ? build->lists : NULL,
        .list_length = options->neighbours,
    };
    struct pml_cells result = {
        .prototypes = build->prototypes + before * rows.columns,
        .of_prototypes = build->prototype_cells + before,
        .of_rows = build->cells + first,
    };
    if (pml_cells_build(&rows, &plan, &result) != PML_DONE)
        return PML_NO_MEMORY;
    build->distinct[slot] = result.distinct;
    build->thin[slot] = result.thin;
    return pml_codes_average(&build->codes, slot, build->map.starts, result.of_rows, plan.cells,
                             result.distinct < plan.cells ? result.distinct : plan.cells);
}

/* Where every slot has prototypes that only repeat others, these are left out. */
static void drop_repeated(struct build *build)
{
    const size_t slots = build->map.slots, columns = build->rows.columns, made = build->prototype_count;
    size_t most = build->options.cells;
    for (size_t s = 0; s < slots; s++)
        most = build->distinct[s] > most ? build->distinct[s] : most;
    for (size_t s = 1; s < slots; s++) {
        memmove(build->prototypes + s * most * columns, build->prototypes + s * made * columns, most * columns);
        memmove(build->prototype_cells + s * most, build->prototype_cells + s * made,
                most * sizeof *build->prototype_cells);
    }
    build->prototype_count = most;
}

/* What devices get must not show a row that is not public. */
static pml_outcome check_thin(const struct build *build)
{
    const unsigned least = build->options.rows_per_prototype;
    size_t slot = 0;
    while (slot < build->map.slots && !build->thin[slot])
        slot++;
    if ((build->options.rows_are_public && !build->all.count) || slot == build->map.slots)
        return PML_DONE;
    if (build->all.count > 0)
        return pml_say(build->message, "No cell has %u different rows: leave --gallery out.", least);
    char whose[48] = "The features have";
    if (build->options.slots == PML_SLOTS_CLASS)
        snprintf(whose, sizeof whose, "Class %d has", (int)build->map.labels[slot]);
    else if (build->options.slots == PML_SLOTS_GROUP)
        snprintf(whose, sizeof whose, "Group %zu of classes has", slot);
    return pml_say(
        build->message,
        "%s fewer than %u different rows (or rows that cancel out), and everybody who has the pack could read "
        "them from it: give more rows, or --slots one; if all rows are public, add --rows-are-public.",
        whose, least);
}

static pml_outcome fill_cells(struct build *build)
{
    const size_t slots = build->map.slots, prototypes = slots * build->prototype_count;
    begin_stage(build, "cells");
    free(build->prototypes);
    free(build->prototype_cells);
    build->prototypes = malloc(prototypes * build->rows.columns);
    build->prototype_cells = malloc(prototypes * sizeof *build->prototype_cells);
    if (!build->prototypes || !build->prototype_cells)
        return PML_NO_MEMORY;
    return pml_parallel(build->options.threads, slots, make_cells_of, build, &build->progress);
}

static pml_outcome make_cells(struct build *build)
{
    const struct pml_cell_choice choice = choice_of(build);
    const size_t slots = choice.slots;
    pml_outcome outcome = count_prototypes(build);
    if (outcome != PML_DONE)
        return outcome;
    build->codes.cells = malloc(slots * choice.cells * build->options.dimensions * sizeof *build->codes.cells);
    build->cells = malloc(choice.rows->count * sizeof *build->cells);
    build->distinct = malloc(slots * sizeof *build->distinct);
    build->thin = malloc(slots * sizeof *build->thin);
    if (!build->codes.cells || !build->cells || !build->distinct || !build->thin)
        return pml_say_memory(build->message);
    outcome = fill_cells(build);
    if (outcome == PML_DONE && build->options.prototypes_per_cell == 0 && build->prototype_count == choice.cells &&
        pml_cells_need_two(&choice, build->distinct)) {
        build->prototype_count *= 2;
        outcome = fill_cells(build);
    }
    if (outcome != PML_DONE)
        return pml_say_memory(build->message);
    drop_repeated(build);
    return check_thin(build);
}

static pml_outcome make_sketches(struct build *build)
{
    struct pml_build_options *options = &build->options;
    begin_stage(build, "sketches");
    if (!options->plain_sketches) {
        if (pml_sketch_coder_make(&build->coder, &build->rows, options->sketch, options->seed, options->threads,
                                  &build->progress) != PML_DONE)
            return pml_say_memory(build->message);
        options->sketch = (unsigned)build->coder.bytes;
        return PML_DONE;
    }
    build->projection = malloc(options->sketch * build->rows.columns);
    if (!build->projection || pml_projection_make(&build->rows, options->sketch, options->seed, options->threads,
                                                  &build->progress, build->projection) != PML_DONE)
        return pml_say_memory(build->message);
    return PML_DONE;
}

/* ---- bytes ---- */

static uint32_t lambda_of(double bandwidth)
{
    double lambda = floor(65536.0 / (bandwidth * bandwidth) + 0.5);
    return lambda < 1.0 ? 1 : lambda >= 4294967295.0 ? UINT32_MAX : (uint32_t)lambda;
}

/* The builder must not return a pack that a device would refuse. */
static pml_outcome check_pack(const struct build *build, const uint8_t *bytes, size_t size)
{
    pml_pack pack;
    pml_status status = pml_pack_open_with(&pack, bytes, size, NULL, NULL, pml_rows_kernels());
    if (status != PML_OK)
        return pml_say(build->message, "The pack does not open (%s): this is a fault of the builder, please report it.",
                       pml_status_text(status));
#if PML_WITH_GAUSSIAN
    if (!build->options.gaussian)
        return PML_DONE;
    pml_certificate certificate;
    const size_t count = build->map.slots * build->options.dimensions + 2 * (size_t)build->options.neighbours;
    int64_t *scratch = malloc(count * sizeof *scratch);
    if (!scratch)
        return pml_say_memory(build->message);
    status = pml_pack_certify(&pack, scratch, count, &certificate);
    free(scratch);
    if (status == PML_ERROR_SENSITIVITY && build->options.alpha > 0.0)
        return pml_say(build->message,
                       "Alpha %g with bandwidth %g makes the sensitivity so large that devices refuse the pack: give a "
                       "smaller --alpha or a larger --bandwidth.",
                       build->options.alpha, build->bandwidth);
    if (status != PML_OK)
        return pml_say(build->message, "The pack cannot be certified (%s): give another --seed.",
                       pml_status_text(status));
#endif
    return PML_DONE;
}

static pml_outcome write_pack(struct build *build, uint8_t **bytes, size_t *size)
{
    const struct pml_build_options *options = &build->options;
    begin_stage(build, "bytes");
    struct pml_pack_parts parts = {
        .slot_kind = options->slots,
        .map = &build->map,
        .anchors = &build->rows,
        .codes = &build->codes,
        .prototypes = build->prototypes,
        .prototype_cells = build->prototype_cells,
        .lists = build->lists,
        .projection = build->projection,
        .coder = options->plain_sketches ? NULL : &build->coder,
        .cells = options->cells,
        .prototype_count = (uint32_t)build->prototype_count,
        .neighbours = options->neighbours,
        .lambda = lambda_of(build->bandwidth),
        .alpha = (uint32_t)floor(256.0 * options->alpha + 0.5),
        .sketch = options->sketch,
        .response_only = !options->gaussian,
        .model = options->model,
        .fronts = options->fronts,
        .head = options->head,
    };
    if (pml_pack_bytes(&parts, bytes, size) != PML_DONE)
        return pml_say_memory(build->message);
    pml_outcome outcome = check_pack(build, *bytes, *size);
    if (outcome != PML_DONE) {
        free(*bytes);
        *bytes = NULL;
        *size = 0;
        return outcome;
    }
    pml_progress_tell(&build->progress, 1.0);
    return PML_DONE;
}

static void fill_report(const struct build *build, struct pml_build_report *report)
{
    *report = (struct pml_build_report){
        .anchors = build->options.gaussian ? build->rows.count : 0,
        .classes = build->map.classes,
        .slots = build->map.slots,
        .cells = build->options.cells,
        .prototypes = build->prototype_count,
        .sketch = build->options.sketch,
        .gallery = build->all.count > 0 ? build->all.count - build->rows.count : 0,
        .rows_per_prototype = build->options.rows_per_prototype,
        .refine = (size_t)build->options.refine,
        .share = build->options.share,
        .epsilon = build->options.epsilon,
        .bandwidth = build->options.gaussian ? sqrt(65536.0 / lambda_of(build->bandwidth)) : 0.0,
        .bandwidth_raised = build->options.gaussian && 65536.0 / UINT32_MAX > build->bandwidth * build->bandwidth,
    };
    for (size_t s = 0; s < build->map.slots; s++)
        report->repeated += build->prototype_count - build->distinct[s];
}

static void free_build(struct build *build)
{
    pml_rows_free(&build->rows);
    pml_rows_free(&build->all);
    pml_labels_free(&build->labels);
    pml_slots_free(&build->map);
    free(build->codes.slots);
    free(build->codes.anchors);
    free(build->codes.cells);
    free(build->prototypes);
    free(build->prototype_cells);
    free(build->projection);
    pml_sketch_coder_free(&build->coder);
    free(build->cells);
    free(build->distinct);
    free(build->thin);
    free(build->lists);
}

pml_outcome pml_pack_build(const struct pml_features *features, const struct pml_labels *labels,
                           const struct pml_build_options *options, uint8_t **pack, size_t *size,
                           struct pml_build_report *report, struct pml_message *message)
{
    struct build build = {.options = *options, .message = message};
    build.progress = (struct pml_progress){options->progress, options->progress_context, NULL};
    *pack = NULL;
    *size = 0;
    if (message)
        message->text[0] = 0;
    pml_outcome outcome = pml_options_resolve(&build.options, features, labels, message);
    if (outcome == PML_DONE)
        outcome = map_rows(&build, features, labels);
    if (outcome == PML_DONE)
        outcome = make_slots(&build);
    if (outcome == PML_DONE)
        outcome = find_neighbours(&build);
    if (outcome == PML_DONE)
        outcome = make_codes(&build);
    if (outcome == PML_DONE)
        outcome = add_gallery(&build);
    if (outcome == PML_DONE)
        outcome = make_cells(&build);
    if (outcome == PML_DONE)
        outcome = make_sketches(&build);
    if (outcome == PML_DONE)
        outcome = write_pack(&build, pack, size);
    if (outcome == PML_DONE && report)
        fill_report(&build, report);
    free_build(&build);
    return outcome;
}
