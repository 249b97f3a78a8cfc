/* SPDX-License-Identifier: Apache-2.0
 * OpenSSL's primitives are BearSSL's: two libraries that share no code agree on every byte. */
#define _XOPEN_SOURCE 700
#include "privacy/draws.h"
#include "server/gateway/crypto_openssl.h"
#include "support/support.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void draw_bytes(uint64_t *state, uint8_t *out, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)draw64(state);
}

static void assert_same_aead(const pml_aead *ours, const pml_aead *theirs, uint64_t *state, size_t size)
{
    uint8_t key[32], nonce[12], aad[24], data[3][300], tag[2][16];
    const size_t aad_size = size % 25;
    TEST_ASSERT_EQUAL(theirs->id, ours->id);
    TEST_ASSERT_EQUAL(theirs->key_size, ours->key_size);
    draw_bytes(state, key, sizeof key);
    draw_bytes(state, nonce, sizeof nonce);
    draw_bytes(state, aad, sizeof aad);
    draw_bytes(state, data[0], sizeof data[0]);
    memcpy(data[1], data[0], sizeof data[0]);
    memcpy(data[2], data[0], sizeof data[0]);
    TEST_ASSERT_EQUAL(0, ours->seal(key, nonce, aad, aad_size, data[0], size, tag[0]));
    TEST_ASSERT_EQUAL(0, theirs->seal(key, nonce, aad, aad_size, data[1], size, tag[1]));
    TEST_ASSERT_EQUAL_MEMORY(tag[1], tag[0], 16);
    TEST_ASSERT_EQUAL_MEMORY(data[1], data[0], sizeof data[0]);
    tag[1][size % 16] ^= 1;
    TEST_ASSERT_NOT_EQUAL(0, ours->open(key, nonce, aad, aad_size, data[1], size, tag[1]));
    TEST_ASSERT_EQUAL(0, ours->open(key, nonce, aad, aad_size, data[0], size, tag[0]));
    TEST_ASSERT_EQUAL_MEMORY(data[2], data[0], sizeof data[0]);
}

static void test_primitives_are_bearssls(void)
{
    const pml_crypto *ours = pml_crypto_openssl(), *theirs = pml_crypto_bearssl();
    uint64_t state = 3;
    TEST_ASSERT_EQUAL(2, theirs->aeads);
    for (size_t round = 0; round < 100; round++) {
        uint8_t scalar[32], point[32], input[80], out[2][100];
        const pml_piece pieces[] = {{input, round % 30}, {NULL, 0}, {input + 30, 50 - round % 50}};
        draw_bytes(&state, scalar, sizeof scalar);
        draw_bytes(&state, point, sizeof point);
        draw_bytes(&state, input, sizeof input);
        TEST_ASSERT_EQUAL(0, ours->x25519(out[0], scalar, point));
        TEST_ASSERT_EQUAL(0, theirs->x25519(out[1], scalar, point));
        TEST_ASSERT_EQUAL_MEMORY(out[1], out[0], 32);
        TEST_ASSERT_EQUAL(0, ours->x25519_base(out[0], scalar));
        TEST_ASSERT_EQUAL(0, theirs->x25519_base(out[1], scalar));
        TEST_ASSERT_EQUAL_MEMORY(out[1], out[0], 32);
        TEST_ASSERT_EQUAL(0, ours->hkdf_extract(out[0], point, round % 33, pieces, 3));
        TEST_ASSERT_EQUAL(0, theirs->hkdf_extract(out[1], point, round % 33, pieces, 3));
        TEST_ASSERT_EQUAL_MEMORY(out[1], out[0], 32);
        TEST_ASSERT_EQUAL(0, ours->hkdf_expand(out[0], 1 + round, scalar, pieces, 3));
        TEST_ASSERT_EQUAL(0, theirs->hkdf_expand(out[1], 1 + round, scalar, pieces, 3));
        TEST_ASSERT_EQUAL_MEMORY(out[1], out[0], 1 + round);
        for (size_t i = 0; i < 2; i++)
            assert_same_aead(&ours->aead[i], &theirs->aead[i], &state, 3 * round);
    }
}

static void test_bad_points_and_long_inputs_fail(void)
{
    const pml_crypto *crypto = pml_crypto_openssl();
    const uint8_t scalar[32] = {9}, zero[32] = {0}, one[32] = {1}, many[600] = {0};
    const pml_piece piece = {many, sizeof many};
    uint8_t out[32];
    TEST_ASSERT_NOT_EQUAL(0, crypto->x25519(out, scalar, zero));
    TEST_ASSERT_NOT_EQUAL(0, crypto->x25519(out, scalar, one));
    TEST_ASSERT_NOT_EQUAL(0, crypto->hkdf_extract(out, zero, 0, &piece, 1));
    TEST_ASSERT_NOT_EQUAL(0, crypto->hkdf_expand(out, 32, scalar, &piece, 1));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_primitives_are_bearssls);
    RUN_TEST(test_bad_points_and_long_inputs_fail);
    return UNITY_END();
}
