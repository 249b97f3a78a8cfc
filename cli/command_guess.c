/* SPDX-License-Identifier: Apache-2.0
 * guess: the likeliest labels of features, by the head of a pack, for the eyes of the person who asks. */
#include "cli/shared/pack_file.h"

#include "common/rows/look_rows.h"

#include <privatemail_platform.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *pack, *features, *modality, *model;
    uint64_t row, count, looks;
    bool row_given, json;
};

static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    struct option_spec specs[] = {
        {"row", OPTION_COUNT, &arguments->row, false, false},
        {"pack", OPTION_TEXT, &arguments->pack, true, false},
        {"features", OPTION_TEXT, &arguments->features, true, false},
        {"modality", OPTION_TEXT, &arguments->modality, false, false},
        {"model", OPTION_TEXT, &arguments->model, false, false},
        {"count", OPTION_COUNT, &arguments->count, false, false},
        {"looks", OPTION_COUNT, &arguments->looks, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
    };
    exit_code code = options_parse(&command_guess, argc, argv, specs, sizeof specs / sizeof *specs, NULL, 0, 0);
    const struct count_limit limits[] = {{"count", arguments->count, 1, PML_GUESSES_MAX},
                                         {"looks", arguments->looks, 1, PML_LOOKS_MAX}};
    arguments->row_given = specs[0].given;
    return code == EXIT_OK ? options_check_limits(&command_guess, limits, 2, false) : code;
}

static exit_code read_features(const struct arguments *arguments, const struct pack_file *file,
                               struct pml_features *features)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_features_read(arguments->features, features, &message);
    if (outcome != PML_DONE)
        return command_input(&command_guess, outcome, &message);
    exit_code code = pack_file_columns(&command_guess, file, file->modality, arguments->features, features->columns);
    if (code != EXIT_OK)
        return code;
    outcome = pml_look_rows(features, (size_t)arguments->looks, arguments->features, &message);
    if (outcome != PML_DONE)
        return command_input(&command_guess, outcome, &message);
    if (arguments->row_given && arguments->row >= features->rows)
        return command_fail(&command_guess, EXIT_USAGE, "%s has %zu rows%s. Give a smaller --row.", arguments->features,
                            features->rows, arguments->looks > 1 ? ", each of several looks" : "");
    return EXIT_OK;
}

static void print_row(size_t row, const pml_guess *guesses, size_t count)
{
    printf("row %zu:", row);
    for (size_t i = 0; i < count; i++)
        printf(" %" PRId32 " (%.4g)", guesses[i].label, (double)guesses[i].score);
    putchar('\n');
}

static void write_row(struct json *json, size_t row, const pml_guess *guesses, size_t count)
{
    json_open(json, NULL, '{');
    json_count(json, "row", row);
    json_open(json, "guesses", '[');
    for (size_t i = 0; i < count; i++) {
        json_open(json, NULL, '{');
        json_integer(json, "label", guesses[i].label);
        json_integer(json, "score", guesses[i].score);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static exit_code guess_rows(const struct arguments *arguments, const struct pack_file *file,
                            const struct pml_features *features)
{
    const size_t size = pml_guess_size(&file->pack), first = arguments->row_given ? (size_t)arguments->row : 0,
                 end = arguments->row_given ? first + 1 : features->rows,
                 count = arguments->count < file->info.labels ? (size_t)arguments->count : file->info.labels;
    void *memory = malloc(size + 1);
    struct json json = {0};
    pml_guess guesses[PML_GUESSES_MAX];
    pml_status status = PML_OK;
    if (!memory)
        return command_no_memory(&command_guess);
    if (arguments->json) {
        json_open(&json, NULL, '{');
        json_text(&json, "pack", file->id);
        json_count(&json, "labels", file->info.labels);
        json_open(&json, "rows", '[');
    }
    for (size_t i = first; i < end && status == PML_OK; i++) {
        const pml_query query = {.features = features->values + i * features->columns,
                                 .count = features->columns,
                                 .modality = file->modality};
        status = pml_pack_guess(&file->pack, pml_platform_kernels(), &query, memory, size, guesses, count);
        if (status == PML_OK && arguments->json)
            write_row(&json, i, guesses, count);
        else if (status == PML_OK)
            print_row(i, guesses, count);
    }
    if (arguments->json) {
        json_close(&json, ']');
        json_close(&json, '}');
    }
    memset(guesses, 0, sizeof guesses);
    free(memory);
    return status == PML_OK ? EXIT_OK : command_status(&command_guess, arguments->features, status);
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {.count = 5, .looks = 1};
    struct pack_file file = {0};
    struct pml_features features = {0};
    exit_code code = parse(argc, argv, &arguments);
    if (code == EXIT_OK)
        code = pack_file_open_pinned(&command_guess, arguments.pack, NULL, arguments.model, &file);
    if (code != EXIT_OK)
        return code;
    if (file.info.labels == 0)
        code =
            command_fail(&command_guess, EXIT_INPUT,
                         "%s has no head. Make one with privatemail train --head, and the pack with privatemail pack "
                         "--head.",
                         arguments.pack);
    if (code == EXIT_OK)
        code = pack_file_ask(&command_guess, &file, arguments.modality);
    if (code == EXIT_OK)
        code = read_features(&arguments, &file, &features);
    if (code == EXIT_OK)
        code = guess_rows(&arguments, &file, &features);
    pml_features_free(&features);
    pack_file_close(&file);
    return code;
}

static const char help[] =
    "Usage: privatemail guess --pack P.pmpk --features Q.npy [OPTIONS]\n\n"
    "Tells the likeliest labels of every row, by the head of the pack, as a device does. What it prints is as private "
    "as\n"
    "the features: it is for the person who asks. Such a label can be given to privatemail query --label.\n\n"
    "Options:\n"
    "  --pack P.pmpk      a pack with a head (privatemail pack --head)\n"
    "  --features Q.npy   float32, rows of features\n"
    "  --row N            only this row, counting from 0\n"
    "  --modality NAME    whose features they are. Default: the first modality of the pack\n"
    "  --model NAME       refuse a pack of another model\n"
    "  --count N          labels per row, 1 to 64. Default 5, or all if there are fewer\n"
    "  --looks N          every N rows that follow each other are looks at one photo, 1 to 512; their mean is asked.\n"
    "                     Default 1\n"
    "  --json             JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help             this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 stdout cannot be written, 7 "
    "out\n"
    "of memory.\n\n"
    "Example: privatemail guess --pack birds.pmpk --features photo.npy --count 3\n";

const struct command command_guess = {"guess", "tell the likeliest labels of features", help, run};
