/* SPDX-License-Identifier: Apache-2.0
 * evaluate: measures how much a private search finds. Reports, for every ε and share, what is found, the most that any
 * method could find, and what a random download would find. */
#define _POSIX_C_SOURCE 200809L
#include "lab/evaluate/evaluate_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CARRIED_MIN = 32 }; /* items: an answer with fewer says little about the 8 nearest */

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Leaves out shares that make answers too small. */
static exit_code choose_shares(const struct evaluate_data *data, struct evaluate_list *shares,
                               struct evaluate_list *skipped)
{
    const struct evaluate_list asked = *shares;
    shares->count = 0;
    for (size_t i = 0; i < asked.count; i++) {
        const double items = asked.values[i] * (double)data->gallery.features.rows;
        struct evaluate_list *list = items < (double)CARRIED_MIN ? skipped : shares;
        list->values[list->count++] = asked.values[i];
        if (items < (double)CARRIED_MIN)
            fprintf(stderr, "privatemail evaluate: the share %g is %.3g of %zu items, fewer than %d: skipped.\n",
                    asked.values[i], items, data->gallery.features.rows, CARRIED_MIN);
    }
    return shares->count > 0 ? EXIT_OK
                             : command_fail(&command_evaluate, EXIT_USAGE,
                                            "all shares are too small for this gallery. Give a larger --share.");
}

/* ---- progress: of all rows together ---- */

struct overall {
    size_t done, rows;
};

static void show_overall(void *context, const char *stage, double done)
{
    const struct overall *overall = context;
    progress_show(NULL, stage, ((double)overall->done + done) / (double)overall->rows);
}

/* ---- the measurement ---- */

/* All ε of one share. Those with the same number of cells use the same service. */
static exit_code measure_share(struct evaluate_bench *bench, const struct evaluate_options *options, size_t share_index,
                               struct overall *overall, struct evaluate_row *rows)
{
    const double share = options->shares.values[share_index];
    const struct pml_progress progress = {show_overall, overall, "queries"};
    for (size_t first = 0; first < options->epsilons.count; first++) {
        const unsigned cells = evaluate_bench_cells(options, options->epsilons.values[first], share);
        bool ready = false;
        for (size_t e = first; e < options->epsilons.count; e++) {
            const double epsilon = options->epsilons.values[e];
            struct evaluate_row *row = &rows[e * options->shares.count + share_index];
            if (row->cells != 0 || evaluate_bench_cells(options, epsilon, share) != cells)
                continue;
            exit_code code = ready ? EXIT_OK : evaluate_bench_set(bench, cells, share);
            ready = true;
            *row = (struct evaluate_row){.epsilon = epsilon, .share = share, .cells = cells};
            if (code == EXIT_OK)
                code = evaluate_trials_run(bench, epsilon, &progress, &row->result);
            if (code != EXIT_OK)
                return code;
            overall->done++;
        }
    }
    return EXIT_OK;
}

static exit_code measure(const struct evaluate_options *options, const struct evaluate_data *data,
                         struct evaluate_report *report)
{
    struct evaluate_bench bench = {.options = options, .data = data};
    struct overall overall = {0, options->epsilons.count * options->shares.count};
    exit_code code = EXIT_OK;
    for (size_t i = 0; i < options->shares.count && code == EXIT_OK; i++)
        code = measure_share(&bench, options, i, &overall, report->rows);
    progress_end();
    report->row_count = overall.rows;
    report->slots = bench.pack.info.slots;
    report->sketch = bench.pack.info.sketch;
    evaluate_bench_close(&bench);
    return code;
}

static exit_code run(int argc, char **argv)
{
    const double start = seconds_now();
    struct evaluate_options options;
    struct evaluate_data data = {0};
    struct evaluate_report *report = NULL;
    exit_code code = evaluate_options_parse(argc, argv, &options);
    if (code != EXIT_OK)
        return code;
    code = evaluate_data_make(&data, &options);
    if (code == EXIT_OK)
        code = (report = calloc(1, sizeof *report)) ? EXIT_OK : command_no_memory(&command_evaluate);
    if (code == EXIT_OK)
        code = choose_shares(&data, &options.shares, &report->skipped);
    if (code == EXIT_OK)
        code = measure(&options, &data, report);
    if (code == EXIT_OK) {
        report->options = &options;
        report->data = &data;
        report->seconds = seconds_now() - start;
        (options.json ? evaluate_report_write : evaluate_report_print)(report);
        evaluate_report_hint(report);
    }
    progress_end();
    free(report);
    evaluate_data_free(&data);
    return code;
}

static const char help[] =
    "Usage: privatemail evaluate [--public F.npy --gallery F.npy --queries F.npy] [OPTIONS]\n\n"
    "Measures what a private search finds. Builds packs from the public rows, indexes the gallery, makes releases of\n"
    "every query as a device does, answers them as a server does, and compares the first 8 with the 8 items that are\n"
    "truly nearest. Everything stays in memory. Without files it draws a sample gallery.\n\n"
    "Options:\n"
    "  --public F.npy           public features; --public-labels L.npy: their classes\n"
    "  --gallery F.npy          features of what the server has; --gallery-labels L.npy: their classes\n"
    "  --queries F.npy          features of what devices ask for; --queries-labels L.npy: their classes. With --slots\n"
    "                           one all labels may be left out; then there are no figures about classes\n"
    "  --mechanism M            response or gaussian. Default response\n"
    "  --slots S                class, group or one. Default one\n"
    "  --slot-count G           with --slots group, as for privatemail pack\n"
    "  --class-from C           true: the device knows the class of its query; predicted: it takes the most frequent\n"
    "                           class of the 8 nearest public rows. Default true\n"
    "  --epsilon E,...          1e-6 to 16, at most 16 values. Default 1,2,4,6,8\n"
    "  --delta D                gaussian only: 1e-15 to below 1. Default 1e-5\n"
    "  --share F,...            share of the gallery in an answer, 1e-6 to 0.5, at most 16 values; shares of fewer "
    "than\n"
    "                           32 items are skipped. Default 0.01,0.02,0.05,0.1\n"
    "  --cells N                cells per slot, 2 to 65536, or auto: chosen for epsilon and share. Default auto\n"
    "  --cells-per-item N       list every item in its 1 or 2 nearest cells instead of lists of a share, with N/F "
    "cells\n"
    "  --rows-per-prototype N   as for privatemail pack; here 1 needs nothing else\n"
    "  --releases R             releases per query, 1 to 1000. Default 4\n"
    "  --scope S                own or all: which slots of an answer the device ranks. Default own\n"
    "  --sketch L               bytes of a sketch, as for privatemail pack\n"
    "  --seed N                 seed of the packs and of the random downloads, never of noise. Default 0\n"
    "  --threads N              1 to 256. Default: the number of processors\n"
    "  --json                   JSON on stdout instead of a table (docs/CLI.md)\n"
    "  --help                   this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 stdout cannot be written,\n"
    "6 the pack or the parameters cannot give the promise, 7 no entropy or out of memory.\n\n"
    "Example: privatemail evaluate --epsilon 4 --share 0.02,0.05\n";

const struct command command_evaluate = {"evaluate", "measure what a private search finds", help, run};
