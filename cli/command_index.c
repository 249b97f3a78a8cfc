/* SPDX-License-Identifier: Apache-2.0
 * index: makes a store from a gallery, and reports how its cells are filled. */
#define _POSIX_C_SOURCE 200809L
#include "index_inputs.h"

#include "server/index/index_build.h"
#include "tools/pack/cells_rule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arguments {
    const char *pack, *store;
    struct index_paths paths;
    uint64_t cells, iterations, threads;
    double share;
    bool force, json;
    char shown[PML_STORE_SHOWN_MAX]; /* the store's URI without a password */
};

struct report {
    size_t cells, empty;
    double smallest, median, largest; /* NaN: there are no cells */
    uint64_t resumed_at;
    double seconds;
};

/* ---- options ---- */

static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    struct option_spec specs[] = {
        {"pack", OPTION_TEXT, &arguments->pack, true, false},
        {"features", OPTION_TEXT, &arguments->paths.features, true, false},
        {"labels", OPTION_TEXT, &arguments->paths.labels, false, false},
        {"ids", OPTION_TEXT, &arguments->paths.ids, false, false},
        {"payloads", OPTION_TEXT, &arguments->paths.payloads, false, false},
        {"store", OPTION_TEXT, &arguments->store, true, false},
        {"cells-per-item", OPTION_COUNT, &arguments->cells, false, false},
        {"share", OPTION_NUMBER, &arguments->share, false, false},
        {"iterations", OPTION_COUNT, &arguments->iterations, false, false},
        {"threads", OPTION_COUNT, &arguments->threads, false, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
        {"modality", OPTION_TEXT, &arguments->paths.modality, false, false},
        {"voters", OPTION_TEXT, &arguments->paths.voters, false, false},
        {"voters-labels", OPTION_TEXT, &arguments->paths.voters_labels, false, false},
        {"voters-modality", OPTION_TEXT, &arguments->paths.voters_modality, false, false},
    };
    exit_code code = options_parse(&command_index, argc, argv, specs, sizeof specs / sizeof specs[0], NULL, 0, 0);
    if (code != EXIT_OK)
        return code;
    if (specs[6].given && (arguments->cells < 1 || arguments->cells > 2))
        return command_fail(&command_index, EXIT_USAGE, "--cells-per-item must be 1 or 2.");
    if (specs[7].given && specs[6].given)
        return command_fail(&command_index, EXIT_USAGE,
                            "--share and --cells-per-item are two ways to fill the lists. Choose one of them.");
    if (!specs[7].given && !specs[6].given)
        arguments->share = PML_SHARE_DEFAULT; /* what pack chooses the cells for */
    if (specs[7].given && !(arguments->share >= 1.0 / PML_SHARE_UNIT && arguments->share <= 0.5))
        return command_fail(&command_index, EXIT_USAGE, "--share must be 1e-6 to 0.5.");
    if (arguments->iterations > PML_ITERATIONS_MAX)
        return command_fail(&command_index, EXIT_USAGE, "--iterations must be 0 to %u.", PML_ITERATIONS_MAX);
    if (arguments->threads > 256 || (specs[9].given && arguments->threads == 0))
        return command_fail(&command_index, EXIT_USAGE, "--threads must be 1 to 256.");
    if (!arguments->paths.voters && (specs[14].given || specs[15].given))
        return command_fail(&command_index, EXIT_USAGE, "--%s needs --voters V.npy.",
                            specs[specs[14].given ? 14 : 15].name);
    if (arguments->paths.voters && specs[6].given)
        return command_fail(&command_index, EXIT_USAGE,
                            "voters vote for lists of a share, and --cells-per-item makes others. Leave one of them "
                            "out.");
    struct pml_message message = {""};
    if (pml_store_check(arguments->store, &message) != PML_DONE)
        return command_fail(&command_index, EXIT_USAGE, "--store: %s", message.text);
    pml_store_show(arguments->store, arguments->shown);
    return EXIT_OK;
}

static exit_code check_pack(const struct arguments *arguments, const pml_pack_info *info)
{
    if (info->sketch == 0)
        return command_fail(&command_index, EXIT_INPUT,
                            "%s has no sketches, so devices could not rank an answer. Use a pack that has them.",
                            arguments->pack);
    if (info->slot_kind != PML_SLOTS_ONE && !arguments->paths.labels)
        return command_fail(&command_index, EXIT_USAGE,
                            "--labels is missing: the pack has %lu slots. Give the class of every row.",
                            (unsigned long)info->slots);
    if (arguments->paths.voters && info->cells == 0)
        return command_fail(&command_index, EXIT_USAGE,
                            "--voters vote for the lists of cells, and %s has no cells. Leave them out.",
                            arguments->pack);
    return EXIT_OK;
}

