/* SPDX-License-Identifier: Apache-2.0
 * What building a pack costs: the graph of neighbours, k-means, and a whole pack by stage. */
#include "common/rows/kmeans.h"
#include "common/rows/knn.h"
#include "harness.h"
#include "kernel_choice.h"
#include "synthetic.h"
#include "tools/pack/pack_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command command = {
    .name = "bench_pack",
    .summary = "what building a pack costs",
    .help = "usage: bench_pack [--n N] [--d D] [--clusters M] [--kernel NAME] [--rounds R] [--quick] [--json]\n"
            "\n"
            "Times, on one thread: the exact graph of the 10 nearest neighbours of n rows,\n"
            "k-means, and a whole pack of one slot with all its stages, from floats to checked bytes.\n"
            "\n"
            "  --n N         rows. Default 20000\n"
            "  --d D         features. Default 512\n"
            "  --clusters M  cells. Default 100\n"
            "  --kernel NAME a kernel that bench_kernels lists. Default: the best of this CPU\n"
            "  --rounds R    rounds, each of which measures everything once. Default 5\n"
            "  --quick       small sizes and 3 rounds: shows that it runs, not how fast\n"
            "  --json        the numbers as JSON on stdout, times in microseconds with their quartiles\n"
            "\n"
            "example: taskset -c 1 build/release/bench/bench_pack --n 20000 --d 512\n"
            "exit codes: 0, 2 usage, 7 out of memory\n",
};

enum { NEIGHBOURS = 10, STAGES_MAX = BENCH_SERIES_MAX - 1 };

/* The builder tells when a stage begins: what passed since belongs to the stage before. */
struct stages {
    const char *names[STAGES_MAX];
    double began, *seconds;
    size_t count, current;
};

struct work {
    struct pml_features features;
    struct pml_rows rows;
    unsigned clusters;
    const struct pml_kernels *kernels;
    struct stages stages;
    uint32_t *lists, *of;
    int8_t *centres;
};

static void run_graph(void *context, size_t repeats, double *seconds)
{
    struct work *work = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        if (pml_knn(&work->rows, NEIGHBOURS, 1, NULL, work->lists) != 0)
            bench_stop("out of memory for the graph.");
    *seconds += bench_now() - start;
}

static void run_kmeans(void *context, size_t repeats, double *seconds)
{
    struct work *work = context;
    struct pml_kmeans result = {work->centres, work->of, 0};
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        if (pml_kmeans(&work->rows, work->clusters, 1, 1, NULL, &result) != 0)
            bench_stop("out of memory for k-means.");
    *seconds += bench_now() - start;
}

static void end_stage(struct stages *stages)
{
    double now = bench_now();
    if (stages->current < STAGES_MAX)
        stages->seconds[1 + stages->current] += now - stages->began;
    stages->began = now;
}

static void on_progress(void *context, const char *name, double done)
{
    struct stages *stages = context;
    (void)done;
    if (stages->current < stages->count && strcmp(stages->names[stages->current], name) == 0)
        return;
    end_stage(stages);
    for (stages->current = 0; stages->current < stages->count; stages->current++)
        if (strcmp(stages->names[stages->current], name) == 0)
            return;
    if (stages->count < STAGES_MAX)
        stages->names[stages->count++] = name;
}

static void run_pack(void *context, size_t repeats, double *seconds)
{
    struct work *work = context;
    const struct pml_build_options options = {.cells = work->clusters,
                                              .slots = PML_SLOTS_ONE,
                                              .rows_are_public = 1,
                                              .gaussian = 1,
                                              .threads = 1,
                                              .progress = on_progress,
                                              .progress_context = &work->stages};
    struct pml_message message;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++) {
        uint8_t *bytes;
        size_t size;
        work->stages.seconds = seconds;
        work->stages.current = STAGES_MAX; /* none yet */
        work->stages.began = bench_now();
        if (pml_pack_build(&work->features, NULL, &options, &bytes, &size, NULL, &message) != 0)
            bench_stop(message.text);
        end_stage(&work->stages);
        free(bytes);
    }
    seconds[0] += bench_now() - start;
}

