/* SPDX-License-Identifier: Apache-2.0
 * Bundles from anybody: many of them, changed at random. Each is taken whole or not at all, and nothing else happens. */
#include "privacy/draws.h"
#include "server/relay/relay_state.h"
#include "support/support.h"

#include <privatemail_transport.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGE = 130, ANSWER = 600, MESSAGES_MAX = 6, BODY_MAX = RELAY_BUNDLE_HEAD + MESSAGES_MAX * MESSAGE + 8 };

static struct pml_relay relay;
static struct relay_pack pack;
static uint64_t state;

void setUp(void)
{
    const struct relay_lengths lengths = {MESSAGE, ANSWER};
    state = 11;
    memset(&relay, 0, sizeof relay);
    memset(&pack, 0, sizeof pack);
    relay.options = (struct pml_relay_options){.spool = "/tmp",
                                               .clients = 2,
                                               .epoch_seconds = 60,
                                               .bundle_messages = MESSAGES_MAX,
                                               .epoch_messages = 1 << 22,
                                               .spool_bytes = (uint64_t)1 << 40};
    pthread_mutex_init(&relay.lock, NULL);
    static const uint8_t public_key[PML_KEY_SIZE] = {9};
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_bytes_reserve(&relay.keys, PML_KEY_CONFIGURATION_SIZE));
    TEST_ASSERT_EQUAL_INT(PML_OK, pml_keys_write(1, public_key, relay.keys.bytes, PML_KEY_CONFIGURATION_SIZE));
    relay.keys.size = PML_KEY_CONFIGURATION_SIZE;
    pack.relay = &relay;
    relay.packs = &pack;
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_epoch_open(&pack, &lengths));
}

void tearDown(void)
{
    while (pack.epochs)
        relay_epoch_drop(&pack, pack.epochs);
    TEST_ASSERT_EQUAL_UINT64(0, relay.spooled);
    pml_bytes_free(&relay.keys);
    pthread_mutex_destroy(&relay.lock);
}

/* A bundle of the open epoch. */
static size_t make(uint8_t *body, size_t count)
{
    static const uint8_t header[7] = {1, 0, 0x20, 0, 1, 0, 3};
    const size_t size = RELAY_BUNDLE_HEAD + count * MESSAGE;
    for (size_t i = 0; i < size; i++)
        body[i] = (uint8_t)draw64(&state);
    for (size_t i = 0; i < 8; i++)
        body[i] = (uint8_t)(pack.open->number >> 8 * (7 - i));
    for (size_t i = 0; i < count; i++)
        memcpy(body + RELAY_BUNDLE_HEAD + i * MESSAGE, header, sizeof header);
    return size;
}

static enum relay_verdict take(uint8_t *body, size_t size)
{
    const struct pml_bytes bytes = {body, size, size};
    return relay_bundle_take(&pack, pack.open, &bytes, NULL);
}

/* Flips bits, cuts, appends, or repeats a message. */
static size_t change(uint8_t *body, size_t size)
{
    switch (draw_below(&state, 5)) {
    case 0:
        return draw_size(&state, size + 1);
    case 1:
        body[size] = (uint8_t)draw64(&state);
        return size + 1 + draw_size(&state, 7);
    case 2:
        if (size >= RELAY_BUNDLE_HEAD + 2 * MESSAGE)
            memcpy(body + RELAY_BUNDLE_HEAD, body + RELAY_BUNDLE_HEAD + MESSAGE, MESSAGE);
        return size;
    case 3:
        body[draw_size(&state, 8)] ^= (uint8_t)(1u << draw_below(&state, 8)); /* the epoch */
        return size;
    default:
        body[draw_size(&state, size)] ^= (uint8_t)(1u << draw_below(&state, 8));
        return size;
    }
}