/* ---- report ---- */

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Reads the finished store. */
static exit_code measure(const struct arguments *arguments, const pml_pack_info *pack, struct report *report)
{
    struct pml_message message = {""};
    struct pml_store *store;
    pml_outcome outcome = pml_store_open(&store, arguments->store, pack->id, &message);
    if (outcome != PML_DONE)
        return command_output(&command_index, outcome, &message);
    const size_t count = report->cells = (size_t)pack->slots * pack->cells;
    uint64_t *sizes = calloc(count > 0 ? count : 1, sizeof *sizes);
    exit_code code = sizes ? EXIT_OK : command_no_memory(&command_index);
    for (size_t i = 0; i < count && code == EXIT_OK; i++) {
        const struct pml_cell cell = {(uint32_t)(i / pack->cells), (uint32_t)(i % pack->cells)};
        if (pml_store_cell_size(store, cell, &sizes[i]) != PML_DONE)
            code =
                command_fail(&command_index, EXIT_OUTPUT, "%s cannot be read back. Check the disk.", arguments->shown);
    }
    report->smallest = report->median = report->largest = NAN;
    if (code == EXIT_OK && count > 0) {
        qsort(sizes, count, sizeof *sizes, by_size);
        while (report->empty < count && sizes[report->empty] == 0)
            report->empty++;
        report->smallest = (double)sizes[0];
        report->median = (double)(sizes[(count - 1) / 2] + sizes[count / 2]) / 2.0;
        report->largest = (double)sizes[count - 1];
    }
    free(sizes);
    pml_store_close(store);
    return code;
}

static double share_of(const struct pml_store_info *info)
{
    return (double)info->share / PML_SHARE_UNIT;
}

static void print_report(const struct arguments *arguments, const struct pack_file *pack,
                         const struct pml_store_info *info, const struct index_payloads *payloads,
                         const struct report *report)
{
    printf("%s: %llu items for pack %s\n", arguments->shown, (unsigned long long)info->items, pack->id);
    if (report->cells > 0)
        printf("response: %zu cells of %g to %g items, median %g, %zu empty; ", report->cells, report->smallest,
               report->largest, report->median, report->empty);
    if (info->share > 0)
        printf("each lists the share %g of its slot\n", share_of(info));
    else if (report->cells > 0)
        printf("%s per item\n", info->cells_per_item == 1 ? "one" : "two");
    if (info->dimensions > 0)
        printf("gaussian: places of %lu numbers, %lu iterations\n", (unsigned long)info->dimensions,
               (unsigned long)info->iterations);
    if (payloads->folder)
        printf("payloads: %zu items have one, %llu bytes together\n", payloads->found,
               (unsigned long long)payloads->bytes);
    printf("%.3g seconds\n", report->seconds);
}

static void write_report(const struct arguments *arguments, const struct pack_file *pack,
                         const struct pml_store_info *info, const struct index_payloads *payloads,
                         const struct report *report)
{
    static const char *const lists[] = {
        [PML_LISTS_NONE] = "none", [PML_LISTS_OWN] = "own", [PML_LISTS_SHARE] = "share"};
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "store", arguments->shown);
    json_text(&json, "pack", pack->id);
    json_count(&json, "items", info->items);
    json_count(&json, "cells", report->cells);
    json_text(&json, "lists", lists[pml_store_cell_lists(info)]);
    json_count(&json, "cells_per_item", info->cells_per_item);
    json_number(&json, "share", info->share > 0 ? share_of(info) : NAN);
    json_number(&json, "smallest_cell", report->smallest);
    json_number(&json, "median_cell", report->median);
    json_number(&json, "largest_cell", report->largest);
    json_count(&json, "empty_cells", report->empty);
    json_count(&json, "payloads", payloads->found);
    json_count(&json, "payload_bytes", payloads->bytes);
    json_count(&json, "dimensions", info->dimensions);
    json_count(&json, "iterations", info->iterations);
    json_count(&json, "resumed_at", report->resumed_at);
    json_number(&json, "seconds", report->seconds);
    json_close(&json, '}');
}

/* ---- command ---- */

/* Tells a payload that can no longer be read, an input error, from an error of the store. */
struct payload_source {
    struct index_payloads *payloads;
    bool failed;
};

