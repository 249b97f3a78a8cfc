/* SPDX-License-Identifier: Apache-2.0
 * The whole pipeline, stage by stage and end to end, against an independent reference (tests/golden/reference.py). */
#include "base/random.h"
#include "golden/vectors.h"
#include "privacy/draws.h"
#include "stages/stages.h"
#include "support/support.h"

#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static float *floats_of(const uint32_t *bits, size_t count)
{
    float *out = malloc((count > 0 ? count : 1) * sizeof *out);
    TEST_ASSERT_NOT_NULL(out);
    if (count > 0) /* idle bundles have no query */
        memcpy(out, bits, count * sizeof *out);
    return out;
}

/* Words that were consumed, from the stream's position. */
static uint64_t words_used(const pml_random *random)
{
    return (uint64_t)random->counter * 16 - (16 - random->used);
}

static void test_packs_open_and_carry_their_id(void)
{
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        pml_pack pack = open_golden(i);
        pml_pack_info info;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&pack, &info));
        TEST_ASSERT_EQUAL_MEMORY_MESSAGE(golden_packs[i].id, info.id, 16, golden_packs[i].name);
    }
}

static void test_quantise_and_inverse_norm(void)
{
    for (size_t i = 0; i < GOLDEN_QUANTISE_COUNT; i++) {
        const struct golden_quantise *g = golden_quantises + i;
        float *x = floats_of(g->bits, g->d);
        int8_t *q = malloc(g->d);
        TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_quantise(x, g->d, q), g->name);
        TEST_ASSERT_EQUAL_INT8_ARRAY_MESSAGE(g->q, q, g->d, g->name);
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(g->inverse_norm, pml_inverse_norm(q, g->d), g->name);
        free(q);
        free(x);
    }
}

static void test_sketches(void)
{
    for (size_t i = 0; i < GOLDEN_SKETCH_COUNT; i++) {
        const struct golden_sketch *g = golden_sketches + i;
        pml_pack pack = open_golden(g->pack);
        float *x = floats_of(g->bits, g->d);
        int8_t *q = malloc(g->d), sketch[PML_SKETCH_MAX];
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(x, g->d, q));
        TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&pack, NULL, q, sketch));
        TEST_ASSERT_EQUAL_INT8_ARRAY(g->sketch, sketch, g->length);
        free(q);
        free(x);
    }
}

static void test_below_consumes_the_same_words(void)
{
    for (size_t i = 0; i < GOLDEN_BELOW_COUNT; i++) {
        const struct golden_below *g = golden_below_cases + i;
        pml_random random;
        pml_random_start(&random, g->seed);
        for (size_t j = 0; j < g->count; j++)
            TEST_ASSERT_EQUAL_UINT32(g->values[j], pml_random_below(&random, g->n));
        TEST_ASSERT_EQUAL_UINT64(g->words, words_used(&random));
    }
}

static void test_budgets_are_the_bytes_of_the_spec(void)
{
    for (size_t i = 0; i < GOLDEN_BUDGET_COUNT; i++) {
        const struct golden_budget *g = golden_budgets + i;
        pml_budget budget;
        pml_budget_left left;
        TEST_ASSERT_EQUAL(PML_OK, pml_budget_restore(&budget, g->owner, g->bytes, g->size));
        TEST_ASSERT_EQUAL_HEX8_ARRAY(g->current, budget.bytes, PML_BUDGET_SIZE);
        TEST_ASSERT_EQUAL(PML_OK, pml_budget_remaining(&budget, &left));
        TEST_ASSERT_EQUAL_DOUBLE(g->response_cap / 1048576.0, left.epsilon_cap);
        TEST_ASSERT_EQUAL_DOUBLE(g->response_spent / 1048576.0, left.epsilon_spent);
        TEST_ASSERT_EQUAL_DOUBLE((double)g->gaussian_cap / 1099511627776.0, left.mu2_cap);
        TEST_ASSERT_EQUAL_DOUBLE((double)g->gaussian_spent / 1099511627776.0, left.mu2_spent);
        TEST_ASSERT_EQUAL_DOUBLE((double)g->delta * 0x1p-64, left.delta);
        TEST_ASSERT_EQUAL_DOUBLE(g->floor_cap * 0x1p-20, left.floor_cap);
        TEST_ASSERT_EQUAL_DOUBLE(g->floor_spent * 0x1p-20, left.floor_spent);
        TEST_ASSERT_EQUAL_DOUBLE((double)g->crowd_cap * 0x1p-40, left.crowd_mu2_cap);
        TEST_ASSERT_EQUAL_DOUBLE((double)g->crowd_spent * 0x1p-40, left.crowd_mu2_spent);
        TEST_ASSERT_EQUAL_DOUBLE((double)g->crowd_delta * 0x1p-64, left.crowd_delta);
        TEST_ASSERT_EQUAL_DOUBLE((double)g->delta0_cap * 0x1p-64, left.crowd_delta0_cap);
        TEST_ASSERT_EQUAL_DOUBLE((double)g->delta0_spent * 0x1p-64, left.crowd_delta0_spent);
    }
}

