/* SPDX-License-Identifier: Apache-2.0
 * The belief after a Gaussian release (PRIVACY, theorem 12). The rows of items and the centres of slots are those of the
 * device, by its own stages. */
#include "belief_parts.h"

#include "core/base/exact.h"
#include "core/stages/stages.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#if PML_WITH_GAUSSIAN

enum { PIECE = 64 };

struct places {
    const struct belief_items *items;
    int64_t *label_rows, *centres; /* G×k; the second as numerators over 16384 */
    pml_certificate certificate;
    pml_calibration calibration;
    const pml_release_view *view;
    double *out; /* k places or one likelihood per item */
};

/* The K nearest anchors of an item, with their weights (SPEC 5.3, 5.5). */
struct links {
    uint32_t indices[PML_NEIGHBOURS_MAX], weights[PML_NEIGHBOURS_MAX];
};

static void find_links(const struct places *places, size_t item, struct links *links)
{
    const struct pml_rows *rows = places->items->rows;
    const pml_pack_info *info = &places->items->info;
    uint64_t keys[PML_NEIGHBOURS_MAX];
    pml_neighbours_find(places->items->pack, pml_rows_kernels(), rows->values + item * rows->columns, keys);
    for (size_t j = 0; j < info->neighbours; j++) {
        links->indices[j] = neighbour_index(keys[j]);
        links->weights[j] = pml_weights_of(neighbour_score(keys[j]), rows->inverse[item], info->lambda,
                                           places->certificate.floor_weight);
    }
}

static void free_places(struct places *places)
{
    free(places->label_rows);
    free(places->centres);
}

static pml_outcome open_places(struct places *places, const struct belief_items *items, struct pml_message *message)
{
    const pml_pack_info *info = &items->info;
    const size_t coordinates = (size_t)info->slots * info->dimensions;
    *places = (struct places){.items = items};
    if (info->anchors == 0)
        return pml_say(
            message,
            "the pack has no anchors, so nobody makes Gaussian releases with it. Give the pack of the release.");
    int64_t *scratch = malloc(2 * (size_t)info->neighbours * sizeof *scratch);
    places->label_rows = malloc(coordinates * sizeof *places->label_rows);
    places->centres = malloc(coordinates * sizeof *places->centres);
    if (!scratch || !places->label_rows || !places->centres) {
        free(scratch);
        return pml_say_memory(message);
    }
    pml_label_rows(items->pack, pml_weights_label, places->label_rows);
    const pml_status status = pml_certificate_of(items->pack, pml_weights_floor(info->lambda), places->label_rows,
                                                 places->centres, scratch, &places->certificate);
    free(scratch);
    return status == PML_OK ? PML_DONE : pml_say(message, "%s", pml_status_text(status));
}

/* ---- the likelihood of a value ---- */

/* ln P(N > z). Beyond 30 by the asymptotic series, whose error there is below 1e-10 of its last term. */
static double log_above(double z)
{
    if (z <= 30.0)
        return log(0.5 * erfc(z * 0.70710678118654752440));
    const double square = 1.0 / (z * z);
    return -0.5 * z * z - log(z * 2.50662827463100050242) +
           log1p(-square * (1.0 - square * (3.0 - square * (15.0 - square * 105.0))));
}

/* ln P(low < N < high), of the tail where both are, so that nothing is lost by subtraction. */
static double log_between(double low, double high)
{
    if (high < 0.0)
        return log_between(-high, -low);
    if (low <= 0.0)
        return log1p(-(isinf(high) ? 0.0 : exp(log_above(high))) - (isinf(low) ? 0.0 : exp(log_above(-low))));
    const double above = log_above(low);
    return isinf(high) ? above : above + log1p(-exp(log_above(high) - above));
}

/* ln F(value | place) of theorem 12. */
static double log_value(int32_t value, int64_t place, const pml_calibration *calibration, unsigned value_bytes)
{
    const int64_t unit = (int64_t)1 << calibration->coarsen, start = value * unit - unit / 2;
    const int32_t limit = (int32_t)value_limit(value_bytes);
    const double deviation = ldexp(1.0, (int)calibration->shift);
    const double low = value <= -limit ? -INFINITY : ((double)(start - place) - 0.5) / deviation;
    const double high = value >= limit ? INFINITY : ((double)(start + unit - place) - 0.5) / deviation;
    return log_between(low, high);
}

