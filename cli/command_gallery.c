/* SPDX-License-Identifier: Apache-2.0
 * gallery: what a store holds of a pack, and which of its versions is served. */
#include "cli/index/index_report.h"
#include "cli/index/store_pack.h"

#include "server/index/gallery_versions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    struct store_gallery gallery;
    const char *version;
    uint64_t keep;
    bool json;
    struct pml_name wanted; /* version to switch to */
};

static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    struct option_spec specs[] = {
        {"store", OPTION_TEXT, &arguments->gallery.uri, true, false},
        {"pack", OPTION_TEXT, &arguments->gallery.pack, false, false},
        {"keep", OPTION_COUNT, &arguments->keep, false, false},
        {"switch", OPTION_TEXT, &arguments->version, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
    };
    exit_code code = options_parse(&command_gallery, argc, argv, specs, sizeof specs / sizeof *specs, NULL, 0, 0);
    if (code != EXIT_OK)
        return code;
    if (specs[2].given && (arguments->keep < 1 || arguments->keep > 1000))
        return command_fail(&command_gallery, EXIT_USAGE,
                            "--keep must be 1 to 1000 versions: the one that is served is one of them.");
    if (arguments->version &&
        (strlen(arguments->version) != PML_NAME_DIGITS || !pml_name_read(arguments->version, &arguments->wanted)))
        return command_fail(&command_gallery, EXIT_USAGE,
                            "--switch: a version has %u digits, 0 to 9 and a to f. Choose one that privatemail gallery "
                            "shows.",
                            PML_NAME_DIGITS);
    return store_uri_check(&command_gallery, "store", arguments->gallery.uri, arguments->gallery.shown);
}

/* ---- report ---- */

static void print_text(const struct arguments *arguments, const struct pml_gallery_about *about, uint64_t swept)
{
    const struct pml_manifest *manifest = &about->manifest;
    char name[PML_NAME_DIGITS + 1];
    printf("%s: pack %s\n", arguments->gallery.shown, arguments->gallery.digits);
    if (pml_name_none(&about->pointer.version)) {
        printf("an index is not finished: run it again\n");
        return;
    }
    pml_name_write(&about->pointer.version, name);
    printf("version %s: %llu items, %lu slots", name, (unsigned long long)manifest->items,
           (unsigned long)manifest->slots);
    if (manifest->list > 0)
        printf(", lists of %lu", (unsigned long)manifest->list);
    printf("\n");
    for (size_t i = 1; i < about->record.count; i++) {
        pml_name_write(&about->record.history[i].version, name);
        printf("also    %s\n", name);
    }
    if (about->record.count > 0)
        printf("up to %lu versions are kept\n", (unsigned long)about->record.keep);
    else
        printf("it is a published copy, and cannot be changed here\n");
    if (arguments->keep > 0)
        printf("%llu blobs were taken away\n", (unsigned long long)swept);
}

static void write_json(const struct arguments *arguments, const struct pml_gallery_about *about, uint64_t swept)
{
    const struct pml_manifest *manifest = &about->manifest;
    const bool served = !pml_name_none(&about->pointer.version);
    char name[PML_NAME_DIGITS + 1] = "";
    struct json json = {0};
    if (served)
        pml_name_write(&about->pointer.version, name);
    json_open(&json, NULL, '{');
    json_text(&json, "store", arguments->gallery.shown);
    json_text(&json, "pack", arguments->gallery.digits);
    json_text(&json, "version", name);
    json_count(&json, "items", manifest->items);
    json_count(&json, "list", manifest->list);
    json_count(&json, "slots", manifest->slots);
    json_count(&json, "cells", manifest->cells);
    json_count(&json, "dimensions", manifest->dimensions);
    json_count(&json, "constant_length", manifest->longest);
    json_number(&json, "share",
                served ? index_share(&(struct pml_settings){.list = manifest->list}, manifest->items, manifest->slots)
                       : (double)NAN);
    json_number(&json, "drift", index_drift(&about->settings, manifest->items));
    json_open(&json, "history", '[');
    for (size_t i = 0; i < about->record.count; i++) {
        pml_name_write(&about->record.history[i].version, name);
        json_text(&json, NULL, name);
    }
    if (about->record.count == 0 && served)
        json_text(&json, NULL, name);
    json_close(&json, ']');
    json_count(&json, "keep", about->record.keep);
    json_bool(&json, "private", about->record.count > 0);
    json_bool(&json, "building", !pml_name_none(&about->pointer.building));
    json_count(&json, "swept", swept);
    json_close(&json, '}');
}

