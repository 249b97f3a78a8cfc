/* SPDX-License-Identifier: Apache-2.0
 * Times every kernel of the one list that this CPU runs, on rows that stay in the first cache, and checks that all
 * kernels agree. */
#include "base/sha256.h"
#include "harness.h"
#include "kernel_choice.h"
#include "stages/stages.h"
#include "synthetic.h"

#include <stdlib.h>
#include <string.h>

static const struct command command = {
    .name = "bench_kernels",
    .summary = "how fast the kernels are",
    .help =
        "usage: bench_kernels [--rounds R] [--quick] [--json]\n"
        "\n"
        "Times every kernel that this CPU runs: dot products of one query with 32 rows of 64 to 2048 features in the\n"
        "first cache, quantising 512 features, and SHA-256 of 16384 bytes. Fails when two kernels give different\n"
        "results.\n"
        "\n"
        "  --rounds R  rounds, each of which measures everything once. Default 41\n"
        "  --quick     3 short rounds: shows that it runs, not how fast\n"
        "  --json      the numbers as JSON on stdout, times in microseconds with their quartiles\n"
        "\n"
        "example: taskset -c 1 build/release/bench/bench_kernels\n"
        "exit codes: 0, 2 usage, 7 kernels disagree or out of memory\n",
};

enum { WIDEST = 2048, FEATURES = 512, HASHED = 16384 };

static const size_t widths[] = {64, 128, 256, 512, 1024, 2048};
enum { WIDTHS = sizeof widths / sizeof *widths };

struct work {
    const struct pml_kernels *kernel;
    const int8_t *query, *rows;
    size_t width;
    const float *features;
    int32_t dots[PML_KERNEL_ROWS];
    int8_t row[FEATURES];
    uint8_t digest[32];
    volatile uint64_t taken;
};

static void run_dots(void *context, size_t repeats, double *seconds)
{
    struct work *work = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++) {
        work->kernel->dots_s8(work->query, work->rows, work->width, PML_KERNEL_ROWS, work->dots);
        work->taken += (uint32_t)work->dots[0];
    }
    *seconds += bench_now() - start;
}

static void run_quantise(void *context, size_t repeats, double *seconds)
{
    struct work *work = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        work->taken += pml_quantise_row(work->features, FEATURES, work->row, work->kernel);
    *seconds += bench_now() - start;
}

static void run_hash(void *context, size_t repeats, double *seconds)
{
    struct work *work = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        pml_sha256_by((const uint8_t *)work->rows, HASHED, work->digest, PML_KERNEL(work->kernel, sha256_blocks));
    *seconds += bench_now() - start;
}

static void report(struct bench_output *output, const struct bench *bench, const char *what, size_t width,
                   const struct pml_kernels *kernel, size_t index)
{
    const struct bench_result *result = &bench->results[index][0];
    bench_row(output);
    bench_text(output, "what", what);
    bench_text(output, "kernel", kernel->name);
    bench_count(output, "d", width);
    bench_times(output, "time", result);
    if (strcmp(what, "dots_s8") == 0)
        bench_number(output, "products per ns", 1e-9 * PML_KERNEL_ROWS * (double)width / result->median);
    bench_number(output, "times portable", bench_ratio(bench, &bench->results[0][0], result));
    bench_row_end(output);
}

/* One piece of work by all kernels; they must agree. */
static void measure(struct bench *bench, struct bench_output *output, struct work *works, size_t count,
                    const char *what, void (*run)(void *, size_t, double *), size_t width)
{
    struct bench_case cases[PML_KERNEL_COUNT] = {{0}};
    for (size_t i = 0; i < count; i++) {
        works[i].width = width;
        cases[i] = (struct bench_case){run, &works[i], {works[i].kernel->name}};
    }
    bench_measure(bench, cases, count, what);
    for (size_t i = 0; i < count; i++) {
        if (memcmp(works[i].dots, works[0].dots, sizeof works[0].dots) != 0 ||
            memcmp(works[i].row, works[0].row, sizeof works[0].row) != 0 ||
            memcmp(works[i].digest, works[0].digest, sizeof works[0].digest) != 0)
            bench_stop("the kernels disagree: this is a fault, please report it.");
        report(output, bench, what, width, works[i].kernel, i);
    }
    bench_free(bench);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    static struct work works[PML_KERNEL_COUNT];
    const struct pml_kernels *kernels[PML_KERNEL_COUNT];
    struct bench_output output = {0};
    bool quick = false;
    exit_code code = bench_options(&command, argc, argv, NULL, 0, &bench, &output, &quick);
    if (code != EXIT_OK)
        return (int)code;
    const size_t count = kernel_choices(kernels);
    struct pml_rows rows = synthetic_rows(PML_KERNEL_ROWS + 1, WIDEST, 1);
    float *features = synthetic_features(1, FEATURES, 7);
    for (size_t i = 0; i < count; i++)
        works[i] = (struct work){
            .kernel = kernels[i], .query = rows.values, .rows = rows.values + WIDEST, .features = features};
    bench_begin(&output, command.name, &bench);
    for (size_t w = 0; w < WIDTHS; w++)
        measure(&bench, &output, works, count, "dots_s8", run_dots, widths[w]);
    measure(&bench, &output, works, count, "quantise", run_quantise, FEATURES);
    measure(&bench, &output, works, count, "sha256", run_hash, 0);
    bench_end(&output);
    free(features);
    pml_rows_free(&rows);
    return EXIT_OK;
}