static pml_outcome load_payload(void *context, size_t row, const uint8_t **bytes, size_t *size,
                                struct pml_message *message)
{
    struct payload_source *source = context;
    pml_outcome outcome = index_payloads_load(source->payloads, row, bytes, size, message);
    source->failed = outcome == PML_REFUSED;
    return outcome;
}

static exit_code make_lists(const struct arguments *arguments, const struct pack_file *pack,
                            const struct pml_store_info *info, const struct index_inputs *inputs,
                            struct pml_cell_lists *lists)
{
    const unsigned threads = pml_parallel_threads((unsigned)arguments->threads);
    const struct pml_progress neighbours = {progress_show, NULL, "neighbours"}, cells = {progress_show, NULL, "lists"};
    const struct pml_lists_source source = {.rows = &inputs->gallery.rows,
                                            .slots = inputs->gallery.slots,
                                            .slot_count = pack->info.slots,
                                            .items = inputs->items,
                                            .voters = arguments->paths.voters ? &inputs->voters.rows : NULL,
                                            .voter_slots = inputs->voters.slots,
                                            .threads = threads,
                                            .progress = &neighbours};
    struct pml_lists_gallery *gallery;
    if (pml_lists_gallery_make(&gallery, &source) != PML_DONE)
        return command_no_memory(&command_index);
    pml_outcome outcome = pml_lists_make(lists, gallery, &pack->pack, info->share, threads, &cells);
    pml_lists_gallery_free(gallery);
    return outcome != PML_DONE ? command_no_memory(&command_index) : EXIT_OK;
}

/* All items from number `done` on. */
static exit_code fill(struct pml_store_writer *writer, const struct arguments *arguments, const struct pack_file *pack,
                      const struct pml_store_info *info, struct index_inputs *inputs, uint64_t done)
{
    struct pml_message message = {""};
    struct pml_cell_lists lists = {0};
    struct pml_embedding *embedding = NULL;
    struct payload_source source = {&inputs->payloads, false};
    struct pml_progress progress = {progress_show, NULL, "anchors"};
    const unsigned threads = pml_parallel_threads((unsigned)arguments->threads);
    const struct pml_gallery gallery = {&inputs->gallery.rows,
                                        inputs->items,
                                        inputs->gallery.labels.values,
                                        inputs->gallery.slots,
                                        load_payload,
                                        &source,
                                        &lists};
    pml_outcome outcome = PML_DONE;
    exit_code code =
        info->share > 0 && done < info->items ? make_lists(arguments, pack, info, inputs, &lists) : EXIT_OK;
    if (code != EXIT_OK)
        return code;
    if (info->dimensions > 0 && done < info->items)
        outcome = pml_embedding_make(&embedding, &pack->pack, info->iterations, threads, &progress, &message);
    progress.stage = "items";
    if (outcome == PML_DONE)
        outcome = pml_index_fill(writer, info, &pack->pack, embedding, &gallery, done, threads, &progress, &message);
    pml_embedding_free(embedding);
    pml_lists_free(&lists);
    progress_end();
    if (outcome != PML_DONE && source.failed)
        return command_input(&command_index, outcome, &message);
    return outcome != PML_DONE ? command_output(&command_index, outcome, &message) : EXIT_OK;
}

static exit_code build(const struct arguments *arguments, const struct pack_file *pack,
                       const struct pml_store_info *info, struct index_inputs *inputs, uint64_t *done)
{
    struct pml_message message = {""};
    struct pml_store_writer *writer;
    uint8_t source[32];
    exit_code code = index_inputs_digest(&command_index, inputs, info, source);
    if (code == EXIT_OK)
        code = index_inputs_map(&command_index, &arguments->paths, pack,
                                pml_parallel_threads((unsigned)arguments->threads), inputs);
    progress_end();
    if (code != EXIT_OK)
        return code;
    pml_outcome outcome = pml_store_begin(&writer, arguments->store, info, source, arguments->force, done, &message);
    if (outcome != PML_DONE)
        return command_output(&command_index, outcome, &message);
    if (message.text[0] != 0)
        fprintf(stderr, "privatemail index: %s\n", message.text);
    if (*done > 0)
        fprintf(stderr, "privatemail index: %llu of %llu items are there from an earlier run; continuing after them.\n",
                (unsigned long long)*done, (unsigned long long)info->items);
    code = fill(writer, arguments, pack, info, inputs, *done);
    if (code != EXIT_OK) {
        pml_store_abandon(writer);
        return code;
    }
    outcome = pml_store_finish(writer, &message);
    return outcome != PML_DONE ? command_output(&command_index, outcome, &message) : EXIT_OK;
}

