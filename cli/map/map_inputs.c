/* SPDX-License-Identifier: Apache-2.0
 * Reads the rows of a map, from a file or from a store. */
#include "map_inputs.h"

#include "server/service/service.h"

#include <stdlib.h>
#include <string.h>

void map_inputs_free(struct map_inputs *inputs)
{
    pml_rows_free(&inputs->rows);
    pml_labels_free(&inputs->labels);
    pack_file_close(&inputs->pack);
    free(inputs->colours);
    free(inputs->names);
    *inputs = (struct map_inputs){0};
}

/* ---- a file ---- */

static exit_code read_labels(const struct map_paths *paths, struct map_inputs *inputs)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_labels_read(paths->labels, &inputs->labels, &message);
    if (outcome != PML_DONE)
        return command_input(&command_map, outcome, &message);
    if (inputs->labels.rows != inputs->rows.count)
        return command_fail(&command_map, EXIT_INPUT, "%s has %zu labels, but %s has %zu rows. Give one label per row.",
                            paths->labels, inputs->labels.rows, paths->features, inputs->rows.count);
    return EXIT_OK;
}

/* Rows as they are, or as the front of the pack maps them. */
static exit_code make_rows(const struct map_paths *paths, const struct pml_features *features, unsigned threads,
                           struct map_inputs *inputs)
{
    const bool mapped = inputs->pack.bytes != NULL;
    size_t bad = features->rows;
    exit_code code = mapped ? pack_file_ask(&command_map, &inputs->pack, paths->modality) : EXIT_OK;
    if (code == EXIT_OK && mapped)
        code =
            pack_file_columns(&command_map, &inputs->pack, inputs->pack.modality, paths->features, features->columns);
    if (code == EXIT_OK && !mapped && features->columns > PML_FEATURES_MAX)
        return command_fail(&command_map, EXIT_INPUT,
                            "%s has %zu features per row; a map takes at most %u. Give a --pack with a front.",
                            paths->features, features->columns, (unsigned)PML_FEATURES_MAX);
    if (code != EXIT_OK)
        return code;
    const size_t columns = mapped ? inputs->pack.front.outputs : features->columns;
    pml_outcome outcome = pml_rows_allocate(&inputs->rows, features->rows, columns);
    if (outcome == PML_DONE)
        outcome = mapped ? pml_rows_map(&inputs->rows, &inputs->pack.front, features->values, threads, NULL, &bad)
                         : pml_rows_quantise(&inputs->rows, features->values, threads, NULL, &bad);
    if (outcome != PML_DONE)
        return command_no_memory(&command_map);
    if (bad < features->rows)
        return command_fail(&command_map, EXIT_INPUT,
                            "%s: row %zu (counting from 0) is mapped to nothing by the pack's front. Leave it out.",
                            paths->features, bad);
    return EXIT_OK;
}

static exit_code read_file(const struct map_paths *paths, unsigned threads, struct map_inputs *inputs)
{
    struct pml_features features = {0};
    struct pml_message message = {""};
    pml_outcome outcome = pml_features_read(paths->features, &features, &message);
    exit_code code = outcome == PML_DONE ? make_rows(paths, &features, threads, inputs)
                                         : command_input(&command_map, outcome, &message);
    pml_features_free(&features);
    if (code == EXIT_OK && paths->labels)
        code = read_labels(paths, inputs);
    return code;
}

/* ---- a store ---- */

/* Items of a gallery: from pages where it has places, else from its lists, which may have an item many times. Everything is
 * read twice: first the items' numbers, then what belongs into their rows. */
struct taking {
    struct map_inputs *inputs;
    struct pml_service *service;
    uint64_t *items; /* ascending and each once after the first reading */
    size_t count, room;
};

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static pml_outcome take_number(struct taking *taking, const struct pml_candidate *candidate)
{
    if (taking->count == taking->room) {
        const size_t room = 2 * taking->room + 1024;
        uint64_t *more = realloc(taking->items, room * sizeof *more);
        if (!more)
            return PML_NO_MEMORY;
        taking->items = more;
        taking->room = room;
    }
    taking->items[taking->count++] = candidate->item;
    return PML_DONE;
}

static pml_outcome take_row(struct taking *taking, const struct pml_candidate *candidate)
{
    struct pml_rows *rows = &taking->inputs->rows;
    const uint64_t *found = bsearch(&candidate->item, taking->items, taking->count, sizeof *found, by_number);
    const size_t row = found ? (size_t)(found - taking->items) : 0;
    if (!found ||
        pml_sketch_row(&taking->inputs->pack.pack, candidate->sketch, rows->values + row * rows->columns) != PML_OK)
        return PML_DAMAGED;
    pml_rows_measure(rows, row);
    taking->inputs->labels.values[row] = candidate->label;
    return rows->squared[row] > 0 ? PML_DONE : PML_DAMAGED;
}

typedef pml_outcome (*take_fn)(struct taking *taking, const struct pml_candidate *candidate);

