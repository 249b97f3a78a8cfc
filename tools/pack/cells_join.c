/* SPDX-License-Identifier: Apache-2.0
 * Joins clusters to cells. Each cluster remembers its best partner, and only a cluster that loses its partner searches
 * again, so no step looks at all pairs. */
#include "cells_join.h"

#include <stdbool.h>
#include <stdlib.h>

#define NONE UINT32_MAX

struct join {
    size_t count, left;      /* clusters, and how many are not joined to another yet */
    uint32_t *links;         /* count × count, symmetric */
    uint32_t *owners;        /* the cluster that each was joined to, itself when to none; never a later one */
    uint32_t *partners;      /* of each the best one that is linked and fits, or NONE */
    uint64_t *weights;       /* rows */
    uint64_t limit, divisor; /* two fit when their weight together is at most limit / divisor */
};

struct pair {
    uint32_t first, second; /* first < second; both NONE: no pair */
};

static struct pair pair_of(uint32_t one, uint32_t other)
{
    return one < other ? (struct pair){one, other} : (struct pair){other, one};
}

static uint64_t joint_weight(const struct join *join, struct pair pair)
{
    return join->weights[pair.first] + join->weights[pair.second];
}

static bool fits(const struct join *join, struct pair pair)
{
    return joint_weight(join, pair) * join->divisor <= join->limit;
}

static uint32_t links_of(const struct join *join, struct pair pair)
{
    return join->links[pair.first * join->count + pair.second];
}

/* A linked pair has rows on both sides. */
static uint64_t lighter_of(const struct join *join, struct pair pair)
{
    uint64_t first = join->weights[pair.first], second = join->weights[pair.second];
    return first < second ? first : second;
}

/* Of two linked pairs: does `left` come first? Products are below 2^25 · 2^20. */
static bool comes_first(const struct join *join, struct pair left, struct pair right)
{
    uint64_t left_rate = links_of(join, left) * lighter_of(join, right);
    uint64_t right_rate = links_of(join, right) * lighter_of(join, left);
    if (left_rate != right_rate)
        return left_rate > right_rate;
    uint64_t left_weight = joint_weight(join, left), right_weight = joint_weight(join, right);
    if (left_weight != right_weight)
        return left_weight < right_weight;
    return left.first != right.first ? left.first < right.first : left.second < right.second;
}

static bool is_left(const struct join *join, uint32_t cluster)
{
    return join->owners[cluster] == cluster;
}

/* ---- best partners ---- */

static void offer(struct join *join, uint32_t cluster, uint32_t candidate)
{
    const struct pair pair = pair_of(cluster, candidate);
    if (links_of(join, pair) == 0 || !fits(join, pair))
        return;
    uint32_t *partner = &join->partners[cluster];
    if (*partner == NONE || comes_first(join, pair, pair_of(cluster, *partner)))
        *partner = candidate;
}

static void find_partner(struct join *join, uint32_t cluster)
{
    join->partners[cluster] = NONE;
    for (uint32_t other = 0; other < join->count; other++)
        if (other != cluster && is_left(join, other))
            offer(join, cluster, other);
}

static void find_partners(struct join *join)
{
    for (uint32_t cluster = 0; cluster < join->count; cluster++)
        if (is_left(join, cluster))
            find_partner(join, cluster);
}

static struct pair best_linked(const struct join *join)
{
    struct pair best = {NONE, NONE};
    for (uint32_t cluster = 0; cluster < join->count; cluster++) {
        if (!is_left(join, cluster) || join->partners[cluster] == NONE)
            continue;
        struct pair pair = pair_of(cluster, join->partners[cluster]);
        if (best.first == NONE || comes_first(join, pair, best))
            best = pair;
    }
    return best;
}

/* When no linked pair fits, the lightest is the best of the others. */
static struct pair lightest(const struct join *join)
{
    uint32_t first = NONE, second = NONE;
    for (uint32_t cluster = 0; cluster < join->count; cluster++) {
        if (!is_left(join, cluster))
            continue;
        if (first == NONE || join->weights[cluster] < join->weights[first]) {
            second = first;
            first = cluster;
        } else if (second == NONE || join->weights[cluster] < join->weights[second]) {
            second = cluster;
        }
    }
    return pair_of(first, second);
}

/* ---- joining ---- */

static void unite(struct join *join, struct pair pair)
{
    const size_t count = join->count;
    join->owners[pair.second] = pair.first;
    join->weights[pair.first] += join->weights[pair.second];
    join->left--;
    for (size_t other = 0; other < count; other++) {
        join->links[pair.first * count + other] += join->links[pair.second * count + other];
        join->links[other * count + pair.first] = join->links[pair.first * count + other];
    }
    for (uint32_t other = 0; other < count; other++) {
        if (other == pair.first || !is_left(join, other))
            continue;
        if (join->partners[other] == pair.first || join->partners[other] == pair.second)
            find_partner(join, other);
        else
            offer(join, other, pair.first);
    }
    find_partner(join, pair.first);
}

static void join_all(struct join *join, size_t cell_count)
{
    find_partners(join);
    while (join->left > cell_count) {
        struct pair pair = best_linked(join);
        if (pair.first == NONE)
            pair = lightest(join);
        if (fits(join, pair)) {
            unite(join, pair);
            continue;
        }
        while (!fits(join, pair))
            join->limit += join->limit / 20;
        find_partners(join);
    }
}

static void count_links(struct join *join, const struct pml_cluster_graph *graph)
{
    for (size_t i = 0; i < graph->rows; i++) {
        const uint32_t own = graph->clusters[i];
        join->weights[own]++;
        for (unsigned k = 0; k < graph->neighbours; k++) {
            const uint32_t other = graph->clusters[graph->lists[i * graph->stride + k]];
            if (other == own)
                continue;
            join->links[own * join->count + other]++;
            join->links[other * join->count + own]++;
        }
    }
}

/* An owner is never later than what it owns, so its number is known. */
static void number_cells(const struct join *join, uint32_t *cells)
{
    uint32_t next = 0;
    for (uint32_t cluster = 0; cluster < join->count; cluster++)
        cells[cluster] = is_left(join, cluster) ? next++ : cells[join->owners[cluster]];
}

pml_outcome pml_cells_join(const struct pml_cluster_graph *graph, size_t cell_count, uint32_t *cells)
{
    const size_t count = graph->cluster_count;
    struct join join = {.count = count, .left = count, .limit = 115 * graph->rows, .divisor = 100 * cell_count};
    join.links = calloc(count * count, sizeof *join.links);
    join.owners = malloc(count * sizeof *join.owners);
    join.partners = malloc(count * sizeof *join.partners);
    join.weights = calloc(count, sizeof *join.weights);
    pml_outcome outcome = join.links && join.owners && join.partners && join.weights ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        for (uint32_t cluster = 0; cluster < count; cluster++)
            join.owners[cluster] = cluster;
        count_links(&join, graph);
        join_all(&join, cell_count);
        number_cells(&join, cells);
    }
    free(join.links);
    free(join.owners);
    free(join.partners);
    free(join.weights);
    return outcome;
}
