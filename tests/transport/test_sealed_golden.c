/* SPDX-License-Identifier: Apache-2.0
 * The golden sealed messages and answers, which Java and Swift make and open too. */
#include "transport_support.h"

#include "tests/golden/sealed_vectors.h"

void setUp(void)
{
}

void tearDown(void)
{
}

struct kept {
    size_t size;
    uint8_t bytes[16384];
};

static pml_status keep(void *context, const uint8_t *bytes, size_t size)
{
    struct kept *kept = context;
    memcpy(kept->bytes + kept->size, bytes, size);
    kept->size += size;
    return PML_OK;
}

static void check(const struct golden_sealed *golden)
{
    static uint8_t out[20000], buffer[PML_OPEN_BUFFER];
    static struct kept kept;
    const pml_crypto *crypto = pml_crypto_bearssl();
    pml_private_key private_key = {.id = golden->id};
    memcpy(private_key.secret, golden->secret.bytes, sizeof private_key.secret);
    TEST_ASSERT_EQUAL(PML_OK, pml_key_complete(crypto, &private_key));
    pml_seal_key key = {.id = private_key.id, .aead = PML_AEAD_CHACHA20_POLY1305};
    memcpy(key.public_key, private_key.public_key, sizeof key.public_key);

    struct script script = {golden->ephemeral.bytes, golden->ephemeral.size};
    pml_opener opener;
    TEST_ASSERT_EQUAL(PML_OK, pml_message_seal(crypto, &key, golden->epoch, golden->pack.bytes, golden->release.bytes,
                                               golden->release.size, scripted, &script, out, sizeof out, &opener));
    TEST_ASSERT_EQUAL(golden->message.size, pml_message_size(golden->release.size));
    TEST_ASSERT_EQUAL_HEX8_ARRAY(golden->message.bytes, out, golden->message.size);

    const struct golden_bytes answer = golden->answer, content = golden->content;
    size_t plain = 1;
    while (pml_answer_size(plain) < answer.size)
        plain++;
    script = (struct script){golden->nonce.bytes, golden->nonce.size};
    TEST_ASSERT_EQUAL(PML_OK, pml_answer_seal(crypto, &opener, golden->status, content.bytes, content.size, plain,
                                              scripted, &script, out, sizeof out));
    TEST_ASSERT_EQUAL_HEX8_ARRAY(answer.bytes, out, answer.size);

    pml_open open;
    unsigned status = 0;
    kept.size = 0;
    TEST_ASSERT_EQUAL(PML_OK, pml_open_begin(&open, crypto, &opener, buffer, sizeof buffer, answer.size));
    TEST_ASSERT_EQUAL(PML_OK, pml_open_feed(&open, answer.bytes, answer.size, keep, &kept));
    TEST_ASSERT_EQUAL(PML_OK, pml_open_end(&open, &status));
    TEST_ASSERT_EQUAL(golden->status, status);
    TEST_ASSERT_EQUAL(content.size, kept.size);
    if (content.size > 0)
        TEST_ASSERT_EQUAL_MEMORY(content.bytes, kept.bytes, content.size);
}

static void test_golden(void)
{
    for (size_t i = 0; i < sizeof golden_sealed / sizeof golden_sealed[0]; i++)
        check(&golden_sealed[i]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_golden);
    return UNITY_END();
}
