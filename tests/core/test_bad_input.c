/* SPDX-License-Identifier: Apache-2.0
 * Bad input gets a named error, zeroed output, and nothing is spent. One table a kind; hostile packs, releases and
 * answers have their own files (test_pack, test_release, test_answer), the order of calls has test_client. */
#include "client.h"
#include "support/support.h"

#include <stdlib.h>

static double not_a_number, infinite;

void setUp(void)
{
    volatile double zero = 0.0;
    not_a_number = zero / zero;
    infinite = 1.0 / zero;
}

void tearDown(void)
{
}

/* ---- configuration ---- */

struct config_case {
    const char *name;
    int mechanism;
    double epsilon, delta;
    unsigned value_bytes;
    int status;
};

static void check_config(const struct config_case *c)
{
    struct fixture f;
    setup_fixture(&f, PACK_CLASS, PML_RESPONSE, 1.0);
    f.config.mechanism = (pml_mechanism)c->mechanism;
    f.config.epsilon = c->epsilon;
    f.config.delta = c->delta;
    f.config.value_bytes = c->value_bytes;
    size_t size = PML_GAUSSIAN_MEMORY(64, 16, 64, 16);
    void *memory = malloc(size);
    f.client = memory;
    TEST_ASSERT_EQUAL_MESSAGE(c->status, pml_client_init(&f.client, memory, size, &f.pack, &f.config), c->name);
    TEST_ASSERT_EQUAL_MESSAGE(c->status == PML_OK, f.client != NULL, c->name);
    free(memory);
}

static void test_configurations(void)
{
    const struct config_case both[] = {
        {"mechanism 3", 3, 1, 0, 0, PML_ERROR_MECHANISM},
        {"mechanism -1", -1, 1, 0, 0, PML_ERROR_MECHANISM},
    };
    const struct config_case response[] = {
        {"default mechanism", 0, 1, 0, 0, PML_OK},
        {"smallest epsilon", PML_RESPONSE, PML_EPSILON_MIN, 0, 0, PML_OK},
        {"largest epsilon", PML_RESPONSE, PML_EPSILON_MAX, 0, 0, PML_OK},
        {"epsilon 0", PML_RESPONSE, 0, 0, 0, PML_ERROR_EPSILON},
        {"epsilon < 0", PML_RESPONSE, -1, 0, 0, PML_ERROR_EPSILON},
        {"epsilon tiny", PML_RESPONSE, 1e-9, 0, 0, PML_ERROR_EPSILON},
        {"epsilon NaN", PML_RESPONSE, not_a_number, 0, 0, PML_ERROR_EPSILON},
        {"epsilon infinite", PML_RESPONSE, infinite, 0, 0, PML_ERROR_EPSILON},
        {"epsilon above", PML_RESPONSE, 16.0001, 0, 0, PML_ERROR_EPSILON},
        {"delta given", PML_RESPONSE, 1, 1e-5, 0, PML_ERROR_DELTA},
        {"delta NaN", PML_RESPONSE, 1, not_a_number, 0, PML_ERROR_DELTA},
        {"value bytes given", PML_RESPONSE, 1, 0, 1, PML_ERROR_ARGUMENT},
    };
    const struct config_case gaussian[] = {
        {"sound", PML_GAUSSIAN, 1, 1e-5, 0, PML_OK},
        {"two bytes", PML_GAUSSIAN, 1, 1e-5, 2, PML_OK},
        {"three bytes", PML_GAUSSIAN, 1, 1e-5, 3, PML_ERROR_ARGUMENT},
        {"delta 0", PML_GAUSSIAN, 1, 0, 0, PML_ERROR_DELTA},
        {"delta 1", PML_GAUSSIAN, 1, 1, 0, PML_ERROR_DELTA},
        {"delta < 0", PML_GAUSSIAN, 1, -1e-5, 0, PML_ERROR_DELTA},
        {"delta too small", PML_GAUSSIAN, 1, 1e-16, 0, PML_ERROR_DELTA},
        {"delta NaN", PML_GAUSSIAN, 1, not_a_number, 0, PML_ERROR_DELTA},
        {"epsilon 0", PML_GAUSSIAN, 0, 1e-5, 0, PML_ERROR_EPSILON},
        {"epsilon NaN", PML_GAUSSIAN, not_a_number, 1e-5, 0, PML_ERROR_EPSILON},
        {"epsilon above", PML_GAUSSIAN, 17, 1e-5, 0, PML_ERROR_EPSILON},
        {"noise does not fit", PML_GAUSSIAN, PML_EPSILON_MIN, 0x1p-50, 0, PML_ERROR_EPSILON},
    };
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++)
        check_config(both + i);
    for (size_t i = 0; i < sizeof response / sizeof response[0]; i++) {
        struct config_case c = response[i];
        c.status = PML_WITH_RESPONSE || c.status == PML_ERROR_ARGUMENT ? c.status : PML_ERROR_MECHANISM;
        check_config(&c);
    }
    for (size_t i = 0; i < sizeof gaussian / sizeof gaussian[0]; i++) {
        struct config_case c = gaussian[i];
        c.status = PML_WITH_GAUSSIAN || c.status == PML_ERROR_ARGUMENT ? c.status : PML_ERROR_MECHANISM;
        check_config(&c);
    }
}

