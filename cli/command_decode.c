/* SPDX-License-Identifier: Apache-2.0
 * decode: shows what a server sees in releases. In: releases, which may be hostile, and their pack. Out: cells, values and
 * embedding rows. */
#include "cli/shared/pack_file.h"
#include "decode_answers.h"

#include "common/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RELEASES_MAX = 1024, LABELS_SHOWN = 6 };

/* One release, or the bundle of a crowd: messages of equal length. */
struct input {
    uint8_t *bytes;
    size_t size, length;
};

/* One release, or one message of a bundle. */
struct release {
    const char *path;
    const struct pack_file *file;
    size_t message, messages; /* its place in the bundle, and how many that has; 1 for a release */
    size_t size;
    pml_release_view view;
    struct pack_slots slots;
    float *rows; /* of these slots; NULL when the pack has no codes */
};

/* Shows all releases of an input. */
static exit_code show_input(const struct input *input, const char *path, const struct pack_file *file,
                            void (*show)(void *context, const struct release *release), void *context)
{
    const size_t count = (size_t)file->info.slots * file->info.dimensions;
    float *rows = malloc((count > 0 ? count : 1) * sizeof *rows);
    pml_status status = rows ? PML_OK : PML_ERROR_MEMORY;
    for (size_t at = 0; at < input->size && status == PML_OK; at += input->length) {
        struct release release = {.path = path,
                                  .file = file,
                                  .message = at / input->length,
                                  .messages = input->size / input->length,
                                  .size = input->length};
        status = pml_release_parse(&file->pack, input->bytes + at, input->length, &release.view);
        if (status != PML_OK)
            break;
        release.slots = pack_file_slots(file, &release.view);
        const pml_status rows_status =
            count > 0 ? pml_release_rows(&file->pack, input->bytes + at, input->length, rows, count)
                      : PML_ERROR_SECTION;
        release.rows = rows_status == PML_OK ? rows : NULL;
        status = rows_status == PML_ERROR_SECTION ? PML_OK : rows_status;
        if (status == PML_OK)
            show(context, &release);
    }
    free(rows);
    if (status == PML_ERROR_MEMORY)
        return command_no_memory(&command_decode);
    return status == PML_OK ? EXIT_OK : command_status(&command_decode, path, status);
}

/* ---- text ---- */

static void print_labels(const struct pack_file *file, uint32_t slot)
{
    size_t shown = 0;
    for (size_t i = 0; i < file->info.classes; i++) {
        int32_t label;
        uint32_t of_slot;
        if (pml_pack_class(&file->pack, i, &label, &of_slot) != PML_OK || of_slot != slot)
            continue;
        if (shown++ < LABELS_SHOWN)
            printf("%s%" PRId32, shown > 1 ? " " : ", class ", label);
    }
    if (shown > LABELS_SHOWN)
        printf(" and %zu more", shown - LABELS_SHOWN);
}

static void print_release(void *context, const struct release *release)
{
    const struct pack_file *file = release->file;
    const size_t k = file->info.dimensions;
    (void)context;
    printf("%s", release->path);
    if (release->messages > 1)
        printf(", message %zu", release->message);
    printf(": %s release of pack %s, %zu bytes", mechanism_name(release->view.mechanism), file->id, release->size);
    if (release->view.mechanism == PML_GAUSSIAN)
        printf(", step %" PRIu32, release->view.step);
    putchar('\n');
    for (uint32_t slot = release->slots.first; slot < release->slots.end; slot++) {
        const size_t row = slot - release->slots.first;
        printf("  slot %" PRIu32, slot);
        print_labels(file, slot);
        if (release->view.mechanism != PML_GAUSSIAN)
            printf(": cell %" PRIu32, pack_file_cell(file, &release->view, slot));
        else
            printf(": values");
        for (size_t i = 0; i < k && release->view.mechanism == PML_GAUSSIAN; i++)
            printf(" %" PRId32, pml_release_value(&release->view, row * k + i));
        for (size_t i = 0; i < k && release->rows; i++)
            printf("%s%g", i == 0 ? ", row " : " ", (double)release->rows[row * k + i]);
        putchar('\n');
    }
}

