/* SPDX-License-Identifier: Apache-2.0
 * find: answers a release from a store as a server would, without a network. In: a release, which may be hostile, its
 * pack, a store. Out: the answer, and the candidates of every slot. */
#include "cli/shared/output.h"
#include "cli/shared/pack_file.h"

#include "common/files.h"
#include "server/service/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_MAX = 1 << 20 };

struct arguments {
    const char *release, *pack, *store, *out;
    uint64_t top, nearest;
    bool force, json;
    char shown[PML_STORE_SHOWN_MAX]; /* the store's URI without a password */
};

/* Where the candidates of a slot stand in the answer. */
struct listing {
    uint32_t count;
    size_t offset;
};

struct job {
    const struct arguments *arguments;
    struct pack_file file;
    struct pml_store *store;
    struct pml_service *service;
    uint8_t *release;
    size_t size;
    pml_release_view view;
    double *places; /* NULL unless Gaussian */
    struct pml_bytes answer;
    struct listing *listings;
    uint64_t carried;
};

/* ---- finding ---- */

static exit_code open_all(struct job *job)
{
    const struct arguments *arguments = job->arguments;
    struct pml_message message = {""};
    struct pml_progress progress = {progress_show, NULL, "embedding"};
    struct pml_service_options options = {.nearest = (uint32_t)arguments->nearest, .progress = &progress};
    exit_code code = pack_file_open(&command_find, arguments->pack, &job->file);
    if (code != EXIT_OK)
        return code;
    code = pack_file_release(&command_find, &job->file, arguments->release, &job->release, &job->size, &job->view);
    if (code != EXIT_OK)
        return code;
    pml_outcome outcome = pml_store_open(&job->store, arguments->store, PML_STORE_READ, &message);
    if (outcome != PML_DONE)
        return command_input(&command_find, outcome, &message);
    outcome = pml_service_open(&job->service, &job->file.pack, job->store, &options, &message);
    progress_end();
    if (outcome != PML_DONE)
        return command_fail(&command_find, outcome == PML_NO_MEMORY ? EXIT_FAULT : EXIT_INPUT, "%s: %s",
                            arguments->shown, message.text);
    return EXIT_OK;
}

/* The answer as one, and where the lists of its slots are. */
static pml_outcome join_parts(struct job *job, const struct pml_parts *parts)
{
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < parts->count && outcome == PML_DONE; i++) {
        const struct pml_part *part = parts->parts[i];
        struct pml_list list;
        if (i > 0 && !pml_list_open(&list, &job->file.info, part->bytes, part->size, 0))
            return PML_DAMAGED;
        if (i > 0) { /* behind the header */
            job->listings[list.slot] = (struct listing){list.count, job->answer.size};
            job->carried += list.count;
        }
        outcome = pml_bytes_append(&job->answer, part->bytes, part->size);
    }
    return outcome;
}

static pml_outcome answer(struct job *job)
{
    const pml_pack_info *info = &job->file.info;
    struct pml_parts parts = {0};
    pml_outcome outcome = PML_DONE;
    job->listings = calloc(info->slots, sizeof *job->listings);
    if (job->view.mechanism == PML_GAUSSIAN) {
        job->places = malloc((size_t)info->slots * info->dimensions * sizeof *job->places);
        outcome = job->places ? pml_service_place(job->service, &job->view, job->places) : PML_NO_MEMORY;
    }
    if (outcome == PML_DONE)
        outcome = job->listings ? pml_service_parts(job->service, &job->view, &parts) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = join_parts(job, &parts);
    pml_parts_free(&parts);
    return outcome;
}

static exit_code find(struct job *job)
{
    switch (answer(job)) {
    case PML_DONE:
        return EXIT_OK;
    case PML_NO_MEMORY:
        return command_no_memory(&command_find);
    case PML_REFUSED:
        return command_fail(
            &command_find, EXIT_INPUT,
            "%s has nothing for %s releases. Index the gallery with a pack that serves them, or use the "
            "other mechanism.",
            job->arguments->shown, mechanism_name(job->view.mechanism));
    default:
        return command_fail(&command_find, EXIT_INPUT,
                            "%s cannot be read. Check the disk, or make it again with privatemail index.",
                            job->arguments->shown);
    }
}

/* ---- telling ---- */

static double share(const struct job *job)
{
    return (double)job->carried / (double)pml_service_manifest(job->service)->items;
}

/* Calls `tell` for the first --top candidates of a slot. */
static void each_candidate(const struct job *job, uint32_t slot,
                           void (*tell)(void *context, const struct pml_candidate *candidate), void *context)
{
    struct pml_candidate candidate;
    struct pml_list list;
    if (!pml_list_open(&list, &job->file.info, job->answer.bytes, job->answer.size, job->listings[slot].offset))
        return;
    for (uint32_t i = 0; i < job->arguments->top && pml_list_next(&list, &candidate); i++)
        tell(context, &candidate);
}

static void print_candidate(void *context, const struct pml_candidate *candidate)
{
    (void)context;
    printf(" %" PRIu64 " (%" PRId32 ")", candidate->item, candidate->label);
}

static void print(const struct job *job)
{
    const struct pack_slots slots = pack_file_slots(&job->file, &job->view);
    size_t k = job->file.info.dimensions;
    printf("%s release of pack %s: the answer carries %" PRIu64 " of %" PRIu64 " items (%.3g %%), %zu bytes\n",
           mechanism_name(job->view.mechanism), job->file.id, job->carried, pml_service_manifest(job->service)->items,
           100.0 * share(job), job->answer.size);
    for (uint32_t slot = slots.first; slot < slots.end; slot++) {
        printf("  slot %" PRIu32, slot);
        if (job->places) {
            printf(", place");
            for (size_t i = 0; i < k; i++)
                printf(" %.6g", job->places[slot * k + i]);
        } else {
            printf(", cell %" PRIu32, pack_file_cell(&job->file, &job->view, slot));
        }
        printf(": %" PRIu32 " candidates", job->listings[slot].count);
        each_candidate(job, slot, print_candidate, NULL);
        printf("%s\n", job->listings[slot].count > job->arguments->top ? " ..." : "");
    }
}

