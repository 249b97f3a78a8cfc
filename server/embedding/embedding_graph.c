/* SPDX-License-Identifier: Apache-2.0
 * Weights of a row's neighbours, and the row after one step (SPEC 6.1, the paper's equation 4). There is no n×n matrix: a
 * row knows K neighbours and K label neighbours. */
#include "embedding_parts.h"

#include <math.h>
#include <stdlib.h>

/* ---- make ---- */

/* Anchors are ordered by slot, so their slots are counted outwards; of two at the same distance the lower comes first,
 * as its anchors do. */
static void find_label_neighbours(struct pml_graph *graph, uint32_t slot, const uint32_t *starts)
{
    const size_t first = (size_t)slot * graph->label_room;
    unsigned held = 0;
    for (uint32_t distance = 0; held < graph->label_room; distance++)
        for (int side = -1; side <= (distance > 0 ? 1 : -1); side += 2) {
            int64_t other = (int64_t)slot + side * (int64_t)distance;
            if (other < 0 || other >= graph->info.slots)
                continue;
            for (uint32_t i = starts[other]; i < starts[other + 1] && held < graph->label_room; i++, held++) {
                graph->label_neighbours[first + held] = i;
                graph->label_weights[first + held] = exp(-graph->lambda * distance * distance / 2.0);
            }
        }
}

static pml_outcome read_anchors(struct pml_graph *graph, uint32_t *starts)
{
    const uint32_t n = graph->info.anchors;
    for (uint32_t i = n; i-- > 0;) {
        if (pml_pack_anchor_slot(graph->pack, i, &graph->slots[i]) != PML_OK)
            return PML_NO_MEMORY;
        graph->inverse[i] = pml_inverse_norm(pml_pack_anchor(graph->pack, i), graph->info.features);
        starts[graph->slots[i]] = i;
    }
    starts[graph->info.slots] = n;
    return PML_DONE;
}

static pml_outcome read_slot_codes(struct pml_graph *graph)
{
    const unsigned k = graph->info.dimensions;
    for (uint32_t slot = 0; slot < graph->info.slots; slot++) {
        int16_t code[PML_DIMENSIONS_MAX];
        if (pml_pack_slot_code(graph->pack, slot, code) != PML_OK)
            return PML_NO_MEMORY;
        for (unsigned c = 0; c < k; c++)
            graph->slot_codes[(size_t)slot * k + c] = code[c];
    }
    return PML_DONE;
}

pml_outcome pml_graph_make(struct pml_graph *graph, const pml_pack *pack)
{
    *graph = (struct pml_graph){.pack = pack};
    if (pml_pack_describe(pack, &graph->info) != PML_OK)
        return PML_NO_MEMORY;
    const size_t n = graph->info.anchors, slots = graph->info.slots;
    graph->lambda = graph->info.lambda / 65536.0;
    graph->alpha = graph->info.alpha / 256.0;
    graph->beta = fmax(1.0, floor(65536.0 * exp(-2.0 * graph->lambda))) / 65536.0;
    graph->label_room = graph->info.neighbours < n ? graph->info.neighbours + 1 : (unsigned)n;
    graph->inverse = malloc(n * sizeof *graph->inverse);
    graph->slots = malloc(n * sizeof *graph->slots);
    graph->label_neighbours = malloc(slots * graph->label_room * sizeof *graph->label_neighbours);
    graph->label_weights = malloc(slots * graph->label_room * sizeof *graph->label_weights);
    graph->slot_codes = malloc(slots * graph->info.dimensions * sizeof *graph->slot_codes);
    uint32_t *starts = malloc((slots + 1) * sizeof *starts);
    pml_outcome outcome = -1;
    if (graph->inverse && graph->slots && graph->label_neighbours && graph->label_weights && graph->slot_codes &&
        starts && read_anchors(graph, starts) == 0)
        outcome = read_slot_codes(graph);
    for (uint32_t slot = 0; outcome == PML_DONE && slot < slots; slot++)
        find_label_neighbours(graph, slot, starts);
    free(starts);
    return outcome;
}

void pml_graph_free(struct pml_graph *graph)
{
    free(graph->inverse);
    free(graph->slots);
    free(graph->label_neighbours);
    free(graph->label_weights);
    free(graph->slot_codes);
    *graph = (struct pml_graph){0};
}

/* ---- weights ---- */

double pml_graph_feature_weight(const struct pml_graph *graph, const int8_t *row, uint32_t inverse, uint32_t anchor)
{
    int64_t dot = pml_dot(row, pml_pack_anchor(graph->pack, anchor), graph->info.features);
    int64_t cosine = dot * graph->inverse[anchor] * inverse; /* in 2^-60, not beyond ±1 */
    double gap = (double)((INT64_C(1) << 60) - cosine) * 0x1p-60;
    return fmax(exp(-graph->lambda * gap), graph->beta);
}

double pml_graph_distance_weight(const struct pml_graph *graph, double square, double width)
{
    double ratio = sqrt(square) / width; /* the square of a tiny width could be 0 */
    return fmax(exp(-ratio * ratio / 2.0), graph->beta);
}

/* ---- step ---- */

unsigned pml_graph_label_count(const struct pml_graph *graph, uint32_t anchor)
{
    /* Those of its own slot come first, by index. */
    const uint32_t *order = graph->label_neighbours + (size_t)graph->slots[anchor] * graph->label_room;
    return anchor - order[0] < graph->info.neighbours ? graph->label_room : graph->info.neighbours;
}

void pml_graph_step(const struct pml_graph *graph, const struct pml_links *links, const double *anchors,
                    const double *row, double *out)
{
    const size_t k = graph->info.dimensions, labels = (size_t)links->slot * graph->label_room;
    double degree = 0.0;
    for (unsigned j = 0; j < links->count; j++)
        degree += links->weights[j];
    for (size_t c = 0; c < k; c++) {
        const double x = row[c];
        double sum = 0.0, pull = 0.0;
        for (unsigned j = 0; j < links->count; j++)
            sum += links->weights[j] * anchors[links->neighbours[j] * k + c];
        for (unsigned i = 0; graph->alpha > 0.0 && i < links->label_count; i++)
            pull += graph->label_weights[labels + i] * (x - anchors[graph->label_neighbours[labels + i] * k + c]);
        out[c] = links->count == 0 ? x : 0.5 * x + 0.5 * sum / degree + 0.5 * graph->alpha * pull / degree;
    }
}