/* ---- JSON ---- */

static void write_labels(struct json *json, const struct pack_file *file, uint32_t slot)
{
    json_open(json, "classes", '[');
    for (size_t i = 0; i < file->info.classes; i++) {
        int32_t label;
        uint32_t of_slot;
        if (pml_pack_class(&file->pack, i, &label, &of_slot) == PML_OK && of_slot == slot)
            json_integer(json, NULL, label);
    }
    json_close(json, ']');
}

static void write_slot(struct json *json, const struct release *release, uint32_t slot)
{
    const struct pack_file *file = release->file;
    const size_t k = file->info.dimensions, row = slot - release->slots.first;
    json_open(json, NULL, '{');
    json_count(json, "slot", slot);
    write_labels(json, file, slot);
    if (release->view.mechanism != PML_GAUSSIAN) {
        json_count(json, "symbol", pack_file_cell(file, &release->view, slot));
    } else {
        json_open(json, "values", '[');
        for (size_t i = 0; i < k; i++)
            json_integer(json, NULL, pml_release_value(&release->view, row * k + i));
        json_close(json, ']');
    }
    if (release->rows) {
        json_open(json, "row", '[');
        for (size_t i = 0; i < k; i++)
            json_number(json, NULL, (double)release->rows[row * k + i]);
        json_close(json, ']');
    } else {
        json_text(json, "row", NULL);
    }
    json_close(json, '}');
}

static void write_release(void *context, const struct release *release)
{
    struct json *json = context;
    json_open(json, NULL, '{');
    json_text(json, "file", release->path);
    if (release->messages > 1)
        json_count(json, "message", release->message);
    json_text(json, "pack", release->file->id);
    json_text(json, "mechanism", mechanism_name(release->view.mechanism));
    json_count(json, "bytes", release->size);
    if (release->view.mechanism == PML_GAUSSIAN)
        json_count(json, "step", release->view.step);
    json_open(json, "slots", '[');
    for (uint32_t slot = release->slots.first; slot < release->slots.end; slot++)
        write_slot(json, release, slot);
    json_close(json, ']');
    json_close(json, '}');
}

/* ---- command ---- */

/* All are opened and checked before the first is shown, so that a bad one leaves no half document on stdout. */
static exit_code decode(const char *const *paths, size_t count, const struct pack_file *file, bool as_json)
{
    struct json json = {0};
    struct input *inputs = calloc(count, sizeof *inputs);
    if (!inputs)
        return command_fail(&command_decode, EXIT_FAULT, "out of memory. Decode fewer releases at a time.");
    exit_code code = EXIT_OK;
    for (size_t i = 0; i < count && code == EXIT_OK; i++)
        code = pack_file_bundle(&command_decode, file, paths[i], &inputs[i].bytes, &inputs[i].size, &inputs[i].length);
    const bool several = count > 1 || inputs[0].size > inputs[0].length;
    if (code == EXIT_OK && as_json && several)
        json_open(&json, NULL, '[');
    for (size_t i = 0; i < count && code == EXIT_OK; i++)
        code = show_input(&inputs[i], paths[i], file, as_json ? write_release : print_release, &json);
    if (code == EXIT_OK && as_json && several)
        json_close(&json, ']');
    for (size_t i = 0; i < count; i++)
        free(inputs[i].bytes);
    free(inputs);
    return code;
}

/* Options that belong to --features. */
enum { RANKING_OPTIONS = 7 };

