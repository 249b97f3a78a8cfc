/* SPDX-License-Identifier: Apache-2.0
 * What a device would make of items, and how likelihoods become a belief. */
#include "belief_parts.h"

#include "core/stages/stages.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { PIECE = 64 };

static pml_outcome find_slots(struct belief_items *items, const int32_t *labels, struct pml_message *message)
{
    if (!labels && items->info.slots > 1)
        return pml_say(message, "the pack has a slot per class, so every item needs its class: give --labels.");
    for (size_t i = 0; i < items->rows->count; i++) {
        if (pml_pack_slot(items->pack, labels ? labels[i] : 0, &items->slots[i]) != PML_OK && items->info.slots > 1)
            return pml_say(message, "row %zu has class %" PRId32 ", which the pack does not know. Check the labels.", i,
                           labels[i]);
    }
    return PML_DONE;
}

#if PML_WITH_RESPONSE
static pml_outcome find_cells(void *context, size_t piece)
{
    struct belief_items *items = context;
    const struct pml_rows *rows = items->rows;
    const size_t end = (piece + 1) * PIECE < rows->count ? (piece + 1) * PIECE : rows->count;
    for (size_t i = piece * PIECE; i < end; i++)
        items->cells[i] =
            pml_prototypes_cell(items->pack, pml_rows_kernels(), rows->values + i * rows->columns, items->slots[i]);
    return PML_DONE;
}
#endif

pml_outcome belief_items_make(struct belief_items *items, const pml_pack *pack, const struct pml_rows *rows,
                              const int32_t *labels, unsigned threads, struct pml_message *message)
{
    *items = (struct belief_items){.pack = pack, .rows = rows, .threads = pml_parallel_threads(threads)};
    if (pml_pack_describe(pack, &items->info) != PML_OK || rows->count == 0 || rows->columns != items->info.features)
        return pml_say(message, "the rows have %zu features and the pack has %" PRIu32 ". Give features of one model.",
                       rows->columns, items->info.features);
    items->slots = malloc(rows->count * sizeof *items->slots);
    if (!items->slots)
        return pml_say_memory(message);
    const pml_outcome outcome = find_slots(items, labels, message);
    if (outcome != PML_DONE || items->info.cells == 0)
        return outcome;
    items->cells = malloc(rows->count * sizeof *items->cells);
    if (!items->cells)
        return pml_say_memory(message);
#if PML_WITH_RESPONSE
    return pml_parallel(items->threads, (rows->count + PIECE - 1) / PIECE, find_cells, items, NULL);
#else
    free(items->cells);
    items->cells = NULL;
    return PML_DONE;
#endif
}

void belief_items_free(struct belief_items *items)
{
    free(items->slots);
    free(items->cells);
    *items = (struct belief_items){0};
}

bool belief_normalise(double *values, size_t count)
{
    double most = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    if (!isfinite(most))
        return false;
    for (size_t i = 0; i < count; i++)
        sum += values[i] = exp(values[i] - most);
    for (size_t i = 0; i < count; i++)
        values[i] /= sum;
    return true;
}

bool belief_odds_of(double epsilon, uint32_t cells, struct belief_odds *odds)
{
#if PML_WITH_RESPONSE
    const uint64_t keep = pml_response_keep(epsilon, cells);
    *odds = (struct belief_odds){.high = (double)keep * 0x1p-40,
                                 .low = (double)(((uint64_t)1 << 40) - keep) * 0x1p-40 / (cells - 1.0)};
    return keep > 0;
#else
    (void)epsilon, (void)cells;
    *odds = (struct belief_odds){0};
    return false;
#endif
}

pml_outcome belief_response(const struct belief_items *items, const pml_release_view *view, double epsilon,
                            double *posterior, struct pml_message *message)
{
    struct belief_odds odds;
    if (view->mechanism != PML_RESPONSE || !items->cells)
        return pml_say(message, "not a response release.");
    if (!belief_odds_of(epsilon, items->info.cells, &odds))
        return pml_say(message, "epsilon must be 1e-6 to 16: the one that the release was made with.");
    for (size_t i = 0; i < items->rows->count; i++)
        posterior[i] = log(pml_release_symbol(view, items->slots[i]) == items->cells[i] ? odds.high : odds.low);
    belief_normalise(posterior, items->rows->count);
    return PML_DONE;
}

struct belief_summary belief_summarise(const double *posterior, size_t count)
{
    struct belief_summary summary = {0};
    for (size_t i = 0; i < count; i++) {
        summary.largest = posterior[i] > summary.largest ? posterior[i] : summary.largest;
        summary.entropy -= posterior[i] > 0.0 ? posterior[i] * log2(posterior[i]) : 0.0;
    }
    return summary;
}
