/* SPDX-License-Identifier: Apache-2.0
 * The belief after an epoch of a crowd (PRIVACY, theorem 13), of a reader who has taken out all real messages but one. */
#include "belief_parts.h"

#include "core/stages/stages.h"

#include <math.h>
#include <stdlib.h>

#if PML_WITH_CROWD

/* Clusters per symbol that the samplers draw (SPEC 5.16, 5.17). */
static double clusters_of(const pml_crowd *crowd, uint32_t symbols)
{
    const double clients = (double)crowd->clients * floor(crowd->clusters * 0x1p29) * 0x1p-29;
    const double parts = ceil(2.0 * crowd->relay_clusters);
    const double relay = parts > 0.0 ? parts * floor(0x1p32 * (crowd->relay_clusters / parts)) * 0x1p-32 : 0.0;
    return (clients + relay) / symbols;
}

/* ln π(0 … most) by the recursion of PRIVACY 11, whose terms are all positive. They are kept near 1 by a common factor, as
 * π(0) may be too small for a double. */
static void log_law(double clusters, uint32_t copies, uint32_t most, double *scaled, double *out)
{
    double scale = -clusters;
    scaled[0] = 1.0;
    out[0] = scale;
    for (uint32_t k = 1; k <= most; k++) {
        double sum = 0.0;
        for (uint32_t c = 1; c <= copies && c <= k; c++)
            sum += c * scaled[k - c];
        scaled[k] = clusters / ((double)copies * k) * sum;
        out[k] = log(scaled[k]) + scale;
        if (scaled[k] > 0x1p500 || (scaled[k] > 0.0 && scaled[k] < 0x1p-500)) {
            const double factor = 1.0 / scaled[k];
            scale += log(scaled[k]);
            for (uint32_t c = 0; c < copies && c <= k; c++)
                scaled[k - c] *= factor;
        }
    }
}

struct epoch {
    const struct belief_items *items;
    const uint32_t *counts;
    const double *law; /* ln π */
    uint32_t symbols, own;
    size_t impossible; /* symbols whose count no clusters can make */
    int8_t *row;       /* scratch, a value per feature */
};

/* ln R(z); −∞ when z cannot have been drawn. */
static double log_ratio(const struct epoch *epoch, uint32_t symbol)
{
    uint32_t list[PML_CROWD_OWN_MAX] = {symbol};
    double sum = 0.0;
    size_t cured = 0;
    if (epoch->own > 1)
        pml_public_list(epoch->items->pack, pml_rows_kernels(), symbol, epoch->row, list, epoch->own);
    for (uint32_t i = 0; i < epoch->own; i++) {
        const uint32_t count = epoch->counts[list[i]];
        if (count == 0)
            return -INFINITY;
        cured += isinf(epoch->law[count]) != 0;
        sum += epoch->law[count - 1] - (isinf(epoch->law[count]) ? 0.0 : epoch->law[count]);
    }
    return cured == epoch->impossible ? sum : -INFINITY;
}

/* `ratios`: room for one per symbol. */
static pml_outcome judge(const struct epoch *epoch, const struct belief_odds *odds, double *ratios, double *posterior,
                         struct pml_message *message)
{
    const struct belief_items *items = epoch->items;
    double most = -INFINITY, sum = 0.0;
    for (uint32_t z = 0; z < epoch->symbols; z++) {
        ratios[z] = log_ratio(epoch, z);
        most = ratios[z] > most ? ratios[z] : most;
    }
    if (isinf(most))
        return pml_say(message,
                       "this epoch cannot stem from a crowd of this policy with one more query: too many messages "
                       "were taken out, or another policy was used. Check --known and the policy.");
    for (uint32_t z = 0; z < epoch->symbols; z++)
        sum += ratios[z] = exp(ratios[z] - most);
    for (size_t i = 0; i < items->rows->count; i++) {
        const double ratio = ratios[items->slots[i] * items->info.cells + items->cells[i]];
        posterior[i] = log((odds->high - odds->low) * ratio + odds->low * sum);
    }
    belief_normalise(posterior, items->rows->count);
    return PML_DONE;
}

pml_outcome belief_crowd(const struct belief_items *items, const uint32_t *counts, const pml_crowd *crowd, double floor,
                         double *posterior, struct pml_message *message)
{
    struct epoch epoch = {.items = items, .counts = counts, .own = crowd->own};
    struct belief_odds odds;
    uint32_t most = 0;
    if (!items->cells)
        return pml_say(message,
                       "the pack has no cells, so nobody asks in a crowd with it. Give the pack of the epoch.");
    epoch.symbols = items->info.slots * items->info.cells;
    if (!belief_odds_of(floor, epoch.symbols, &odds) || crowd->own < 1 || crowd->own > PML_CROWD_OWN_MAX ||
        crowd->own > items->info.cells || crowd->copies < 1 || crowd->copies > PML_CROWD_COPIES_MAX)
        return pml_say(message, "the crowd's policy is out of range. Give the one that the clients use.");
    for (uint32_t s = 0; s < epoch.symbols; s++)
        most = counts[s] > most ? counts[s] : most;
    double *law = malloc(2 * ((size_t)most + 1) * sizeof *law), *ratios = malloc(epoch.symbols * sizeof *ratios);
    epoch.row = malloc(items->info.features);
    pml_outcome outcome = law && ratios && epoch.row ? PML_DONE : pml_say_memory(message);
    if (outcome == PML_DONE) {
        log_law(clusters_of(crowd, epoch.symbols), crowd->copies, most, law + most + 1, law);
        epoch.law = law;
        for (uint32_t s = 0; s < epoch.symbols; s++)
            epoch.impossible += isinf(law[counts[s]]) != 0;
        outcome = judge(&epoch, &odds, ratios, posterior, message);
    }
    free(law);
    free(ratios);
    free(epoch.row);
    return outcome;
}

#else

pml_outcome belief_crowd(const struct belief_items *items, const uint32_t *counts, const pml_crowd *crowd, double floor,
                         double *posterior, struct pml_message *message)
{
    (void)items, (void)counts, (void)crowd, (void)floor, (void)posterior;
    return pml_say(message, "%s", pml_status_text(PML_ERROR_MECHANISM));
}

#endif
