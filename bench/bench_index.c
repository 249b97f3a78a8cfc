/* SPDX-License-Identifier: Apache-2.0
 * What the first index of a gallery costs, step by step, and what it costs when items come and go. */
#define _POSIX_C_SOURCE 200809L
#include "cli/shared/pack_file.h"
#include "common/clock.h"
#include "common/npy.h"
#include "common/rows/knn_change.h"
#include "common/rows/knn_near.h"
#include "harness.h"
#include "kernel_choice.h"
#include "server/lists/index_lists.h"
#include "server/lists/index_sketches.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct command command = {
    .name = "bench_index",
    .summary = "what an index costs",
    .help = "usage: bench_index --pack FILE --features FILE [--share F] [--changed N] [--looked-at N]\n"
            "                   [--threads N] [--kernel NAME] [--neighbours FILE] [--json]\n"
            "\n"
            "Times, once each: quantising a gallery, finding neighbours, making lists of a share and\n"
            "sketches, and following a change of the gallery. Neighbours are compared with the true ones\n"
            "of a thousand items.\n"
            "\n"
            "  --pack FILE        a pack with cells\n"
            "  --features FILE    a gallery, float32 as .npy\n"
            "  --share F          of the gallery in a list. Default 0.01\n"
            "  --changed N        items that come, then go. Default 1000, at most half of the gallery\n"
            "  --looked-at N      items that each is compared with. Default: as privatemail index\n"
            "  --threads N        Default: one for each processor\n"
            "  --kernel NAME      a kernel that bench_kernels lists. Default: the best of this CPU\n"
            "  --neighbours FILE  writes the neighbours of all items, one after the other, as int32 .npy\n"
            "  --json             the numbers as JSON on stdout: seconds that passed, and of all processors\n"
            "\n"
            "example: build/release/bench/bench_index --pack a.pmpk --features gallery.npy\n"
            "exit codes: 0, 2 usage, 3 input, 7 out of memory\n",
};

enum { REACH = 16, SAMPLE = 1000 };

struct work {
    struct pack_file pack;
    struct pml_rows rows;
    size_t looked_at;
    double share;
    unsigned threads;
    struct pml_lists_gallery *gallery;
    const uint32_t *neighbours;
};

/* ---- clocks and rows of the report ---- */

struct clocks {
    double passed, used;
};

static struct clocks clocks_now(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (struct clocks){pml_clock_now(), (double)used.tv_sec + 1e-9 * (double)used.tv_nsec};
}

static struct clocks clocks_since(struct clocks start)
{
    const struct clocks now = clocks_now();
    return (struct clocks){now.passed - start.passed, now.used - start.used};
}

/* `recall`: 1 where there is no such thing. */
static void report(struct bench_output *output, const char *what, size_t items, struct clocks taken, double recall)
{
    bench_row(output);
    bench_text(output, "what", what);
    bench_count(output, "items", items);
    bench_number(output, "seconds", taken.passed);
    bench_number(output, "of processors", taken.used);
    bench_number(output, "recall", recall);
    bench_row_end(output);
}

static void check(pml_outcome outcome)
{
    if (outcome != PML_DONE)
        bench_stop("out of memory.");
}

/* ---- recall ---- */

/* The share of the true neighbours of some rows that lists have. */
static double recall_of(const struct pml_rows *rows, const uint32_t *lists, unsigned threads)
{
    uint32_t places[SAMPLE], *truth = bench_allocate(SAMPLE * (REACH + 1) * sizeof *truth);
    const size_t count = pml_rows_sample(rows->count, SAMPLE, 1, places);
    struct pml_rows sample;
    size_t found = 0;
    check(pml_rows_gather(rows, places, count, &sample));
    const struct pml_knn_side items = {rows, 0, NULL}, guests = {&sample, REACH + 1, truth};
    check(pml_knn_near(&items, &guests, 0, threads, NULL));
    for (size_t i = 0; i < count; i++) {
        unsigned taken = 0;
        for (unsigned r = 0; taken < REACH; r++) {
            const uint32_t other = truth[i * (REACH + 1) + r];
            if (other == places[i])
                continue;
            taken++;
            for (unsigned k = 0; k < REACH; k++)
                found += lists[(size_t)places[i] * REACH + k] == other;
        }
    }
    free(truth);
    pml_rows_free(&sample);
    return (double)found / (double)(count * REACH);
}