static pml_outcome judge(void *context, size_t piece)
{
    const struct places *places = context;
    const struct belief_items *items = places->items;
    const size_t k = items->info.dimensions, count = items->rows->count;
    for (size_t i = piece * PIECE; i < (piece + 1) * PIECE && i < count; i++) {
        const size_t first = items->slots[i] * k;
        struct links links;
        int32_t row[PML_DIMENSIONS_MAX];
        find_links(places, i, &links);
        pml_update_row(items->pack, items->slots[i], places->label_rows + first, links.indices, links.weights,
                       places->calibration.grid, row);
        places->out[i] = 0.0;
        for (size_t t = 0; t < k; t++) {
            const int32_t value = pml_release_value(places->view, first + t);
            const int64_t centre = divide_round(places->centres[first + t], (int64_t)16384 * places->calibration.grid);
            places->out[i] += log_value(value, row[t], &places->calibration, places->view->value_bytes) -
                              log_value(value, centre, &places->calibration, places->view->value_bytes);
        }
    }
    return PML_DONE;
}

static size_t pieces_of(const struct belief_items *items)
{
    return (items->rows->count + PIECE - 1) / PIECE;
}

pml_outcome belief_gaussian(const struct belief_items *items, const pml_release_view *view, double epsilon,
                            double delta, double *posterior, struct pml_message *message)
{
    struct places places;
    if (view->mechanism != PML_GAUSSIAN)
        return pml_say(message, "not a Gaussian release.");
    pml_outcome outcome = open_places(&places, items, message);
    if (outcome == PML_DONE) {
        const pml_status status = pml_pack_calibrate(items->pack, &places.certificate, epsilon, delta,
                                                     view->value_bytes, &places.calibration);
        if (status != PML_OK)
            outcome = pml_say(message, "%s", pml_status_text(status));
        else if (places.calibration.step != view->step)
            outcome =
                pml_say(message,
                        "the release has the step %" PRIu32 ", and with this epsilon and delta it would be %" PRIu32
                        ". Give those that it was made with.",
                        view->step, places.calibration.step);
    }
    places.view = view;
    places.out = posterior;
    if (outcome == PML_DONE)
        outcome = pml_parallel(items->threads, pieces_of(items), judge, &places, NULL);
    if (outcome == PML_DONE && !belief_normalise(posterior, items->rows->count))
        outcome = pml_say(message, "no item can have made this release. Check that it belongs to the pack.");
    free_places(&places);
    return outcome;
}

/* ---- for the page ---- */

static pml_outcome place(void *context, size_t piece)
{
    const struct places *places = context;
    const struct belief_items *items = places->items;
    const size_t k = items->info.dimensions;
    for (size_t i = piece * PIECE; i < (piece + 1) * PIECE && i < items->rows->count; i++) {
        const int64_t *label_row = places->label_rows + items->slots[i] * k;
        struct links links;
        int16_t slot[PML_DIMENSIONS_MAX], code[PML_DIMENSIONS_MAX];
        int64_t sums[PML_DIMENSIONS_MAX] = {0}, degree = 0;
        find_links(places, i, &links);
        for (size_t j = 0; j < items->info.neighbours; j++) {
            if (pml_pack_anchor_code(items->pack, links.indices[j], code) != PML_OK)
                return PML_REFUSED;
            degree += links.weights[j];
            for (size_t t = 0; t < k; t++)
                sums[t] += (int64_t)links.weights[j] * code[t];
        }
        if (pml_pack_slot_code(items->pack, items->slots[i], slot) != PML_OK)
            return PML_REFUSED;
        for (size_t t = 0; t < k; t++) /* SPEC 5.9 */
            places->out[i * k + t] = (double)(256 * (slot[t] * degree + sums[t]) + items->info.alpha * label_row[t]) /
                                     (512.0 * (double)degree);
    }
    return PML_DONE;
}

pml_outcome belief_places(const struct belief_items *items, double *out, double *centres, struct pml_message *message)
{
    struct places places;
    pml_outcome outcome = open_places(&places, items, message);
    places.out = out;
    if (outcome == PML_DONE)
        outcome = pml_parallel(items->threads, pieces_of(items), place, &places, NULL);
    for (size_t i = 0; outcome == PML_DONE && i < (size_t)items->info.slots * items->info.dimensions; i++)
        centres[i] = (double)places.centres[i] / 16384.0;
    free_places(&places);
    return outcome;
}

#else

pml_outcome belief_gaussian(const struct belief_items *items, const pml_release_view *view, double epsilon,
                            double delta, double *posterior, struct pml_message *message)
{
    (void)items, (void)view, (void)epsilon, (void)delta, (void)posterior;
    return pml_say(message, "%s", pml_status_text(PML_ERROR_MECHANISM));
}

pml_outcome belief_places(const struct belief_items *items, double *out, double *centres, struct pml_message *message)
{
    (void)items, (void)out, (void)centres;
    return pml_say(message, "%s", pml_status_text(PML_ERROR_MECHANISM));
}

#endif
