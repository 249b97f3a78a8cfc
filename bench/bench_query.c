/* SPDX-License-Identifier: Apache-2.0
 * What a query costs: arm and release of both mechanisms, and within release the scan of all rows beside what bounds it.
 * Never prints the result of a query. */
#include "client.h"
#include "harness.h"
#include "kernel_choice.h"
#include "read_sweep.h"
#include "stages/stages.h"
#include "synthetic.h"

#include <stdio.h>
#include <stdlib.h>

static const struct command command = {
    .name = "bench_query",
    .summary = "what a query costs",
    .help =
        "usage: bench_query [--n N --d D] [--mechanism M] [--kernel NAME] [--rounds R] [--quick] [--json]\n"
        "\n"
        "Times arm and release of one query, and within release the quantising and the scan of all rows, for n = 100\n"
        "to 262144 rows of d = 64 to 2048 features. Beside the scan, in the same rounds:\n"
        "  read      a vectorised read of the same bytes: no scan can be faster if memory is the limit\n"
        "  roofline  the larger of that and of the kernel alone on as many rows that stay in the first cache\n"
        "Response: n prototypes in n/8 slots, at most 1024, of 8 cells. Gaussian: n anchors, K = 10, one slot, k = 2.\n"
        "The time of arm includes the system's entropy, but not storing the budget. Rows are made up.\n"
        "\n"
        "  --n N, --d D   one size instead of all\n"
        "  --mechanism M  response or gaussian. Default: both\n"
        "  --kernel NAME  a kernel that bench_kernels lists. Default: the best of this CPU\n"
        "  --repeat R     no clock: R scans of one size, for callgrind (needs --n, --d, --mechanism)\n"
        "  --rounds R     rounds, each of which measures everything once. Default 41\n"
        "  --quick        small sizes and 3 rounds: shows that it runs, not how fast\n"
        "  --json         the numbers as JSON on stdout, times in microseconds with their quartiles\n"
        "\n"
        "example: taskset -c 1 build/release/bench/bench_query --n 262144 --d 512 --mechanism gaussian\n"
        "exit codes: 0, 2 usage, 7 out of memory\n",
};

enum { NEIGHBOURS = 10, CELLS = 8 };

struct query {
    int mechanism;
    size_t n, d, slots;
    struct pml_rows rows;
    struct synthetic_pack pack;
    struct synthetic_client client;
    const struct pml_kernels *kernels;
    float *features;
    int8_t *row;
    volatile uint64_t taken; /* results go here, so that no work can be left out */
};

static void open_query(struct query *query, int mechanism, const struct pml_kernels *kernels, size_t n, size_t d)
{
    *query = (struct query){.mechanism = mechanism, .d = d, .slots = 1, .kernels = kernels};
    if (mechanism == PML_RESPONSE)
        query->slots = n / CELLS < PML_SLOTS_MAX ? n / CELLS : PML_SLOTS_MAX;
    query->n = n / query->slots * query->slots;
    query->rows = synthetic_rows(query->n, d, 1);
    synthetic_pack(&query->pack, &query->rows, mechanism, NEIGHBOURS, query->slots, CELLS);
    synthetic_client(&query->client, &query->pack.pack, mechanism, query->kernels);
    query->features = synthetic_features(1, d, 7);
    query->row = bench_allocate(d);
    pml_quantise_row(query->features, d, query->row, query->kernels);
    pml_rows_free(&query->rows); /* the pack has them */
}

static void close_query(struct query *query)
{
    synthetic_client_free(&query->client);
    synthetic_pack_free(&query->pack);
    free(query->features);
    free(query->row);
}

/* ---- what is measured ---- */

static void run_arm(void *context, size_t repeats, double *seconds)
{
    struct query *query = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        synthetic_arm(&query->client);
    *seconds += bench_now() - start;
}

/* The conductor alone, which does not use the noise up: one arm is enough. A client wipes noise and stack as well. */
static void run_release(void *context, size_t repeats, double *seconds)
{
    struct query *query = context;
    const pml_query true_query = {.features = query->features, .count = query->d, .label = 0};
    synthetic_arm(&query->client);
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        synthetic_check(pml_pipeline_release(query->client.client, &true_query, query->client.message));
    *seconds += bench_now() - start;
}

