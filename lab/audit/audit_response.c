/* SPDX-License-Identifier: Apache-2.0
 * In: response releases of two records. Out: a lower bound of ε. The symbols of the records' slots are sorted into the
 * one that the first record makes likelier, the one that the second does, and the rest; an event is a set of those. */
#include "audit_bounds.h"
#include "audit_mechanisms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SORTS = 3, CELLS = SORTS * SORTS };

struct study {
    const struct pack_file *file;
    const struct audit_pair *pair;
    size_t symbols;          /* m */
    uint64_t *counts;        /* learn: [worker][side][record whose slot it is][symbol] */
    uint32_t likelier[2][2]; /* [record whose slot it is][side]: the symbol that this side makes likelier */
    uint64_t cells[AUDIT_THREADS][2][CELLS];
    unsigned event, likely_side; /* a set of cells, and the side for which it is likely */
};

/* ---- learning ---- */

static uint64_t *symbol_counts(const struct study *study, unsigned worker, unsigned side, unsigned record)
{
    return study->counts + ((size_t)(worker * 2 + side) * 2 + record) * study->symbols;
}

static pml_status count_symbols(void *context, unsigned worker, unsigned side, const uint8_t *release, size_t size)
{
    struct study *study = context;
    pml_release_view view;
    pml_status status = pml_release_parse(&study->file->pack, release, size, &view);
    for (unsigned record = 0; record < 2 && status == PML_OK; record++) {
        uint32_t symbol = pml_release_symbol(&view, study->pair->sides[record].slot);
        symbol_counts(study, worker, side, record)[symbol]++;
    }
    return status;
}

/* The symbol whose count on `side` is furthest above that on the other. */
static uint32_t likelier_symbol(const struct study *study, unsigned record, unsigned side)
{
    uint32_t best = 0;
    int64_t best_surplus = INT64_MIN;
    for (size_t symbol = 0; symbol < study->symbols; symbol++) {
        int64_t surplus = 0;
        for (unsigned worker = 0; worker < AUDIT_THREADS; worker++)
            surplus += (int64_t)symbol_counts(study, worker, side, record)[symbol] -
                       (int64_t)symbol_counts(study, worker, 1 - side, record)[symbol];
        if (surplus > best_surplus) {
            best_surplus = surplus;
            best = (uint32_t)symbol;
        }
    }
    return best;
}

static pml_status learn(struct audit_bench *bench, struct study *study, const struct audit_plan *plan, uint64_t *made)
{
    study->counts = calloc((size_t)AUDIT_THREADS * 4 * study->symbols, sizeof *study->counts);
    if (!study->counts)
        return PML_ERROR_MEMORY;
    pml_status status = audit_phase(bench, study->pair, plan, AUDIT_LEARN, count_symbols, study, made);
    for (unsigned record = 0; record < 2; record++)
        for (unsigned side = 0; side < 2; side++)
            study->likelier[record][side] = likelier_symbol(study, record, side);
    free(study->counts);
    study->counts = NULL;
    return status;
}

/* ---- events ---- */

static unsigned sort_of(const struct study *study, const pml_release_view *view, unsigned record)
{
    uint32_t symbol = pml_release_symbol(view, study->pair->sides[record].slot);
    return symbol == study->likelier[record][0] ? 0 : symbol == study->likelier[record][1] ? 1 : 2;
}

static pml_status count_cells(void *context, unsigned worker, unsigned side, const uint8_t *release, size_t size)
{
    struct study *study = context;
    pml_release_view view;
    pml_status status = pml_release_parse(&study->file->pack, release, size, &view);
    if (status == PML_OK)
        study->cells[worker][side][sort_of(study, &view, 0) * SORTS + sort_of(study, &view, 1)]++;
    return status;
}

static uint64_t event_count(const struct study *study, unsigned event, unsigned side)
{
    uint64_t count = 0;
    for (unsigned cell = 0; cell < CELLS; cell++)
        for (unsigned worker = 0; worker < AUDIT_THREADS && (event >> cell & 1) != 0; worker++)
            count += study->cells[worker][side][cell];
    return count;
}

/* What the event will prove, as far as these counts tell. */
static double promise(const struct study *study, const struct audit_plan *plan, uint64_t made, unsigned event,
                      unsigned side)
{
    double later = (double)plan->trials[AUDIT_COUNT], risk = plan->risk / 2.0;
    double likely = audit_promised_lower(event_count(study, event, side), made, later, risk);
    double unlikely = audit_promised_upper(event_count(study, event, 1 - side), made, later, risk);
    return audit_ratio_epsilon(likely, unlikely, 0.0);
}

static void choose(struct study *study, const struct audit_plan *plan, uint64_t made)
{
    double best = -INFINITY;
    for (unsigned event = 1; event < 1u << CELLS; event++) {
        for (unsigned side = 0; side < 2; side++) {
            double promised = promise(study, plan, made, event, side);
            if (promised > best) {
                best = promised;
                study->event = event;
                study->likely_side = side;
            }
        }
    }
}

pml_status audit_response(struct audit_bench *bench, const struct audit_pair *pair, const struct audit_plan *plan,
                          struct audit_verdict *verdict)
{
    struct study study = {.file = bench->file, .pair = pair, .symbols = bench->file->info.cells};
    uint64_t made[AUDIT_PHASES] = {0};
    memset(verdict, 0, sizeof *verdict);
    pml_status status = learn(bench, &study, plan, &made[AUDIT_LEARN]);
    if (status == PML_OK)
        status = audit_phase(bench, pair, plan, AUDIT_CHOOSE, count_cells, &study, &made[AUDIT_CHOOSE]);
    if (status != PML_OK || made[AUDIT_LEARN] == 0 || made[AUDIT_CHOOSE] == 0)
        return status;
    choose(&study, plan, made[AUDIT_CHOOSE]);
    memset(study.cells, 0, sizeof study.cells);
    status = audit_phase(bench, pair, plan, AUDIT_COUNT, count_cells, &study, &made[AUDIT_COUNT]);
    if (status != PML_OK || made[AUDIT_COUNT] == 0)
        return status;
    uint64_t counted = made[AUDIT_COUNT];
    double likely = audit_binomial_lower(event_count(&study, study.event, study.likely_side), counted, plan->risk / 2);
    double unlikely =
        audit_binomial_upper(event_count(&study, study.event, 1 - study.likely_side), counted, plan->risk / 2);
    verdict->enough = true;
    verdict->trials = made[AUDIT_LEARN] + made[AUDIT_CHOOSE] + counted;
    verdict->epsilon_lower = fmax(0.0, audit_ratio_epsilon(likely, unlikely, 0.0));
    return PML_OK;
}
