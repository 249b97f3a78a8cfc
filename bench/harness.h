/* SPDX-License-Identifier: Apache-2.0
 * What the benches share: a clock, cases measured in turns, medians, a table or JSON. */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include "cli/shared/command.h"

enum { BENCH_SERIES_MAX = 10, BENCH_CASES_MAX = 64 };

/* One thing to measure. `run` does it `repeats` times and adds to seconds[i] what series i took. */
struct bench_case {
    void (*run)(void *context, size_t repeats, double *seconds);
    void *context;
    const char *series[BENCH_SERIES_MAX]; /* names, up to the first NULL */
};

/* Quartiles over the rounds, in seconds per repeat; `samples` has one value per round. */
struct bench_result {
    double *samples, low, median, high;
};

struct bench {
    unsigned rounds;       /* preset: the default of --rounds; 0: 41 */
    double sample_seconds; /* a sample repeats its case for about this long */
    struct bench_result results[BENCH_CASES_MAX][BENCH_SERIES_MAX];
};

/* Seconds of CPU time of this thread: what other programs take on a busy machine does not count. */
double bench_now(void);

/* Runs all cases once in every round, one after the other, so that a machine that is slow for a while is slow for all of
 * them. Ends the program when out of memory. Free the results afterwards, also before the next measurement. */
void bench_measure(struct bench *bench, const struct bench_case *cases, size_t count, const char *what);
void bench_free(struct bench *bench);

/* Median over the rounds of the time of `a` divided by the time of `b` in the same round. */
double bench_ratio(const struct bench *bench, const struct bench_result *a, const struct bench_result *b);

/* ---- options and output: all benches have --rounds, --quick and --json ---- */

struct bench_output {
    bool json;
    struct json writer;
    unsigned rows;
};

/* Parses --rounds, --quick, --json and `more` options of the program's own. --help ends the program. */
exit_code bench_options(const struct command *command, int argc, char **argv, struct option_spec *more, size_t count,
                        struct bench *bench, struct bench_output *output, bool *quick);

void bench_begin(struct bench_output *output, const char *name, const struct bench *bench);
void bench_end(struct bench_output *output);

/* A row: first what was measured, then numbers; the first row's keys are the table's head. */
void bench_row(struct bench_output *output);
void bench_text(struct bench_output *output, const char *key, const char *value);
void bench_count(struct bench_output *output, const char *key, uint64_t value);
void bench_number(struct bench_output *output, const char *key, double value);
void bench_times(struct bench_output *output, const char *key, const struct bench_result *result); /* in µs */
void bench_row_end(struct bench_output *output);

/* Ends the program with a message: what a bench prepares never fails but for memory or a fault. */
_Noreturn void bench_stop(const char *message);
void *bench_allocate(size_t size);

#endif
