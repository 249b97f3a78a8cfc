/* SPDX-License-Identifier: Apache-2.0
 * The parts of the relay on their own: order, tables, spools, tokens, and what the gateway says. */
#define _XOPEN_SOURCE 700
#include "privacy/draws.h"
#include "privacy/statistics.h"
#include "server/mixing/relay_order.h"
#include "server/relay/relay_gateway.h"
#include "server/relay/relay_spool.h"
#include "server/relay/relay_table.h"
#include "server/relay/relay_tokens.h"
#include "support/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- order ---- */

enum { FEW = 4, ORDERS = 24, TRIALS = 24000 };

/* Where an order of four stands among all of them. */
static size_t rank_of(const uint32_t *order)
{
    size_t rank = 0;
    for (size_t i = 0; i < FEW; i++) {
        size_t smaller = 0;
        for (size_t j = i + 1; j < FEW; j++)
            smaller += order[j] < order[i];
        rank = rank * (FEW - i) + smaller;
    }
    return rank;
}

static void test_every_order_is_equally_likely(void)
{
    double seen[ORDERS] = {0}, expected[ORDERS];
    struct script script = {0};
    for (size_t i = 0; i < TRIALS; i++) {
        uint32_t order[FEW];
        TEST_ASSERT_EQUAL_INT(PML_DONE, relay_order(order, FEW, script_entropy, &script));
        seen[rank_of(order)]++;
    }
    for (size_t i = 0; i < ORDERS; i++)
        expected[i] = (double)TRIALS / (double)ORDERS;
    const double share = share_of_chi_square(seen, expected, ORDERS);
    printf("    24 orders of 4: %.2f of the limit\n", share);
    TEST_ASSERT_TRUE(share < 1.0);
}

static void test_an_order_has_every_place_once(void)
{
    enum { MANY = 5000 };
    static uint32_t order[MANY], place[MANY];
    struct script script = {0};
    double fixed = 0, trend = 0;
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_order(order, MANY, script_entropy, &script));
    TEST_ASSERT_EQUAL_UINT(1, script.calls);
    for (uint32_t i = 0; i < MANY; i++)
        place[order[i]]++;
    for (uint32_t i = 0; i < MANY; i++) {
        TEST_ASSERT_EQUAL_UINT32(1, place[i]);
        fixed += order[i] == i;
        trend += (i - (MANY - 1) / 2.0) * (order[i] - (MANY - 1) / 2.0);
    }
    trend /=
        ((double)MANY * (double)MANY - 1.0) / 12.0 * sqrt((double)MANY - 1.0); /* Spearman's, in standard deviations */
    TEST_ASSERT_TRUE(share_of_normal(trend) < 1.0);
    TEST_ASSERT_TRUE(fixed < 15);
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_order(order, 0, script_entropy, &script));
}

static void test_without_entropy_there_is_no_order(void)
{
    uint32_t order[FEW];
    struct script script = {.fail_at = 1};
    TEST_ASSERT_EQUAL_INT(PML_UNAVAILABLE, relay_order(order, FEW, script_entropy, &script));
}

/* ---- tables ---- */

static void test_a_table_finds_what_was_added(void)
{
    enum { COUNT = 20000 };
    static uint8_t keys[COUNT][RELAY_KEY_SIZE];
    const struct relay_keys at = {keys, sizeof keys[0]};
    struct relay_table table = {.seed = 77};
    uint64_t state = 1;
    for (uint32_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < RELAY_KEY_SIZE; j++) /* half of them differ in one byte only */
            keys[i][j] = (uint8_t)(i % 2 == 0 ? draw64(&state) : j < 3 ? i >> 8 * j : 0);
        TEST_ASSERT_EQUAL_UINT32(RELAY_NO_INDEX, relay_table_find(&table, at, keys[i]));
        TEST_ASSERT_EQUAL_INT(PML_DONE, relay_table_reserve(&table, at, 1));
        relay_table_add(&table, at, i);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        TEST_ASSERT_EQUAL_UINT32(i, relay_table_find(&table, at, keys[i]));
    for (uint32_t i = COUNT; i-- > COUNT / 2;) /* what was added last is taken out first */
        relay_table_undo(&table, at, i);
    for (uint32_t i = 0; i < COUNT; i++)
        TEST_ASSERT_EQUAL_UINT32(i < COUNT / 2 ? i : RELAY_NO_INDEX, relay_table_find(&table, at, keys[i]));
    relay_table_free(&table);
    TEST_ASSERT_EQUAL_UINT32(RELAY_NO_INDEX, relay_table_find(&table, at, keys[0]));
}

/* ---- spools ---- */

