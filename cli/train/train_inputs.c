/* SPDX-License-Identifier: Apache-2.0
 * Reads what fronts are trained with, and refuses what does not belong together. */
#include "train_inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

exit_code train_pair_read(const char *option, const char *text, struct train_pair *pair)
{
    *pair = (struct train_pair){0};
    if (!text)
        return EXIT_OK;
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    if (length == 0 || length > PML_MODALITY_NAME_MAX || text[length] != '=' || text[length + 1] == 0)
        return command_fail(&command_train, EXIT_USAGE,
                            "--%s needs the name of a modality (1 to %u of a-z, 0-9, _ and -) and a file, such as "
                            "text=text.npy.",
                            option, PML_MODALITY_NAME_MAX);
    memcpy(pair->name, text, length);
    pair->path = text + length + 1;
    return EXIT_OK;
}

static exit_code refuse_negative(const char *path, const struct pml_features *features)
{
    for (size_t i = 0; i < features->rows * features->columns; i++)
        if (features->values[i] < 0.0f)
            return command_fail(
                &command_train, EXIT_INPUT,
                "%s: row %zu (counting from 0) holds a negative number, which has no root. Leave --root "
                "out.",
                path, i / features->columns);
    return EXIT_OK;
}

static exit_code read_rows(const char *path, bool root, size_t rows, struct pml_features *features)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_features_read(path, features, &message);
    if (outcome != PML_DONE)
        return command_input(&command_train, outcome, &message);
    if (rows != 0 && features->rows != rows)
        return command_fail(&command_train, EXIT_INPUT,
                            "%s has %zu rows, but the first modality has %zu. Give pairs: row i of both belongs "
                            "together.",
                            path, features->rows, rows);
    if (features->rows > UINT32_MAX / 2)
        return command_fail(&command_train, EXIT_INPUT, "%s has too many rows. Give fewer.", path);
    return root ? refuse_negative(path, features) : EXIT_OK;
}

static exit_code read_labels(const struct train_paths *paths, struct train_inputs *inputs)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_labels_read(paths->labels, &inputs->labels, &message);
    if (outcome != PML_DONE)
        return command_input(&command_train, outcome, &message);
    if (inputs->labels.rows != inputs->features[0].rows)
        return command_fail(&command_train, EXIT_INPUT,
                            "%s has %zu labels, but %s has %zu rows. Give one label per row.", paths->labels,
                            inputs->labels.rows, paths->features, inputs->features[0].rows);
    return EXIT_OK;
}

static exit_code read_uncertainty(const char *path, struct train_inputs *inputs)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_variances_read(path, &inputs->uncertainty, &message);
    return outcome == PML_DONE ? EXIT_OK : command_input(&command_train, outcome, &message);
}

exit_code train_inputs_read(const struct train_paths *paths, bool root, struct train_inputs *inputs)
{
    *inputs = (struct train_inputs){0};
    exit_code code = read_rows(paths->features, root, 0, &inputs->features[0]);
    const size_t rows = inputs->features[0].rows;
    if (code == EXIT_OK && paths->with)
        code = read_rows(paths->with, root, rows, &inputs->features[1]);
    if (code == EXIT_OK && paths->labels)
        code = read_labels(paths, inputs);
    if (code == EXIT_OK && paths->uncertainty)
        code = read_uncertainty(paths->uncertainty, inputs);
    if (code != EXIT_OK)
        return code;
    inputs->indices = malloc((rows + 1) * sizeof *inputs->indices);
    if (!inputs->indices)
        return command_no_memory(&command_train);
    for (size_t i = 0; i < rows; i++)
        inputs->indices[i] = (uint32_t)i;
    inputs->set = (struct pml_train_set){.features = {&inputs->features[0], &inputs->features[1]},
                                         .modalities = paths->with ? 2 : 1,
                                         .labels = inputs->labels.values,
                                         .uncertainty = paths->uncertainty ? &inputs->uncertainty : NULL,
                                         .indices = inputs->indices,
                                         .count = rows,
                                         .root = root};
    return EXIT_OK;
}

void train_inputs_free(struct train_inputs *inputs)
{
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        pml_features_free(&inputs->features[v]);
    pml_labels_free(&inputs->labels);
    pml_features_free(&inputs->uncertainty);
    free(inputs->indices);
    *inputs = (struct train_inputs){0};
}

exit_code train_inputs_agree(const struct train_inputs *train, const struct train_inputs *test,
                             const struct train_paths *paths)
{
    const char *names[] = {paths->features, paths->with};
    for (size_t v = 0; v < test->set.modalities; v++)
        if (test->features[v].columns != train->features[v].columns)
            return command_fail(
                &command_train, EXIT_INPUT,
                "%s has %zu features per row, but those trained with have %zu. Use features of the same "
                "model.",
                names[v], test->features[v].columns, train->features[v].columns);
    return EXIT_OK;
}
