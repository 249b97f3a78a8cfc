/* SPDX-License-Identifier: Apache-2.0
 * publish: copies the served version of a gallery into another store. */
#include "cli/index/store_pack.h"

#include "server/index/gallery_versions.h"

#include <stdio.h>
#include <string.h>

struct arguments {
    struct store_gallery gallery;
    const char *to;
    bool with_private, json;
    char shown_to[PML_STORE_SHOWN_MAX];
};

static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    struct option_spec specs[] = {
        {"store", OPTION_TEXT, &arguments->gallery.uri, true, false},
        {"pack", OPTION_TEXT, &arguments->gallery.pack, false, false},
        {"to", OPTION_TEXT, &arguments->to, true, false},
        {"private", OPTION_FLAG, &arguments->with_private, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
    };
    exit_code code = options_parse(&command_publish, argc, argv, specs, sizeof specs / sizeof *specs, NULL, 0, 0);
    if (code == EXIT_OK)
        code = store_uri_check(&command_publish, "store", arguments->gallery.uri, arguments->gallery.shown);
    if (code == EXIT_OK)
        code = store_uri_check(&command_publish, "to", arguments->to, arguments->shown_to);
    if (code == EXIT_OK && strcmp(arguments->gallery.uri, arguments->to) == 0)
        code = command_fail(&command_publish, EXIT_USAGE, "--to is the store itself. Name another one.");
    return code;
}

static void report(const struct arguments *arguments, const struct pml_publish_report *done)
{
    char version[PML_NAME_DIGITS + 1];
    struct json json = {0};
    pml_name_write(&done->version, version);
    if (!arguments->json) {
        printf("%s: pack %s, version %s\n%zu of %zu blobs were copied, %llu bytes; %llu were taken away\n",
               arguments->shown_to, arguments->gallery.digits, version, done->copied, done->blobs,
               (unsigned long long)done->bytes, (unsigned long long)done->swept);
        return;
    }
    json_open(&json, NULL, '{');
    json_text(&json, "store", arguments->gallery.shown);
    json_text(&json, "to", arguments->shown_to);
    json_text(&json, "pack", arguments->gallery.digits);
    json_text(&json, "version", version);
    json_bool(&json, "private", arguments->with_private);
    json_count(&json, "blobs", done->blobs);
    json_count(&json, "copied", done->copied);
    json_count(&json, "bytes", done->bytes);
    json_count(&json, "swept", done->swept);
    json_close(&json, '}');
}

static exit_code publish(struct pml_store *from, const struct arguments *arguments)
{
    struct pml_message message = {""};
    struct pml_publish_report done;
    struct pml_gallery_about about;
    struct pml_store *to;
    /* looked at before a store is made there */
    pml_outcome outcome = pml_gallery_look(from, arguments->gallery.id, &about, &message);
    pml_gallery_about_free(&about);
    if (outcome != PML_DONE)
        return store_refuse(&command_publish, arguments->gallery.shown, outcome, &message);
    outcome = pml_store_open(&to, arguments->to, PML_STORE_WRITE, &message);
    if (outcome != PML_DONE)
        return command_output(&command_publish, outcome, &message);
    outcome = pml_gallery_publish(from, to, arguments->gallery.id, arguments->with_private, &done, &message);
    pml_store_close(to);
    if (outcome == PML_ABSENT || outcome == PML_DAMAGED || outcome == PML_OTHER_VERSION)
        return store_refuse(&command_publish, done.at_target ? arguments->shown_to : arguments->gallery.shown, outcome,
                            &message);
    if (outcome != PML_DONE)
        return command_output(&command_publish, outcome, &message);
    report(arguments, &done);
    return EXIT_OK;
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct pml_store *from;
    exit_code code = parse(argc, argv, &arguments);
    if (code != EXIT_OK)
        return code;
    code = store_gallery_open(&command_publish, &arguments.gallery, &from);
    if (code != EXIT_OK)
        return code;
    code = publish(from, &arguments);
    pml_store_close(from);
    return code;
}

static const char help[] =
    "Usage: privatemail publish --store STORE [--pack P] --to STORE [--private]\n\n"
    "Copies the version of a gallery that is served into another store, usually a folder that a web server hands out:\n"
    "what is missing there, then the pointer. Whoever reads there sees the version before or the version after. Parts "
    "that\n"
    "neither of them needs are taken away there.\n\n"
    "Options:\n"
    "  --store STORE        where the gallery is: sqlite:FILE, dir:FOLDER or postgres:URI\n"
    "  --pack P             the pack, or its id; may be left out when the store has the gallery of one pack only\n"
    "  --to STORE           where it goes, such as dir:FOLDER\n"
    "  --private            also what privatemail index knows about the gallery, features of the items among it, so "
    "that\n"
    "                       the copy can be changed. Without it nothing private goes along\n"
    "  --json               JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help               this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 the gallery cannot be read, 4 the other store cannot be written, 7 out of\n"
    "memory.\n\n"
    "Example: privatemail publish --store sqlite:shapes.store --to dir:/srv/www/shapes\n";

const struct command command_publish = {"publish", "copy a gallery into another store", help, run};
