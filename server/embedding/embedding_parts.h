/* SPDX-License-Identifier: Apache-2.0
 * What the files of the embedding share; for them alone. */
#ifndef PML_EMBEDDING_PARTS_H
#define PML_EMBEDDING_PARTS_H

#include "align.h"
#include "common/rows/kdtree.h"
#include "embedding.h"

/* ---- embedding_graph.c: the anchors of a pack, weights, and one step (SPEC 6.1) ---- */

struct pml_graph {
    const pml_pack *pack;
    pml_pack_info info;
    double lambda, alpha, beta;
    uint32_t *inverse, *slots; /* of each anchor: inverse norm, slot */
    /* Of each slot: the first min(K + 1, n) anchors in the order of (|slot(i) − s|, i), with their weights. */
    uint32_t *label_neighbours;
    double *label_weights;
    unsigned label_room;
    double *slot_codes; /* G×k */
};

/* Returns PML_DONE or PML_NO_MEMORY. Free it also after a failure. */
pml_outcome pml_graph_make(struct pml_graph *graph, const pml_pack *pack);
void pml_graph_free(struct pml_graph *graph);

/* Of an anchor to a quantised row (SPEC 6.2); of one at this distance, where `width` is σ' (SPEC 6.3). */
double pml_graph_feature_weight(const struct pml_graph *graph, const int8_t *row, uint32_t inverse, uint32_t anchor);
double pml_graph_distance_weight(const struct pml_graph *graph, double square, double width);

/* The neighbours of one row, and how many of its slot's label neighbours count. */
struct pml_links {
    const uint32_t *neighbours;
    const double *weights;
    unsigned count, label_count;
    uint32_t slot;
};

/* How many count for an anchor, which is never its own: itself is among them, if at all, and adds l·(x − x) = 0. */
unsigned pml_graph_label_count(const struct pml_graph *graph, uint32_t anchor);

/* `anchors`: their rows at the row's time. `out` may be `row`. */
void pml_graph_step(const struct pml_graph *graph, const struct pml_links *links, const double *anchors,
                    const double *row, double *out);

/* ---- embedding.c ---- */

struct pml_embedding {
    struct pml_graph graph;
    unsigned iterations;
    double *server;          /* rows of the anchors at the times 0 … T+1 */
    double *client;          /* at the times 0 … T */
    struct pml_kdtree *tree; /* of the client's at time 0 */
    double width;            /* σ' */
    struct pml_similarity similarity;
};

static inline const double *pml_embedding_at(const struct pml_embedding *embedding, const double *rows, unsigned time)
{
    return rows + (size_t)time * embedding->graph.info.anchors * embedding->graph.info.dimensions;
}

/* embedding_range.c: returns PML_DONE when no item and no release can leave the range of numbers, else PML_REFUSED with a
 * message. */
pml_outcome pml_embedding_check_range(const struct pml_embedding *embedding, struct pml_message *message);

#endif
