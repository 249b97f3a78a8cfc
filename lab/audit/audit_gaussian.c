/* SPDX-License-Identifier: Apache-2.0
 * In: Gaussian releases of two records. Out: lower bounds of μ and ε. The statistic is the projection of the decoded
 * rows on the estimated difference of their means; an event is that it exceeds a threshold. */
#include "audit_bounds.h"
#include "audit_mechanisms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BY_MU, BY_RATIO, WAYS }; /* each has its own threshold */

struct study {
    const struct pack_file *file;
    size_t size;       /* G·k */
    float *rows;       /* [worker][size] */
    double *sums;      /* learn: [worker][side][size] */
    double *squares;   /* likewise */
    double *direction; /* of length 1 */
    double *values;    /* choose: [worker][side][capacity] */
    size_t capacity, filled[AUDIT_THREADS][2];
    double thresholds[WAYS];
    uint64_t above[AUDIT_THREADS][2][WAYS];
    double totals[AUDIT_THREADS][2]; /* of the statistic */
};

static pml_status open_study(struct study *study, const struct pack_file *file)
{
    memset(study, 0, sizeof *study);
    study->file = file;
    study->size = (size_t)file->info.slots * file->info.dimensions;
    study->rows = calloc(AUDIT_THREADS * study->size, sizeof *study->rows);
    study->sums = calloc(2 * AUDIT_THREADS * study->size, sizeof *study->sums);
    study->squares = calloc(2 * AUDIT_THREADS * study->size, sizeof *study->squares);
    study->direction = calloc(study->size, sizeof *study->direction);
    return study->rows && study->sums && study->squares && study->direction ? PML_OK : PML_ERROR_MEMORY;
}

static void close_study(struct study *study)
{
    free(study->rows);
    free(study->sums);
    free(study->squares);
    free(study->direction);
    free(study->values);
}

/* ---- learning ---- */

static pml_status add_rows(void *context, unsigned worker, unsigned side, const uint8_t *release, size_t size)
{
    struct study *study = context;
    float *rows = study->rows + worker * study->size;
    double *sums = study->sums + (worker * 2 + side) * study->size;
    double *squares = study->squares + (worker * 2 + side) * study->size;
    pml_status status = pml_release_rows(&study->file->pack, release, size, rows, study->size);
    for (size_t i = 0; i < study->size && status == PML_OK; i++) {
        sums[i] += (double)rows[i];
        squares[i] += (double)rows[i] * (double)rows[i];
    }
    return status;
}

/* Mean of a coordinate on one side, and the variance of this mean. */
static double mean_of(const struct study *study, unsigned side, size_t i, double trials, double *variance)
{
    double sum = 0.0, square = 0.0;
    for (size_t worker = 0; worker < AUDIT_THREADS; worker++) {
        sum += study->sums[(worker * 2 + side) * study->size + i];
        square += study->squares[(worker * 2 + side) * study->size + i];
    }
    double mean = sum / trials;
    *variance += fmax(0.0, square / trials - mean * mean) / trials;
    return mean;
}

/* The difference of the means, as `direction`. Returns its squared length; `noise` is the part of that which is noise. */
static double subtract_means(struct study *study, double trials, double *noise)
{
    double square = 0.0;
    *noise = 0.0;
    for (size_t i = 0; i < study->size; i++) {
        double variance = 0.0, first = mean_of(study, 0, i, trials, &variance);
        study->direction[i] = first - mean_of(study, 1, i, trials, &variance);
        square += study->direction[i] * study->direction[i];
        *noise += variance;
    }
    return square;
}