static void test_changed_bundles(void)
{
    const size_t count = rounds(100000);
    double verdicts[RELAY_FULL + 1] = {0};
    uint64_t bundles = 0, messages = 0;
    for (size_t i = 0; i < count; i++) {
        static uint8_t body[BODY_MAX];
        const size_t size = change(body, make(body, draw_size(&state, MESSAGES_MAX + 1)));
        const enum relay_verdict verdict = take(body, size);
        verdicts[verdict]++;
        if (verdict == RELAY_TAKEN) {
            struct relay_epoch *epoch;
            const struct relay_bundle *bundle = relay_find_ticket(&relay, NULL, body + 8, &epoch);
            uint8_t back[MESSAGE];
            TEST_ASSERT_EQUAL_UINT64(0, (size - RELAY_BUNDLE_HEAD) % MESSAGE);
            TEST_ASSERT_TRUE(bundle && epoch == pack.open && bundle->first == messages);
            TEST_ASSERT_EQUAL_UINT64((size - RELAY_BUNDLE_HEAD) / MESSAGE, bundle->count);
            for (uint32_t m = 0; m < bundle->count; m++) {
                TEST_ASSERT_EQUAL_INT(PML_DONE,
                                      relay_spool_read(&epoch->sealed, back, MESSAGE, (messages + m) * MESSAGE));
                TEST_ASSERT_EQUAL_MEMORY(body + RELAY_BUNDLE_HEAD + m * MESSAGE, back, MESSAGE);
            }
            bundles++;
            messages += bundle->count;
            TEST_ASSERT_EQUAL_INT(RELAY_KNOWN, take(body, size));
        }
        TEST_ASSERT_EQUAL_UINT64(bundles, pack.open->bundle_count);
        TEST_ASSERT_EQUAL_UINT64(messages, pack.open->message_count);
        TEST_ASSERT_EQUAL_UINT64(messages, pack.open->digests.used);
        TEST_ASSERT_EQUAL_UINT64(messages * (MESSAGE + ANSWER), relay.spooled);
    }
    printf("    %zu: %.0f taken, %.0f malformed, %.0f of other epochs, %.0f with duplicates\n", count,
           verdicts[RELAY_TAKEN], verdicts[RELAY_MALFORMED], verdicts[RELAY_OTHER_EPOCH], verdicts[RELAY_DUPLICATE]);
    TEST_ASSERT_TRUE(verdicts[RELAY_TAKEN] > 0 && verdicts[RELAY_MALFORMED] > 0 && verdicts[RELAY_OTHER_EPOCH] > 0 &&
                     verdicts[RELAY_DUPLICATE] > 0);
    TEST_ASSERT_TRUE(verdicts[RELAY_KNOWN] + verdicts[RELAY_NO_TOKEN] + verdicts[RELAY_FULL] == 0);
}

static void test_limits(void)
{
    uint8_t body[BODY_MAX];
    relay.options.epoch_messages = 8; /* three bundles and five messages */
    TEST_ASSERT_EQUAL_INT(RELAY_TAKEN, take(body, make(body, 3)));
    TEST_ASSERT_EQUAL_INT(RELAY_FULL, take(body, make(body, 4)));
    TEST_ASSERT_EQUAL_INT(RELAY_TAKEN, take(body, make(body, 2)));
    TEST_ASSERT_EQUAL_INT(RELAY_TAKEN, take(body, make(body, 0)));
    TEST_ASSERT_EQUAL_INT(RELAY_FULL, take(body, make(body, 0)));
    relay.options.epoch_messages = 1 << 20;
    relay.options.spool_bytes = 6 * (MESSAGE + ANSWER);
    TEST_ASSERT_EQUAL_INT(RELAY_FULL, take(body, make(body, 2)));
    TEST_ASSERT_EQUAL_INT(RELAY_TAKEN, take(body, make(body, 1)));
    TEST_ASSERT_EQUAL_UINT32(6, pack.open->message_count);
    atomic_store(&relay.stopping, true);
    TEST_ASSERT_EQUAL_INT(RELAY_FULL, take(body, make(body, 0)));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_changed_bundles);
    RUN_TEST(test_limits);
    return UNITY_END();
}
