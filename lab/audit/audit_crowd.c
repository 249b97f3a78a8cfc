/* SPDX-License-Identifier: Apache-2.0
 * In: mixed messages of whole epochs, in which one client has one record or the other and all others are idle, or the
 * relay has added its clusters. Out: a lower bound of ε at δ. An epoch is judged by its histogram: by how much likelier
 * its counts are with the first record than with the second, as the law of the fakes says (PRIVACY, theorem A). The law
 * only chooses an event; what is proved comes from counting how often it occurs. */
#include "audit_bounds.h"
#include "audit_mechanisms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SURE 32.0         /* log likelihood ratios beyond this are as good as certain */
#define OFTEN_LEAST 0.125 /* a symbol belongs to a record when it comes that much more often per epoch */
enum { COUNTS = 4096, BINS = 4096 };

struct study {
    const struct audit_bench *bench;
    size_t symbols;       /* S */
    uint64_t *totals;     /* learn: [worker][side][symbol] */
    uint32_t *histograms; /* of one epoch: [worker][symbol] */
    int8_t *owner;        /* of each symbol: 1 the first record's, −1 the second's, 0 nobody's */
    double gain[COUNTS];  /* ln π(k − 1)/π(k): what the count k says for the record whose symbol it is */
    uint64_t bins[AUDIT_THREADS][2][BINS]; /* epochs by their log likelihood ratio */
    unsigned likely_side;
    size_t event; /* this many bins, from the likely side's end */
};

/* ---- the law of the fakes ---- */

static void make_gains(struct study *study)
{
    const pml_crowd *policy = study->bench->config.crowd;
    const double clusters = (double)policy->clients * policy->clusters + policy->relay_clusters;
    const double rate = clusters / (double)study->symbols / policy->copies;
    double law[COUNTS] = {exp(-rate * policy->copies)};
    study->gain[0] = -SURE; /* without its message the record is as good as excluded */
    for (size_t k = 1; k < COUNTS; k++) {
        double sum = 0.0;
        for (size_t c = 1; c <= policy->copies && c <= k; c++)
            sum += (double)c * law[k - c];
        law[k] = rate * sum / (double)k;
        study->gain[k] = fmin(SURE, law[k] > 0.0 ? log(law[k - 1] / law[k]) : SURE);
    }
}

/* ---- epochs ---- */

/* Counts the messages of an epoch. */
static pml_status count_epoch(const struct study *study, const uint8_t *epoch, size_t size, uint32_t *histogram)
{
    const size_t length = study->bench->receipt.bytes;
    pml_status status = PML_OK;
    memset(histogram, 0, study->symbols * sizeof *histogram);
    for (size_t at = 0; at < size && status == PML_OK; at += length) {
        pml_release_view view;
        status = pml_release_parse(&study->bench->file->pack, epoch + at, length, &view);
        if (status == PML_OK)
            histogram[pml_release_symbol(&view, 0)]++;
    }
    return status;
}

/* ---- learning ---- */

static uint64_t *totals_of(const struct study *study, unsigned worker, unsigned side)
{
    return study->totals + (size_t)(worker * 2 + side) * study->symbols;
}

/* Everybody can run a client, so the symbols of a record may be learnt from bundles that nobody mixed. */
static pml_status add_totals(void *context, unsigned worker, unsigned side, const uint8_t *epoch, size_t size)
{
    struct study *study = context;
    const struct audit_worker *maker = &study->bench->workers[worker];
    (void)epoch, (void)size;
    uint32_t *histogram = study->histograms + worker * study->symbols;
    uint64_t *totals = totals_of(study, worker, side);
    pml_status status =
        count_epoch(study, maker->sent.bytes, maker->asker.bundle.count * study->bench->receipt.bytes, histogram);
    for (size_t symbol = 0; symbol < study->symbols && status == PML_OK; symbol++)
        totals[symbol] += histogram[symbol];
    return status;
}

/* The symbols that come more often with one record, at most w of each. */
static void find_owners(struct study *study, uint64_t made)
{
    const unsigned own = study->bench->config.crowd->own;
    for (int side = 0; side < 2; side++) {
        for (unsigned number = 0; number < own; number++) {
            double most = OFTEN_LEAST;
            size_t best = study->symbols;
            for (size_t symbol = 0; symbol < study->symbols; symbol++) {
                double surplus = 0.0;
                for (unsigned worker = 0; worker < AUDIT_THREADS; worker++)
                    surplus += (double)totals_of(study, worker, (unsigned)side)[symbol] -
                               (double)totals_of(study, worker, 1 - (unsigned)side)[symbol];
                if (study->owner[symbol] == 0 && surplus / (double)made > most) {
                    most = surplus / (double)made;
                    best = symbol;
                }
            }
            if (best < study->symbols)
                study->owner[best] = side == 0 ? 1 : -1;
        }
    }
}

/* ---- events ---- */

