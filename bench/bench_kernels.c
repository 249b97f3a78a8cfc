/* SPDX-License-Identifier: Apache-2.0
 * Every kernel of the one list that this CPU runs, on rows that stay in the first cache: how busy are the multipliers?
 * In: nothing. Out: products a second, and that all kernels agree. */
#include "harness.h"
#include "kernels.h"
#include "synthetic.h"

#include <stdlib.h>
#include <string.h>

static const struct command command = {
    .name = "bench_kernels",
    .summary = "how fast the kernels are",
    .help = "usage: bench_kernels [--rounds R] [--quick] [--json]\n"
            "\n"
            "Times every kernel that this CPU runs, for rows of 64 to 2048 features in the first cache: dot products "
            "of one\n"
            "query with 16 rows. All kernels must give the same sums; it fails where one does not.\n"
            "\n"
            "  --rounds R  rounds, each of which measures everything once. Default 41\n"
            "  --quick     3 short rounds: shows that it runs, not how fast\n"
            "  --json      the numbers as JSON on stdout, times in microseconds with their quartiles\n"
            "\n"
            "example: taskset -c 1 build/release/bench/bench_kernels\n"
            "exit codes: 0, 2 usage, 7 kernels disagree or no memory\n",
};

#define ENTRY(name) &pml_kernels_##name,
static const struct pml_kernels *const kernels[] = {PML_KERNEL_LIST(ENTRY)};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static const size_t widths[] = {64, 128, 256, 512, 1024, 2048};
enum { WIDTHS = sizeof widths / sizeof *widths, WIDEST = 2048 };

struct work {
    const struct pml_kernels *kernel;
    const int8_t *query, *rows;
    size_t width;
    int32_t dots[PML_KERNEL_ROWS];
    volatile uint32_t taken;
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

static void check_agreement(const struct work *works)
{
    for (size_t i = 1; i < KERNELS; i++)
        if (memcmp(works[i].dots, works[0].dots, sizeof works[0].dots) != 0)
            bench_stop("the kernels disagree: this is a fault, please report it.");
}

int main(int argc, char **argv)
{
    static struct bench bench;
    static struct work works[KERNELS];
    struct bench_case cases[KERNELS];
    struct bench_output output = {0};
    bool quick = false;
    int code = bench_options(&command, argc, argv, NULL, 0, &bench, &output, &quick);
    if (code >= 0)
        return code;
    struct pml_rows rows = synthetic_rows(PML_KERNEL_ROWS + 1, WIDEST, 1);
    bench_begin(&output, command.name, &bench);
    for (size_t w = 0; w < WIDTHS; w++) {
        for (size_t i = 0; i < KERNELS; i++) {
            works[i] = (struct work){
                .kernel = kernels[i], .query = rows.values, .rows = rows.values + WIDEST, .width = widths[w]};
            cases[i] = (struct bench_case){run_dots, &works[i], {kernels[i]->name}};
        }
        bench_measure(&bench, cases, KERNELS, "kernels");
        check_agreement(works);
        for (size_t i = 0; i < KERNELS; i++) {
            bench_row(&output);
            bench_text(&output, "kernel", kernels[i]->name);
            bench_count(&output, "d", widths[w]);
            bench_times(&output, "16 rows", &bench.results[i][0]);
            bench_number(&output, "products a ns",
                         1e-9 * PML_KERNEL_ROWS * (double)widths[w] / bench.results[i][0].median);
            bench_number(&output, "times portable", bench_ratio(&bench, &bench.results[0][0], &bench.results[i][0]));
            bench_row_end(&output);
        }
        bench_free(&bench);
    }
    bench_end(&output);
    pml_rows_free(&rows);
    return EXIT_OK;
}
