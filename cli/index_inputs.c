/* SPDX-License-Identifier: Apache-2.0
 * Reads the gallery to be indexed, and checks that rows, numbers, slots and payloads fit the pack and one another. */
#include "index_inputs.h"

#include "common/digest.h"
#include "common/files.h"
#include "server/index/index_lists.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* One number per line. */
static exit_code read_ids(const struct command *command, const char *path, uint64_t *items, size_t rows)
{
    struct pml_message message = {""};
    uint8_t *bytes = NULL;
    size_t size = 0, line = 0;
    pml_outcome outcome = pml_file_read(path, SIZE_MAX / 2, &bytes, &size, &message);
    exit_code code = EXIT_OK;
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    const char *at = (const char *)bytes, *end = at + size;
    for (; at < end && code == EXIT_OK; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at)), *stop = next ? next : end;
        if (stop > at && stop[-1] == '\r')
            stop--;
        uint64_t item;
        if (!index_number_read(at, stop, &item))
            code = command_fail(command, EXIT_INPUT,
                                "%s: line %zu is not a whole number from 0 to 9223372036854775807. Give one per line.",
                                path, line + 1);
        else if (line < rows)
            items[line] = item;
        at = next ? next + 1 : end;
    }
    if (code == EXIT_OK && line != rows)
        code =
            command_fail(command, EXIT_INPUT, "%s has %zu lines, but there are %zu rows of features. Give one per row.",
                         path, line, rows);
    free(bytes);
    return code;
}

static int by_number(const void *left, const void *right)
{
    const struct index_number *a = left, *b = right;
    if (a->item != b->item)
        return a->item < b->item ? -1 : 1;
    return a->row < b->row ? -1 : 1;
}

/* Numbers must be all different. Payloads are found by number. */
static exit_code take_numbers(const struct command *command, const struct index_paths *paths,
                              struct index_inputs *inputs)
{
    const size_t rows = inputs->count;
    struct index_number *numbers = calloc(rows, sizeof *numbers);
    inputs->items = calloc(rows, sizeof *inputs->items);
    exit_code code = numbers && inputs->items ? EXIT_OK : command_no_memory(command);
    for (size_t i = 0; i < rows && code == EXIT_OK; i++)
        inputs->items[i] = i;
    if (code == EXIT_OK && paths->ids)
        code = read_ids(command, paths->ids, inputs->items, rows);
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
    exit_code code = read_rows(command, paths->features, paths->labels, paths->modality, pack, &inputs->gallery);
    inputs->count = inputs->gallery.features.rows;
    if (code == EXIT_OK)
        code = take_slots(command, paths, pack, &inputs->gallery);
    if (code == EXIT_OK && paths->voters)
        code = read_rows(command, paths->voters, paths->voters_labels, paths->voters_modality, pack, &inputs->voters);
    if (code == EXIT_OK)
        code = seat_voters(command, pack, &inputs->voters);
    if (code == EXIT_OK)
        code = take_numbers(command, paths, inputs);
    return code;
}

exit_code index_inputs_map(const struct command *command, const struct index_paths *paths, const struct pack_file *pack,
                           unsigned threads, struct index_inputs *inputs)
{
    exit_code code = map_rows(command, paths->features, pack, threads, &inputs->gallery);
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
    *inputs = (struct index_inputs){0};
}

static uint64_t digest_options(const struct pml_store_info *info)
{
    uint64_t digest = pml_digest_string(0, info->pack, sizeof info->pack);
    digest = pml_digest_number(digest, info->cells_per_item);
    digest = pml_digest_number(digest, info->share);
    return pml_digest_number(digest, info->iterations);
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

exit_code index_inputs_digest(const struct command *command, struct index_inputs *inputs,
                              const struct pml_store_info *info, uint8_t source[32])
{
    const size_t rows = inputs->count;
    uint64_t parts[4] = {digest_options(info), digest_features(&inputs->gallery)};
    if (inputs->voters.features.rows > 0) {
        parts[1] = pml_digest_number(parts[1], digest_features(&inputs->voters));
        parts[1] = digest_labels(parts[1], &inputs->voters.labels);
    }
    parts[2] = digest_labels(0, &inputs->gallery.labels);
    parts[2] = pml_digest_string(parts[2], inputs->items, rows * sizeof *inputs->items);
    exit_code code = digest_payloads(command, inputs, &parts[3]);
    for (size_t i = 0; i < 32; i++)
        source[i] = (uint8_t)(parts[i / 8] >> 8 * (i % 8));
    return code;
}
