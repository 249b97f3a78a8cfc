/* SPDX-License-Identifier: Apache-2.0
 * Maps rows by pml_front_map, as devices and servers do, and looks at what is near what. */
#include "train_measure.h"

#include "common/rows/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAREST 8u
#define GUESSES 5u
#define VOTERS 5u
#define PAIRS 200u /* rows asked about, and rows for each of them, whose distances are compared */

const struct pml_train_measures pml_train_unmeasured = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0};

/* ---- mapping ---- */

struct mapping {
    const pml_front *front;
    const struct pml_train_set *set;
    const struct pml_features *features;
    struct pml_rows *rows;
    bool *empty;
};

enum { PIECE = 64 };

static pml_outcome map_piece(void *context, size_t piece)
{
    struct mapping *job = context;
    int64_t *scratch = malloc(pml_front_scratch(job->front) + sizeof(int64_t));
    if (!scratch)
        return PML_NO_MEMORY;
    const size_t end = (piece + 1) * PIECE < job->set->count ? (piece + 1) * PIECE : job->set->count;
    pml_outcome outcome = PML_DONE;
    for (size_t i = piece * PIECE; i < end && outcome == PML_DONE; i++) {
        int8_t *row = job->rows->values + i * job->rows->columns;
        const float *features = job->features->values + job->set->indices[i] * job->features->columns;
        pml_status status =
            pml_front_map(job->front, pml_rows_kernels(), features, job->features->columns, scratch, row);
        job->empty[i] = status == PML_ERROR_FEATURES;
        if (job->empty[i])
            memset(row, 0, job->rows->columns);
        else if (status != PML_OK)
            outcome = PML_REFUSED;
        pml_rows_measure(job->rows, i);
    }
    free(scratch);
    return outcome;
}

pml_outcome pml_train_map(const pml_front *front, const struct pml_train_set *set, size_t modality, unsigned threads,
                          struct pml_rows *rows, size_t *unmapped, struct pml_message *message)
{
    struct mapping job = {front, set, set->features[modality], rows, calloc(set->count + 1, sizeof(bool))};
    if (!job.empty || pml_rows_allocate(rows, set->count, front->outputs) != PML_DONE) {
        free(job.empty);
        return pml_say_memory(message);
    }
    pml_outcome outcome = pml_parallel(threads, (set->count + PIECE - 1) / PIECE, map_piece, &job, NULL);
    for (size_t i = 0; i < set->count; i++)
        *unmapped += job.empty[i];
    free(job.empty);
    if (outcome == PML_REFUSED)
        return pml_say(message, "a row has %zu features, but the front takes %u: give rows of the same model.",
                       set->features[modality]->columns, front->inputs);
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}

pml_outcome pml_train_rows(const struct pml_train_set *set, size_t modality, unsigned threads, struct pml_rows *rows,
                           struct pml_message *message)
{
    const uint32_t columns = (uint32_t)set->features[modality]->columns;
    const pml_front none = {.kind = PML_FRONT_NONE, .root = set->root, .inputs = columns, .outputs = columns};
    size_t unmapped = 0;
    pml_outcome outcome =
        pml_train_map(set->front ? set->front : &none, set, modality, threads, rows, &unmapped, message);
    if (outcome == PML_DONE && unmapped > 0)
        outcome = pml_say(message, "%zu rows are not finite or all zero%s: leave them out.", unmapped,
                          set->front ? ", or become so in the front" : "");
    return outcome;
}

/* ---- ranking ---- */

/* The rows that are asked about, in the order of the queries: larger score first, ties by smaller index (SPEC 5.3). */
struct ranked {
    int64_t score;
    uint32_t index;
};

static int by_rank(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return (a->index > b->index) - (a->index < b->index);
}

static int64_t score(const struct pml_rows *queries, size_t query, const struct pml_rows *rows, size_t row)
{
    return (int64_t)pml_dot(queries->values + query * queries->columns, rows->values + row * rows->columns,
                            rows->columns) *
           rows->inverse[row];
}

struct asking {
    const struct pml_rows *queries, *rows;
    const struct pml_train_set *query_set, *row_set;
    double *found; /* per query */
    uint32_t *lists;
    unsigned nearest;
};

static bool same_class(const struct asking *asking, size_t query, size_t row)
{
    return asking->query_set->labels[asking->query_set->indices[query]] ==
           asking->row_set->labels[asking->row_set->indices[row]];
}

/* Average precision: the mean, over the rows of the query's class, of the precision at the place of each. */
static pml_outcome precision_piece(void *context, size_t query)
{
    struct asking *asking = context;
    const size_t count = asking->rows->count;
    struct ranked *ranked = malloc(count * sizeof *ranked);
    size_t found = 0;
    double sum = 0.0;
    if (!ranked)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){score(asking->queries, query, asking->rows, i), (uint32_t)i};
    qsort(ranked, count, sizeof *ranked, by_rank);
    for (size_t i = 0; i < count; i++)
        if (same_class(asking, query, ranked[i].index))
            sum += (double)++found / (double)(i + 1);
    asking->found[query] = found > 0 ? sum / (double)found : 0.0;
    free(ranked);
    return PML_DONE;
}

