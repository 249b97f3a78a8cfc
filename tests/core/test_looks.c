/* SPDX-License-Identifier: Apache-2.0
 * Looks (SPEC 5.20): means against the reference; a bad look adds nothing; memory, limits, wiping. */
#include "golden/head_vectors.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_HEAD

/* Looks in memory of exactly the size that is asked for, at an odd address. */
struct made {
    uint8_t *memory;
    pml_looks *looks;
};

static struct made begin(size_t features)
{
    const size_t size = pml_looks_size(features);
    struct made made = {.memory = malloc(size + 1)};
    TEST_ASSERT_NOT_NULL(made.memory);
    memset(made.memory, 0xA5, size + 1);
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_begin(&made.looks, made.memory + 1, size, features));
    return made;
}

static void test_means_are_those_of_the_reference(void)
{
    unsigned none = 0;
    for (size_t i = 0; i < GOLDEN_LOOKS_COUNT; i++) {
        const struct golden_looks *g = golden_looks_cases + i;
        const struct made made = begin(g->d);
        uint32_t *bits = malloc(g->d * sizeof *bits);
        float *features = malloc(g->d * sizeof *features);
        TEST_ASSERT_TRUE(bits && features);
        for (size_t look = 0; look < g->looks; look++) {
            for (size_t j = 0; j < g->d; j++)
                bits[j] = g->bits[look * g->period + j % g->period];
            memcpy(features, bits, g->d * sizeof *bits);
            for (size_t t = 0; t < g->times; t++)
                TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_looks_add(made.looks, features, g->d), g->name);
        }
        TEST_ASSERT_EQUAL_MESSAGE(g->mean ? PML_OK : PML_ERROR_FEATURES, pml_looks_mean(made.looks, features, g->d),
                                  g->name);
        memcpy(bits, features, g->d * sizeof *bits);
        for (size_t j = 0; j < g->d; j++)
            TEST_ASSERT_EQUAL_HEX32_MESSAGE(g->mean ? g->mean[j % g->period] : 0, bits[j], g->name);
        none += !g->mean;
        free(features);
        free(bits);
        TEST_ASSERT_EQUAL_HEX8(0xA5, made.memory[0]);
        free(made.memory);
    }
    TEST_ASSERT_EQUAL(1, none);
}

/* A mean of one look points where the look does. */
static void test_one_look_is_itself(void)
{
    const struct made made = begin(3);
    const float look[3] = {30.0f, -40.0f, 0.0f};
    float mean[3];
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_add(made.looks, look, 3));
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_mean(made.looks, mean, 3));
    TEST_ASSERT_FLOAT_WITHIN(0.002f, -0.75f, mean[0] / mean[1]); /* 95 : 127 */
    TEST_ASSERT_EQUAL_FLOAT(0.0f, mean[2]);
    free(made.memory);
}

static void assert_same_mean(const pml_looks *looks, const float *wanted, size_t count)
{
    float mean[64];
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_mean(looks, mean, count));
    TEST_ASSERT_EQUAL_MEMORY(wanted, mean, count * sizeof *mean);
}

static void test_a_bad_look_adds_nothing(void)
{
    const struct made made = begin(4);
    const float good[4] = {1.0f, 2.0f, -3.0f, 0.5f};
    const float bad[][4] = {{1.0f, NAN, 2.0f, 3.0f},
                            {INFINITY, 1.0f, 1.0f, 1.0f},
                            {1.0f, 1.0f, 1.0f, -INFINITY},
                            {0.0f, -0.0f, 0.0f, 0.0f}};
    float before[4], mean[4];
    TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, pml_looks_add(made.looks, bad[0], 4));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_looks_mean(made.looks, mean, 4)); /* still no look */
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_add(made.looks, good, 4));
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_mean(made.looks, before, 4));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, pml_looks_add(made.looks, bad[i], 4));
        assert_same_mean(made.looks, before, 4);
    }
    TEST_ASSERT_EQUAL(PML_ERROR_DIMENSION, pml_looks_add(made.looks, good, 3));
    TEST_ASSERT_EQUAL(PML_ERROR_DIMENSION, pml_looks_add(made.looks, good, 5));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_looks_add(made.looks, NULL, 4));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_looks_add(NULL, good, 4));
    assert_same_mean(made.looks, before, 4);
    free(made.memory);
}

