/* SPDX-License-Identifier: Apache-2.0
 * SPEC 6.1 to 6.4 as it reads: every row against every anchor, sorted, no lists, no tree, no order of slots used. */
#ifndef TEST_NAIVE_FRAMES_H
#define TEST_NAIVE_FRAMES_H

#include "server/embedding/align.h"
#include "server/embedding/embedding.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

#define NOBODY SIZE_MAX

struct naive {
    const pml_pack *pack;
    pml_pack_info info;
    unsigned T;
    double lambda, alpha, beta, width;
    double *server, *client; /* anchors at all times */
    struct pml_similarity similarity;
};

struct rank {
    double first; /* smaller is better */
    size_t index;
};

static inline int by_rank(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* Sorts all anchors but `own` by their key; answers how many count. */
static inline size_t best_ranks(const struct naive *naive, size_t own, struct rank *ranks)
{
    size_t n = naive->info.anchors, K = naive->info.neighbours, count = n;
    if (own != NOBODY) {
        ranks[own] = ranks[n - 1];
        count--;
    }
    qsort(ranks, count, sizeof *ranks, by_rank);
    return count < K ? count : K;
}

static inline struct rank *new_ranks(const struct naive *naive)
{
    struct rank *ranks = malloc(naive->info.anchors * sizeof *ranks);
    TEST_ASSERT_NOT_NULL(ranks);
    for (size_t i = 0; i < naive->info.anchors; i++)
        ranks[i].index = i;
    return ranks;
}

struct neighbourhood {
    size_t count, label_count;
    size_t at[PML_NEIGHBOURS_MAX], label_at[PML_NEIGHBOURS_MAX];
    double weight[PML_NEIGHBOURS_MAX], label_weight[PML_NEIGHBOURS_MAX];
};

static inline uint32_t slot_of(const struct naive *naive, size_t anchor)
{
    uint32_t slot;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_anchor_slot(naive->pack, anchor, &slot));
    return slot;
}

static inline void find_labels(const struct naive *naive, uint32_t slot, size_t own, struct neighbourhood *hood)
{
    struct rank *ranks = new_ranks(naive);
    for (size_t i = 0; i < naive->info.anchors; i++)
        ranks[i].first = fabs((double)slot_of(naive, i) - slot);
    hood->label_count = best_ranks(naive, own, ranks);
    for (size_t i = 0; i < hood->label_count; i++) {
        hood->label_at[i] = ranks[i].index;
        hood->label_weight[i] = exp(-naive->lambda * ranks[i].first * ranks[i].first / 2);
    }
    free(ranks);
}

static inline struct neighbourhood hood_of_features(const struct naive *naive, const int8_t *row, uint32_t slot,
                                                    size_t own)
{
    struct neighbourhood hood;
    const size_t d = naive->info.features;
    struct rank *ranks = new_ranks(naive);
    for (size_t i = 0; i < naive->info.anchors; i++) {
        const int8_t *anchor = pml_pack_anchor(naive->pack, i);
        int64_t dot = 0;
        for (size_t c = 0; c < d; c++)
            dot += row[c] * anchor[c];
        ranks[i].first = (double)(-dot * pml_inverse_norm(anchor, d)); /* below 2^43: exact */
    }
    hood.count = best_ranks(naive, own, ranks);
    for (size_t i = 0; i < hood.count; i++) {
        int64_t cosine = -(int64_t)ranks[i].first * pml_inverse_norm(row, d);
        TEST_ASSERT_TRUE(llabs(cosine) <= INT64_C(1) << 60);
        hood.at[i] = ranks[i].index;
        hood.weight[i] = fmax(exp(-naive->lambda * (1.0 - (double)cosine / 0x1p60)), naive->beta);
    }
    free(ranks);
    find_labels(naive, slot, own, &hood);
    return hood;
}

/* `width` 0: the weights are the distances. */
static inline struct neighbourhood hood_of_row(const struct naive *naive, const double *row, uint32_t slot, size_t own,
                                               double width)
{
    struct neighbourhood hood;
    const size_t k = naive->info.dimensions;
    struct rank *ranks = new_ranks(naive);
    for (size_t i = 0; i < naive->info.anchors; i++) {
        ranks[i].first = 0;
        for (size_t c = 0; c < k; c++)
            ranks[i].first += (row[c] - naive->client[i * k + c]) * (row[c] - naive->client[i * k + c]);
    }
    hood.count = best_ranks(naive, own, ranks);
    for (size_t i = 0; i < hood.count; i++) {
        double distance = sqrt(ranks[i].first);
        hood.at[i] = ranks[i].index;
        hood.weight[i] = width > 0 ? fmax(exp(-distance * distance / (2 * width * width)), naive->beta) : distance;
    }
    free(ranks);
    find_labels(naive, slot, own, &hood);
    return hood;
}