static void run_quantise(void *context, size_t repeats, double *seconds)
{
    struct query *query = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        query->taken += pml_quantise_row(query->features, query->d, query->row, query->kernels);
    *seconds += bench_now() - start;
}

static uint64_t scan(struct query *query)
{
    const pml_pack *view = &query->pack.pack;
#if PML_WITH_GAUSSIAN
    if (query->mechanism == PML_GAUSSIAN) {
        uint64_t keys[NEIGHBOURS];
        pml_neighbours_find(view, query->kernels, query->row, keys);
        return keys[0];
    }
#endif
    return pml_prototypes_cell(view, query->kernels, query->row, 0);
}

static void run_scan(void *context, size_t repeats, double *seconds)
{
    struct query *query = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        query->taken += scan(query);
    *seconds += bench_now() - start;
}

static const int8_t *rows_of(const struct query *query)
{
    const int section = query->mechanism == PML_GAUSSIAN ? PML_SECTION_ANCHORS : PML_SECTION_PROTOTYPES;
    return (const int8_t *)query->pack.pack.section[section];
}

static void run_read(void *context, size_t repeats, double *seconds)
{
    struct query *query = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        query->taken += read_sweep(rows_of(query), query->n * query->d);
    *seconds += bench_now() - start;
}

/* The kernel over one block of rows again and again: only the multipliers are the bound. */
static void run_kernel(void *context, size_t repeats, double *seconds)
{
    struct query *query = context;
    int32_t dots[PML_KERNEL_ROWS];
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        for (size_t at = 0; at < query->n; at += PML_KERNEL_ROWS) {
            size_t count = query->n - at < PML_KERNEL_ROWS ? query->n - at : PML_KERNEL_ROWS;
            query->kernels->dots_s8(query->row, rows_of(query), query->d, count, dots);
            query->taken += (uint32_t)dots[0];
        }
    *seconds += bench_now() - start;
}

/* ---- one size ---- */

enum { ARM, RELEASE, QUANTISE, SCAN, READ, KERNEL, CASES };

static void measure(struct bench *bench, struct bench_output *output, int mechanism, const struct pml_kernels *kernels,
                    size_t n, size_t d)
{
    static struct query query;
    char what[64];
    open_query(&query, mechanism, kernels, n, d);
    const struct bench_case cases[CASES] = {
        [ARM] = {run_arm, &query, {"arm"}},
        [RELEASE] = {run_release, &query, {"release"}},
        [QUANTISE] = {run_quantise, &query, {"quantise"}},
        [SCAN] = {run_scan, &query, {"scan"}},
        [READ] = {run_read, &query, {"read"}},
        [KERNEL] = {run_kernel, &query, {"kernel"}},
    };
    snprintf(what, sizeof what, "%s n=%zu d=%zu", mechanism == PML_GAUSSIAN ? "gaussian" : "response", n, d);
    bench_measure(bench, cases, CASES, what);
    const struct bench_result *scanned = &bench->results[SCAN][0], *read = &bench->results[READ][0],
                              *kernel = &bench->results[KERNEL][0];
    bench_row(output);
    bench_text(output, "mechanism", mechanism == PML_GAUSSIAN ? "gaussian" : "response");
    bench_text(output, "kernel", query.kernels->name);
    bench_count(output, "n", query.n);
    bench_count(output, "d", d);
    bench_count(output, "slots", query.slots);
    bench_times(output, "arm", &bench->results[ARM][0]);
    bench_times(output, "release", &bench->results[RELEASE][0]);
    bench_times(output, "quantise", &bench->results[QUANTISE][0]);
    bench_times(output, "scan", scanned);
    bench_times(output, "read", read);
    bench_times(output, "kernel alone", kernel);
    bench_number(output, "scan by read", bench_ratio(bench, scanned, read));
    bench_number(output, "scan by roofline",
                 bench_ratio(bench, scanned, read->median > kernel->median ? read : kernel));
    bench_number(output, "GB/s", (double)(query.n * d) / scanned->median * 1e-9);
    bench_row_end(output);
    bench_free(bench);
    close_query(&query);
}

