/* SPDX-License-Identifier: Apache-2.0
 * Reads the rows of a map, from a file or from a store. */
#include "map_inputs.h"

#include "server/store/store.h"

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

struct taking {
    struct map_inputs *inputs;
    size_t taken;
};

static pml_outcome take_item(void *context, size_t index, const struct pml_fragment *fragment)
{
    struct taking *taking = context;
    struct pml_rows *rows = &taking->inputs->rows;
    struct pml_candidate candidate;
    size_t offset = 0;
    if (index >= rows->count || !pml_candidate_read(fragment->bytes.bytes, fragment->bytes.size, &offset, &candidate) ||
        candidate.sketch_size != rows->columns)
        return PML_DAMAGED;
    memcpy(rows->values + index * rows->columns, candidate.sketch, rows->columns);
    pml_rows_measure(rows, index);
    taking->inputs->labels.values[index] = candidate.label;
    taking->taken++;
    return rows->squared[index] > 0 ? PML_DONE : PML_DAMAGED;
}

static exit_code take_items(const char *shown, struct pml_store *store, struct map_inputs *inputs)
{
    const struct pml_store_info *info = pml_store_describe(store);
    struct taking taking = {inputs, 0};
    if (inputs->pack.bytes && memcmp(info->pack, inputs->pack.info.id, PML_ID_SIZE) != 0)
        return command_fail(&command_map, EXIT_INPUT, "%s was indexed with another pack. Give that one as --pack.",
                            shown);
    if (info->sketch == 0)
        return command_fail(&command_map, EXIT_INPUT, "%s has no sketches. Index with a pack that has them.", shown);
    inputs->labels.values = malloc(info->items * sizeof *inputs->labels.values);
    inputs->labels.rows = (size_t)info->items;
    if (!inputs->labels.values || pml_rows_allocate(&inputs->rows, (size_t)info->items, info->sketch) != PML_DONE)
        return command_no_memory(&command_map);
    pml_outcome outcome = pml_store_items(store, take_item, &taking);
    if (outcome == PML_NO_MEMORY)
        return command_no_memory(&command_map);
    if (outcome != PML_DONE || taking.taken != inputs->rows.count)
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
    pml_outcome outcome =
        pml_store_open(&store, paths->store, inputs->pack.bytes ? inputs->pack.info.id : NULL, &message);
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
