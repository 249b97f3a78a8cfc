/* SPDX-License-Identifier: Apache-2.0
 * What ranking an answer costs, beside reading and hashing the same bytes. Never prints a result. */
#include "base/sha256.h"
#include "harness.h"
#include "kernel_choice.h"
#include "read_sweep.h"
#include "server/gallery/answer_list.h"
#include "synthetic.h"
#include "tools/pack/pack_builder.h"

#include <stdio.h>
#include <stdlib.h>

static const struct command command = {
    .name = "bench_rank",
    .summary = "what ranking an answer costs",
    .help = "usage: bench_rank [--candidates N] [--kernel NAME] [--rounds R] [--quick] [--json]\n"
            "\n"
            "Times the ranking of a whole answer, from the query's features to the 8 nearest, for coded sketches of 32 "
            "to 224\n"
            "bytes and plain ones of 256, of 256 features, without payloads. Beside it, in the same rounds:\n"
            "  read  a vectorised read of the same bytes\n"
            "  hash  SHA-256 of the same bytes: what anybody pays who checks that they arrived whole\n"
            "Rows are made up; items are one in fifty of a gallery.\n"
            "\n"
            "  --candidates N  in the answer. Default 2000\n"
            "  --kernel NAME   a kernel that bench_kernels lists. Default: the best of this CPU\n"
            "  --rounds R      rounds, each of which measures everything once. Default 41\n"
            "  --quick         a small answer and 3 rounds: shows that it runs, not how fast\n"
            "  --json          the numbers as JSON on stdout, times in microseconds with their quartiles\n"
            "\n"
            "example: taskset -c 1 build/release/bench/bench_rank\n"
            "exit codes: 0, 2 usage, 7 out of memory\n",
};

enum { FEATURES = 256, PUBLIC = 1500, TOP = 8, GAP = 50 };

struct ranked {
    const struct pml_kernels *kernels;
    uint8_t *pack_bytes;
    pml_pack pack;
    pml_pack_info info;
    struct pml_bytes answer;
    float *query;
    void *memory;
    pml_match matches[TOP];
    volatile uint64_t taken; /* results go here, so that no work can be left out */
};

static void build(struct ranked *ranked, const float *rows, unsigned bytes, bool plain)
{
    const struct pml_features features = {(float *)(uintptr_t)rows, PUBLIC, FEATURES};
    const struct pml_build_options options = {
        .slots = PML_SLOTS_ONE, .cells = 8, .sketch = bytes, .plain_sketches = plain, .refine = -1, .threads = 1};
    struct pml_build_report report;
    struct pml_message message;
    size_t size;
    if (pml_pack_build(&features, NULL, &options, &ranked->pack_bytes, &size, &report, &message) != PML_DONE)
        bench_stop(message.text);
    synthetic_check(pml_pack_open(&ranked->pack, ranked->pack_bytes, size, NULL, NULL));
    synthetic_check(pml_pack_describe(&ranked->pack, &ranked->info));
}

static void fill_answer(struct ranked *ranked, size_t candidates)
{
    struct pml_rows rows = synthetic_rows(candidates, FEATURES, 3);
    struct pml_candidate *list = malloc(candidates * sizeof *list);
    int8_t *sketches = malloc(candidates * ranked->info.sketch);
    if (!list || !sketches)
        bench_stop("out of memory");
    pml_outcome outcome = pml_answer_write_header(&ranked->answer, &ranked->info, 1, GAP * candidates);
    for (size_t i = 0; i < candidates; i++) {
        int8_t *sketch = sketches + i * ranked->info.sketch;
        synthetic_check(pml_sketch(&ranked->pack, ranked->kernels, rows.values + i * FEATURES, sketch));
        list[i] = (struct pml_candidate){GAP * i + i * 7919 % GAP, 0, sketch, ranked->info.sketch, NULL, 0};
    }
    if (outcome == PML_DONE)
        outcome = pml_answer_write_list(&ranked->answer, &ranked->info, 0, list, candidates);
    if (outcome != PML_DONE)
        bench_stop("out of memory");
    free(list);
    free(sketches);
    pml_rows_free(&rows);
}

/* ---- what is measured ---- */

static void run_rank(void *context, size_t repeats, double *seconds)
{
    struct ranked *ranked = context;
    const size_t size = pml_ranking_size(&ranked->pack);
    const pml_query query = {.features = ranked->query, .count = FEATURES};
    const pml_ranking_config config = {
        .matches = ranked->matches, .capacity = TOP, .scope = PML_OWN_SLOT, .kernels = ranked->kernels};
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++) {
        pml_answer_summary summary;
        pml_ranking *ranking;
        synthetic_check(pml_ranking_begin(&ranking, ranked->memory, size, &ranked->pack, &query, &config));
        synthetic_check(pml_ranking_feed(ranking, ranked->answer.bytes, ranked->answer.size));
        synthetic_check(pml_ranking_finish(ranking, &summary));
        ranked->taken += summary.carried;
    }
    *seconds += bench_now() - start;
}