#if PML_WITH_RESPONSE
static void test_response_draws(void)
{
    for (size_t i = 0; i < GOLDEN_RESPONSE_DRAW_COUNT; i++) {
        const struct golden_response_draw *g = golden_response_draws + i;
        uint16_t *others = malloc(g->G * sizeof *others);
        pml_random random;
        pml_random_start(&random, g->seed);
        uint64_t keep = pml_response_keep(g->epsilon, g->m);
        TEST_ASSERT_EQUAL_UINT64(g->P, keep);
        TEST_ASSERT_EQUAL_UINT32(g->T, pml_response_draw(&random, keep, g->m, g->G, others));
        TEST_ASSERT_EQUAL_UINT16_ARRAY(g->U, others, g->G);
        TEST_ASSERT_EQUAL_UINT64(g->words, words_used(&random));
        free(others);
    }
}
#endif

#if PML_WITH_GAUSSIAN
static void test_deviates_consume_the_same_words(void)
{
    for (size_t i = 0; i < GOLDEN_DEVIATES_COUNT; i++) {
        const struct golden_deviates *g = golden_deviates + i;
        int32_t *values = malloc(g->count * sizeof *values);
        pml_random random;
        pml_random_start(&random, g->seed);
        pml_gaussian_draw(&random, g->s, values, g->count);
        TEST_ASSERT_EQUAL_INT32_ARRAY(g->values, values, g->count);
        TEST_ASSERT_EQUAL_UINT64(g->words, words_used(&random));
        free(values);
    }
}

static void test_certificates_and_centres(void)
{
    for (size_t i = 0; i < GOLDEN_CERTIFICATE_COUNT; i++) {
        const struct golden_certificate *g = golden_certificates + i;
        pml_pack pack = open_golden(g->pack);
        const pml_pack *v = &pack;
        size_t rows = (size_t)v->slots * v->dimensions;
        int64_t *scratch = malloc((2 * rows + 2 * v->neighbours) * sizeof *scratch);
        pml_certificate certificate;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_certify(&pack, scratch, rows + 2 * v->neighbours, &certificate));
        TEST_ASSERT_EQUAL_UINT32(g->floor_weight, certificate.floor_weight);
        TEST_ASSERT_EQUAL_DOUBLE((double)g->delta_q8 / 256.0, certificate.sensitivity);
        TEST_ASSERT_EQUAL_DOUBLE((double)g->row_bound, certificate.row_bound);
        for (size_t j = 0; j < GOLDEN_CENTRES_COUNT; j++) {
            const struct golden_centres *c = golden_centres_of_packs + j;
            if (c->pack != g->pack)
                continue;
            pml_label_rows(v, pml_weights_label, scratch);
            TEST_ASSERT_EQUAL_INT64_ARRAY(c->label_rows, scratch, rows);
            TEST_ASSERT_EQUAL(PML_OK, pml_certificate_of(v, g->floor_weight, scratch, scratch + rows,
                                                         scratch + 2 * rows, &certificate));
            TEST_ASSERT_EQUAL_INT64_ARRAY(c->centres, scratch + rows, rows);
        }
        free(scratch);
    }
}

static void test_calibrations(void)
{
    for (size_t i = 0; i < GOLDEN_CALIBRATION_COUNT; i++) {
        const struct golden_calibration *g = golden_calibrations + i;
        pml_pack pack = open_golden(g->pack);
        const pml_pack *v = &pack;
        size_t count = (size_t)v->slots * v->dimensions + 2 * v->neighbours;
        int64_t *scratch = malloc(count * sizeof *scratch);
        pml_certificate certificate;
        pml_calibration c;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_certify(&pack, scratch, count, &certificate));
        TEST_ASSERT_EQUAL(PML_OK,
                          pml_pack_calibrate(&pack, &certificate, g->epsilon, g->delta, (unsigned)g->value_bytes, &c));
        TEST_ASSERT_TRUE(c.ratio >= g->r); /* never less noise than the exact value asks for */
        TEST_ASSERT_DOUBLE_WITHIN(1e-6 * g->r, g->r, c.ratio);
        TEST_ASSERT_EQUAL_UINT32(g->g, c.grid);
        TEST_ASSERT_EQUAL_UINT32(g->s, c.shift);
        TEST_ASSERT_EQUAL_UINT32(g->e, c.coarsen);
        TEST_ASSERT_EQUAL_UINT32(g->step, c.step);
        free(scratch);
    }
}