static pml_outcome nearest_piece(void *context, size_t query)
{
    struct asking *asking = context;
    int64_t scores[NEAREST];
    const struct pml_nearest nearest = {scores, asking->lists + query * NEAREST, asking->nearest};
    pml_nearest_clear(&nearest);
    for (size_t i = 0; i < asking->rows->count; i++)
        (void)pml_nearest_offer(&nearest, score(asking->queries, query, asking->rows, i), (uint32_t)i);
    return PML_DONE;
}

static double mean(const double *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

static pml_outcome average_precision(struct asking *asking, unsigned threads, double *result)
{
    pml_outcome outcome = pml_parallel(threads, asking->queries->count, precision_piece, asking, NULL);
    if (outcome == PML_DONE)
        *result = mean(asking->found, asking->queries->count);
    return outcome;
}

/* The share of the first `places` of every list that has the query's class. */
static double class_share(const struct asking *asking, unsigned places)
{
    size_t found = 0;
    for (size_t query = 0; query < asking->queries->count; query++)
        for (unsigned i = 0; i < places; i++)
            found += same_class(asking, query, asking->lists[query * NEAREST + i]);
    return (double)found / (double)places / (double)asking->queries->count;
}

/* The share of queries of whose list's first `places` more have their class than any other. Of classes with as many the
 * one that is named first wins. */
static double vote_share(const struct asking *asking, unsigned places)
{
    size_t right = 0;
    for (size_t query = 0; query < asking->queries->count; query++) {
        const uint32_t *list = asking->lists + query * NEAREST;
        unsigned most = 0, winner = 0;
        for (unsigned i = 0; i < places; i++) {
            const int32_t label = asking->row_set->labels[asking->row_set->indices[list[i]]];
            unsigned votes = 0;
            for (unsigned j = 0; j < places; j++)
                votes += asking->row_set->labels[asking->row_set->indices[list[j]]] == label;
            winner = votes > most ? i : winner;
            most = votes > most ? votes : most;
        }
        right += same_class(asking, query, list[winner]);
    }
    return (double)right / (double)asking->queries->count;
}

/* ---- one modality ---- */

static double distance(const struct pml_rows *queries, size_t query, const struct pml_rows *rows, size_t row)
{
    const double cosine = (double)score(queries, query, rows, row) * 0x1p-30 * (queries->inverse[query] * 0x1p-30);
    return sqrt(fmax(0.0, 2.0 - 2.0 * cosine));
}

static double distance_error(const struct pml_rows *queries, const struct pml_rows *rows,
                             const struct pml_rows *mapped_queries, const struct pml_rows *mapped_rows)
{
    const size_t asked = queries->count < PAIRS ? queries->count : PAIRS;
    const size_t among = rows->count < PAIRS ? rows->count : PAIRS;
    double sum = 0.0;
    size_t pairs = 0;
    for (size_t i = 0; i < asked; i++)
        for (size_t j = 0; j < among; j++) {
            const double before = distance(queries, i, rows, j);
            if (before > 1e-3) { /* of equal rows there is no ratio */
                sum += fabs(distance(mapped_queries, i, mapped_rows, j) / before - 1.0);
                pairs++;
            }
        }
    return pairs > 0 ? sum / (double)pairs : NAN;
}

static double kept_share(const uint32_t *before, const uint32_t *after, size_t queries, unsigned places)
{
    size_t kept = 0;
    for (size_t query = 0; query < queries; query++)
        for (unsigned i = 0; i < places; i++)
            for (unsigned j = 0; j < places; j++)
                kept += before[query * NEAREST + i] == after[query * NEAREST + j];
    return (double)kept / (double)places / (double)queries;
}

struct measuring {
    struct pml_rows train, test[PML_TRAIN_MODALITIES]; /* mapped */
    struct pml_rows original_train, original_test;
    uint32_t *lists, *original_lists;
    double *found;
};

static pml_outcome measure_one(struct measuring *job, const struct pml_train_set *train,
                               const struct pml_train_set *test, unsigned threads, struct pml_train_measures *measures,
                               struct pml_message *message)
{
    const unsigned places = train->count < NEAREST ? (unsigned)train->count : NEAREST;
    struct asking before = {&job->original_test, &job->original_train, test, train, NULL, job->original_lists, places};
    pml_outcome outcome = pml_train_rows(train, 0, threads, &job->original_train, message);
    if (outcome == PML_DONE)
        outcome = pml_train_rows(test, 0, threads, &job->original_test, message);
    if (outcome == PML_DONE)
        outcome = pml_parallel(threads, test->count, nearest_piece, &before, NULL);
    if (outcome == PML_DONE) {
        measures->kept = kept_share(job->original_lists, job->lists, test->count, places);
        measures->distance_error =
            distance_error(&job->original_test, &job->original_train, &job->test[0], &job->train);
    }
    return outcome;
}

static pml_outcome measure_two(struct measuring *job, const struct pml_train_set *test, unsigned threads,
                               struct pml_train_measures *measures)
{
    struct asking first = {&job->test[0], &job->test[1], test, test, job->found, NULL, 0};
    struct asking second = {&job->test[1],
                            &job->test[0],
                            test,
                            test,
                            job->found,
                            job->lists,
                            test->count < NEAREST ? (unsigned)test->count : NEAREST};
    pml_outcome outcome = average_precision(&first, threads, &measures->map_first);
    if (outcome == PML_DONE)
        outcome = average_precision(&second, threads, &measures->map_second);
    if (outcome == PML_DONE)
        outcome = pml_parallel(threads, test->count, nearest_piece, &second, NULL);
    if (outcome == PML_DONE)
        measures->precision = class_share(&second, second.nearest);
    return outcome;
}

static pml_outcome measure_all(struct measuring *job, const struct pml_train_set *train,
                               const struct pml_train_set *test, unsigned threads, struct pml_train_measures *measures,
                               struct pml_message *message)
{
    const unsigned places = train->count < NEAREST ? (unsigned)train->count : NEAREST;
    struct asking asking = {&job->test[0], &job->train, test, train, job->found, job->lists, places};
    pml_outcome outcome = pml_parallel(threads, test->count, nearest_piece, &asking, NULL);
    if (outcome == PML_DONE && test->labels && train->labels) {
        measures->accuracy = class_share(&asking, 1);
        measures->precision = class_share(&asking, places);
        measures->nn_accuracy = vote_share(&asking, places < VOTERS ? places : VOTERS);
    }
    if (outcome == PML_DONE && test->modalities == 1)
        outcome = measure_one(job, train, test, threads, measures, message);
    else if (outcome == PML_DONE && test->labels)
        outcome = measure_two(job, test, threads, measures);
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}

/* ---- heads ---- */

/* How often the first guess is the label, and how often one of the first five is. */
static pml_outcome measure_head(const pml_front *head, const struct pml_train_set *test, unsigned threads,
                                struct pml_train_measures *measures, struct pml_message *message)
{
    const size_t count = head->outputs < GUESSES ? head->outputs : GUESSES;
    struct pml_rows rows = {0};
    size_t first = 0, any = 0;
    pml_outcome outcome = pml_train_rows(test, 0, threads, &rows, message);
    if (outcome == PML_DONE && rows.columns != head->inputs)
        outcome = pml_say(message, "the rows have %zu features, but the head takes %u: give the same --front.",
                          rows.columns, head->inputs);
    for (size_t i = 0; outcome == PML_DONE && i < rows.count; i++) {
        pml_guess guesses[GUESSES];
        const int32_t label = test->labels[test->indices[i]];
        pml_head_guess(head, pml_rows_kernels(), rows.values + i * rows.columns, guesses, count);
        first += guesses[0].label == label;
        for (size_t j = 0; j < count; j++)
            any += guesses[j].label == label;
    }
    if (outcome == PML_DONE) {
        measures->accuracy = (double)first / (double)test->count;
        measures->accuracy_5 = (double)any / (double)test->count;
    }
    pml_rows_free(&rows);
    return outcome;
}

/* ---- all of it ---- */

pml_outcome pml_train_measure(const struct pml_train_result *result, const struct pml_train_set *train,
                              const struct pml_train_set *test, unsigned threads, struct pml_train_measures *measures,
                              struct pml_message *message)
{
    struct measuring job = {.lists = calloc(test->count + 1, NEAREST * sizeof(uint32_t)),
                            .original_lists = calloc(test->count + 1, NEAREST * sizeof(uint32_t)),
                            .found = calloc(test->count + 1, sizeof(double))};
    pml_outcome outcome = job.lists && job.original_lists && job.found ? PML_DONE : pml_say_memory(message);
    pml_front opened = {0};
    *measures = pml_train_unmeasured;
    if (outcome == PML_DONE && (train->count == 0 || test->count == 0))
        outcome = pml_say(message, "there are no rows to measure with: give more rows.");
    if (pml_front_open(&opened, result->bytes[0], result->sizes[0]) == PML_OK && opened.labels) {
        if (outcome == PML_DONE)
            outcome = test->labels ? measure_head(&opened, test, threads, measures, message)
                                   : pml_say(message, "a head is measured with labels: give --test-labels.");
    }
    for (size_t v = 0; outcome == PML_DONE && !opened.labels && v < test->modalities; v++) {
        pml_front front;
        if (pml_front_open(&front, result->bytes[v], result->sizes[v]) != PML_OK)
            outcome = pml_say(message, "the front cannot be opened: train it again.");
        if (outcome == PML_DONE)
            outcome = pml_train_map(&front, test, v, threads, &job.test[v], &measures->unmapped, message);
        if (outcome == PML_DONE && v == 0)
            outcome = pml_train_map(&front, train, v, threads, &job.train, &measures->unmapped, message);
    }
    if (outcome == PML_DONE && !opened.labels)
        outcome = measure_all(&job, train, test, threads, measures, message);
    pml_rows_free(&job.train);
    pml_rows_free(&job.original_train);
    pml_rows_free(&job.original_test);
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        pml_rows_free(&job.test[v]);
    free(job.lists);
    free(job.original_lists);
    free(job.found);
    return outcome;
}
