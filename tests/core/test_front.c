/* SPDX-License-Identifier: Apache-2.0
 * Fronts (SPEC 5.18): what they make of features, by hand and against the reference; in pieces; what is refused. The
 * formats are in test_front_hostile.c. */
#include "base/exponential.h"
#include "golden/vectors.h"
#include "pack/front.h"
#include "stages/stages.h"
#include "support/front_writer.h"
#include "support/kernel_sets.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_FRONT

enum { FEATURES = 64 };

/* Maps with scratch of exactly the size that is asked for. */
static pml_status map(const pml_front *front, const struct pml_kernels *kernels, const float *features, size_t count,
                      int8_t *row)
{
    int64_t *scratch = malloc(pml_front_scratch(front));
    TEST_ASSERT_NOT_NULL(scratch);
    pml_status status = pml_front_map(front, kernels, features, count, scratch, row);
    free(scratch);
    return status;
}

/* ---- by hand ---- */

static void assert_maps(const pml_front *front, const float *features, const int8_t *wanted)
{
    int8_t row[FEATURES];
    TEST_ASSERT_EQUAL(PML_OK, map(front, NULL, features, front->inputs, row));
    TEST_ASSERT_EQUAL_INT8_ARRAY(wanted, row, front->outputs);
}

static void test_none_is_the_quantised_row_and_its_roots(void)
{
    pml_front front = {.kind = PML_FRONT_NONE, .inputs = 4, .outputs = 4};
    const float features[] = {4.0f, -1.0f, 0.25f, 0.0f};
    assert_maps(&front, features, (const int8_t[]){127, -32, 8, 0});
    front.root = true; /* 127 · √(1, 1/4, 1/16, 0) */
    assert_maps(&front, features, (const int8_t[]){127, -63, 32, 0});
}

/* A matrix of two features: y = (127·q0·g0, (q0 − q1)·g1)·r_q + b. q = (127, 127) has r = ⌊2^30/√32258⌋ = 5978392. */
static void test_a_matrix_has_gains_offsets_and_the_norm(void)
{
    struct front_writer w = start_front(PML_FRONT_MATRIX, 2, 2, 0, false);
    set_matrix_row(&w, 0, 0, 2, (const int8_t[]){127, 0});
    set_matrix_row(&w, 1, 0, 1, (const int8_t[]){1, -1});
    pml_front front = finish_front(&w);
    assert_maps(&front, (const float[]){3.0f, 3.0f}, (const int8_t[]){127, 0});
    assert_maps(&front, (const float[]){1.0f, -1.0f}, (const int8_t[]){127, 1}); /* 127·127·2 : 254 */
    const int64_t first = (int64_t)127 * 127 * 2 * 5978392;
    set_matrix_row(&w, 1, -first / 2, 1, (const int8_t[]){1, -1});
    front = finish_front(&w);
    assert_maps(&front, (const float[]){3.0f, 3.0f}, (const int8_t[]){127, -64}); /* half of 127, away from zero */
    set_matrix_row(&w, 0, -first, 2, (const int8_t[]){127, 0});
    front = finish_front(&w);
    assert_maps(&front, (const float[]){3.0f, 3.0f}, (const int8_t[]){0, -127});
    free(w.bytes);
}

/* One centre: at the centre the kernel is 2^24, at a right angle 2^24/e^λ. */
static void test_kernels_fall_with_the_angle(void)
{
    struct front_writer w = start_front(PML_FRONT_KERNELS, 2, 2, 1, false);
    set_centre(&w, 0, 65536, 3, (const int8_t[]){127, 0}, (const int8_t[]){1, -2});
    pml_front front = finish_front(&w);
    assert_maps(&front, (const float[]){1.0f, 0.0f}, (const int8_t[]){64, -127});
    const int64_t one = 3 * (int64_t)(pml_exp31(0) >> 7), e = 3 * (int64_t)(pml_exp31(1u << 27) >> 7);
    TEST_ASSERT_EQUAL_INT64(3 << 24, one);
    TEST_ASSERT_INT64_WITHIN(3, (int64_t)(3 * 0x1p24 / exp(1.0)), e);
    /* y = (e − e, −2e − one): the first is zero only where the kernel is e */
    set_offset(&w, 0, -e);
    set_offset(&w, 1, -one);
    front = finish_front(&w);
    assert_maps(&front, (const float[]){0.0f, 5.0f}, (const int8_t[]){0, -127});
    assert_maps(&front, (const float[]){0.0f, -5.0f}, (const int8_t[]){0, -127});
    int8_t row[2];
    TEST_ASSERT_EQUAL(PML_OK, map(&front, NULL, (const float[]){1.0f, 0.0f}, 2, row));
    TEST_ASSERT_EQUAL_INT8((127 * (one - e) * 2 + 3 * one) / (2 * 3 * one), row[0]);
    free(w.bytes);
}