static void test_neighbours_weights_update(void)
{
    for (size_t i = 0; i < GOLDEN_UPDATE_COUNT; i++) {
        const struct golden_update *g = golden_updates + i;
        pml_pack pack = open_golden(g->pack);
        const pml_pack *v = &pack;
        float *x = floats_of(g->bits, g->d);
        int8_t *q = malloc(g->d);
        uint64_t keys[PML_NEIGHBOURS_MAX];
        uint32_t indices[PML_NEIGHBOURS_MAX], weights[PML_NEIGHBOURS_MAX], slot;
        int32_t row[PML_DIMENSIONS_MAX];
        int64_t *labels = malloc((size_t)v->slots * v->dimensions * sizeof *labels);
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(x, g->d, q));
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot(&pack, g->label, &slot));
        TEST_ASSERT_EQUAL(g->neighbours, v->neighbours);
        pml_neighbours_find(v, &pml_kernels_portable, q, keys);
        for (size_t j = 0; j < g->neighbours; j++) {
            indices[j] = neighbour_index(keys[j]);
            TEST_ASSERT_EQUAL_UINT32(g->anchors[j], indices[j]);
            weights[j] = pml_weights_of(neighbour_score(keys[j]), pml_inverse_norm(q, g->d), v->lambda,
                                        pml_weights_floor(v->lambda));
            TEST_ASSERT_EQUAL_UINT32(g->weights[j], weights[j]);
        }
        pml_label_rows(v, pml_weights_label, labels);
        pml_update_row(v, slot, labels + (size_t)slot * v->dimensions, indices, weights, g->g, row);
        TEST_ASSERT_EQUAL_INT32_ARRAY(g->row, row, g->k);
        free(labels);
        free(q);
        free(x);
    }
}
#endif

static bool is_built(int mechanism)
{
    return mechanism == PML_GAUSSIAN ? PML_WITH_GAUSSIAN : PML_WITH_RESPONSE;
}

static void test_releases_and_their_rows(void)
{
    unsigned done = 0;
    uint64_t state = 1;
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++) {
        const struct golden_release *g = golden_releases + i;
        if (!is_built(g->mechanism))
            continue;
        struct fixture f;
        uint8_t out[4096];
        size_t written;
        setup_fixture(&f, g->pack, g->mechanism, g->epsilon);
        f.config.delta = g->delta;
        f.config.kernels = pml_kernels_among(1 + draw_size(&state, PML_KERNEL_COUNT)); /* any: the bytes are the same */
        f.config.value_bytes = g->mechanism == PML_GAUSSIAN ? (unsigned)g->value_bytes : 0;
        f.script.seed = g->seed;
        setup_client(&f);
        float *x = floats_of(g->bits, g->d);
        TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_client_arm(f.client, &f.budget), g->name);
        const pml_query query = {.features = x, .count = g->d, .label = g->label, .modality = g->modality};
        TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_client_release(f.client, &query, out, sizeof out), g->name);
        written = pml_client_release_size(f.client);
        TEST_ASSERT_EQUAL_MESSAGE(g->release_size, written, g->name);
        TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(g->release, out, written, g->name);
        if (g->row_count > 0) {
            float *rows = malloc(g->row_count * sizeof *rows);
            TEST_ASSERT_EQUAL(PML_OK, pml_release_rows(&f.pack, out, written, rows, g->row_count));
            TEST_ASSERT_EQUAL_MEMORY_MESSAGE(g->rows, rows, g->row_count * sizeof *rows, g->name);
            free(rows);
        }
        free(x);
        teardown_fixture(&f);
        done++;
    }
    TEST_ASSERT_TRUE(done > 10);
}