static void run_read(void *context, size_t repeats, double *seconds)
{
    struct ranked *ranked = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++)
        ranked->taken += read_sweep(ranked->answer.bytes, ranked->answer.size);
    *seconds += bench_now() - start;
}

static void run_hash(void *context, size_t repeats, double *seconds)
{
    struct ranked *ranked = context;
    double start = bench_now();
    for (size_t i = 0; i < repeats; i++) {
        uint8_t digest[32];
        pml_sha256_by(ranked->answer.bytes, ranked->answer.size, digest, PML_KERNEL(ranked->kernels, sha256_blocks));
        ranked->taken += digest[0];
    }
    *seconds += bench_now() - start;
}

static void run_read_and_hash(void *context, size_t repeats, double *seconds)
{
    run_read(context, repeats, seconds);
    run_hash(context, repeats, seconds);
}

enum { RANK, READ, HASH, BOTH, CASES };

static void measure(struct bench *bench, struct bench_output *output, const struct pml_kernels *kernels,
                    const float *rows, size_t candidates, unsigned bytes, bool plain)
{
    static struct ranked ranked;
    ranked = (struct ranked){.kernels = kernels};
    build(&ranked, rows, bytes, plain);
    fill_answer(&ranked, candidates);
    ranked.query = synthetic_features(1, FEATURES, 7);
    ranked.memory = bench_allocate(pml_ranking_size(&ranked.pack));
    const struct bench_case cases[CASES] = {
        [RANK] = {run_rank, &ranked, {"rank"}},
        [READ] = {run_read, &ranked, {"read"}},
        [HASH] = {run_hash, &ranked, {"hash"}},
        [BOTH] = {run_read_and_hash, &ranked, {"read and hash"}},
    };
    bench_measure(bench, cases, CASES, plain ? "plain sketches" : "coded sketches");
    const struct bench_result *rank = &bench->results[RANK][0];
    bench_row(output);
    bench_text(output, "sketches", plain ? "plain" : "coded");
    bench_text(output, "kernel", kernels->name);
    bench_count(output, "sketch", ranked.info.sketch);
    bench_count(output, "directions", ranked.info.directions);
    bench_count(output, "candidates", candidates);
    bench_count(output, "bytes", ranked.answer.size);
    bench_times(output, "rank", rank);
    bench_times(output, "read", &bench->results[READ][0]);
    bench_times(output, "hash", &bench->results[HASH][0]);
    bench_number(output, "speed of read and hash", bench_ratio(bench, &bench->results[BOTH][0], rank));
    bench_number(output, "ns per candidate", rank->median * 1e9 / (double)candidates);
    bench_number(output, "GB/s", (double)ranked.answer.size / rank->median * 1e-9);
    bench_row_end(output);
    bench_free(bench);
    pml_bytes_free(&ranked.answer);
    free(ranked.pack_bytes);
    free(ranked.query);
    free(ranked.memory);
}

int main(int argc, char **argv)
{
    static const unsigned sizes[] = {32, 64, 96, 131, 224};
    struct bench bench = {0};
    struct bench_output output = {0};
    const char *name = NULL;
    uint64_t candidates = 2000;
    bool quick = false;
    struct option_spec options[] = {{"candidates", OPTION_COUNT, &candidates, false, false},
                                    {"kernel", OPTION_TEXT, &name, false, false}};
    exit_code code = bench_options(&command, argc, argv, options, 2, &bench, &output, &quick);
    if (code != EXIT_OK)
        return code;
    if (candidates == 0 || candidates > PML_CANDIDATES_MAX)
        return command_fail(&command, EXIT_USAGE, "--candidates must be 1 to %u.", PML_CANDIDATES_MAX);
    const struct pml_kernels *kernels = kernel_named(name);
    if (!kernels)
        return command_fail(&command, EXIT_USAGE, "there is no kernel '%s' here: see bench_kernels.", name);
    float *rows = synthetic_features(PUBLIC, FEATURES, 1);
    bench_begin(&output, command.name, &bench);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        measure(&bench, &output, kernels, rows, quick ? 100 : (size_t)candidates, sizes[i], false);
    measure(&bench, &output, kernels, rows, quick ? 100 : (size_t)candidates, 256, true);
    bench_end(&output);
    free(rows);
    return EXIT_OK;
}