/* ---- the first index ---- */

static void run_rows(struct work *work, const char *path, struct bench_output *output)
{
    struct pml_features features;
    struct pml_message message;
    size_t bad;
    if (pml_features_read(path, &features, &message) != PML_DONE)
        bench_stop(message.text);
    if (features.columns != work->pack.front.inputs)
        bench_stop("the gallery has other features than the pack.");
    const struct clocks start = clocks_now();
    check(pml_rows_allocate(&work->rows, features.rows, work->pack.front.outputs));
    check(pml_rows_map(&work->rows, &work->pack.front, features.values, work->threads, NULL, &bad));
    report(output, "rows", features.rows, clocks_since(start), 1.0);
    pml_features_free(&features);
}

static void run_neighbours(struct work *work, struct bench_output *output)
{
    const size_t count = work->rows.count;
    uint32_t *slots = bench_allocate(count * sizeof *slots);
    uint64_t *items = bench_allocate(count * sizeof *items);
    size_t entries;
    for (size_t i = 0; i < count; i++) {
        slots[i] = 0;
        items[i] = i;
    }
    const struct pml_lists_source source = {.rows = &work->rows,
                                            .slots = slots,
                                            .slot_count = 1,
                                            .items = items,
                                            .looked_at = work->looked_at,
                                            .threads = work->threads};
    const struct clocks start = clocks_now();
    check(pml_lists_gallery_make(&work->gallery, &source));
    const struct clocks taken = clocks_since(start);
    work->neighbours = pml_lists_gallery_neighbours(work->gallery, &entries);
    report(output, "neighbours", count, taken, recall_of(&work->rows, work->neighbours, work->threads));
    free(slots);
    free(items);
}

static void run_lists(const struct work *work, struct bench_output *output)
{
    struct pml_cell_lists lists;
    uint32_t wanted;
    const struct clocks start = clocks_now();
    pml_lists_wanted_each(work->gallery, (uint32_t)(work->share * 1e6 + 0.5), &wanted);
    check(pml_lists_make(&lists, work->gallery, &work->pack.pack, &wanted, work->threads, NULL));
    report(output, "lists", work->rows.count, clocks_since(start), 1.0);
    pml_lists_free(&lists);
}

static void run_sketches(const struct work *work, struct bench_output *output)
{
    struct pml_sketches *sketches;
    int8_t *out = bench_allocate(work->rows.count * work->pack.info.sketch + 1);
    const struct clocks start = clocks_now();
    check(pml_sketches_open(&sketches, &work->pack.pack));
    check(pml_sketches_make(sketches, &work->rows, work->threads, NULL, out));
    report(output, "sketches", work->rows.count, clocks_since(start), 1.0);
    pml_sketches_close(sketches);
    free(out);
}

/* ---- changes ---- */

