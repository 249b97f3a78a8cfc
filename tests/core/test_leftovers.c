/* SPDX-License-Identifier: Apache-2.0
 * What a class that is not the first leaves behind: nothing in the client, nothing in the buffer, nothing in the shape
 * of a release. (The first class is slot 0, which looks like a wiped one.) */
#include "client.h"
#include "support/each_mechanism.h"

#include <math.h>

void setUp(void)
{
    begin_client(0xEE);
}

void tearDown(void)
{
    teardown_fixture(&f);
}

static pml_status release_class(size_t class, size_t capacity)
{
    int32_t label;
    uint32_t slot;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&f.pack, class, &label, &slot));
    return release_query(f.client, features, f.pack.features, label, out, capacity);
}

static void arm(void)
{
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
}

static void assert_no_query(void)
{
    TEST_ASSERT_TRUE(is_zero(f.client->row, f.pack.features));
    TEST_ASSERT_TRUE(!f.client->scratch || is_zero(f.client->scratch, 16 * (size_t)f.pack.neighbours));
}

static bool has_noise(void)
{
    const pml_client *c = f.client;
    const pml_pack *v = &f.pack;
    return !is_zero(&c->random, sizeof c->random) || c->shift != 0 ||
           (c->others && !is_zero(c->others, sizeof *c->others * v->slots)) ||
           (c->noise && !is_zero(c->noise, sizeof *c->noise * v->slots * v->dimensions));
}

static void test_the_query_is_wiped_after_every_outcome(void)
{
    arm();
    TEST_ASSERT_EQUAL(PML_OK, release_class(f.pack.slots - 1, sizeof out));
    assert_no_query();
    arm();
    features[0] = INFINITY;
    TEST_ASSERT_EQUAL(PML_ERROR_FEATURES, release_class(f.pack.slots - 1, sizeof out));
    assert_no_query();
}

static void test_a_short_buffer_tells_nothing(void)
{
    const size_t size = pml_client_release_size(f.client);
    arm();
    for (size_t capacity = 0; capacity < size; capacity++) {
        memset(out, 0xEE, sizeof out);
        TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, release_class(f.pack.slots - 1, capacity));
        TEST_ASSERT_TRUE(is_zero(out, capacity));
        TEST_ASSERT_EQUAL_HEX8(0xEE, out[capacity]);
        assert_no_query();
    }
}

/* From the key all noise could be drawn again. */
static void test_the_key_is_gone_once_the_noise_is_drawn(void)
{
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    TEST_ASSERT_TRUE(has_noise());
    TEST_ASSERT_TRUE(is_zero(&f.client->random, sizeof f.client->random));
}

static unsigned looks;

static int persist_and_look(void *context, const uint8_t *bytes, size_t size)
{
    TEST_ASSERT_FALSE(has_noise());
    assert_no_query();
    looks++;
    return store_persist(context, bytes, size);
}

/* After a crash in between, what is refunded must be of no use any more. */
static void test_the_noise_is_gone_before_a_refund_is_stored(void)
{
    looks = 0;
    arm();
    f.client->config.persist = persist_and_look;
    TEST_ASSERT_EQUAL(PML_OK, pml_client_disarm(f.client, &f.budget));
    TEST_ASSERT_EQUAL(1, looks);
}

/* Length and head are those of pack and configuration; the body is all that a class may change. */
static void test_every_class_has_the_same_length_and_head(void)
{
    const size_t size = pml_client_release_size(f.client);
    uint8_t first[512];
    for (size_t class = 0; class < f.pack.classes; class ++) {
        pml_release_view view;
        arm();
        TEST_ASSERT_EQUAL(PML_OK, release_class(class, sizeof out));
        TEST_ASSERT_TRUE(is_zero(out + size, sizeof out - size));
        TEST_ASSERT_EQUAL(PML_OK, pml_release_parse(&f.pack, out, size, &view));
        if (class == 0)
            memcpy(first, out, sizeof first);
        TEST_ASSERT_EQUAL_HEX8_ARRAY(first, out, size - view.body_size);
    }
}

static void run_all(void)
{
    RUN_TEST(test_the_query_is_wiped_after_every_outcome);
    RUN_TEST(test_a_short_buffer_tells_nothing);
    RUN_TEST(test_the_key_is_gone_once_the_noise_is_drawn);
    RUN_TEST(test_the_noise_is_gone_before_a_refund_is_stored);
    RUN_TEST(test_every_class_has_the_same_length_and_head);
}

int main(void)
{
    UNITY_BEGIN();
    for (mechanism = PML_RESPONSE; mechanism <= PML_GAUSSIAN; mechanism++)
        if (mechanism == PML_GAUSSIAN ? PML_WITH_GAUSSIAN : PML_WITH_RESPONSE)
            run_all();
    return UNITY_END();
}