static void prepare(struct work *work, size_t n, size_t d)
{
    size_t bad;
    work->features = (struct pml_features){synthetic_features(n, d, 2), n, d};
    if (pml_rows_allocate(&work->rows, n, d) != 0 ||
        pml_rows_quantise(&work->rows, work->features.values, 1, NULL, &bad) != 0)
        bench_stop("out of memory for the rows.");
    work->lists = bench_allocate(n * NEIGHBOURS * sizeof *work->lists);
    work->of = bench_allocate(n * sizeof *work->of);
    work->centres = bench_allocate(work->clusters * d);
}

enum { GRAPH, KMEANS, PACK, CASES };

static void report(struct bench_output *output, const char *what, const struct work *work,
                   const struct bench_result *time)
{
    bench_row(output);
    bench_text(output, "what", what);
    bench_text(output, "kernel", work->kernels->name);
    bench_count(output, "n", work->rows.count);
    bench_count(output, "d", work->rows.columns);
    bench_count(output, "clusters", work->clusters);
    bench_times(output, "time", time);
    bench_row_end(output);
}

int main(int argc, char **argv)
{
    static struct bench bench = {.rounds = 5}; /* a round takes seconds */
    static struct work work;
    struct bench_output output = {0};
    uint64_t n = 0, d = 0, clusters = 0;
    const char *kernel = NULL;
    bool quick = false;
    struct option_spec specs[] = {{"n", OPTION_COUNT, &n, false, false},
                                  {"d", OPTION_COUNT, &d, false, false},
                                  {"clusters", OPTION_COUNT, &clusters, false, false},
                                  {"kernel", OPTION_TEXT, &kernel, false, false}};
    exit_code code = bench_options(&command, argc, argv, specs, 4, &bench, &output, &quick);
    if (code != EXIT_OK)
        return (int)code;
    n = n > 0 ? n : quick ? 300 : 20000, d = d > 0 ? d : quick ? 24 : 512;
    work.clusters = clusters > 0 ? (unsigned)clusters : quick ? 8 : 100;
    if (n < 32 || n > PML_ANCHORS_MAX || d > PML_FEATURES_MAX || clusters > n / 2 || clusters == 1)
        return (int)command_fail(&command, EXIT_USAGE, "--n must be 32 to %u, --d at most %u, --clusters 2 to n/2.",
                                 PML_ANCHORS_MAX, PML_FEATURES_MAX);
    work.kernels = kernel_named(kernel);
    if (!work.kernels)
        return (int)command_fail(&command, EXIT_USAGE,
                                 "this CPU runs no kernel '%s': bench_kernels lists those it runs.", kernel);
    kernel_limit(work.kernels);
    prepare(&work, (size_t)n, (size_t)d);
    const struct bench_case cases[CASES] = {
        [GRAPH] = {run_graph, &work, {"graph"}},
        [KMEANS] = {run_kmeans, &work, {"k-means"}},
        [PACK] = {run_pack, &work, {"pack", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
    };
    bench_measure(&bench, cases, CASES, "pack");
    bench_begin(&output, command.name, &bench);
    report(&output, "graph", &work, &bench.results[GRAPH][0]);
    report(&output, "k-means", &work, &bench.results[KMEANS][0]);
    report(&output, "whole pack", &work, &bench.results[PACK][0]);
    for (size_t i = 0; i < work.stages.count; i++) {
        char name[64];
        snprintf(name, sizeof name, "of which %s", work.stages.names[i]);
        report(&output, name, &work, &bench.results[PACK][1 + i]);
    }
    bench_end(&output);
    bench_free(&bench);
    free(work.features.values);
    free(work.lists);
    free(work.of);
    free(work.centres);
    pml_rows_free(&work.rows);
    return EXIT_OK;
}