static exit_code check(const struct decode_answers *answers, const struct option_spec specs[RANKING_OPTIONS])
{
    for (size_t i = 0; i < RANKING_OPTIONS && !answers->query.features; i++) {
        if (specs[i].given)
            return command_fail(&command_decode, EXIT_USAGE, "--%s needs --features, which ranks answers.",
                                specs[i].name);
    }
    if (answers->scope && strcmp(answers->scope, "own") != 0 && strcmp(answers->scope, "all") != 0)
        return command_fail(&command_decode, EXIT_USAGE, "--scope must be own or all, not '%s'.", answers->scope);
    if (answers->top < 1 || answers->top > PML_MATCHES_MAX)
        return command_fail(&command_decode, EXIT_USAGE, "--top must be 1 to %u.", PML_MATCHES_MAX);
    return query_options_label(&command_decode, &answers->query);
}

static exit_code run(int argc, char **argv)
{
    const char *paths[RELEASES_MAX] = {NULL};
    struct decode_answers answers = {.top = 8};
    struct query_arguments *query = &answers.query;
    struct option_spec specs[] = {{"label", OPTION_NUMBER, &query->label, false, false},
                                  {"labels", OPTION_TEXT, &query->labels, false, false},
                                  {"row", OPTION_COUNT, &query->row, false, false},
                                  {"modality", OPTION_TEXT, &query->modality, false, false},
                                  {"own", OPTION_TEXT, &answers.own, false, false},
                                  {"scope", OPTION_TEXT, &answers.scope, false, false},
                                  {"top", OPTION_COUNT, &answers.top, false, false},
                                  {"features", OPTION_TEXT, &query->features, false, false},
                                  {"pack", OPTION_TEXT, &query->pack, true, false},
                                  {"json", OPTION_FLAG, &query->json, false, false}};
    exit_code code =
        options_parse(&command_decode, argc, argv, specs, sizeof specs / sizeof specs[0], paths, 1, RELEASES_MAX);
    query->has_label = specs[0].given;
    if (code == EXIT_OK)
        code = check(&answers, specs);
    if (code != EXIT_OK)
        return code;
    size_t count = 0;
    while (count < RELEASES_MAX && paths[count])
        count++;
    if (query->features)
        return decode_answers(&answers, paths, count);
    struct pack_file file;
    code = pack_file_open(&command_decode, query->pack, &file);
    if (code != EXIT_OK)
        return code;
    code = decode(paths, count, &file, query->json);
    pack_file_close(&file);
    return code;
}

static const char help[] =
    "Usage: privatemail decode R.cbor [R2.cbor ...] --pack P.pmpk [--json]\n"
    "       privatemail decode A.cbor [A2.cbor ...] --pack P.pmpk --features Q.npy [OPTIONS]\n\n"
    "Shows everything that a server sees in a release: the mechanism, the pack, and for every slot the released\n"
    "cell or values and the embedding row they stand for. Takes up to 1024 releases. A bundle (privatize --crowd) is\n"
    "shown message by message.\n\n"
    "With --features the files are answers to messages of a crowd. They are ranked by the query, into one list in\n"
    "which every item occurs once.\n\n"
    "Options:\n"
    "  --pack P.pmpk     the pack the releases were made with\n"
    "  --features Q.npy  rank answers by this query, with --row, --modality, --label and --labels as for\n"
    "                    privatemail privatize\n"
    "  --own FILE        the files are the answers to all messages of a bundle, in its order: rank only those that\n"
    "                    FILE names (privatize --own-out). Default: all\n"
    "  --scope S         own: rank the candidates of the query's own slot; all: those of all slots. Default own\n"
    "  --top N           results to show, 1 to 256. Default 8\n"
    "  --json            JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help            this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 a file cannot be read or is not a release or answer of this pack,\n"
    "4 stdout cannot be written, 7 out of memory.\n\n"
    "Example: privatemail decode query.cbor --pack collection.pmpk\n"
    "         privatemail decode 0.answer 1.answer 2.answer --pack collection.pmpk --features query.npy --own "
    "own.json\n";

const struct command command_decode = {"decode", "show what a server sees in a release, or rank answers", help, run};
