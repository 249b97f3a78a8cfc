/* SPDX-License-Identifier: Apache-2.0
 * PRIVACY, corollary "fronts": a front is a public map before everything else. So a release of a query of any modality is,
 * byte for byte, the release of the mapped row as it is; the modality shows in no length and no byte; and what cannot be
 * mapped becomes a public row. */
#include "golden/vectors.h"
#include "support/support.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_FRONT

enum { FEATURES = 64, AS_IS = 0, NEVER = 1, SOMETIMES = 2, FAR = 3 };

static const uint8_t seed[32] = "the same noise for both queries";

/* One release with fixed entropy; its length. */
static size_t release(unsigned pack, int mechanism, bool substitute, const pml_query *query, uint8_t *out,
                      size_t capacity)
{
    struct fixture f;
    setup_fixture(&f, pack, mechanism, 8.0);
    f.config.substitute = substitute;
    f.script.seed = seed;
    setup_client(&f);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    memset(out, 0, capacity);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_release(f.client, query, out, capacity));
    const size_t size = pml_client_release_size(f.client);
    teardown_fixture(&f);
    return size;
}

static pml_status try_release(unsigned pack, const pml_query *query)
{
    struct fixture f;
    uint8_t out[256] = {0};
    setup_fixture(&f, pack, PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN, 1.0);
    setup_client(&f);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    pml_status status = pml_client_release(f.client, query, out, sizeof out);
    TEST_ASSERT_TRUE(status == PML_OK || is_zero(out, sizeof out));
    teardown_fixture(&f);
    return status;
}

static void compare_with_row(const struct golden_front *g, int mechanism)
{
    float features[FEATURES], row[FEATURES];
    uint8_t mapped[512], plain[512];
    const pml_pack pack = open_golden(g->pack);
    memcpy(features, g->bits, g->count * sizeof *features);
    for (size_t i = 0; i < g->d; i++)
        row[i] = g->row[i];
    const int32_t label = some_label(&pack);
    const pml_query query = {.features = features, .count = g->count, .label = label, .modality = g->modality};
    const pml_query as_is = {.features = row, .count = g->d, .label = label, .modality = AS_IS};
    const size_t size = release(g->pack, mechanism, false, &query, mapped, sizeof mapped);
    TEST_ASSERT_EQUAL_MESSAGE(release(g->pack, mechanism, false, &as_is, plain, sizeof plain), size, g->name);
    TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(plain, mapped, sizeof mapped, g->name);
}

/* Whatever theorem holds for the row holds for the query; and nothing but the row says which modality it was. */
static void test_a_release_is_that_of_the_mapped_row(void)
{
    unsigned done = 0;
    for (size_t i = 0; i < GOLDEN_FRONT_COUNT; i++) {
        const struct golden_front *g = golden_fronts + i;
        if (!g->row)
            continue;
        if (PML_WITH_RESPONSE)
            compare_with_row(g, PML_RESPONSE);
        if (PML_WITH_GAUSSIAN && open_golden(g->pack).anchors > 0)
            compare_with_row(g, PML_GAUSSIAN);
        done++;
    }
    TEST_ASSERT_TRUE(done > 100);
}

/* Of a pack with the same sizes and no fronts. */
static void test_the_length_is_that_of_a_pack_without_fronts(void)
{
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++)
        for (size_t j = 0; j < i; j++) {
            const struct golden_release *a = golden_releases + i, *b = golden_releases + j;
            if (a->pack == b->pack && a->mechanism == b->mechanism && a->value_bytes == b->value_bytes)
                TEST_ASSERT_EQUAL(b->release_size, a->release_size);
        }
    pml_pack pack = open_golden(PACK_FRONTS);
    struct fixture f;
    setup_fixture(&f, PACK_FRONTS, PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN, 1.0);
    setup_client(&f);
    const size_t body = PML_WITH_RESPONSE ? 1 : (size_t)pack.slots * pack.dimensions; /* two symbols of 3 bits */
    TEST_ASSERT_EQUAL((PML_WITH_RESPONSE ? 1 + 2 + 18 + 2 + 2 : 1 + 2 + 18 + 2 + 6 + 2) + body,
                      pml_client_release_size(f.client));
    teardown_fixture(&f);
}

/* ---- what cannot be mapped ---- */