/* A unit vector shows the signs of its feature; two show that the stream goes on. */
static void test_signs_are_those_of_the_stream(void)
{
    enum { INPUTS = 70, OUTPUTS = 25 };
    struct front_writer w = start_front(PML_FRONT_SIGNS, OUTPUTS, INPUTS, 0, false);
    pml_front front = finish_front(&w);
    pml_random random;
    pml_random_start(&random, front.seed);
    for (size_t j = 0; j < INPUTS; j++) {
        float features[INPUTS] = {0};
        int8_t wanted[OUTPUTS], row[OUTPUTS];
        uint32_t digits = 0;
        unsigned any = 0;
        for (size_t i = 0; i < OUTPUTS; i++, digits /= 6) {
            if (i % 11 == 0)
                digits = pml_random_below(&random, 362797056);
            wanted[i] = digits % 6 == 0 ? 127 : digits % 6 == 1 ? -127 : 0;
            any += wanted[i] != 0;
        }
        features[j] = 0.5f;
        TEST_ASSERT_EQUAL(any > 0 ? PML_OK : PML_ERROR_FEATURES, map(&front, NULL, features, INPUTS, row));
        if (any > 0)
            TEST_ASSERT_EQUAL_INT8_ARRAY(wanted, row, OUTPUTS);
    }
    free(w.bytes);
}

/* ---- against the reference ---- */

static void test_maps_are_those_of_the_reference_with_every_kernel_set(void)
{
    const struct kernel_sets sets = kernel_sets_of_cpu();
    unsigned zeros = 0;
    for (size_t i = 0; i < GOLDEN_FRONT_COUNT; i++) {
        const struct golden_front *g = golden_fronts + i;
        const pml_pack pack = open_golden(g->pack);
        pml_front front;
        float features[FEATURES];
        memcpy(features, g->bits, g->count * sizeof *features);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_front(&pack, g->modality, &front));
        for (size_t k = 0; k < sets.count; k++) {
            int8_t row[FEATURES];
            TEST_ASSERT_EQUAL_MESSAGE(g->row ? PML_OK : PML_ERROR_FEATURES,
                                      map(&front, sets.of[k], features, g->count, row), g->name);
            if (g->row)
                TEST_ASSERT_EQUAL_INT8_ARRAY_MESSAGE(g->row, row, g->d, g->name);
        }
        zeros += !g->row;
    }
    TEST_ASSERT_TRUE(zeros > 8);
}

/* ---- pieces ---- */

#if PML_WITH_RESPONSE
struct source {
    const float *features;
    size_t next, passes, count, largest;
};

static void read_piece(void *context, size_t first, size_t count, float *out)
{
    struct source *source = context;
    TEST_ASSERT_EQUAL(source->next, first); /* in order, nothing left out */
    TEST_ASSERT_TRUE(count > 0 && count <= 32 && first + count <= source->count);
    memcpy(out, source->features + first, count * sizeof *out);
    source->next = (first + count) % source->count;
    source->passes += source->next == 0;
    source->largest = count > source->largest ? count : source->largest;
}

/* One release of `pack` from an array, and from a function. */
static void compare_pieces(const pml_pack *pack, uint32_t modality, const float *features, size_t count)
{
    uint8_t whole[256], pieces[256];
    struct fixture f;
    setup_fixture(&f, PACK_ONE, PML_RESPONSE, 8.0);
    f.pack = *pack;
    static const uint8_t seed[32] = "the same entropy for both";
    f.script.seed = seed;
    setup_client(&f);
    struct source source = {.features = features, .count = count};
    pml_query query = {.features = features, .count = count, .label = some_label(pack), .modality = modality};
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    TEST_ASSERT_EQUAL(PML_OK, pml_client_release(f.client, &query, whole, sizeof whole));
    query.features = NULL;
    query.read = read_piece;
    query.read_context = &source;
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    TEST_ASSERT_EQUAL(PML_OK, pml_client_release(f.client, &query, pieces, sizeof pieces));
    TEST_ASSERT_EQUAL_HEX8_ARRAY(whole, pieces, pml_client_release_size(f.client));
    TEST_ASSERT_EQUAL(2, source.passes);
    TEST_ASSERT_EQUAL(count < 32 ? count : 32, source.largest);
    teardown_fixture(&f);
}