static exit_code index_with(const struct arguments *arguments, const struct pack_file *pack,
                            struct index_inputs *inputs)
{
    struct report report = {0};
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    exit_code code = check_pack(arguments, &pack->info);
    if (code == EXIT_OK)
        code = index_inputs_read(&command_index, &arguments->paths, pack, inputs);
    if (code != EXIT_OK)
        return code;
    const struct pml_index_choice choice = {.cells_per_item = (uint32_t)arguments->cells,
                                            .share = (uint32_t)(arguments->share * PML_SHARE_UNIT + 0.5),
                                            .iterations = (uint32_t)arguments->iterations};
    const struct pml_store_info info = pml_index_describe(&pack->info, inputs->count, &choice);
    code = build(arguments, pack, &info, inputs, &report.resumed_at);
    if (code == EXIT_OK)
        code = measure(arguments, &pack->info, &report);
    if (code != EXIT_OK)
        return code;
    clock_gettime(CLOCK_MONOTONIC, &end);
    report.seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    if (inputs->payloads.unused > 0)
        fprintf(stderr,
                "privatemail index: %zu files in %s belong to no item. Name each payload by the number of its item.\n",
                inputs->payloads.unused, inputs->payloads.folder);
    (arguments->json ? write_report : print_report)(arguments, pack, &info, &inputs->payloads, &report);
    return EXIT_OK;
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {.iterations = PML_ITERATIONS_DEFAULT};
    struct index_inputs inputs = {0};
    struct pack_file pack;
    exit_code code = parse(argc, argv, &arguments);
    if (code == EXIT_OK)
        code = pack_file_open(&command_index, arguments.pack, &pack);
    if (code != EXIT_OK)
        return code;
    code = index_with(&arguments, &pack, &inputs);
    index_inputs_free(&inputs);
    pack_file_close(&pack);
    return code;
}

static const char help[] =
    "Usage: privatemail index --pack P --features S.npy [--labels L.npy] --store STORE [OPTIONS]\n\n"
    "Makes the store that privatemail serve and find search, from a gallery. If it is stopped, even by a power cut, "
    "run\n"
    "the same command again: it continues where it was and makes the same store. The store appears when it is "
    "complete.\n\n"
    "Options:\n"
    "  --pack P             the pack that devices use\n"
    "  --features S.npy     float32, little-endian, C order, as many features per row as the pack has\n"
    "  --labels L.npy       the class of each row; may be left out if the pack has one slot (then all are 0)\n"
    "  --modality NAME      whose features they are, when the pack has fronts (privatemail inspect). Default: the "
    "first\n"
    "  --ids I.txt          the number of each row, 0 to 2^63-1, one per line, all different. Default 0, 1, 2, ...\n"
    "  --payloads DIR       what devices get with a candidate: 17.jpg or 0017.jpg belongs to item 17, at most 65535\n"
    "                       bytes each. Items without a file have an empty payload\n"
    "  --share F            every cell lists the share F, 1e-6 to 0.5, of its slot's items: those most likely to be "
    "near\n"
    "                       a query in that cell. An answer then carries the share F. Default 0.02\n"
    "  --cells-per-item N   instead of --share: list every item in its nearest cell (1), or in the two nearest (2)\n"
    "  --voters V.npy       public rows that vote for the lists of a share, beside the items. For queries that are "
    "unlike\n"
    "                       the items, such as words that ask for pictures: give rows that are like queries. They are\n"
    "                       not put into the store\n"
    "  --voters-labels VL.npy  their classes: each votes in the slot of its class only. Default: in every slot\n"
    "  --voters-modality NAME  whose features they are. Default: the first\n"
    "  --iterations T       iterations of the embedding (gaussian only), 0 to 64. Default 0\n"
    "  --store STORE        the store to write: sqlite:FILE (works in FILE.building), or postgres:URI, a database "
    "that\n"
    "                       holds the stores of any number of packs (docs/SERVER.md)\n"
    "  --force              replace the store that is there\n"
    "  --threads N          1 to 256. Default: the number of processors. Never changes the store\n"
    "  --json               JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help               this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 the store cannot be written,\n"
    "7 out of memory.\n\n"
    "Example: privatemail index --pack shapes.pmpk --features shapes/gallery.npy --labels shapes/gallery_labels.npy "
    "\\\n"
    "         --store sqlite:shapes.store\n";

const struct command command_index = {"index", "make a searchable store of a gallery", help, run};