#if PML_WITH_CROWD
static void test_bundles(void)
{
    uint64_t state = 2;
    for (size_t i = 0; i < GOLDEN_BUNDLE_COUNT; i++) {
        const struct golden_bundle *g = golden_bundles + i;
        const pml_crowd policy = golden_policy(g);
        struct fixture f;
        setup_fixture(&f, g->pack, PML_RESPONSE, g->epsilon);
        f.config.kernels = pml_kernels_among(1 + draw_size(&state, PML_KERNEL_COUNT));
        f.config.crowd = &policy;
        f.script.seed = g->seed;
        setup_client(&f);
        float *x = g->bits ? floats_of(g->bits, g->d) : NULL;
        const pml_query query = {.features = x, .count = g->d, .label = g->label, .modality = g->modality};
        const pml_crowd_content content = {g->bits ? &query : NULL, g->kept, g->kept_size};
        const size_t length = pml_client_release_size(f.client);
        TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_crowd_arm(f.client, &f.budget, (pml_bundle)g->kind), g->name);
        TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_crowd_begin(f.client, &content), g->name);
        TEST_ASSERT_EQUAL_MESSAGE(g->size, g->count * length, g->name);
        for (size_t j = 0; j < g->count; j++) {
            uint8_t out[64];
            unsigned own;
            TEST_ASSERT_EQUAL_MESSAGE(g->count - j, pml_crowd_left(f.client), g->name);
            TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_crowd_next(f.client, out, sizeof out, &own), g->name);
            TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(g->bytes + j * length, out, length, g->name);
            TEST_ASSERT_EQUAL_MESSAGE(g->own[j], own, g->name);
        }
        TEST_ASSERT_EQUAL_MESSAGE(0, pml_crowd_left(f.client), g->name);
        free(x);
        teardown_fixture(&f);
    }
}
#endif

static void compare_matches(const struct golden_answer *g, const pml_match *matches)
{
    for (size_t j = 0; j < g->match_count; j++) {
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(g->matches[j].item, matches[j].item, g->name);
        TEST_ASSERT_EQUAL_INT32_MESSAGE(g->matches[j].score, matches[j].score, g->name);
        TEST_ASSERT_EQUAL_INT32_MESSAGE(g->matches[j].label, matches[j].label, g->name);
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(g->matches[j].slot, matches[j].slot, g->name);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(g->matches[j].payload_offset, matches[j].payload_offset, g->name);
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(g->matches[j].payload_size, matches[j].payload_size, g->name);
    }
}

static void check_answer(const struct golden_answer *g, const pml_crowd *crowd)
{
    struct fixture f;
    pml_match matches[PML_MATCHES_MAX];
    pml_answer_summary summary;
    setup_fixture(&f, g->pack, PML_RESPONSE, 1.0);
    f.config.crowd = crowd;
    if (!crowd && pml_client_size(&f.pack, &f.config) == 0)
        setup_fixture(&f, g->pack, PML_GAUSSIAN, 1.0);
    if (pml_client_size(&f.pack, &f.config) == 0)
        return; /* this build lacks the pack's mechanism */
    f.modality = g->modality;
    setup_client(&f);
    float *x = floats_of(g->bits, g->d);
    bool sketches = f.pack.sketch > 0;
    if (!sketches) {
        TEST_ASSERT_EQUAL(PML_ERROR_SECTION, begin_ranking(&f, x, g->d, g->label, 0, matches, 1));
    }
    for (size_t piece = 1; sketches && piece <= g->size; piece += piece < 20 ? 1 : g->size / 3) {
        TEST_ASSERT_EQUAL(PML_OK, begin_ranking(&f, x, g->d, g->label, g->all_slots ? PML_ALL_SLOTS : PML_OWN_SLOT,
                                                matches, g->limit));
        for (size_t at = 0; at < g->size; at += piece)
            TEST_ASSERT_EQUAL(PML_OK,
                              pml_ranking_feed(f.ranking, g->bytes + at, g->size - at < piece ? g->size - at : piece));
        TEST_ASSERT_EQUAL(PML_OK, pml_ranking_finish(f.ranking, &summary));
        TEST_ASSERT_EQUAL(g->match_count, summary.found);
        TEST_ASSERT_EQUAL_UINT64(g->size, summary.bytes);
        compare_matches(g, matches);
    }
    free(x);
    teardown_fixture(&f);
}

static void test_answers_in_pieces_of_every_length(void)
{
    for (size_t i = 0; i < GOLDEN_ANSWER_COUNT; i++)
        check_answer(golden_answers + i, NULL);
    const pml_crowd policy = {.copies = 1, .own = 1};
    for (size_t i = 0; i < GOLDEN_CROWD_ANSWER_COUNT; i++)
        check_answer(golden_crowd_answers + i, &policy);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_packs_open_and_carry_their_id);
    RUN_TEST(test_quantise_and_inverse_norm);
    RUN_TEST(test_sketches);
    RUN_TEST(test_below_consumes_the_same_words);
    RUN_TEST(test_budgets_are_the_bytes_of_the_spec);
#if PML_WITH_RESPONSE
    RUN_TEST(test_response_draws);
#endif
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_deviates_consume_the_same_words);
    RUN_TEST(test_certificates_and_centres);
    RUN_TEST(test_calibrations);
    RUN_TEST(test_neighbours_weights_update);
#endif
    RUN_TEST(test_releases_and_their_rows);
#if PML_WITH_CROWD
    RUN_TEST(test_bundles);
#endif
    RUN_TEST(test_answers_in_pieces_of_every_length);
    return UNITY_END();
}