static pml_outcome read_part(struct taking *taking, const struct pml_name *name, take_fn take)
{
    struct pml_candidate candidate;
    struct pml_list list;
    struct pml_part *part = NULL;
    pml_outcome outcome = pml_service_part(taking->service, name, &part);
    if (outcome == PML_DONE && !pml_list_open(&list, &taking->inputs->pack.info, part->bytes, part->size, 0))
        outcome = PML_DAMAGED;
    while (outcome == PML_DONE && pml_list_next(&list, &candidate))
        outcome = take(taking, &candidate);
    if (outcome == PML_DONE && list.left > 0)
        outcome = PML_DAMAGED;
    pml_part_unref(part);
    return outcome;
}

static pml_outcome read_parts(struct taking *taking, take_fn take)
{
    const struct pml_manifest *manifest = pml_service_manifest(taking->service);
    const bool pages = manifest->dimensions > 0;
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; !pages && i < (size_t)manifest->slots * manifest->cells && outcome == PML_DONE; i++)
        outcome = read_part(taking, &manifest->parts[i].name, take);
    for (uint32_t slot = 0; pages && slot < manifest->slots; slot++) {
        const struct pml_places *places = pml_service_places(taking->service, slot);
        for (size_t i = 0; i < places->page_count && outcome == PML_DONE; i++)
            outcome = read_part(taking, &places->pages[i].name, take);
    }
    return outcome;
}

static void keep_each_once(struct taking *taking)
{
    size_t kept = 0;
    if (taking->count > 0)
        qsort(taking->items, taking->count, sizeof *taking->items, by_number);
    for (size_t i = 0; i < taking->count; i++)
        if (kept == 0 || taking->items[kept - 1] != taking->items[i])
            taking->items[kept++] = taking->items[i];
    taking->count = kept;
}

static pml_outcome read_items(struct taking *taking)
{
    struct map_inputs *inputs = taking->inputs;
    const pml_pack_info *pack = &inputs->pack.info;
    pml_outcome outcome = read_parts(taking, take_number);
    if (outcome != PML_DONE)
        return outcome;
    keep_each_once(taking);
    inputs->labels.values = malloc((taking->count + 1) * sizeof *inputs->labels.values);
    inputs->labels.rows = taking->count;
    inputs->sketches = true;
    if (!inputs->labels.values || pml_rows_allocate(&inputs->rows, taking->count,
                                                    pack->directions > 0 ? pack->directions : pack->sketch) != PML_DONE)
        return PML_NO_MEMORY;
    return read_parts(taking, take_row);
}

static exit_code take_items(const char *shown, struct pml_store *store, struct map_inputs *inputs)
{
    const struct pml_service_options options = {.nearest = 1};
    struct taking taking = {.inputs = inputs};
    struct pml_message message = {""};
    if (inputs->pack.info.sketch == 0)
        return command_fail(&command_map, EXIT_INPUT, "the pack has no sketches. Index with a pack that has them.");
    pml_outcome outcome = pml_service_open(&taking.service, &inputs->pack.pack, store, &options, &message);
    if (outcome != PML_DONE)
        return command_fail(&command_map, outcome == PML_NO_MEMORY ? EXIT_FAULT : EXIT_INPUT, "%s: %s", shown,
                            message.text);
    outcome = read_items(&taking);
    pml_service_unref(taking.service);
    free(taking.items);
    if (outcome == PML_NO_MEMORY)
        return command_no_memory(&command_map);
    if (outcome != PML_DONE || inputs->rows.count == 0)
        return command_fail(&command_map, EXIT_INPUT,
                            "%s cannot be read. Check the disk, or make it again with privatemail index.", shown);
    return EXIT_OK;
}

static exit_code read_store(const struct map_paths *paths, struct map_inputs *inputs)
{
    struct pml_store *store = NULL;
    struct pml_message message = {""};
    char shown[PML_STORE_SHOWN_MAX];
    pml_store_show(paths->store, shown);
    pml_outcome outcome = pml_store_open(&store, paths->store, PML_STORE_READ, &message);
    if (outcome != PML_DONE)
        return command_input(&command_map, outcome, &message);
    const exit_code code = take_items(shown, store, inputs);
    pml_store_close(store);
    /* Items that were indexed without labels all have the same. */
    bool differ = false;
    for (size_t i = 1; code == EXIT_OK && i < inputs->labels.rows; i++)
        differ = differ || inputs->labels.values[i] != inputs->labels.values[0];
    if (!differ)
        pml_labels_free(&inputs->labels);
    return code;
}

exit_code map_inputs_read(const struct map_paths *paths, unsigned threads, struct map_inputs *inputs)
{
    *inputs = (struct map_inputs){0};
    exit_code code = paths->pack ? pack_file_open(&command_map, paths->pack, &inputs->pack) : EXIT_OK;
    if (code == EXIT_OK)
        code = paths->store ? read_store(paths, inputs) : read_file(paths, threads, inputs);
    if (code == EXIT_OK && inputs->rows.count > UINT32_MAX / 2)
        return command_fail(&command_map, EXIT_INPUT, "there are too many rows. Give fewer.");
    return code;
}