/* Most coordinates do not differ; those that may be noise alone are shrunk or left out, unless all would be. */
static void find_direction(struct study *study, double trials)
{
    double noise, square = subtract_means(study, trials, &noise), length = 0.0;
    double least = noise / (double)study->size * 2.0 * log((double)study->size + 1.0);
    for (size_t i = 0; i < study->size; i++) {
        double own = study->direction[i] * study->direction[i];
        length += own > least ? own * (1.0 - least / own) * (1.0 - least / own) : 0.0;
    }
    double shrink = length > 0.0 ? least : 0.0, norm = sqrt(length > 0.0 ? length : square);
    for (size_t i = 0; i < study->size; i++) {
        double own = study->direction[i] * study->direction[i];
        double kept = own > shrink ? 1.0 - shrink / own : 0.0;
        study->direction[i] = norm > 0.0 ? study->direction[i] * kept / norm : 0.0;
    }
}

static double project(const struct study *study, unsigned worker)
{
    double sum = 0.0;
    for (size_t i = 0; i < study->size; i++)
        sum += study->direction[i] * (double)study->rows[worker * study->size + i];
    return sum;
}

/* ---- thresholds ---- */

static pml_status keep_value(void *context, unsigned worker, unsigned side, const uint8_t *release, size_t size)
{
    struct study *study = context;
    pml_status status =
        pml_release_rows(&study->file->pack, release, size, study->rows + worker * study->size, study->size);
    if (status == PML_OK)
        study->values[(worker * 2 + side) * study->capacity + study->filled[worker][side]++] = project(study, worker);
    return status;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The values of one side, ascending, gathered in the array of its first worker. */
static double *gather(struct study *study, unsigned side)
{
    double *values = study->values + side * study->capacity;
    size_t count = study->filled[0][side];
    for (size_t worker = 1; worker < AUDIT_THREADS; worker++) {
        memcpy(values + count, study->values + (worker * 2 + side) * study->capacity,
               study->filled[worker][side] * sizeof *values);
        count += study->filled[worker][side];
    }
    qsort(values, count, sizeof *values, compare);
    return values;
}

/* How many of the ascending values exceed the threshold. */
static size_t count_above(const double *values, size_t count, double threshold)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values[middle] > threshold)
            high = middle;
        else
            low = middle + 1;
    }
    return count - low;
}

/* Of normal values, the point midway tells most about μ. For one event's probabilities it is a tail, and how far out
 * depends on the trials to come. */
static void choose(struct study *study, const struct audit_plan *plan, double delta, size_t made)
{
    double best = -INFINITY, later = (double)plan->trials[AUDIT_COUNT], risk = plan->risk / (2 * WAYS);
    const double *first = gather(study, 0), *second = gather(study, 1);
    study->thresholds[BY_MU] = study->thresholds[BY_RATIO] = 0.5 * (first[made / 2] + second[made / 2]);
    for (size_t rank = 0; rank < made; rank += 1 + rank / 16) {
        double threshold = second[made - 1 - rank];
        double likely = audit_promised_lower(count_above(first, made, threshold), made, later, risk);
        double unlikely = audit_promised_upper(count_above(second, made, threshold), made, later, risk);
        double promised = audit_ratio_epsilon(likely, unlikely, delta);
        if (promised > best) {
            best = promised;
            study->thresholds[BY_RATIO] = threshold;
        }
    }
}

/* ---- counting ---- */

static pml_status count_value(void *context, unsigned worker, unsigned side, const uint8_t *release, size_t size)
{
    struct study *study = context;
    pml_status status =
        pml_release_rows(&study->file->pack, release, size, study->rows + worker * study->size, study->size);
    if (status != PML_OK)
        return status;
    double value = project(study, worker);
    for (size_t way = 0; way < WAYS; way++)
        study->above[worker][side][way] += value > study->thresholds[way];
    study->totals[worker][side] += value;
    return PML_OK;
}

