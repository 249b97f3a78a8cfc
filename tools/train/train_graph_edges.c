/* SPDX-License-Identifier: Apache-2.0
 * The graphs of marginal Fisher analysis: near rows of one class, and the pairs at which classes meet. */
#include "train_graph.h"

#include "common/rows/nearest.h"

#include <stdlib.h>
#include <string.h>

struct search {
    const struct pml_rows *rows;
    const struct pml_classes *classes;
    unsigned near, margin;
    int64_t *own_scores, *other_scores; /* per row a list of near, and one of margin */
    uint32_t *own, *other;
};

static pml_outcome search_row(void *context, size_t row)
{
    const struct search *search = context;
    const struct pml_rows *rows = search->rows;
    const struct pml_nearest own = {search->own_scores + row * search->near, search->own + row * search->near,
                                    search->near};
    const struct pml_nearest other = {search->other_scores + row * search->margin, search->other + row * search->margin,
                                      search->margin};
    pml_nearest_clear(&own);
    pml_nearest_clear(&other);
    for (size_t first = 0; first < rows->count; first += PML_TILE) {
        const size_t count = rows->count - first < PML_TILE ? rows->count - first : PML_TILE;
        int32_t dots[PML_TILE];
        pml_dots(rows->values + row * rows->columns, rows->values + first * rows->columns, rows->columns, count, dots);
        for (size_t j = first; j < first + count; j++) {
            const int64_t score = dots[j - first] * (int64_t)rows->inverse[j];
            if (search->classes->of[j] != search->classes->of[row])
                (void)pml_nearest_offer(&other, score, (uint32_t)j);
            else if (j != row)
                (void)pml_nearest_offer(&own, score, (uint32_t)j);
        }
    }
    return PML_DONE;
}

/* ---- lists to edges ---- */

static int by_rows(const void *left, const void *right)
{
    const struct pml_edge *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

static void add_edge(struct pml_edges *edges, uint32_t one, uint32_t other)
{
    edges->edges[edges->count++] = (struct pml_edge){one < other ? one : other, one < other ? other : one};
}

/* A pair that both rows, or both classes, name is one edge. */
static void drop_repeated(struct pml_edges *edges)
{
    size_t kept = 0;
    qsort(edges->edges, edges->count, sizeof *edges->edges, by_rows);
    for (size_t i = 0; i < edges->count; i++)
        if (kept == 0 || by_rows(&edges->edges[kept - 1], &edges->edges[i]) != 0)
            edges->edges[kept++] = edges->edges[i];
    edges->count = kept;
}

static void join_own(const struct search *search, struct pml_edges *edges)
{
    for (size_t row = 0; row < search->rows->count; row++) {
        const size_t others = search->classes->sizes[search->classes->of[row]] - 1;
        for (size_t i = 0; i < search->near && i < others; i++)
            add_edge(edges, (uint32_t)row, search->own[row * search->near + i]);
    }
    drop_repeated(edges);
}

struct pair {
    double cosine;
    uint32_t row, other;
};

static int by_cosine(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    if (a->cosine != b->cosine)
        return a->cosine < b->cosine ? 1 : -1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->other > b->other) - (a->other < b->other);
}

/* The nearest pairs of a class are among the nearest of each of its rows. */
static void join_other(const struct search *search, struct pair *pairs, struct pml_edges *edges)
{
    const struct pml_rows *rows = search->rows;
    for (size_t c = 0; c < search->classes->count; c++) {
        const size_t strangers = rows->count - search->classes->sizes[c];
        size_t count = 0;
        for (size_t row = 0; row < rows->count; row++)
            for (size_t i = 0; search->classes->of[row] == c && i < search->margin && i < strangers; i++) {
                const size_t at = row * search->margin + i;
                pairs[count++] = (struct pair){(double)search->other_scores[at] * (rows->inverse[row] * 0x1p-60),
                                               (uint32_t)row, search->other[at]};
            }
        qsort(pairs, count, sizeof *pairs, by_cosine);
        for (size_t i = 0; i < search->margin && i < count; i++)
            add_edge(edges, pairs[i].row, pairs[i].other);
    }
    drop_repeated(edges);
}

pml_outcome pml_edges_marginal(const struct pml_rows *rows, const struct pml_classes *classes, unsigned near,
                               unsigned margin, unsigned threads, struct pml_edges *own, struct pml_edges *other)
{
    const size_t count = rows->count;
    struct search search = {.rows = rows, .classes = classes, .near = near, .margin = margin};
    struct pair *pairs = malloc(count * margin * sizeof *pairs);
    search.own_scores = malloc(count * near * sizeof *search.own_scores);
    search.other_scores = malloc(count * margin * sizeof *search.other_scores);
    search.own = malloc(count * near * sizeof *search.own);
    search.other = malloc(count * margin * sizeof *search.other);
    *own = (struct pml_edges){malloc(count * near * sizeof *own->edges), 0};
    *other = (struct pml_edges){malloc(classes->count * margin * sizeof *other->edges), 0};
    pml_outcome outcome = PML_NO_MEMORY;
    if (pairs && search.own_scores && search.other_scores && search.own && search.other && own->edges && other->edges)
        outcome = pml_parallel(threads, count, search_row, &search, NULL);
    if (outcome == PML_DONE) {
        join_own(&search, own);
        join_other(&search, pairs, other);
    }
    free(pairs);
    free(search.own_scores);
    free(search.other_scores);
    free(search.own);
    free(search.other);
    return outcome;
}

void pml_edges_free(struct pml_edges *edges)
{
    free(edges->edges);
    *edges = (struct pml_edges){0};
}
