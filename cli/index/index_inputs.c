/* SPDX-License-Identifier: Apache-2.0
 * Reads the gallery to be indexed, and checks that rows, numbers, slots and payloads fit the pack and one another. */
#include "index_inputs.h"

#include "common/digest.h"
#include "common/files.h"
#include "server/lists/index_lists.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* One number per line. `items` is to be freed. */
static exit_code read_ids(const struct command *command, const char *path, uint64_t **items, size_t *count)
{
    struct pml_message message = {""};
    uint8_t *bytes = NULL;
    size_t size = 0, lines = 1;
    pml_outcome outcome = pml_file_read(path, SIZE_MAX / 2, &bytes, &size, &message);
    exit_code code = EXIT_OK;
    *count = 0;
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    *items = malloc(lines * sizeof **items);
    if (!*items)
        code = command_no_memory(command);
    const char *at = (const char *)bytes, *end = at + size;
    for (; at < end && code == EXIT_OK; ++*count) {
        const char *next = memchr(at, '\n', (size_t)(end - at)), *stop = next ? next : end;
        if (stop > at && stop[-1] == '\r')
            stop--;
        if (!index_number_read(at, stop, &(*items)[*count]))
            code = command_fail(command, EXIT_INPUT,
                                "%s: line %zu is not a whole number from 0 to 9223372036854775807. Give one per line.",
                                path, *count + 1);
        at = next ? next + 1 : end;
    }
    free(bytes);
    return code;
}

static exit_code read_numbers(const struct command *command, const char *path, struct index_inputs *inputs)
{
    size_t lines;
    exit_code code = read_ids(command, path, &inputs->items, &lines);
    if (code == EXIT_OK && lines != inputs->count)
        code =
            command_fail(command, EXIT_INPUT, "%s has %zu lines, but there are %zu rows of features. Give one per row.",
                         path, lines, inputs->count);
    return code;
}

static exit_code count_up(const struct command *command, uint64_t first, struct index_inputs *inputs)
{
    inputs->items = malloc((inputs->count + 1) * sizeof *inputs->items);
    if (!inputs->items)
        return command_no_memory(command);
    if (first > (uint64_t)INT64_MAX - inputs->count)
        return command_fail(command, EXIT_INPUT,
                            "there are no numbers left behind the largest of the gallery. Give numbers by --ids.");
    for (size_t i = 0; i < inputs->count; i++)
        inputs->items[i] = first + i;
    return EXIT_OK;
}

static int by_number(const void *left, const void *right)
{
    const struct index_number *a = left, *b = right;
    if (a->item != b->item)
        return a->item < b->item ? -1 : 1;
    return a->row < b->row ? -1 : 1;
}

/* Numbers must be all different. Payloads are found by number. */
exit_code index_inputs_number(const struct command *command, const struct index_paths *paths, uint64_t first,
                              struct index_inputs *inputs)
{
    const size_t rows = inputs->count;
    struct index_number *numbers = calloc(rows + 1, sizeof *numbers);
    exit_code code = numbers ? EXIT_OK : command_no_memory(command);
    if (code == EXIT_OK)
        code = paths->ids ? read_numbers(command, paths->ids, inputs) : count_up(command, first, inputs);
    for (size_t i = 0; i < rows && code == EXIT_OK; i++)
        numbers[i] = (struct index_number){inputs->items[i], i};
    if (code == EXIT_OK)
        qsort(numbers, rows, sizeof *numbers, by_number);
    for (size_t i = 1; i < rows && code == EXIT_OK; i++) {
        if (numbers[i].item == numbers[i - 1].item)
            code = command_fail(command, EXIT_INPUT, "%s: lines %zu and %zu are both %llu. Use every number once.",
                                paths->ids, numbers[i - 1].row + 1, numbers[i].row + 1,
                                (unsigned long long)numbers[i].item);
    }
    if (code == EXIT_OK && paths->payloads)
        code = index_payloads_find(command, paths->payloads, numbers, rows, &inputs->payloads);
    free(numbers);
    return code;
}