static void conclude(const struct study *study, const struct audit_plan *plan, double delta, uint64_t counted,
                     struct audit_verdict *verdict)
{
    double risk = plan->risk / (2 * WAYS), likely[WAYS], unlikely[WAYS];
    for (size_t way = 0; way < WAYS; way++) {
        uint64_t hits = 0, alarms = 0;
        for (size_t worker = 0; worker < AUDIT_THREADS; worker++) {
            hits += study->above[worker][0][way];
            alarms += study->above[worker][1][way];
        }
        likely[way] = audit_binomial_lower(hits, counted, risk);
        unlikely[way] = audit_binomial_upper(alarms, counted, risk);
    }
    for (size_t worker = 0; worker < AUDIT_THREADS; worker++)
        verdict->distance += (study->totals[worker][0] - study->totals[worker][1]) / (double)counted;
    verdict->mu_lower = fmax(0.0, audit_gaussian_shift(likely[BY_MU], unlikely[BY_MU]));
    verdict->epsilon_lower = audit_gaussian_epsilon(verdict->mu_lower, delta);
    verdict->ratio_lower = fmax(0.0, audit_ratio_epsilon(likely[BY_RATIO], unlikely[BY_RATIO], delta));
    verdict->enough = true;
}

/* The three phases of an open study; `verdict` stays zero when one has too few trials. */
static pml_status examine(struct audit_bench *bench, struct study *study, const struct audit_pair *pair,
                          const struct audit_plan *plan, struct audit_verdict *verdict)
{
    uint64_t made[AUDIT_PHASES] = {0};
    double delta = bench->config.delta;
    pml_status status = audit_phase(bench, pair, plan, AUDIT_LEARN, add_rows, study, &made[AUDIT_LEARN]);
    if (status != PML_OK || made[AUDIT_LEARN] == 0)
        return status;
    find_direction(study, (double)made[AUDIT_LEARN]);
    study->capacity = (size_t)plan->trials[AUDIT_CHOOSE];
    study->values = malloc(2 * AUDIT_THREADS * study->capacity * sizeof *study->values);
    if (!study->values)
        return PML_ERROR_MEMORY;
    status = audit_phase(bench, pair, plan, AUDIT_CHOOSE, keep_value, study, &made[AUDIT_CHOOSE]);
    if (status != PML_OK || made[AUDIT_CHOOSE] == 0)
        return status;
    choose(study, plan, delta, (size_t)made[AUDIT_CHOOSE]);
    status = audit_phase(bench, pair, plan, AUDIT_COUNT, count_value, study, &made[AUDIT_COUNT]);
    if (status != PML_OK || made[AUDIT_COUNT] == 0)
        return status;
    verdict->trials = made[AUDIT_LEARN] + made[AUDIT_CHOOSE] + made[AUDIT_COUNT];
    conclude(study, plan, delta, made[AUDIT_COUNT], verdict);
    return PML_OK;
}

pml_status audit_gaussian(struct audit_bench *bench, const struct audit_pair *pair, const struct audit_plan *plan,
                          struct audit_verdict *verdict)
{
    struct study study;
    memset(verdict, 0, sizeof *verdict);
    pml_status status = open_study(&study, bench->file);
    if (status == PML_OK)
        status = examine(bench, &study, pair, plan, verdict);
    close_study(&study);
    return status;
}

pml_status audit_gaussian_distance(struct audit_bench *bench, const struct audit_pair *pair, uint64_t trials,
                                   double deadline, double *distance, double *deviation)
{
    struct audit_plan plan = {.trials = {trials}, .deadlines = {deadline}};
    struct study study;
    uint64_t made = 0;
    double noise = 0.0;
    *distance = *deviation = 0.0;
    pml_status status = open_study(&study, bench->file);
    if (status == PML_OK)
        status = audit_phase(bench, pair, &plan, AUDIT_LEARN, add_rows, &study, &made);
    if (status == PML_OK && made > 0) {
        double square = subtract_means(&study, (double)made, &noise);
        *distance = sqrt(fmax(0.0, square - noise));
        *deviation = sqrt(noise / (double)study.size);
    }
    close_study(&study);
    return status;
}
