/* SPDX-License-Identifier: Apache-2.0
 * Measures cases in turns and prints quartiles of their times, as a table or as JSON. Only times of the same round are
 * compared, because the machine may be slower in another. */
#define _POSIX_C_SOURCE 200809L
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char command_program[] = "";

_Noreturn void bench_stop(const char *message)
{
    progress_end();
    fprintf(stderr, "bench: %s\n", message);
    exit(EXIT_FAULT);
}

void *bench_allocate(size_t size)
{
    void *memory = NULL;
    if (posix_memalign(&memory, size < 4096 ? 64 : 4096, size > 0 ? size : 1) != 0)
        bench_stop("out of memory. Close other programs, or measure smaller sizes.");
    return memory;
}

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- measuring ---- */

static size_t series_of(const struct bench_case *one)
{
    size_t count = 0;
    while (count < BENCH_SERIES_MAX && one->series[count])
        count++;
    return count;
}

/* How often a case is repeated in a sample; warms it up on the way. */
static size_t calibrate(const struct bench_case *one, double wanted)
{
    for (size_t repeats = 1;; repeats *= 4) {
        double seconds[BENCH_SERIES_MAX] = {0}, start = bench_now();
        one->run(one->context, repeats, seconds);
        double took = bench_now() - start;
        if (took >= wanted / 4 || repeats >= (size_t)1 << 30) {
            double share = took > 0 ? wanted / took : 1;
            size_t chosen = (size_t)((double)repeats * (share < 8 ? share : 8));
            return chosen > 0 ? chosen : 1;
        }
    }
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double *sorted(const double *values, size_t count)
{
    double *copy = bench_allocate(count * sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, by_size);
    return copy;
}

static void summarise(struct bench_result *result, size_t count)
{
    double *values = sorted(result->samples, count);
    result->low = values[(count - 1) / 4];
    result->median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    result->high = values[count - 1 - (count - 1) / 4];
    free(values);
}

void bench_measure(struct bench *bench, const struct bench_case *cases, size_t count, const char *what)
{
    size_t repeats[BENCH_CASES_MAX];
    if (count > BENCH_CASES_MAX)
        bench_stop("too many cases at once.");
    for (size_t c = 0; c < count; c++) {
        repeats[c] = calibrate(&cases[c], bench->sample_seconds);
        for (size_t s = 0; s < series_of(&cases[c]); s++)
            bench->results[c][s].samples = bench_allocate(bench->rounds * sizeof(double));
    }
    for (unsigned round = 0; round < bench->rounds; round++) {
        for (size_t c = 0; c < count; c++) {
            double seconds[BENCH_SERIES_MAX] = {0};
            cases[c].run(cases[c].context, repeats[c], seconds);
            for (size_t s = 0; s < series_of(&cases[c]); s++)
                bench->results[c][s].samples[round] = seconds[s] / (double)repeats[c];
        }
        progress_show(NULL, what, (double)(round + 1) / bench->rounds);
    }
    for (size_t c = 0; c < count; c++)
        for (size_t s = 0; s < series_of(&cases[c]); s++)
            summarise(&bench->results[c][s], bench->rounds);
    progress_end();
}

void bench_free(struct bench *bench)
{
    for (size_t c = 0; c < BENCH_CASES_MAX; c++)
        for (size_t s = 0; s < BENCH_SERIES_MAX; s++)
            free(bench->results[c][s].samples);
    memset(bench->results, 0, sizeof bench->results);
}

double bench_ratio(const struct bench *bench, const struct bench_result *a, const struct bench_result *b)
{
    struct bench_result ratio = {.samples = bench_allocate(bench->rounds * sizeof(double))};
    for (unsigned i = 0; i < bench->rounds; i++)
        ratio.samples[i] = a->samples[i] / b->samples[i];
    summarise(&ratio, bench->rounds);
    free(ratio.samples);
    return ratio.median;
}

/* ---- options ---- */

exit_code bench_options(const struct command *command, int argc, char **argv, struct option_spec *more, size_t count,
                        struct bench *bench, struct bench_output *output, bool *quick)
{
    uint64_t rounds = 0;
    struct option_spec specs[16] = {{"rounds", OPTION_COUNT, &rounds, false, false},
                                    {"quick", OPTION_FLAG, quick, false, false},
                                    {"json", OPTION_FLAG, &output->json, false, false}};
    if (count > 13)
        bench_stop("too many options.");
    for (size_t i = 0; i < count; i++)
        specs[3 + i] = more[i];
    if (options_help(command, argc, argv))
        exit(EXIT_OK);
    exit_code code = options_parse(command, argc, argv, specs, 3 + count, NULL, 0, 0);
    if (code != EXIT_OK)
        return code;
    if (specs[0].given && (rounds < 1 || rounds > 10000))
        return command_fail(command, EXIT_USAGE, "--rounds must be 1 to 10000.");
    for (size_t i = 0; i < count; i++)
        more[i].given = specs[3 + i].given;
    bench->rounds = rounds > 0 ? (unsigned)rounds : *quick ? 3 : bench->rounds > 0 ? bench->rounds : 41;
    bench->sample_seconds = *quick ? 1e-4 : 2e-3;
    return EXIT_OK;
}

/* ---- output ---- */

void bench_begin(struct bench_output *output, const char *name, const struct bench *bench)
{
    if (!output->json)
        return;
    json_open(&output->writer, NULL, '{');
    json_text(&output->writer, "bench", name);
    json_count(&output->writer, "rounds", bench->rounds);
    json_open(&output->writer, "rows", '[');
}

void bench_end(struct bench_output *output)
{
    if (!output->json)
        return;
    json_close(&output->writer, ']');
    json_close(&output->writer, '}');
}

void bench_row(struct bench_output *output)
{
    if (output->json)
        json_open(&output->writer, NULL, '{');
}

void bench_text(struct bench_output *output, const char *key, const char *value)
{
    if (output->json)
        json_text(&output->writer, key, value);
    else
        printf("%s ", value);
}

void bench_count(struct bench_output *output, const char *key, uint64_t value)
{
    if (output->json)
        json_count(&output->writer, key, value);
    else
        printf(" %s %llu", key, (unsigned long long)value);
}

void bench_number(struct bench_output *output, const char *key, double value)
{
    if (output->json)
        json_number(&output->writer, key, value);
    else
        printf("  %s %.4g", key, value);
}

void bench_times(struct bench_output *output, const char *key, const struct bench_result *result)
{
    if (!output->json) {
        printf("  %s %.4g µs (%.4g … %.4g)", key, 1e6 * result->median, 1e6 * result->low, 1e6 * result->high);
        return;
    }
    json_open(&output->writer, key, '{');
    json_number(&output->writer, "low", 1e6 * result->low);
    json_number(&output->writer, "median", 1e6 * result->median);
    json_number(&output->writer, "high", 1e6 * result->high);
    json_close(&output->writer, '}');
}

void bench_row_end(struct bench_output *output)
{
    if (output->json)
        json_close(&output->writer, '}');
    else
        putchar('\n');
    fflush(stdout);
}