static size_t names_in(const char *folder)
{
    DIR *open = opendir(folder);
    size_t count = 0;
    TEST_ASSERT_NOT_NULL(open);
    for (struct dirent *entry; (entry = readdir(open));)
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

static void test_a_spool_has_no_name(void)
{
    char folder[] = "/tmp/relay-spool-XXXXXX";
    struct relay_spool spool;
    uint8_t bytes[300], back[300];
    TEST_ASSERT_NOT_NULL(mkdtemp(folder));
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_spool_open(&spool, folder, NULL));
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_spool_write(&spool, bytes, sizeof bytes, 100));
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_spool_read(&spool, back, sizeof back, 100));
    TEST_ASSERT_EQUAL_MEMORY(bytes, back, sizeof back);
    TEST_ASSERT_EQUAL_INT(PML_UNAVAILABLE, relay_spool_read(&spool, back, sizeof back, 101));
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_spool_reserve(&spool, 5000));
    TEST_ASSERT_EQUAL_UINT64(0, names_in(folder));
    relay_spool_forget(&spool, 100, sizeof bytes);
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_spool_read(&spool, back, sizeof back, 100));
#ifdef __linux__
    for (size_t i = 0; i < sizeof back; i++)
        TEST_ASSERT_EQUAL_UINT8(0, back[i]);
#endif
    relay_spool_close(&spool);
    TEST_ASSERT_EQUAL_INT(0, rmdir(folder));
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL_INT(PML_UNAVAILABLE, relay_spool_open(&spool, folder, &message));
    TEST_ASSERT_NOT_NULL(strstr(message.text, "--spool"));
}

/* ---- tokens ---- */

static void test_tokens(void)
{
    char path[] = "/tmp/relay-tokens-XXXXXX";
    int file = mkstemp(path);
    /* SHA-256 of "one" and "two" */
    static const char text[] = "# who may\n"
                               "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  # one\r\n\n"
                               "3FC4CCFE745870E2C0D99F71F30FF0656C8DEDD41CC1D7D3D376B0DBE685E2F3";
    struct relay_tokens tokens = {0};
    struct pml_message message = {""};
    uint8_t digest[RELAY_KEY_SIZE];
    TEST_ASSERT_EQUAL_INT(sizeof text - 1, write(file, text, sizeof text - 1));
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_tokens_read(&tokens, path, &message));
    TEST_ASSERT_EQUAL_UINT64(2, tokens.count);
    TEST_ASSERT_TRUE(relay_tokens_admit(&tokens, "one", digest));
    TEST_ASSERT_EQUAL_HEX8(0x76, digest[0]);
    TEST_ASSERT_TRUE(relay_tokens_admit(&tokens, "two", digest));
    TEST_ASSERT_FALSE(relay_tokens_admit(&tokens, "three", digest));
    TEST_ASSERT_FALSE(relay_tokens_admit(&tokens, "", digest));
    TEST_ASSERT_EQUAL_INT(3, write(file, "\nx\n", 3));
    TEST_ASSERT_EQUAL_INT(PML_REFUSED, relay_tokens_read(&tokens, path, &message));
    TEST_ASSERT_NOT_NULL(strstr(message.text, "line 5"));
    TEST_ASSERT_TRUE(relay_tokens_admit(&tokens, "one", digest));
    relay_tokens_free(&tokens);
    close(file);
    unlink(path);
}

/* ---- the gateway's lengths ---- */

static void test_lengths(void)
{
    static const char *const refused[] = {
        "",
        "{}",
        "{\"message\": 130, \"answer\": 600}",
        "{\"sealed\": {\"message\": 130}}",
        "{\"sealed\": {\"message\": 0, \"answer\": 600}}",
        "{\"sealed\": {\"message\": -1, \"answer\": 600}}",
        "{\"sealed\": {\"message\": 130, \"answer\": 99999999999999999999999999}}",
        "{\"sealed\": {\"message\": 20001, \"answer\": 600}}",
        "{\"sealed\": {\"message\" 130, \"answer\": 600}}",
        "{\"sealed\": {\"message\":",
    };
    struct relay_lengths lengths;
    TEST_ASSERT_TRUE(
        relay_lengths_read("{\"pack\": \"\", \"sealed\" : {\"answer\":600 , \"message\" : 130}}", &lengths));
    TEST_ASSERT_EQUAL_UINT32(130, lengths.message);
    TEST_ASSERT_EQUAL_UINT32(600, lengths.answer);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        TEST_ASSERT_FALSE_MESSAGE(relay_lengths_read(refused[i], &lengths), refused[i]);
}

static void test_addresses_of_a_gateway(void)
{
    static const char *const good[] = {"https://search.example", "https://search.example/path/",
                                       "http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost"};
    static const char *const bad[] = {"",
                                      "search.example",
                                      "ftp://search.example",
                                      "http://search.example",
                                      "https://user:word@search.example",
                                      "https://search.example?x=1",
                                      "https://search.example#x",
                                      "http://127.0.0.1.example"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        TEST_ASSERT_NULL_MESSAGE(relay_gateway_fault(good[i]), good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        TEST_ASSERT_NOT_NULL_MESSAGE(relay_gateway_fault(bad[i]), bad[i]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_order_is_equally_likely);
    RUN_TEST(test_an_order_has_every_place_once);
    RUN_TEST(test_without_entropy_there_is_no_order);
    RUN_TEST(test_a_table_finds_what_was_added);
    RUN_TEST(test_a_spool_has_no_name);
    RUN_TEST(test_tokens);
    RUN_TEST(test_lengths);
    RUN_TEST(test_addresses_of_a_gateway);
    return UNITY_END();
}