/* Every so many-th item, `changed` in all, has come (`coming`), or is to go. */
static void run_change(const struct work *work, size_t changed, bool coming, struct bench_output *output)
{
    const size_t count = work->rows.count, step = changed > 0 ? count / changed : count + 1;
    uint32_t *was = bench_allocate(count * sizeof *was), *kept = bench_allocate(count * sizeof *kept);
    struct pml_rows rows = work->rows, fewer;
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_one = i % step == 0 && i / step < changed;
        was[i] = is_one ? PML_KNN_NEW : (uint32_t)kept_count;
        if (!is_one)
            kept[kept_count++] = (uint32_t)i;
    }
    check(pml_rows_gather(&rows, kept, kept_count, &fewer));
    struct pml_knn_change change = {.rows = &fewer,
                                    .was = kept,
                                    .before_count = count,
                                    .before = work->neighbours,
                                    .reach = REACH,
                                    .looked_at = work->looked_at > 0 ? work->looked_at : PML_LISTS_LOOKED_AT,
                                    .threads = work->threads};
    uint32_t *lists = bench_allocate(count * REACH * sizeof *lists),
             *after = bench_allocate(count * REACH * sizeof *lists);
    struct clocks start = clocks_now(), taken;
    check(pml_knn_change(&change, lists));
    taken = clocks_since(start);
    if (!coming)
        report(output, "items that go", changed, taken, recall_of(&fewer, lists, work->threads));
    change.rows = &rows;
    change.was = was;
    change.before_count = kept_count;
    change.before = lists;
    start = clocks_now();
    if (coming) {
        check(pml_knn_change(&change, after));
        taken = clocks_since(start);
        report(output, "items that come", changed, taken, recall_of(&rows, after, work->threads));
    }
    pml_rows_free(&fewer);
    free(lists);
    free(after);
    free(was);
    free(kept);
}

/* ---- all of it ---- */

static void write_neighbours(const struct work *work, const char *path)
{
    struct pml_message message;
    size_t count;
    const uint32_t *neighbours = pml_lists_gallery_neighbours(work->gallery, &count);
    int32_t *places = bench_allocate(count * sizeof *places);
    for (size_t i = 0; i < count; i++)
        places[i] = (int32_t)neighbours[i];
    if (pml_labels_write(path, places, count, &message) != PML_DONE)
        bench_stop(message.text);
    free(places);
}

int main(int argc, char **argv)
{
    static const struct bench bench = {.rounds = 1};
    static struct work work = {.share = 0.01};
    struct bench_output output = {0};
    const char *pack = NULL, *features = NULL, *neighbours = NULL, *kernel = NULL;
    uint64_t changed = 1000, looked_at = 0, threads = 0;
    struct option_spec specs[] = {{"pack", OPTION_TEXT, &pack, true, false},
                                  {"features", OPTION_TEXT, &features, true, false},
                                  {"neighbours", OPTION_TEXT, &neighbours, false, false},
                                  {"kernel", OPTION_TEXT, &kernel, false, false},
                                  {"share", OPTION_NUMBER, &work.share, false, false},
                                  {"changed", OPTION_COUNT, &changed, false, false},
                                  {"looked-at", OPTION_COUNT, &looked_at, false, false},
                                  {"threads", OPTION_COUNT, &threads, false, false},
                                  {"json", OPTION_FLAG, &output.json, false, false}};
    if (options_help(&command, argc, argv))
        return EXIT_OK;
    exit_code code = options_parse(&command, argc, argv, specs, sizeof specs / sizeof specs[0], NULL, 0, 0);
    const struct pml_kernels *kernels = kernel_named(kernel);
    if (code == EXIT_OK && !kernels)
        code = command_fail(&command, EXIT_USAGE, "this CPU runs no kernel '%s': bench_kernels lists those it runs.",
                            kernel);
    if (code == EXIT_OK)
        code = pack_file_open(&command, pack, &work.pack);
    if (code != EXIT_OK)
        return (int)code;
    kernel_limit(kernels);
    work.threads = pml_parallel_threads((unsigned)threads);
    work.looked_at = (size_t)looked_at;
    bench_begin(&output, command.name, &bench);
    run_rows(&work, features, &output);
    if (work.rows.count <= 2 * (REACH + 1) || changed > work.rows.count / 2)
        bench_stop("the gallery is too small.");
    run_neighbours(&work, &output);
    if (neighbours)
        write_neighbours(&work, neighbours);
    run_lists(&work, &output);
    run_sketches(&work, &output);
    run_change(&work, (size_t)changed, true, &output);
    run_change(&work, (size_t)changed, false, &output);
    bench_end(&output);
    pml_lists_gallery_free(work.gallery);
    pml_rows_free(&work.rows);
    pack_file_close(&work.pack);
    return EXIT_OK;
}