static void write_candidate(void *context, const struct pml_candidate *candidate)
{
    struct json *json = context;
    json_open(json, NULL, '{');
    json_count(json, "item", candidate->item);
    json_integer(json, "class", candidate->label);
    json_close(json, '}');
}

static void write_slot(struct json *json, const struct job *job, uint32_t slot)
{
    size_t k = job->file.info.dimensions;
    json_open(json, NULL, '{');
    json_count(json, "slot", slot);
    if (job->places) {
        json_open(json, "place", '[');
        for (size_t i = 0; i < k; i++)
            json_number(json, NULL, job->places[slot * k + i]);
        json_close(json, ']');
    } else {
        json_count(json, "cell", pack_file_cell(&job->file, &job->view, slot));
    }
    json_count(json, "count", job->listings[slot].count);
    json_open(json, "candidates", '[');
    each_candidate(job, slot, write_candidate, json);
    json_close(json, ']');
    json_close(json, '}');
}

static void write(const struct job *job)
{
    const struct pack_slots slots = pack_file_slots(&job->file, &job->view);
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "pack", job->file.id);
    json_text(&json, "mechanism", mechanism_name(job->view.mechanism));
    json_count(&json, "gallery", pml_service_manifest(job->service)->items);
    json_count(&json, "carried", job->carried);
    json_number(&json, "share", share(job));
    json_count(&json, "bytes", job->answer.size);
    json_open(&json, "slots", '[');
    for (uint32_t slot = slots.first; slot < slots.end; slot++)
        write_slot(&json, job, slot);
    json_close(&json, ']');
    json_close(&json, '}');
}

/* ---- command ---- */

static exit_code check(const struct arguments *arguments)
{
    if (arguments->top > TOP_MAX || arguments->nearest < 1 || arguments->nearest > PML_CANDIDATES_MAX)
        return command_fail(&command_find, EXIT_USAGE, "--top must be 0 to %d, --nearest 1 to %u.", TOP_MAX,
                            (unsigned)PML_CANDIDATES_MAX);
    if (!arguments->out)
        return EXIT_OK;
    exit_code code = output_apart(&command_find, arguments->out, arguments->release, "the release");
    if (code == EXIT_OK)
        code = output_apart(&command_find, arguments->out, arguments->pack, "the pack");
    const char *place = strchr(arguments->store, ':');
    if (code == EXIT_OK && place && strncmp(arguments->store, "sqlite:", 7) == 0)
        code = output_apart(&command_find, arguments->out, place + 1, "the store");
    return code == EXIT_OK ? output_check(&command_find, arguments->out, arguments->force) : code;
}

static void close_job(struct job *job)
{
    pml_bytes_free(&job->answer);
    free(job->listings);
    free(job->places);
    free(job->release);
    pml_service_unref(job->service);
    pml_store_close(job->store);
    pack_file_close(&job->file);
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {.top = 8, .nearest = PML_NEAREST_DEFAULT};
    struct option_spec specs[] = {
        {"release", OPTION_TEXT, &arguments.release, true, false},
        {"pack", OPTION_TEXT, &arguments.pack, true, false},
        {"store", OPTION_TEXT, &arguments.store, true, false},
        {"top", OPTION_COUNT, &arguments.top, false, false},
        {"nearest", OPTION_COUNT, &arguments.nearest, false, false},
        {"out", OPTION_TEXT, &arguments.out, false, false},
        {"force", OPTION_FLAG, &arguments.force, false, false},
        {"json", OPTION_FLAG, &arguments.json, false, false},
    };
    exit_code code = options_parse(&command_find, argc, argv, specs, sizeof specs / sizeof specs[0], NULL, 0, 0);
    if (code == EXIT_OK)
        code = check(&arguments);
    if (code != EXIT_OK)
        return code;
    struct job job = {.arguments = &arguments};
    pml_store_show(arguments.store, arguments.shown);
    code = open_all(&job);
    if (code == EXIT_OK)
        code = find(&job);
    if (code == EXIT_OK && arguments.out)
        code = output_write(&command_find, arguments.out, arguments.force, job.answer.bytes, job.answer.size);
    if (code == EXIT_OK)
        (arguments.json ? write : print)(&job);
    close_job(&job);
    return code;
}

static const char help[] =
    "Usage: privatemail find --release R.cbor --pack P.pmpk --store STORE [OPTIONS]\n\n"
    "Answers a release as privatemail serve would, without a network, and shows the candidates of every slot.\n\n"
    "Options:\n"
    "  --release R.cbor    the release\n"
    "  --pack P.pmpk       the pack it was made with\n"
    "  --store STORE       where its gallery is (privatemail index): sqlite:FILE, postgres:URI or dir:FOLDER\n"
    "  --top N             candidates to show per slot, 0 to 1048576. Default 8\n"
    "  --nearest M         gaussian: candidates per slot in the answer, 1 to 1048576. Default 32\n"
    "  --out ANSWER.cbor   also write the answer (docs/SPEC.md, section 3)\n"
    "  --force             replace the file of --out\n"
    "  --json              JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help              this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 an output cannot be written,\n"
    "7 out of memory.\n\n"
    "Example: privatemail find --release query.cbor --pack collection.pmpk --store sqlite:collection.db\n";

const struct command command_find = {"find", "answer a release from a store, without a network", help, run};
