/* SPDX-License-Identifier: Apache-2.0
 * Reads the gallery to be indexed, and checks that rows, numbers, slots and payloads fit the pack and one another. */
#include "index_inputs.h"

#include "common/digest.h"
#include "common/files.h"

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
    const size_t rows = inputs->features.rows;
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

/* ---- slots ---- */

static exit_code take_slots(const struct command *command, const struct index_paths *paths,
                            const struct pack_file *pack, struct index_inputs *inputs)
{
    const size_t rows = inputs->features.rows;
    inputs->slots = calloc(rows, sizeof *inputs->slots);
    if (!inputs->slots)
        return command_no_memory(command);
    for (size_t i = 0; i < rows; i++) {
        int32_t label = inputs->labels.values ? inputs->labels.values[i] : 0;
        if (pml_pack_slot(&pack->pack, label, &inputs->slots[i]) != PML_OK)
            return command_fail(command, EXIT_INPUT,
                                "%s: row %zu has class %ld, which the pack does not know. Leave that row out, or build "
                                "a pack with that class.",
                                paths->labels, i, (long)label);
    }
    return EXIT_OK;
}

/* ---- all of it ---- */

static exit_code check_shape(const struct command *command, const struct index_paths *paths,
                             const struct pack_file *pack, const struct index_inputs *inputs)
{
    if (inputs->features.columns != pack->info.features)
        return command_fail(
            command, EXIT_INPUT,
            "%s has %zu features per row, but the pack has %lu. Use features of the model that the pack was "
            "built with.",
            paths->features, inputs->features.columns, (unsigned long)pack->info.features);
    if (paths->labels && inputs->labels.rows != inputs->features.rows)
        return command_fail(command, EXIT_INPUT, "%s has %zu labels, but %s has %zu rows. Give one label per row.",
                            paths->labels, inputs->labels.rows, paths->features, inputs->features.rows);
    return EXIT_OK;
}

exit_code index_inputs_read(const struct command *command, const struct index_paths *paths,
                            const struct pack_file *pack, struct index_inputs *inputs)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_features_read(paths->features, &inputs->features, &message);
    if (outcome == PML_DONE && paths->labels)
        outcome = pml_labels_read(paths->labels, &inputs->labels, &message);
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    exit_code code = check_shape(command, paths, pack, inputs);
    if (code == EXIT_OK)
        code = take_slots(command, paths, pack, inputs);
    if (code == EXIT_OK)
        code = take_numbers(command, paths, inputs);
    return code;
}

void index_inputs_free(struct index_inputs *inputs)
{
    pml_features_free(&inputs->features);
    pml_labels_free(&inputs->labels);
    index_payloads_free(&inputs->payloads);
    free(inputs->items);
    free(inputs->slots);
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
    const size_t rows = inputs->features.rows;
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

exit_code index_inputs_digest(const struct command *command, struct index_inputs *inputs,
                              const struct pml_store_info *info, uint8_t source[32])
{
    const size_t rows = inputs->features.rows;
    uint64_t parts[4] = {digest_options(info)};
    parts[1] = pml_digest_string(0, inputs->features.values,
                                 rows * inputs->features.columns * sizeof *inputs->features.values);
    if (inputs->labels.values)
        parts[2] = pml_digest_string(0, inputs->labels.values, rows * sizeof *inputs->labels.values);
    parts[2] = pml_digest_string(parts[2], inputs->items, rows * sizeof *inputs->items);
    exit_code code = digest_payloads(command, inputs, &parts[3]);
    for (size_t i = 0; i < 32; i++)
        source[i] = (uint8_t)(parts[i / 8] >> 8 * (i % 8));
    return code;
}
