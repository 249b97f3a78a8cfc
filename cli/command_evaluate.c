/* SPDX-License-Identifier: Apache-2.0
 * evaluate: measures how much a private search finds. Reports, for every ε and share, what is found, the most that any
 * method could find, and what a random download would find. */
#include "common/clock.h"
#include "lab/evaluate/evaluate_report.h"
#include "tools/pack/cells_rule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CARRIED_MIN = 32 }; /* items: an answer with fewer says little about the 8 nearest */

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

/* What the service was made for. */
struct ready {
    unsigned cells;
    double share;
};

/* Plans for the cells of the pack, and runs all queries in the crowd. */
static exit_code measure_crowd(const struct evaluate_bench *bench, struct evaluate_row *row,
                               const struct pml_progress *progress)
{
    const struct evaluate_options *options = bench->options;
    const pml_pack_info *info = &bench->pack.info;
    if (options->crowd.own > info->cells)
        return command_fail(&command_evaluate, EXIT_USAGE,
                            "the pack has %u cells per slot, so --own must be at most that.", info->cells);
    exit_code code = crowd_policy_make(&command_evaluate, &options->crowd, row->epsilon, options->delta,
                                       (uint64_t)info->slots * info->cells, &row->promise);
    pml_crowd policy = row->promise.policy;
    policy.mu = policy.delta0 = 0.0; /* nothing is counted here */
    return code == EXIT_OK ? evaluate_trials_run(bench, options->crowd.floor, &policy, progress, &row->result) : code;
}

/* One row. Rows of the same number of cells and share that follow each other use the same service. */
static exit_code measure_row(struct evaluate_bench *bench, struct evaluate_row *row,
                             const struct pml_progress *progress, struct ready *ready)
{
    const struct evaluate_options *options = bench->options;
    const double list = options->crowd.asked ? row->share / (double)options->crowd.own : row->share;
    exit_code code = EXIT_OK;
    if (ready->cells != row->cells || ready->share < list || ready->share > list)
        code = evaluate_bench_set(bench, row->cells, list, options->crowd.asked);
    *ready = (struct ready){row->cells, list};
    if (code != EXIT_OK)
        return code;
    return options->crowd.asked ? measure_crowd(bench, row, progress)
                                : evaluate_trials_run(bench, row->epsilon, NULL, progress, &row->result);
}

/* What response alone finds with as much that comes down. */
static exit_code measure_local(struct evaluate_bench *bench, struct evaluate_row *row,
                               const struct pml_progress *progress)
{
    struct evaluate_local *local = &row->local;
    local->share = fmin(row->result.mean[EVALUATE_CARRIED], 0.5);
    local->cells = pml_cells_rule(row->epsilon, local->share);
    exit_code code = evaluate_bench_set(bench, local->cells, local->share, false);
    return code == EXIT_OK ? evaluate_trials_run(bench, row->epsilon, NULL, progress, &local->result) : code;
}

static exit_code choose_rows(struct evaluate_bench *bench, struct evaluate_report *report)
{
    const struct evaluate_options *options = bench->options;
    exit_code code = EXIT_OK;
    for (size_t e = 0; e < options->epsilons.count; e++) {
        for (size_t s = 0; s < options->shares.count && code == EXIT_OK; s++) {
            struct evaluate_row *row = &report->rows[report->row_count++];
            *row = (struct evaluate_row){.epsilon = options->epsilons.values[e], .share = options->shares.values[s]};
            if (options->crowd.asked)
                code = evaluate_bench_crowd_cells(bench, row->epsilon, row->share, &row->cells);
            else
                row->cells = evaluate_bench_cells(options, row->epsilon, row->share);
        }
    }
    return code;
}

/* In the order of share and cells, so that rows with the same service follow each other. */
static size_t next_row(const struct evaluate_report *report, const bool *done, const struct evaluate_row *last)
{
    size_t best = report->row_count;
    for (size_t i = 0; i < report->row_count; i++) {
        const struct evaluate_row *row = &report->rows[i];
        const bool same = last && row->cells == last->cells && row->share >= last->share && row->share <= last->share;
        if (!done[i] && (best == report->row_count || same))
            best = i;
        if (!done[i] && same)
            break;
    }
    return best;
}