static void test_missing_callbacks_pointers_and_sections(void)
{
    struct fixture f;
    uint8_t memory[8192];
    const int mechanism = PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN;
    setup_fixture(&f, PACK_CLASS, mechanism, 1.0);
    pml_config good = f.config;
    f.config.entropy = NULL;
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_init(&f.client, memory, sizeof memory, &f.pack, &f.config));
    f.config = good;
    f.config.persist = NULL;
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_init(&f.client, memory, sizeof memory, &f.pack, &f.config));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_init(NULL, memory, sizeof memory, &f.pack, &good));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_init(&f.client, NULL, sizeof memory, &f.pack, &good));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_init(&f.client, memory, sizeof memory, NULL, &good));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_init(&f.client, memory, sizeof memory, &f.pack, NULL));
    TEST_ASSERT_EQUAL(0, pml_client_size(NULL, &good));
    TEST_ASSERT_EQUAL(0, pml_client_size(&f.pack, NULL));
    pml_pack lacking = open_golden(mechanism == PML_GAUSSIAN ? PACK_RESPONSE_ONLY : PACK_GAUSSIAN_ONLY);
    TEST_ASSERT_EQUAL(PML_ERROR_SECTION, pml_client_init(&f.client, memory, sizeof memory, &lacking, &good));
    TEST_ASSERT_EQUAL(0, pml_client_size(&lacking, &good));
}

/* ---- features and labels ---- */

enum {
    FEATURE_NAN,
    FEATURE_INFINITE,
    FEATURE_MINUS_INFINITE,
    ALL_ZERO,
    ALL_MINUS_ZERO,
    ONE_MORE,
    ONE_LESS,
    NONE,
    UNKNOWN_LABEL,
    KINDS
};

static void spoil(int kind, const pml_pack *pack, float *features, size_t *count, int32_t *label)
{
    switch (kind) {
    case FEATURE_NAN:
        features[*count - 1] = (float)not_a_number;
        break;
    case FEATURE_INFINITE:
        features[0] = (float)infinite;
        break;
    case FEATURE_MINUS_INFINITE:
        features[*count / 2] = -(float)infinite;
        break;
    case ALL_ZERO:
    case ALL_MINUS_ZERO:
        for (size_t i = 0; i < *count; i++)
            features[i] = kind == ALL_ZERO ? 0.0f : -0.0f;
        break;
    case ONE_MORE:
        ++*count;
        break;
    case ONE_LESS:
        --*count;
        break;
    case NONE:
        *count = 0;
        break;
    default:
        *label = some_label(pack) - 1;
    }
}

static const int expected[KINDS] = {PML_ERROR_FEATURES,  PML_ERROR_FEATURES,  PML_ERROR_FEATURES,
                                    PML_ERROR_FEATURES,  PML_ERROR_FEATURES,  PML_ERROR_DIMENSION,
                                    PML_ERROR_DIMENSION, PML_ERROR_DIMENSION, PML_ERROR_LABEL};

static void release_bad(int kind, int mechanism, bool substitute)
{
    struct fixture f;
    float features[65];
    uint8_t out[512];
    setup_fixture(&f, PACK_CLASS, mechanism, 1.0);
    f.config.substitute = substitute;
    setup_client(&f);
    size_t count = f.pack.features;
    int32_t label = some_label(&f.pack);
    make_features(&f.pack, 3, features);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    spoil(kind, &f.pack, features, &count, &label);
    int status = substitute && expected[kind] != PML_ERROR_DIMENSION ? PML_OK : expected[kind];
    memset(out, 0xEE, sizeof out);
    TEST_ASSERT_EQUAL(status, release_query(f.client, features, count, label, out, sizeof out));
    TEST_ASSERT_TRUE(is_zero(f.client->row, f.pack.features));
    TEST_ASSERT_EQUAL(status != PML_OK, is_zero(out, sizeof out));
    if (status != PML_OK) {
        TEST_ASSERT_EQUAL(CLIENT_ARMED, f.client->state);
        TEST_ASSERT_EQUAL(PML_OK, pml_client_disarm(f.client, &f.budget)); /* nothing spent */
    }
    teardown_fixture(&f);
}

static void test_features_and_labels(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int mechanism = PML_RESPONSE; mechanism <= PML_GAUSSIAN; mechanism++)
            if (mechanism == PML_GAUSSIAN ? PML_WITH_GAUSSIAN : PML_WITH_RESPONSE) {
                release_bad(kind, mechanism, false);
                release_bad(kind, mechanism, true);
            }
}

static void test_null_pointers_everywhere(void)
{
    struct fixture f;
    pml_receipt receipt;
    setup_fixture(&f, PACK_CLASS, PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN, 1.0);
    setup_client(&f);
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_arm(NULL, &f.budget));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_arm(f.client, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_release(NULL, NULL, NULL, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_disarm(NULL, &f.budget));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_disarm(f.client, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_receipt(NULL, &receipt));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_receipt(f.client, NULL));
    TEST_ASSERT_EQUAL(0, pml_client_release_size(NULL));
    teardown_fixture(&f);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_configurations);
    RUN_TEST(test_missing_callbacks_pointers_and_sections);
    RUN_TEST(test_features_and_labels);
    RUN_TEST(test_null_pointers_everywhere);
    return UNITY_END();
}