static void test_there_is_an_end_to_looks(void)
{
    const struct made made = begin(2);
    const float good[2] = {1.0f, 1.0f}, bad[2] = {NAN, 1.0f};
    float before[2];
    for (unsigned i = 0; i < PML_LOOKS_MAX; i++) {
        TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, pml_looks_add(made.looks, bad, 2)); /* not counted */
        TEST_ASSERT_EQUAL(PML_OK, pml_looks_add(made.looks, good, 2));
    }
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_mean(made.looks, before, 2));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_looks_add(made.looks, good, 2));
    assert_same_mean(made.looks, before, 2);
    free(made.memory);
}

static void test_memory_is_exact(void)
{
    static const size_t counts[] = {1, 2, 31, 4096, 4097, PML_FRONT_INPUTS_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const size_t size = pml_looks_size(counts[i]);
        TEST_ASSERT_EQUAL(PML_LOOKS_MEMORY(counts[i]), size);
        uint8_t *memory = malloc(size);
        pml_looks *looks = (pml_looks *)memory;
        memset(memory, 0xA5, size);
        TEST_ASSERT_EQUAL(PML_ERROR_MEMORY, pml_looks_begin(&looks, memory, size - 1, counts[i]));
        TEST_ASSERT_NULL(looks);
        for (size_t j = 0; j < size; j++)
            TEST_ASSERT_EQUAL_HEX8(0xA5, memory[j]);
        free(memory);
    }
    pml_looks *looks;
    uint8_t memory[64];
    TEST_ASSERT_EQUAL(0, pml_looks_size(0));
    TEST_ASSERT_EQUAL(0, pml_looks_size(PML_FRONT_INPUTS_MAX + 1));
    TEST_ASSERT_EQUAL(0, pml_looks_size(SIZE_MAX));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_looks_begin(&looks, memory, sizeof memory, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_looks_begin(&looks, memory, sizeof memory, PML_FRONT_INPUTS_MAX + 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_looks_begin(&looks, NULL, sizeof memory, 4));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_looks_begin(NULL, memory, sizeof memory, 4));
}

static void test_a_mean_that_is_refused_leaves_zeros(void)
{
    const struct made made = begin(2);
    float mean[3] = {1.0f, 1.0f, 1.0f};
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_looks_mean(made.looks, mean, 2));
    TEST_ASSERT_TRUE(mean[0] == 0.0f && mean[1] == 0.0f && mean[2] == 1.0f);
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_add(made.looks, (const float[]){3.0f, 1.0f}, 2));
    TEST_ASSERT_EQUAL(PML_ERROR_DIMENSION, pml_looks_mean(made.looks, mean, 3));
    TEST_ASSERT_EQUAL_FLOAT(0.0f, mean[2]);
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_looks_mean(made.looks, NULL, 2));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_looks_mean(NULL, mean, 2));
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_add(made.looks, (const float[]){-3.0f, -1.0f}, 2));
    TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, pml_looks_mean(made.looks, mean, 2));
    free(made.memory);
}

static void test_wiped_looks_are_gone_and_more_may_follow(void)
{
    enum { FEATURES = 20 };
    uint8_t memory[PML_LOOKS_MEMORY(FEATURES)];
    pml_looks *looks;
    float look[FEATURES], mean[FEATURES], fresh[FEATURES];
    for (size_t i = 0; i < FEATURES; i++)
        look[i] = (float)i + 1.0f;
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_begin(&looks, memory, sizeof memory, FEATURES));
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_add(looks, look, FEATURES));
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_mean(looks, fresh, FEATURES));
    pml_looks_wipe(looks);
    unsigned left = 0;
    for (size_t i = 8; i < sizeof memory; i++) /* but for the number of features */
        left += memory[i] != 0;
    TEST_ASSERT_TRUE(left <= 4);
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_looks_mean(looks, mean, FEATURES));
    TEST_ASSERT_EQUAL(PML_OK, pml_looks_add(looks, look, FEATURES));
    assert_same_mean(looks, fresh, FEATURES);
    pml_looks_wipe(NULL);
}
#endif

int main(void)
{
    UNITY_BEGIN();
    (void)golden_heads;
    (void)golden_guesses;
    (void)golden_looks_cases;
#if PML_WITH_HEAD
    RUN_TEST(test_means_are_those_of_the_reference);
    RUN_TEST(test_one_look_is_itself);
    RUN_TEST(test_a_bad_look_adds_nothing);
    RUN_TEST(test_there_is_an_end_to_looks);
    RUN_TEST(test_memory_is_exact);
    RUN_TEST(test_a_mean_that_is_refused_leaves_zeros);
    RUN_TEST(test_wiped_looks_are_gone_and_more_may_follow);
#endif
    return UNITY_END();
}