/* ---- command ---- */

static exit_code change(struct pml_store *store, const struct arguments *arguments, uint64_t *swept)
{
    struct pml_message message = {""};
    pml_outcome outcome = PML_DONE;
    if (arguments->version)
        outcome = pml_gallery_switch(store, arguments->gallery.id, &arguments->wanted, &message);
    if (outcome == PML_DONE && arguments->keep > 0)
        outcome = pml_gallery_keep(store, arguments->gallery.id, (uint32_t)arguments->keep, swept, &message);
    if (outcome == PML_OTHER_VERSION)
        return store_refuse(&command_gallery, arguments->gallery.shown, outcome, &message);
    if (outcome == PML_ABSENT || outcome == PML_REFUSED)
        return command_input(&command_gallery, outcome, &message);
    return outcome == PML_DONE ? EXIT_OK : command_output(&command_gallery, outcome, &message);
}

static exit_code look(struct pml_store *store, const struct arguments *arguments)
{
    struct pml_gallery_about about;
    struct pml_message message = {""};
    uint64_t swept = 0;
    exit_code code = change(store, arguments, &swept);
    if (code != EXIT_OK)
        return code;
    pml_outcome outcome = pml_gallery_look(store, arguments->gallery.id, &about, &message);
    if (outcome == PML_DONE)
        (arguments->json ? write_json : print_text)(arguments, &about, swept);
    pml_gallery_about_free(&about);
    return outcome == PML_DONE ? EXIT_OK : store_refuse(&command_gallery, arguments->gallery.shown, outcome, &message);
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct pml_message message = {""};
    struct pml_store *store;
    exit_code code = parse(argc, argv, &arguments);
    if (code != EXIT_OK)
        return code;
    code = store_gallery_open(&command_gallery, &arguments.gallery, &store);
    if (code != EXIT_OK)
        return code;
    if (arguments.version || arguments.keep > 0) { /* only now: a writer would make a store that is not there */
        pml_store_close(store);
        pml_outcome outcome = pml_store_open(&store, arguments.gallery.uri, PML_STORE_WRITE, &message);
        if (outcome != PML_DONE)
            return command_output(&command_gallery, outcome, &message);
    }
    code = look(store, &arguments);
    pml_store_close(store);
    return code;
}

static const char help[] =
    "Usage: privatemail gallery --store STORE [--pack P] [OPTIONS]\n\n"
    "Says which version of a gallery is served, and which others are kept.\n\n"
    "Options:\n"
    "  --store STORE        sqlite:FILE, dir:FOLDER or postgres:URI\n"
    "  --pack P             the pack, or its id; may be left out when the store has the gallery of one pack only\n"
    "  --switch VERSION     serve a kept version again. Later changes start from it\n"
    "  --keep N             keep N versions from now on, with the one that is served, 1 to 1000, and take away what "
    "is\n"
    "                       only of others\n"
    "  --json               JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help               this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 the store cannot be read, or lacks what was asked for, 4 the store cannot "
    "be\n"
    "written, 7 out of memory.\n\n"
    "Example: privatemail gallery --store sqlite:shapes.store --keep 2\n";

const struct command command_gallery = {"gallery", "show the versions of a gallery, or choose one", help, run};