static exit_code measure(const struct evaluate_options *options, const struct evaluate_data *data,
                         struct evaluate_report *report)
{
    struct evaluate_bench bench = {.options = options, .data = data};
    struct ready ready = {0};
    bool done[EVALUATE_LIST_MAX * EVALUATE_LIST_MAX] = {false};
    struct evaluate_row *row = NULL;
    exit_code code = choose_rows(&bench, report);
    const bool crowd = options->crowd.asked;
    struct overall overall = {0, report->row_count * (crowd ? 2 : 1)};
    const struct pml_progress progress = {show_overall, &overall, "queries"};
    for (size_t i = 0; i < report->row_count && code == EXIT_OK; i++, overall.done++) {
        const size_t next = next_row(report, done, row);
        row = &report->rows[next];
        done[next] = true;
        code = measure_row(&bench, row, &progress, &ready);
    }
    for (size_t i = 0; crowd && i < report->row_count && code == EXIT_OK; i++, overall.done++)
        code = measure_local(&bench, &report->rows[i], &progress);
    progress_end();
    report->slots = bench.pack.info.slots;
    report->sketch = bench.pack.info.sketch;
    evaluate_bench_close(&bench);
    return code;
}

static exit_code run(int argc, char **argv)
{
    const double start = pml_clock_now();
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
        report->seconds = pml_clock_now() - start;
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
    "every query, answers them, and compares the first 8 with the 8 items that are truly nearest. Everything stays in\n"
    "memory. Without files it draws a sample gallery.\n\n"
    "Options:\n"
    "  --public F.npy           public features; --public-labels L.npy: their classes\n"
    "  --gallery F.npy          features the server has; --gallery-labels L.npy: their classes\n"
    "  --queries F.npy          features of what devices ask; --queries-labels L.npy: their classes. With --slots\n"
    "                           one all labels may be left out; then there are no figures about classes\n"
    "  --front NAME=FILE        a modality and its front, --with NAME=F.npy: further public rows, as for privatemail\n"
    "                           pack; --modality NAME: whose features --gallery are. Default: the first\n"
    "  --public-modality NAME   whose features --public are. Default: those of the gallery\n"
    "  --ask NAME               whose features --queries are. Default: those of the gallery\n"
    "  --voters V.npy           rows that vote for the lists, as for privatemail index, with --voters-labels and\n"
    "                           --voters-modality; none: only items vote. Default: those of --public, where they are\n"
    "                           of the queries' modality\n"
    "  --mechanism M            response or gaussian. Default response\n"
    "  --codes C, --dims k, --neighbours K, --iterations T\n"
    "                           with gaussian, as for privatemail pack and index\n"
    "  --slots S                class, group or one. Default one\n"
    "  --slot-count G           with --slots group, as for privatemail pack\n"
    "  --class-from C           true: the device knows the class of its query; predicted: it takes the most frequent\n"
    "                           class of the 8 nearest public rows; head: what --head H.pmfr guesses. Default true\n"
    "  --looks N                every N rows of --queries are looks at one photo, 1 to 512; one label each. Default 1\n"
    "  --epsilon E,...          1e-6 to 16, at most 16 values. Default 1,2,4,6,8; in a crowd 0.1,0.5,1\n"
    "  --delta D                1e-15 to below 1. Default 1e-5 for gaussian, 1e-8 in a crowd; response alone has none\n"
    "  --share F,...            share of the gallery in an answer, 1e-6 to 0.5, at most 16 values; shares of fewer "
    "than\n"
    "                           32 items are skipped. Default 0.01,0.02,0.05,0.1\n"
    "  --cells N                cells per slot, 2 to 65536, or auto: chosen for epsilon and share. Default auto\n"
    "  --crowd N                ask in a crowd of N clients per epoch, 1 to 4294967296, planned for each epsilon; the\n"
    "                           share is that of all own messages together. --honest H, --floor E0, --own W,\n"
    "                           --copies-max V and --noise WHO: see privatemail crowd --help\n"
    "  --cells-per-item N       list every item in its 1 or 2 nearest cells instead, with N/F cells\n"
    "  --rows-per-prototype N   as for privatemail pack; here 1 needs nothing else\n"
    "  --with-gallery           build packs as privatemail pack --gallery does; --refine N: as for privatemail pack\n"
    "  --soft                   build packs as privatemail pack --soft does; always in a crowd\n"
    "  --releases R             releases per query, 1 to 1000. Default 4\n"
    "  --scope S                own or all: which slots of an answer the device ranks. Default own\n"
    "  --sketch L               bytes of a sketch, as for privatemail pack\n"
    "  --plain-sketches         build packs as privatemail pack --plain-sketches does\n"
    "  --seed N                 seed of packs and random downloads, never of noise. Default 0\n"
    "  --threads N              1 to 256. Default: the number of processors\n"
    "  --json                   JSON on stdout instead of a table (docs/CLI.md)\n"
    "  --help                   this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 stdout cannot be written,\n"
    "6 the pack or the parameters cannot give the promise, 7 no entropy or out of memory.\n\n"
    "Example: privatemail evaluate --epsilon 4 --share 0.02,0.05\n"
    "         privatemail evaluate --crowd 1000000 --epsilon 0.1 --share 0.02\n";

const struct command command_evaluate = {"evaluate", "measure what a private search finds", help, run};