static pml_status add_bin(void *context, unsigned worker, unsigned side, const uint8_t *epoch, size_t size)
{
    struct study *study = context;
    uint32_t *histogram = study->histograms + worker * study->symbols;
    pml_status status = count_epoch(study, epoch, size, histogram);
    double ratio = 0.0;
    for (size_t symbol = 0; symbol < study->symbols; symbol++) {
        const uint32_t count = histogram[symbol] < COUNTS ? histogram[symbol] : COUNTS - 1;
        ratio += study->owner[symbol] * study->gain[count];
    }
    ratio = fmax(-SURE, fmin(SURE, ratio));
    study->bins[worker][side][(size_t)((ratio + SURE) / (2.0 * SURE) * (BINS - 1) + 0.5)]++;
    return status;
}

/* Epochs of a side in one bin, counted from the end where the likely side's epochs are. */
static uint64_t bin_count(const struct study *study, unsigned likely_side, size_t bin, unsigned side)
{
    uint64_t count = 0;
    for (unsigned worker = 0; worker < AUDIT_THREADS; worker++)
        count += study->bins[worker][side][likely_side == 0 ? BINS - 1 - bin : bin];
    return count;
}

/* Epochs of a side in the chosen event. */
static uint64_t event_count(const struct study *study, unsigned side)
{
    uint64_t count = 0;
    for (size_t bin = 0; bin < study->event; bin++)
        count += bin_count(study, study->likely_side, bin, side);
    return count;
}

static void choose(struct study *study, const struct audit_plan *plan, uint64_t made, double delta)
{
    const double later = (double)plan->trials[AUDIT_COUNT], risk = plan->risk / 2.0;
    double best = -INFINITY;
    study->event = 1;
    for (unsigned side = 0; side < 2; side++) {
        uint64_t likely = 0, unlikely = 0;
        for (size_t bin = 0; bin < BINS; bin++) {
            likely += bin_count(study, side, bin, side);
            unlikely += bin_count(study, side, bin, 1 - side);
            const double promised = audit_ratio_epsilon(audit_promised_lower(likely, made, later, risk),
                                                        audit_promised_upper(unlikely, made, later, risk), delta);
            if (promised > best) {
                best = promised;
                study->event = bin + 1;
                study->likely_side = side;
            }
        }
    }
}

static pml_status examine(struct audit_bench *bench, const struct audit_pair *pair, const struct audit_plan *plan,
                          double delta, struct study *study, struct audit_verdict *verdict)
{
    uint64_t made[AUDIT_PHASES] = {0};
    pml_status status = audit_phase(bench, pair, plan, AUDIT_LEARN, add_totals, study, &made[AUDIT_LEARN]);
    if (status != PML_OK || made[AUDIT_LEARN] == 0)
        return status;
    find_owners(study, made[AUDIT_LEARN]);
    status = audit_phase(bench, pair, plan, AUDIT_CHOOSE, add_bin, study, &made[AUDIT_CHOOSE]);
    if (status != PML_OK || made[AUDIT_CHOOSE] == 0)
        return status;
    choose(study, plan, made[AUDIT_CHOOSE], delta);
    memset(study->bins, 0, sizeof study->bins);
    status = audit_phase(bench, pair, plan, AUDIT_COUNT, add_bin, study, &made[AUDIT_COUNT]);
    if (status != PML_OK || made[AUDIT_COUNT] == 0)
        return status;
    const unsigned side = study->likely_side;
    const double likely = audit_binomial_lower(event_count(study, side), made[AUDIT_COUNT], plan->risk / 2);
    const double unlikely = audit_binomial_upper(event_count(study, 1 - side), made[AUDIT_COUNT], plan->risk / 2);
    verdict->enough = true;
    verdict->trials = made[AUDIT_LEARN] + made[AUDIT_CHOOSE] + made[AUDIT_COUNT];
    verdict->epsilon_lower = fmax(0.0, audit_ratio_epsilon(likely, unlikely, delta));
    return PML_OK;
}

pml_status audit_crowd(struct audit_bench *bench, const struct audit_pair *pair, const struct audit_plan *plan,
                       double delta, struct audit_verdict *verdict)
{
    const pml_pack_info *info = &bench->file->info;
    struct study *study = calloc(1, sizeof *study);
    memset(verdict, 0, sizeof *verdict);
    if (!study)
        return PML_ERROR_MEMORY;
    study->bench = bench;
    study->symbols = (size_t)info->slots * info->cells;
    study->totals = calloc((size_t)AUDIT_THREADS * 2 * study->symbols, sizeof *study->totals);
    study->histograms = calloc((size_t)AUDIT_THREADS * study->symbols, sizeof *study->histograms);
    study->owner = calloc(study->symbols, sizeof *study->owner);
    pml_status status = study->totals && study->histograms && study->owner ? PML_OK : PML_ERROR_MEMORY;
    if (status == PML_OK) {
        make_gains(study);
        status = examine(bench, pair, plan, delta, study, verdict);
    }
    free(study->totals);
    free(study->histograms);
    free(study->owner);
    free(study);
    return status;
}