/* Scans without a clock, for a counter of instructions. */
static void repeat_scans(int mechanism, const struct pml_kernels *kernels, size_t n, size_t d, uint64_t repeats)
{
    static struct query query;
    open_query(&query, mechanism, kernels, n, d);
    for (uint64_t i = 0; i < repeats; i++)
        query.taken += scan(&query);
    close_query(&query);
}

/* ---- all sizes ---- */

static const struct size {
    size_t n, d;
} sizes[] = {{100, 512},   {1000, 64},   {1000, 128},   {1000, 256},   {1000, 512},
             {1000, 1024}, {1000, 2048}, {10000, 64},   {10000, 512},  {10000, 2048},
             {65536, 512}, {262144, 64}, {262144, 128}, {262144, 512}, {262144, 2048}},
  small[] = {{100, 64}, {1000, 72}};

struct choice {
    uint64_t n, d, repeats;
    const char *mechanism, *kernel;
    bool quick;
};

static exit_code check(const struct choice *choice)
{
    if ((choice->n == 0) != (choice->d == 0))
        return command_fail(&command, EXIT_USAGE, "--n and --d go together: give both or none.");
    if (choice->n != 0 && (choice->n < 16 || choice->n > PML_ANCHORS_MAX || choice->d > PML_FEATURES_MAX))
        return command_fail(&command, EXIT_USAGE, "--n must be 16 to %u and --d 1 to %u.", PML_ANCHORS_MAX,
                            PML_FEATURES_MAX);
    if (choice->repeats > 0 && (choice->n == 0 || !choice->mechanism))
        return command_fail(&command, EXIT_USAGE, "--repeat needs --n, --d and --mechanism.");
    if (choice->mechanism && choice->mechanism[0] != 'r' && choice->mechanism[0] != 'g')
        return command_fail(&command, EXIT_USAGE, "--mechanism is response or gaussian.");
    if (!kernel_named(choice->kernel))
        return command_fail(&command, EXIT_USAGE, "this CPU runs no kernel '%s': bench_kernels lists those it runs.",
                            choice->kernel);
    return EXIT_OK;
}

static bool is_chosen(const struct choice *choice, int mechanism)
{
    if (!(mechanism == PML_GAUSSIAN ? PML_WITH_GAUSSIAN : PML_WITH_RESPONSE))
        return false;
    return !choice->mechanism || (choice->mechanism[0] == 'g') == (mechanism == PML_GAUSSIAN);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    static const int mechanisms[] = {PML_RESPONSE, PML_GAUSSIAN};
    struct bench_output output = {0};
    struct choice choice = {0};
    struct option_spec specs[] = {{"n", OPTION_COUNT, &choice.n, false, false},
                                  {"d", OPTION_COUNT, &choice.d, false, false},
                                  {"mechanism", OPTION_TEXT, &choice.mechanism, false, false},
                                  {"kernel", OPTION_TEXT, &choice.kernel, false, false},
                                  {"repeat", OPTION_COUNT, &choice.repeats, false, false}};
    exit_code code = bench_options(&command, argc, argv, specs, 5, &bench, &output, &choice.quick);
    if (code == EXIT_OK)
        code = check(&choice);
    if (code != EXIT_OK)
        return (int)code;
    const struct pml_kernels *kernels = kernel_named(choice.kernel);
    const struct size one = {(size_t)choice.n, (size_t)choice.d};
    const struct size *list = choice.n ? &one : choice.quick ? small : sizes;
    const size_t count = choice.n ? 1 : choice.quick ? sizeof small / sizeof *small : sizeof sizes / sizeof *sizes;
    if (choice.repeats == 0)
        bench_begin(&output, command.name, &bench);
    for (size_t m = 0; m < 2; m++)
        for (size_t i = 0; is_chosen(&choice, mechanisms[m]) && i < count; i++) {
            if (choice.repeats > 0)
                repeat_scans(mechanisms[m], kernels, list[i].n, list[i].d, choice.repeats);
            else
                measure(&bench, &output, mechanisms[m], kernels, list[i].n, list[i].d);
        }
    if (choice.repeats == 0)
        bench_end(&output);
    return EXIT_OK;
}