static void test_features_in_pieces_give_the_same_bytes(void)
{
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++) {
        const struct golden_release *g = golden_releases + i;
        float features[FEATURES];
        const pml_pack pack = open_golden(g->pack);
        if (g->mechanism != PML_RESPONSE)
            continue;
        memcpy(features, g->bits, g->d * sizeof *features);
        compare_pieces(&pack, g->modality, features, g->d);
    }
}

/* Small numbers at first, then others: the app breaks its promise. */
static void read_other(void *context, size_t first, size_t count, float *out)
{
    static const float others[] = {(float)NAN, 3e38f, -3e38f, (float)INFINITY, 0.0f, 1e-45f};
    struct source *source = context;
    for (size_t i = 0; i < count; i++)
        out[i] = source->passes == 0 ? 1e-44f : others[(first + i + source->largest) % 6];
    source->passes += first + count == source->count;
}

static void test_a_callback_that_changes_its_mind_harms_nothing(void)
{
    struct fixture f;
    uint8_t out[256];
    pml_release_view view;
    setup_fixture(&f, PACK_FRONTS, PML_RESPONSE, 1.0);
    f.config.substitute = true;
    setup_client(&f);
    for (uint32_t v = 0; v < 8; v++)
        for (size_t shift = 0; shift < 6; shift++) {
            pml_modality modality;
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_modality(&f.pack, v, &modality));
            struct source source = {.count = modality.features, .largest = shift};
            const pml_query query = {
                .count = modality.features, .label = 4, .modality = v, .read = read_other, .read_context = &source};
            TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
            TEST_ASSERT_EQUAL(PML_OK, pml_client_release(f.client, &query, out, sizeof out));
            TEST_ASSERT_EQUAL(PML_OK, pml_release_parse(&f.pack, out, pml_client_release_size(f.client), &view));
        }
    teardown_fixture(&f);
}

/* A million features of signs: the sums of the whole row, as the definition says, in the memory of a small front. */
static void test_a_million_features_need_no_memory(void)
{
    enum { COUNT = 1000000 };
    size_t size;
    uint8_t *bytes = copy_golden(PACK_SIGNS, &size);
    const struct pack_fields fields = read_all_fields(bytes);
    store_le32(bytes + section_offset(&fields, 13) + RECORD_SIZE + 4, COUNT);
    seal_pack(bytes, size);
    pml_pack pack;
    pml_front front;
    float *features = malloc(COUNT * sizeof *features);
    uint64_t state = 3;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&pack, bytes, size, NULL, NULL));
    TEST_ASSERT_EQUAL_UINT32(0, pack.inputs);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_front(&pack, 1, &front));
    TEST_ASSERT_EQUAL(PML_FRONT_MEMORY(0, pack.features), pml_front_scratch(&front));
    for (size_t i = 0; i < COUNT; i++)
        features[i] = (float)draw_between(&state, 0, 1 << 20);
    compare_pieces(&pack, 1, features, COUNT);
    int8_t row[FEATURES];
    TEST_ASSERT_EQUAL(PML_OK, map(&front, NULL, features, COUNT, row));
    int64_t sums[FEATURES] = {0}, top = 0;
    pml_random random;
    pml_random_start(&random, front.seed);
    const uint32_t largest = pml_quantise_top_portable(features, COUNT, 0);
    struct scale scale;
    const uint64_t valid = pml_quantise_scale(largest, &scale);
    for (size_t j = 0; j < COUNT; j++) {
        int8_t q;
        uint32_t digits = 0;
        pml_quantise_values_portable(&scale, valid, true, features + j, 1, &q);
        for (size_t i = 0; i < front.outputs; i++, digits /= 6) {
            digits = i % 11 == 0 ? pml_random_below(&random, 362797056) : digits;
            sums[i] += digits % 6 == 0 ? q : digits % 6 == 1 ? -q : 0;
        }
    }
    for (size_t i = 0; i < front.outputs; i++)
        top = llabs(sums[i]) > top ? llabs(sums[i]) : top;
    for (size_t i = 0; i < front.outputs; i++)
        TEST_ASSERT_EQUAL_INT8((sums[i] < 0 ? -1 : 1) * ((254 * llabs(sums[i]) + top) / (2 * top)), row[i]);
    free(features);
    free(bytes);
}
#endif