/* ---- rows ---- */

static exit_code read_rows(const struct command *command, const char *features, const char *labels,
                           const char *modality, const struct pack_file *pack, struct index_rows *rows)
{
    struct pml_message message = {""};
    exit_code code = pack_file_modality(command, pack, modality, &rows->modality);
    if (code != EXIT_OK)
        return code;
    pml_outcome outcome = pml_features_read(features, &rows->features, &message);
    if (outcome == PML_DONE && labels)
        outcome = pml_labels_read(labels, &rows->labels, &message);
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    code = pack_file_columns(command, pack, rows->modality, features, rows->features.columns);
    if (code == EXIT_OK && labels && rows->labels.rows != rows->features.rows)
        code = command_fail(command, EXIT_INPUT, "%s has %zu labels, but %s has %zu rows. Give one label per row.",
                            labels, rows->labels.rows, features, rows->features.rows);
    return code;
}

static exit_code take_slots(const struct command *command, const struct index_paths *paths,
                            const struct pack_file *pack, struct index_rows *gallery)
{
    gallery->slots = calloc(gallery->features.rows, sizeof *gallery->slots);
    if (!gallery->slots)
        return command_no_memory(command);
    for (size_t i = 0; i < gallery->features.rows; i++) {
        int32_t label = gallery->labels.values ? gallery->labels.values[i] : 0;
        if (pml_pack_slot(&pack->pack, label, &gallery->slots[i]) != PML_OK)
            return command_fail(command, EXIT_INPUT,
                                "%s: row %zu has class %ld, which the pack does not know. Leave that row out, or build "
                                "a pack with that class.",
                                paths->labels, i, (long)label);
    }
    return EXIT_OK;
}

/* Public rows may have more classes than the pack: such a row votes nowhere. */
static exit_code seat_voters(const struct command *command, const struct pack_file *pack, struct index_rows *voters)
{
    if (!voters->labels.values)
        return EXIT_OK;
    voters->slots = calloc(voters->features.rows, sizeof *voters->slots);
    if (!voters->slots)
        return command_no_memory(command);
    for (size_t i = 0; i < voters->features.rows; i++) {
        if (pml_pack_slot(&pack->pack, voters->labels.values[i], &voters->slots[i]) != PML_OK)
            voters->slots[i] = PML_LISTS_NO_SLOT;
    }
    return EXIT_OK;
}

static exit_code map_rows(const struct command *command, const char *path, const struct pack_file *pack,
                          unsigned threads, struct index_rows *rows)
{
    const struct pml_progress progress = {progress_show, NULL, "features"};
    pml_front front;
    size_t bad = 0;
    const pml_status status = pml_pack_front(&pack->pack, rows->modality, &front);
    if (status != PML_OK)
        return command_status(command, path, status);
    if (pml_rows_allocate(&rows->rows, rows->features.rows, front.outputs) != PML_DONE ||
        pml_rows_map(&rows->rows, &front, rows->features.values, threads, &progress, &bad) != PML_DONE)
        return command_no_memory(command);
    if (bad < rows->rows.count)
        return command_fail(command, EXIT_INPUT,
                            "%s: the pack's front maps row %zu (counting from 0) to zeros. Leave that row out.", path,
                            bad);
    pml_features_free(&rows->features);
    return EXIT_OK;
}

/* ---- all of it ---- */

exit_code index_inputs_read(const struct command *command, const struct index_paths *paths,
                            const struct pack_file *pack, struct index_inputs *inputs)
{
    exit_code code = EXIT_OK;
    if (paths->features)
        code = read_rows(command, paths->features, paths->labels, paths->modality, pack, &inputs->gallery);
    inputs->count = inputs->gallery.features.rows;
    if (code == EXIT_OK && paths->features)
        code = take_slots(command, paths, pack, &inputs->gallery);
    if (code == EXIT_OK && paths->voters)
        code = read_rows(command, paths->voters, paths->voters_labels, paths->voters_modality, pack, &inputs->voters);
    if (code == EXIT_OK)
        code = seat_voters(command, pack, &inputs->voters);
    if (code == EXIT_OK && paths->removed)
        code = read_ids(command, paths->removed, &inputs->removed, &inputs->removed_count);
    return code;
}

