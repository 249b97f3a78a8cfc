/* SPDX-License-Identifier: Apache-2.0
 * decode: shows what a server sees in releases. In: releases, which may be hostile, and their pack. Out: cells, values and
 * embedding rows. */
#include "cli/shared/pack_file.h"

#include "common/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RELEASES_MAX = 1024, LABELS_SHOWN = 6 };

struct release {
    uint8_t *bytes;
    size_t size;
    pml_release_view view;
    float *rows; /* NULL when the pack has no codes */
};

static void release_close(struct release *release)
{
    free(release->bytes);
    free(release->rows);
}

/* The rows of a release that has been parsed. */
static pml_status read_rows(const struct pack_file *file, struct release *release)
{
    size_t count = (size_t)file->info.slots * file->info.dimensions;
    if (count == 0)
        return PML_OK;
    release->rows = malloc(count * sizeof *release->rows);
    if (!release->rows)
        return PML_ERROR_MEMORY;
    pml_status status = pml_release_rows(&file->pack, release->bytes, release->size, release->rows, count);
    if (status != PML_ERROR_SECTION)
        return status;
    free(release->rows);
    release->rows = NULL;
    return PML_OK;
}

static exit_code release_open(const char *path, const struct pack_file *file, struct release *release)
{
    exit_code code = pack_file_release(&command_decode, file, path, &release->bytes, &release->size, &release->view);
    if (code != EXIT_OK)
        return code;
    pml_status status = read_rows(file, release);
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

static void print_release(const char *path, const struct pack_file *file, const struct release *release)
{
    size_t k = file->info.dimensions;
    printf("%s: %s release of pack %s, %zu bytes", path, mechanism_name(release->view.mechanism), file->id,
           release->size);
    if (release->view.mechanism == PML_GAUSSIAN)
        printf(", step %" PRIu32, release->view.step);
    putchar('\n');
    for (uint32_t slot = 0; slot < file->info.slots; slot++) {
        printf("  slot %" PRIu32, slot);
        print_labels(file, slot);
        if (release->view.mechanism == PML_RESPONSE)
            printf(": cell %" PRIu32, pml_release_symbol(&release->view, slot));
        else
            printf(": values");
        for (size_t i = 0; i < k && release->view.mechanism == PML_GAUSSIAN; i++)
            printf(" %" PRId32, pml_release_value(&release->view, slot * k + i));
        for (size_t i = 0; i < k && release->rows; i++)
            printf("%s%g", i == 0 ? ", row " : " ", (double)release->rows[slot * k + i]);
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

static void write_slot(struct json *json, const struct pack_file *file, const struct release *release, uint32_t slot)
{
    size_t k = file->info.dimensions;
    json_open(json, NULL, '{');
    json_count(json, "slot", slot);
    write_labels(json, file, slot);
    if (release->view.mechanism == PML_RESPONSE) {
        json_count(json, "symbol", pml_release_symbol(&release->view, slot));
    } else {
        json_open(json, "values", '[');
        for (size_t i = 0; i < k; i++)
            json_integer(json, NULL, pml_release_value(&release->view, slot * k + i));
        json_close(json, ']');
    }
    if (release->rows) {
        json_open(json, "row", '[');
        for (size_t i = 0; i < k; i++)
            json_number(json, NULL, (double)release->rows[slot * k + i]);
        json_close(json, ']');
    } else {
        json_text(json, "row", NULL);
    }
    json_close(json, '}');
}

static void write_release(struct json *json, const char *path, const struct pack_file *file,
                          const struct release *release)
{
    json_open(json, NULL, '{');
    json_text(json, "file", path);
    json_text(json, "pack", file->id);
    json_text(json, "mechanism", mechanism_name(release->view.mechanism));
    json_count(json, "bytes", release->size);
    if (release->view.mechanism == PML_GAUSSIAN)
        json_count(json, "step", release->view.step);
    json_open(json, "slots", '[');
    for (uint32_t slot = 0; slot < file->info.slots; slot++)
        write_slot(json, file, release, slot);
    json_close(json, ']');
    json_close(json, '}');
}

/* ---- command ---- */

/* All are opened before the first is written, so that a bad one leaves no half document on stdout. */
static exit_code decode(const char *const *paths, size_t count, const struct pack_file *file, bool as_json)
{
    struct json json = {0};
    struct release *releases = calloc(count, sizeof *releases);
    if (!releases)
        return command_fail(&command_decode, EXIT_FAULT, "out of memory. Decode fewer releases at a time.");
    exit_code code = EXIT_OK;
    for (size_t i = 0; i < count && code == EXIT_OK; i++)
        code = release_open(paths[i], file, &releases[i]);
    if (code == EXIT_OK && as_json && count > 1)
        json_open(&json, NULL, '[');
    for (size_t i = 0; i < count && code == EXIT_OK; i++) {
        if (as_json)
            write_release(&json, paths[i], file, &releases[i]);
        else
            print_release(paths[i], file, &releases[i]);
    }
    if (code == EXIT_OK && as_json && count > 1)
        json_close(&json, ']');
    for (size_t i = 0; i < count; i++)
        release_close(&releases[i]);
    free(releases);
    return code;
}

static exit_code run(int argc, char **argv)
{
    const char *paths[RELEASES_MAX] = {NULL}, *pack = NULL;
    bool json = false;
    struct option_spec specs[] = {{"pack", OPTION_TEXT, &pack, true, false},
                                  {"json", OPTION_FLAG, &json, false, false}};
    exit_code code =
        options_parse(&command_decode, argc, argv, specs, sizeof specs / sizeof specs[0], paths, 1, RELEASES_MAX);
    if (code != EXIT_OK)
        return code;
    struct pack_file file;
    code = pack_file_open(&command_decode, pack, &file);
    if (code != EXIT_OK)
        return code;
    size_t count = 0;
    while (count < RELEASES_MAX && paths[count])
        count++;
    code = decode(paths, count, &file, json);
    pack_file_close(&file);
    return code;
}

static const char help[] =
    "Usage: privatemail decode R.cbor [R2.cbor ...] --pack P.pmpk [--json]\n\n"
    "Shows everything that a server sees in a release: the mechanism, the pack, and for every slot the released cell "
    "or\n"
    "values and the embedding row they stand for. Takes up to 1024 releases.\n\n"
    "Options:\n"
    "  --pack P.pmpk   the pack the releases were made with\n"
    "  --json          JSON on stdout instead of text (docs/CLI.md): an object, or an array for several releases\n"
    "  --help          this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 a file cannot be read or is not a release of this pack,\n"
    "4 stdout cannot be written, 7 out of memory.\n\n"
    "Example: privatemail decode query.cbor --pack collection.pmpk\n";

const struct command command_decode = {"decode", "show what a server sees in a release", help, run};