/* ---- queries ---- */

static void test_what_is_no_query_of_a_modality_is_refused(void)
{
    struct fixture f;
    uint8_t out[256];
    setup_fixture(&f, PACK_FRONTS, PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN, 1.0);
    setup_client(&f);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    float features[FEATURES] = {1.0f, 2.0f};
    for (uint32_t v = 0; v < 8; v++) {
        pml_modality modality;
        uint32_t found;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_modality(&f.pack, v, &modality));
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_find_modality(&f.pack, modality.name, &found));
        TEST_ASSERT_EQUAL_UINT32(v, found);
        pml_query query = {.features = features, .count = modality.features + 1, .label = 4, .modality = v};
        TEST_ASSERT_EQUAL(PML_ERROR_DIMENSION, pml_client_release(f.client, &query, out, sizeof out));
        query.count = modality.features - 1;
        TEST_ASSERT_EQUAL(PML_ERROR_DIMENSION, pml_client_release(f.client, &query, out, sizeof out));
        query = (pml_query){.count = modality.features, .label = 4, .modality = v};
        TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_release(f.client, &query, out, sizeof out));
        query.features = features;
        features[modality.features - 1] = (float)NAN;
        TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, pml_client_release(f.client, &query, out, sizeof out));
        features[modality.features - 1] = 0.0f;
        query.label = 77;
        TEST_ASSERT_EQUAL(PML_ERROR_LABEL, pml_client_release(f.client, &query, out, sizeof out));
        TEST_ASSERT_TRUE(is_zero(out, sizeof out));
    }
    static const uint32_t unknown[] = {8, 9, 15, 255, 256, 65536, INT32_MAX, UINT32_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        const pml_query query = {.features = features, .count = 13, .label = 4, .modality = unknown[i]};
        TEST_ASSERT_EQUAL(PML_ERROR_MODALITY, pml_client_release(f.client, &query, out, sizeof out));
    }
    uint32_t index;
    TEST_ASSERT_EQUAL(PML_ERROR_MODALITY, pml_pack_find_modality(&f.pack, "imag", &index));
    TEST_ASSERT_EQUAL(PML_ERROR_MODALITY, pml_pack_find_modality(&f.pack, "0123456789abcdef", &index));
    TEST_ASSERT_EQUAL(PML_ERROR_MODALITY, pml_pack_find_modality(&f.pack, "", &index));
    teardown_fixture(&f);
}

static void test_a_pack_without_fronts_has_one_modality_without_a_name(void)
{
    const pml_pack pack = open_golden(PACK_CLASS);
    pml_modality modality;
    uint32_t index = 9;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_modality(&pack, 0, &modality));
    TEST_ASSERT_EQUAL_STRING("", modality.name);
    TEST_ASSERT_EQUAL_UINT32(pack.features, modality.features);
    TEST_ASSERT_EQUAL(PML_FRONT_NONE, modality.kind);
    TEST_ASSERT_EQUAL(PML_ERROR_MODALITY, pml_pack_modality(&pack, 1, &modality));
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_find_modality(&pack, "", &index));
    TEST_ASSERT_EQUAL_UINT32(0, index);
    TEST_ASSERT_EQUAL(PML_ERROR_MODALITY, pml_pack_find_modality(&pack, "image", &index));
}

#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_FRONT
    RUN_TEST(test_none_is_the_quantised_row_and_its_roots);
    RUN_TEST(test_a_matrix_has_gains_offsets_and_the_norm);
    RUN_TEST(test_kernels_fall_with_the_angle);
    RUN_TEST(test_signs_are_those_of_the_stream);
    RUN_TEST(test_maps_are_those_of_the_reference_with_every_kernel_set);
#if PML_WITH_RESPONSE
    RUN_TEST(test_features_in_pieces_give_the_same_bytes);
    RUN_TEST(test_a_callback_that_changes_its_mind_harms_nothing);
    RUN_TEST(test_a_million_features_need_no_memory);
#endif
    RUN_TEST(test_what_is_no_query_of_a_modality_is_refused);
    RUN_TEST(test_a_pack_without_fronts_has_one_modality_without_a_name);
#endif
    return UNITY_END();
}