exit_code index_inputs_map(const struct command *command, const struct index_paths *paths, const struct pack_file *pack,
                           unsigned threads, struct index_inputs *inputs)
{
    exit_code code = EXIT_OK;
    if (paths->features)
        code = map_rows(command, paths->features, pack, threads, &inputs->gallery);
    if (code == EXIT_OK && paths->voters)
        code = map_rows(command, paths->voters, pack, threads, &inputs->voters);
    progress_end();
    return code;
}

static void free_rows(struct index_rows *rows)
{
    pml_features_free(&rows->features);
    pml_labels_free(&rows->labels);
    pml_rows_free(&rows->rows);
    free(rows->slots);
}

void index_inputs_free(struct index_inputs *inputs)
{
    free_rows(&inputs->gallery);
    free_rows(&inputs->voters);
    index_payloads_free(&inputs->payloads);
    free(inputs->items);
    free(inputs->removed);
    *inputs = (struct index_inputs){0};
}

static uint64_t digest_settings(const pml_pack_info *pack, const struct pml_settings *settings)
{
    uint64_t digest = pml_digest_string(0, pack->id, sizeof pack->id);
    digest = pml_digest_number(digest, settings->cells_per_item);
    digest = pml_digest_number(digest, settings->list);
    return pml_digest_number(digest, settings->iterations);
}

static exit_code digest_payloads(const struct command *command, struct index_inputs *inputs, uint64_t *digest)
{
    struct pml_message message = {""};
    const size_t rows = inputs->count;
    for (size_t i = 0; i < rows && inputs->payloads.found > 0; i++) {
        const uint8_t *bytes;
        size_t size;
        pml_outcome outcome = index_payloads_load(&inputs->payloads, i, &bytes, &size, &message);
        if (outcome != PML_DONE)
            return command_input(command, outcome, &message);
        *digest = pml_digest_string(*digest, bytes, size);
        if (i % 1024 == 0)
            progress_show(NULL, "payloads", (double)i / (double)rows);
    }
    return EXIT_OK;
}

static uint64_t digest_labels(uint64_t digest, const struct pml_labels *labels)
{
    return labels->values ? pml_digest_string(digest, labels->values, labels->rows * sizeof *labels->values) : digest;
}

/* Without a modality other than the first, as it was before there were any. */
static uint64_t digest_features(const struct index_rows *rows)
{
    const struct pml_features *features = &rows->features;
    return pml_digest_string(rows->modality, features->values,
                             features->rows * features->columns * sizeof *features->values);
}

exit_code index_inputs_digest(const struct command *command, struct index_inputs *inputs, const struct pack_file *pack,
                              const struct pml_settings *settings, uint8_t digest[32])
{
    const size_t rows = inputs->count;
    uint64_t parts[4] = {digest_settings(&pack->info, settings), digest_features(&inputs->gallery)};
    if (inputs->voters.features.rows > 0) {
        parts[1] = pml_digest_number(parts[1], digest_features(&inputs->voters));
        parts[1] = digest_labels(parts[1], &inputs->voters.labels);
    }
    parts[2] = digest_labels(0, &inputs->gallery.labels);
    parts[2] = pml_digest_string(parts[2], inputs->items, rows * sizeof *inputs->items);
    exit_code code = digest_payloads(command, inputs, &parts[3]);
    for (size_t i = 0; i < 32; i++)
        digest[i] = (uint8_t)(parts[i / 8] >> 8 * (i % 8));
    return code;
}
