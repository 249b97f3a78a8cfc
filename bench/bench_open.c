/* SPDX-License-Identifier: Apache-2.0
 * What opening a pack costs, beside hashing its bytes and beside a plain read of them. */
#include "base/sha256.h"
#include "harness.h"
#include "kernel_choice.h"
#include "read_sweep.h"
#include "synthetic.h"
#include "tools/pack/pack_builder.h"

#include <stdlib.h>

static const struct command command = {
    .name = "bench_open",
    .summary = "what opening a pack costs",
    .help =
        "usage: bench_open [--n N] [--d D] [--kernel NAME] [--rounds R] [--quick] [--json]\n"
        "\n"
        "Times pml_pack_open_with for a pack with all that `pack` writes: n anchors with codes and lists, 100 cells,\n"
        "sketches. Beside it, in the same rounds: SHA-256 of the same bytes by the same kernels, and a vectorised\n"
        "read of them.\n"
        "\n"
        "  --n N         rows. Default 20000\n"
        "  --d D         features. Default 512\n"
        "  --kernel NAME a kernel that bench_kernels lists. Default: each of this CPU\n"
        "  --rounds R    rounds, each of which measures everything once. Default 41\n"
        "  --quick       a small pack and 3 rounds: shows that it runs, not how fast\n"
        "  --json        the numbers as JSON on stdout, times in microseconds with their quartiles\n"
        "\n"
        "example: taskset -c 1 build/release/bench/bench_open --kernel avx2\n"
        "exit codes: 0, 2 usage, 7 out of memory\n",
};

struct work {
    const uint8_t *bytes;
    size_t size;
    const struct pml_kernels *kernels;
    volatile uint64_t taken;
};

static void run_open(void *context, size_t repeats, double *seconds)
{
    struct work *work = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++) {
        pml_pack pack;
        synthetic_check(pml_pack_open_with(&pack, work->bytes, work->size, NULL, NULL, work->kernels));
        work->taken += pack.anchors;
    }
    *seconds += bench_now() - start;
}

static void run_hash(void *context, size_t repeats, double *seconds)
{
    struct work *work = context;
    uint8_t digest[32];
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++) {
        pml_sha256_by(work->bytes, work->size, digest, PML_KERNEL(work->kernels, sha256_blocks));
        work->taken += digest[0];
    }
    *seconds += bench_now() - start;
}

static void run_read(void *context, size_t repeats, double *seconds)
{
    struct work *work = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        work->taken += read_sweep(work->bytes, work->size);
    *seconds += bench_now() - start;
}

/* A whole pack, as the command builds it. */
static struct work build(size_t n, size_t d, unsigned cells)
{
    const struct pml_build_options options = {
        .cells = cells, .slots = PML_SLOTS_ONE, .rows_are_public = 1, .gaussian = 1, .threads = 1};
    const struct pml_features features = {synthetic_features(n, d, 2), n, d};
    struct work work = {0};
    struct pml_message message;
    uint8_t *bytes;
    if (pml_pack_build(&features, NULL, &options, &bytes, &work.size, NULL, &message) != 0)
        bench_stop(message.text);
    free(features.values);
    work.bytes = bytes;
    return work;
}

enum { OPEN, HASH, READ, CASES };

static void measure(struct bench *bench, struct bench_output *output, struct work *work)
{
    const struct bench_case cases[CASES] = {
        [OPEN] = {run_open, work, {"open"}},
        [HASH] = {run_hash, work, {"hash"}},
        [READ] = {run_read, work, {"read"}},
    };
    bench_measure(bench, cases, CASES, work->kernels->name);
    const struct bench_result *opened = &bench->results[OPEN][0], *hashed = &bench->results[HASH][0],
                              *read = &bench->results[READ][0];
    bench_row(output);
    bench_text(output, "kernel", work->kernels->name);
    bench_count(output, "bytes", work->size);
    bench_times(output, "open", opened);
    bench_times(output, "hash", hashed);
    bench_times(output, "read", read);
    bench_number(output, "open by hash", bench_ratio(bench, opened, hashed));
    bench_number(output, "open by read", bench_ratio(bench, opened, read));
    bench_number(output, "MB/s", (double)work->size / opened->median * 1e-6);
    bench_row_end(output);
    bench_free(bench);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct bench_output output = {0};
    const struct pml_kernels *kernels[PML_KERNEL_COUNT];
    uint64_t n = 0, d = 0;
    const char *kernel = NULL;
    bool quick = false;
    struct option_spec specs[] = {{"n", OPTION_COUNT, &n, false, false},
                                  {"d", OPTION_COUNT, &d, false, false},
                                  {"kernel", OPTION_TEXT, &kernel, false, false}};
    exit_code code = bench_options(&command, argc, argv, specs, 3, &bench, &output, &quick);
    if (code != EXIT_OK)
        return (int)code;
    n = n > 0 ? n : quick ? 300 : 20000, d = d > 0 ? d : quick ? 24 : 512;
    if (n < 200 || n > PML_ANCHORS_MAX || d > PML_FEATURES_MAX)
        return (int)command_fail(&command, EXIT_USAGE, "--n must be 200 to %u, --d at most %u.", PML_ANCHORS_MAX,
                                 PML_FEATURES_MAX);
    size_t count = kernel_choices(kernels);
    if (kernel) {
        kernels[0] = kernel_named(kernel), count = 1;
        if (!kernels[0])
            return (int)command_fail(&command, EXIT_USAGE,
                                     "this CPU runs no kernel '%s': bench_kernels lists those it runs.", kernel);
    }
    struct work work = build((size_t)n, (size_t)d, quick ? 8 : 100);
    bench_begin(&output, command.name, &bench);
    for (size_t i = 0; i < count; i++) {
        work.kernels = kernels[i];
        measure(&bench, &output, &work);
    }
    bench_end(&output);
    free((void *)(uintptr_t)work.bytes);
    return EXIT_OK;
}
