/* SPDX-License-Identifier: Apache-2.0
 * Measures ways on rows of the gallery, as `evaluate` does: real packs, real releases, real answers. NOT PRIVATE: for rows
 * of the gallery only. */
#include "advise.h"

#include "lab/evaluate/evaluate_trials.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CARRIED_MIN = 32, WORDS = 9, NUMBER = 24 };

struct advise_measure {
    struct evaluate_options options;
    struct evaluate_data data;
    struct evaluate_bench bench;
};

/* The options of `evaluate`, with its defaults for all that is not given here. */
static exit_code take_options(struct evaluate_options *options, const struct advise_question *question)
{
    char name[] = "evaluate", releases[] = "--releases", two[] = "2", seed[] = "--seed", threads[] = "--threads",
         sketch[] = "--sketch", numbers[3][NUMBER];
    snprintf(numbers[0], NUMBER, "%llu", (unsigned long long)question->seed);
    snprintf(numbers[1], NUMBER, "%llu", (unsigned long long)question->threads);
    snprintf(numbers[2], NUMBER, "%llu", (unsigned long long)question->sketch);
    char *words[WORDS + 1] = {name, releases, two, seed, numbers[0]};
    int count = 5;
    if (question->threads > 0) {
        words[count++] = threads;
        words[count++] = numbers[1];
    }
    if (question->sketch_given) {
        words[count++] = sketch;
        words[count++] = numbers[2];
    }
    return evaluate_options_parse(count, words, options);
}

exit_code advise_measure_open(struct advise_measure **measure, const struct advise_question *question)
{
    struct pml_features features = {0};
    struct pml_message message = {""};
    struct advise_measure *made = *measure = calloc(1, sizeof *made);
    if (!made)
        return command_no_memory(&command_advise);
    exit_code code = take_options(&made->options, question);
    if (code != EXIT_OK)
        return code;
    pml_outcome outcome = pml_features_read(question->features, &features, &message);
    if (outcome != PML_DONE)
        return command_input(&command_advise, outcome, &message);
    if (features.rows < EVALUATE_SPLIT_LEAST || features.columns > PML_FEATURES_MAX) {
        code =
            command_fail(&command_advise, EXIT_INPUT,
                         "%s has %zu rows of %zu features. Measuring needs %d rows or more, of at most %u features: "
                         "give such rows, or leave --features out.",
                         question->features, features.rows, features.columns, EVALUATE_SPLIT_LEAST, PML_FEATURES_MAX);
        pml_features_free(&features);
        return code;
    }
    made->bench = (struct evaluate_bench){.options = &made->options, .data = &made->data};
    code = evaluate_data_split(&made->data, &made->options, &features);
    pml_features_free(&features);
    return code;
}

void advise_measure_close(struct advise_measure *measure)
{
    if (!measure)
        return;
    if (measure->bench.options)
        evaluate_bench_close(&measure->bench);
    evaluate_data_free(&measure->data);
    free(measure);
    progress_end();
}

size_t advise_measure_public(const struct advise_measure *measure)
{
    return measure->data.public.features.rows;
}

size_t advise_measure_gallery(const struct advise_measure *measure)
{
    return measure->data.gallery.features.rows;
}

size_t advise_measure_queries(const struct advise_measure *measure)
{
    return measure->data.queries.features.rows;
}

bool advise_measure_can(const struct advise_measure *measure, double share)
{
    return share * (double)advise_measure_gallery(measure) >= (double)CARRIED_MIN;
}

static exit_code run(struct advise_measure *measure, unsigned cells, double share, double epsilon,
                     const pml_crowd *policy, struct evaluate_result *result)
{
    const struct pml_progress progress = {progress_show, NULL, policy ? "queries in a crowd" : "queries"};
    exit_code code = evaluate_bench_set(&measure->bench, cells, share, policy != NULL);
    if (code == EXIT_OK)
        code = evaluate_trials_run(&measure->bench, epsilon, policy, &progress, result);
    progress_end();
    return code;
}

/* The largest answers there are bring half of the gallery, the nearest half: no item of the other half would be ranked among
 * the first. So what is found of the nearest that they bring is what the whole index finds. */
exit_code advise_measure_ship(struct advise_measure *measure, struct advise_way *way)
{
    enum { FEWEST = 2 }; /* cells */
    struct evaluate_result result;
    exit_code code = run(measure, FEWEST, 0.5, PML_EPSILON_MAX, NULL, &result);
    if (code != EXIT_OK)
        return code;
    way->found = result.mean[EVALUATE_INSTANCE] / result.mean[EVALUATE_REACHED];
    way->error = result.error[EVALUATE_INSTANCE] / result.mean[EVALUATE_REACHED];
    return EXIT_OK;
}

static exit_code ask(struct advise_measure *measure, double epsilon, const pml_crowd *policy, struct advise_way *way)
{
    struct evaluate_result result;
    exit_code code = run(measure, (unsigned)way->cells, way->share, epsilon, policy, &result);
    if (code != EXIT_OK)
        return code;
    way->found = result.mean[EVALUATE_INSTANCE];
    way->popular = result.mean[EVALUATE_POPULAR];
    way->error = hypot(result.error[EVALUATE_INSTANCE], result.error[EVALUATE_POPULAR]);
    return EXIT_OK;
}

exit_code advise_measure_response(struct advise_measure *measure, struct advise_way *way)
{
    way->cells = evaluate_bench_cells(&measure->options, way->epsilon, way->share);
    return ask(measure, way->epsilon, NULL, way);
}

exit_code advise_measure_crowd(struct advise_measure *measure, const pml_crowd *policy, struct advise_way *way)
{
    pml_crowd booked = *policy;
    booked.mu = booked.delta0 = 0.0; /* nothing is counted here */
    return ask(measure, way->floor, &booked, way);
}
