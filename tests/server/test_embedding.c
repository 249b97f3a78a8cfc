/* SPDX-License-Identifier: Apache-2.0
 * The embedding against the device's own arithmetic. test_embedding.py compares it with SPEC 6. */
#define _POSIX_C_SOURCE 200809L
#include "embedding_support.h"
#include "stages/stages.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_GAUSSIAN
/* The row the device computes from these features, before grid and noise (grid 1: rounded to whole units), and how far
 * a weight that is rounded to 1/65536 can move it. */
static double device_row(const pml_pack *pack, const int8_t *q, uint32_t slot, int32_t *row)
{
    const pml_pack *v = pack;
    const uint32_t least = pml_weights_floor(v->lambda), inverse = pml_inverse_norm(q, v->features);
    uint64_t keys[PML_NEIGHBOURS_MAX];
    uint32_t indices[PML_NEIGHBOURS_MAX], weights[PML_NEIGHBOURS_MAX];
    int64_t *labels = malloc((size_t)v->slots * v->dimensions * sizeof *labels);
    double degree = 0;
    TEST_ASSERT_NOT_NULL(labels);
    pml_neighbours_find(v, &pml_kernels_portable, q, keys);
    for (size_t j = 0; j < v->neighbours; j++) {
        indices[j] = neighbour_index(keys[j]);
        weights[j] = pml_weights_of(neighbour_score(keys[j]), inverse, v->lambda, least);
        degree += weights[j];
    }
    pml_label_rows(v, pml_weights_label, labels);
    pml_update_row(v, slot, labels + (size_t)slot * v->dimensions, indices, weights, 1, row);
    free(labels);
    /* Σw, Σl and D move by K/2 at most; codes are below 2^15. */
    double part = 0.5 * v->neighbours / degree, pull = v->alpha / 256.0 * v->neighbours * 65536 / degree;
    return 0.5 + 65536 * (part + v->alpha / 256.0 * part + pull * part);
}

/* An item with the query's features and slot stands, without iterations, where the device's row is; and so does that
 * row itself, were it released without noise. */
static void test_an_item_like_the_query_stands_where_the_device_says(void)
{
    double narrowest = INFINITY;
    for (size_t i = 0; i < GOLDEN_UPDATE_COUNT; i++) {
        const struct golden_update *g = golden_updates + i;
        pml_pack pack = open_golden(g->pack);
        const pml_pack *v = &pack;
        struct pml_embedding *embedding = make_embedding(&pack, 0, 1);
        struct pml_rows rows;
        float x[64], place[PML_DIMENSIONS_MAX], *released = calloc((size_t)v->slots * v->dimensions, sizeof *released);
        double *placed = malloc((size_t)v->slots * v->dimensions * sizeof *placed);
        int32_t row[PML_DIMENSIONS_MAX];
        uint32_t slot;
        TEST_ASSERT_TRUE(g->d <= 64 && released && placed);
        memcpy(x, g->bits, g->d * sizeof *x);
        TEST_ASSERT_EQUAL(0, pml_rows_allocate(&rows, 1, g->d));
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(x, g->d, rows.values));
        pml_rows_measure(&rows, 0);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot(&pack, g->label, &slot));
        double within = device_row(&pack, rows.values, slot, row);
        narrowest = fmin(narrowest, within);
        for (size_t c = 0; c < v->dimensions; c++)
            released[slot * v->dimensions + c] = (float)row[c];
        TEST_ASSERT_EQUAL(0, pml_embedding_items(embedding, &rows, &slot, 1, place));
        pml_embedding_place(embedding, released, placed);
        for (size_t c = 0; c < v->dimensions; c++) {
            TEST_ASSERT_DOUBLE_WITHIN(within, row[c], (double)place[c]);
            TEST_ASSERT_DOUBLE_WITHIN(1e-6, row[c], placed[slot * v->dimensions + c]);
        }
        free(placed);
        free(released);
        pml_rows_free(&rows);
        pml_embedding_free(embedding);
    }
    TEST_ASSERT_TRUE(narrowest < 2.0); /* embedding units, of ±32767 */
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_an_item_like_the_query_stands_where_the_device_says);
#endif
    return UNITY_END();
}