static inline void naive_step(const struct naive *naive, const struct neighbourhood *hood, const double *anchors,
                              double *row)
{
    const size_t k = naive->info.dimensions;
    double degree = 0;
    if (hood->count == 0)
        return;
    for (size_t j = 0; j < hood->count; j++)
        degree += hood->weight[j];
    for (size_t c = 0; c < k; c++) {
        double mean = 0, u = 0;
        for (size_t j = 0; j < hood->count; j++)
            mean += hood->weight[j] * anchors[hood->at[j] * k + c] / degree;
        for (size_t i = 0; i < hood->label_count; i++)
            u += hood->label_weight[i] * (row[c] - anchors[hood->label_at[i] * k + c]);
        row[c] = row[c] / 2 + mean / 2 + naive->alpha / 2 * u / degree;
    }
}

static inline int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static inline double naive_width(const struct naive *naive)
{
    const size_t n = naive->info.anchors, k = naive->info.dimensions;
    double *last = calloc(n, sizeof *last), width;
    TEST_ASSERT_NOT_NULL(last);
    for (size_t i = 0; n > 1 && i < n; i++) {
        struct neighbourhood hood = hood_of_row(naive, naive->client + i * k, 0, i, 0);
        last[i] = hood.weight[hood.count - 1];
    }
    qsort(last, n, sizeof *last, by_value);
    width = n % 2 ? last[n / 2] : (last[n / 2 - 1] + last[n / 2]) / 2;
    for (size_t i = 0; width == 0 && i < n; i++)
        width = last[i];
    free(last);
    return width > 0 ? width : 1;
}

/* Fills the times 1 … steps from time 0. */
static inline void walk_anchors(const struct naive *naive, double *rows, unsigned steps, bool by_features)
{
    const size_t n = naive->info.anchors, k = naive->info.dimensions;
    struct neighbourhood *hoods = malloc(n * sizeof *hoods);
    TEST_ASSERT_NOT_NULL(hoods);
    for (size_t i = 0; i < n; i++)
        hoods[i] = by_features ? hood_of_features(naive, pml_pack_anchor(naive->pack, i), slot_of(naive, i), i)
                               : hood_of_row(naive, rows + i * k, slot_of(naive, i), i, naive->width);
    for (size_t t = 0; t < steps; t++, rows += n * k) {
        memcpy(rows + n * k, rows, n * k * sizeof *rows);
        for (size_t i = 0; i < n; i++)
            naive_step(naive, &hoods[i], rows, rows + (n + i) * k);
    }
    free(hoods);
}

static inline struct naive make_naive(const pml_pack *pack, unsigned T)
{
    struct naive naive = {.pack = pack, .T = T};
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(pack, &naive.info));
    const size_t n = naive.info.anchors, k = naive.info.dimensions;
    naive.lambda = naive.info.lambda / 65536.0;
    naive.alpha = naive.info.alpha / 256.0;
    naive.beta = fmax(1, floor(65536 * exp(-2 * naive.lambda))) / 65536;
    naive.server = calloc((T + 2) * n * k, sizeof *naive.server);
    naive.client = calloc((T + 1) * n * k, sizeof *naive.client);
    TEST_ASSERT_TRUE(naive.server && naive.client);
    for (size_t i = 0; i < n; i++) {
        int16_t code[PML_DIMENSIONS_MAX];
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_anchor_code(pack, i, code));
        for (size_t c = 0; c < k; c++)
            naive.server[i * k + c] = code[c];
    }
    walk_anchors(&naive, naive.server, T + 1, true);
    memcpy(naive.client, naive.server + n * k, n * k * sizeof *naive.client);
    naive.width = naive_width(&naive);
    walk_anchors(&naive, naive.client, T, false);
    pml_align(naive.client + T * n * k, naive.server + (T + 1) * n * k, n, (unsigned)k, true, &naive.similarity);
    return naive;
}

static inline void free_naive(struct naive *naive)
{
    free(naive->server);
    free(naive->client);
}

static inline void naive_item(const struct naive *naive, const int8_t *row, uint32_t slot, double *place)
{
    const size_t k = naive->info.dimensions;
    int16_t code[PML_DIMENSIONS_MAX];
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot_code(naive->pack, slot, code));
    for (size_t c = 0; c < k; c++)
        place[c] = code[c];
    struct neighbourhood hood = hood_of_features(naive, row, slot, NOBODY);
    for (size_t t = 0; t <= naive->T; t++)
        naive_step(naive, &hood, naive->server + t * naive->info.anchors * k, place);
}

static inline void naive_place(const struct naive *naive, const float *released, uint32_t slot, double *place)
{
    const size_t k = naive->info.dimensions;
    for (size_t c = 0; c < k; c++)
        place[c] = released[c];
    struct neighbourhood hood = hood_of_row(naive, place, slot, NOBODY, naive->width);
    for (size_t t = 0; t < naive->T; t++)
        naive_step(naive, &hood, naive->client + t * naive->info.anchors * k, place);
    pml_similarity_apply(&naive->similarity, place, 1);
}

#endif