#if PML_WITH_RESPONSE
static void test_a_row_of_zeros_becomes_the_public_row(void)
{
    static const float first[] = {1.0f, 0.0f, 0.0f, 0.0f}, any[] = {0.5f, -3.0f, 2.0f}, equal[] = {2.5f, 2.5f, -1.0f},
                       away[] = {1.0f, -1.0f, 1.0f, -1.0f};
    const pml_query public_row = {.features = first, .count = 4, .modality = AS_IS};
    const pml_query zeros[] = {{.features = any, .count = 3, .modality = NEVER},
                               {.features = equal, .count = 3, .modality = SOMETIMES},
                               {.features = away, .count = 4, .modality = FAR}};
    uint8_t wanted[256], got[256];
    release(PACK_TO_ZERO, PML_RESPONSE, true, &public_row, wanted, sizeof wanted);
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
        TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, try_release(PACK_TO_ZERO, zeros + i));
        release(PACK_TO_ZERO, PML_RESPONSE, true, zeros + i, got, sizeof got);
        TEST_ASSERT_EQUAL_HEX8_ARRAY(wanted, got, sizeof got);
    }
    const pml_query mapped = {.features = any, .count = 3, .modality = SOMETIMES};
    TEST_ASSERT_EQUAL(PML_OK, try_release(PACK_TO_ZERO, &mapped));
}

/* The symbol of the public row is not that of every row: the test above could fail. */
static void test_the_public_row_is_seen(void)
{
    static const float first[] = {1.0f, 0.0f, 0.0f, 0.0f};
    const pml_query public_row = {.features = first, .count = 4};
    uint8_t wanted[256], got[256];
    unsigned others = 0;
    release(PACK_TO_ZERO, PML_RESPONSE, true, &public_row, wanted, sizeof wanted);
    for (int i = 0; i < 16; i++) {
        const float corner[] = {i & 1 ? 1.0f : -1.0f, i & 2 ? 1.0f : -1.0f, i & 4 ? 1.0f : -1.0f, i & 8 ? 1.0f : -1.0f};
        const pml_query query = {.features = corner, .count = 4};
        release(PACK_TO_ZERO, PML_RESPONSE, true, &query, got, sizeof got);
        others += memcmp(wanted, got, sizeof got) != 0;
    }
    TEST_ASSERT_TRUE(others > 4);
}
#endif

/* Whatever is wrong with features, there is one row for it in all modalities: no bit of them comes through. */
static void test_features_out_of_the_domain_become_one_public_row(void)
{
    const pml_pack pack = open_golden(PACK_FRONTS);
    const int mechanisms[] = {PML_RESPONSE, PML_GAUSSIAN};
    uint8_t first[2][256];
    for (uint32_t v = 0; v < pack.modalities; v++)
        for (size_t m = 0; m < 2; m++) {
            pml_modality modality;
            uint8_t zero[256], got[256];
            float features[FEATURES] = {0};
            if (mechanisms[m] == PML_GAUSSIAN ? !PML_WITH_GAUSSIAN : !PML_WITH_RESPONSE)
                continue;
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_modality(&pack, v, &modality));
            pml_query query = {.features = features, .count = modality.features, .label = 4, .modality = v};
            release(PACK_FRONTS, mechanisms[m], true, &query, zero, sizeof zero);
            if (v == 0)
                memcpy(first[m], zero, sizeof zero);
            TEST_ASSERT_EQUAL_HEX8_ARRAY(first[m], zero, sizeof zero);
            for (size_t at = 0; at < modality.features; at++)
                for (int bad = 0; bad < 3; bad++) {
                    for (size_t i = 0; i < modality.features; i++)
                        features[i] = (float)(i * 7 % 5) - 1.5f;
                    features[at] = bad == 0 ? (float)NAN : bad == 1 ? (float)INFINITY : -(float)INFINITY;
                    TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, try_release(PACK_FRONTS, &query));
                    release(PACK_FRONTS, mechanisms[m], true, &query, got, sizeof got);
                    TEST_ASSERT_EQUAL_HEX8_ARRAY(zero, got, sizeof got);
                }
        }
}

#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_FRONT
    RUN_TEST(test_a_release_is_that_of_the_mapped_row);
    RUN_TEST(test_the_length_is_that_of_a_pack_without_fronts);
#if PML_WITH_RESPONSE
    RUN_TEST(test_a_row_of_zeros_becomes_the_public_row);
    RUN_TEST(test_the_public_row_is_seen);
#endif
    RUN_TEST(test_features_out_of_the_domain_become_one_public_row);
#endif
    return UNITY_END();
}
