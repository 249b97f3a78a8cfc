/* SPDX-License-Identifier: Apache-2.0
 * What the core is built from: hash, cipher, random words, masks, bytes, texts. */
#include "base/chacha20.h"
#include "base/random.h"
#include "base/sha256.h"
#include "draws.h"
#include "support/support.h"

#include <limits.h>
#include <stdio.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static void from_hex(const char *hex, uint8_t *out, size_t size)
{
    TEST_ASSERT_EQUAL(2 * size, strlen(hex));
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        TEST_ASSERT_EQUAL(1, sscanf(hex + 2 * i, "%2x", &byte));
        out[i] = (uint8_t)byte;
    }
}

/* ---- SHA-256 ---- */

static void check_digest(const uint8_t *message, size_t size, const char *expected)
{
    uint8_t digest[32], right[32];
    from_hex(expected, right, sizeof right);
    pml_sha256(message, size, digest);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(right, digest, sizeof right);
}

static void check_digest_of_text(const char *text, const char *expected)
{
    check_digest((const uint8_t *)text, strlen(text), expected);
}

static void test_sha256_gives_the_digests_of_fips_180(void)
{
    check_digest_of_text("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest(NULL, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest_of_text("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest_of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_digest_of_text("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                         "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

static void test_sha256_of_a_million_letters(void)
{
    uint8_t *letters = malloc(1000000);
    TEST_ASSERT_NOT_NULL(letters);
    memset(letters, 'a', 1000000);
    check_digest(letters, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(letters);
}

/* The last digest is that of all digests one after the other: it fails when any length is wrong. */
static void test_sha256_of_every_length_to_130(void)
{
    static const struct {
        size_t size;
        const char *digest;
    } known[] = {
        {55, "81afe5b788dc2ce138ff83d9b20164db75a94d75d2b2432eea4a0ef605088c72"},
        {56, "2aba54f0ac632420a2b502431408866e40e1d5e430df4cd822642c78ab2eb9c1"},
        {63, "733d3d4ee79ee67145bf73da13588f6f235d37414fc64b14a2f00f1762792f5e"},
        {64, "79322907b3e9d013d7dc2c2f256674dbf733045cde01df3539271c6f5605feb8"},
        {65, "d85c007c6eb440f085afa2b84f6f2bce4658b240e9f62cb1364bf0485a57e720"},
        {119, "6c87eedf096b345de205b702e5223b73b447a3207791ded3ea007ba15ed6736e"},
        {120, "42500cf6a1e3936d6b9e0bcfe296d654b63255e525487d3634d0b15fde591c4d"},
        {127, "68f6ff710276900c0ffbbc57426f67e00c2e01f0750c7edc25ac06b8ce7a8095"},
        {128, "489d55fea9a73af36b6dd0be7b4117d8e5683386d39544e8a44c99a87f368707"},
    };
    uint8_t digests[131][32];
    for (size_t size = 0; size <= 130; size++) {
        uint8_t message[130] = {0};
        for (size_t i = 0; i < size; i++)
            message[i] = (uint8_t)(7 * i + size);
        pml_sha256(message, size, digests[size]);
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (known[i].size == size)
                check_digest(message, size, known[i].digest);
    }
    check_digest(digests[0], sizeof digests, "969b9f993f9c27e8424a46288c5b7999eee502a7befa92cad6cfef1034d76c51");
}

/* ---- ChaCha20 ---- */

struct cipher_vector {
    const char *key;
    uint32_t counter;
    const char *nonce, *stream;
};

#define ZERO_KEY "0000000000000000000000000000000000000000000000000000000000000000"
#define ZERO_NONCE "000000000000000000000000"

/* RFC 8439: section 2.3.2, then appendix A.1, 1 to 5; the last is the last block of a key. */
static const struct cipher_vector cipher_vectors[] = {
    {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 1, "000000090000004a00000000",
     "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
     "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"},
    {ZERO_KEY, 0, ZERO_NONCE,
     "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
     "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"},
    {ZERO_KEY, 1, ZERO_NONCE,
     "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
     "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"},
    {"0000000000000000000000000000000000000000000000000000000000000001", 1, ZERO_NONCE,
     "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
     "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"},
    {"00ff000000000000000000000000000000000000000000000000000000000000", 2, ZERO_NONCE,
     "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
     "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096"},
    {ZERO_KEY, 0, "000000000000000000000002",
     "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
     "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d"},
    {ZERO_KEY, 0xFFFFFFFF, ZERO_NONCE,
     "ace4cd09e294d1912d4ad205d06f95d9c2f2bfcf453e8753f128765b62215f4d"
     "92c74f2f626c6a640c0b1284d839ec81f1696281dafc3e684593937023b58b1d"},
};

static void test_chacha20_gives_the_blocks_of_rfc_8439(void)
{
    for (size_t i = 0; i < sizeof cipher_vectors / sizeof cipher_vectors[0]; i++) {
        uint8_t key[32], nonce[12], right[64], bytes[64];
        uint32_t words[16];
        from_hex(cipher_vectors[i].key, key, sizeof key);
        from_hex(cipher_vectors[i].nonce, nonce, sizeof nonce);
        from_hex(cipher_vectors[i].stream, right, sizeof right);
        pml_chacha20_block(key, cipher_vectors[i].counter, nonce, words);
        for (size_t j = 0; j < 16; j++)
            store_le32(bytes + 4 * j, words[j]);
        TEST_ASSERT_EQUAL_HEX8_ARRAY(right, bytes, sizeof right);
    }
}

/* ---- random words ---- */

static void test_random_words_are_the_key_stream_in_order(void)
{
    static const uint8_t nonce[12] = {0};
    uint8_t key[32];
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)(3 * i + 1);
    pml_random random;
    pml_random_start(&random, key);
    for (uint32_t counter = 0; counter < 40; counter++) {
        uint32_t block[16];
        pml_chacha20_block(key, counter, nonce, block);
        for (size_t i = 0; i < 16; i++)
            TEST_ASSERT_EQUAL_HEX32(block[i], pml_random_word(&random));
    }
}

/* A stream that hands out `first`, then `second`. */
static pml_random scripted_words(uint32_t first, uint32_t second)
{
    pml_random random = {.used = 14};
    random.block[14] = first;
    random.block[15] = second;
    return random;
}

/* Exactly uniform: the accepted words are those below the largest multiple of the bound, and each residue comes from
 * equally many of them. The first and last accepted and the first rejected word fix that multiple. */
static void check_below(uint64_t bound)
{
    uint64_t words = (uint64_t)1 << 32, limit = words / bound * bound;
    uint64_t accepted[] = {0, bound - 1, bound % limit, limit - bound, limit - 1};
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        pml_random random = scripted_words((uint32_t)accepted[i], 0xDEADBEEF);
        TEST_ASSERT_EQUAL_UINT32(accepted[i] % bound, pml_random_below(&random, bound));
        TEST_ASSERT_EQUAL_UINT32(15, random.used);
    }
    uint64_t rejected[] = {limit, words - 1};
    for (size_t i = 0; i < 2 && limit < words; i++) {
        pml_random random = scripted_words((uint32_t)rejected[i], (uint32_t)(bound - 1));
        TEST_ASSERT_EQUAL_UINT32(bound - 1, pml_random_below(&random, bound));
        TEST_ASSERT_EQUAL_UINT32(16, random.used);
    }
}

static void test_random_below_accepts_exactly_a_multiple_of_the_bound(void)
{
    uint64_t state = 1;
    for (uint64_t bound = 1; bound <= 70000; bound++)
        check_below(bound);
    for (unsigned bit = 1; bit <= 32; bit++) {
        check_below((uint64_t)1 << bit);
        check_below(((uint64_t)1 << bit) - 1);
        if (bit < 32)
            check_below(((uint64_t)1 << bit) + 1);
    }
    for (size_t i = 0; i < rounds(20000); i++)
        check_below(1 + draw_below(&state, (uint64_t)1 << 32));
}

static void test_random_below_rejects_more_than_once(void)
{
    pml_random random = {.used = 8};
    for (size_t i = 8; i < 15; i++)
        random.block[i] = 0xFFFFFFFF;
    random.block[15] = 4;
    TEST_ASSERT_EQUAL_UINT32(1, pml_random_below(&random, 3));
    TEST_ASSERT_EQUAL_UINT32(16, random.used);
}

/* ---- masks, bytes, wiping ---- */

static void test_masks_compare_at_the_extremes(void)
{
    const uint64_t all = ~(uint64_t)0;
    const uint64_t values[] = {
        0, 1, 2, 0x7FFFFFFFFFFFFFFE, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0x8000000000000001, all - 1, all};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        uint64_t a = values[i];
        TEST_ASSERT_EQUAL_HEX64(a != 0 ? all : 0, mask_nonzero(a));
        for (size_t j = 0; j < sizeof values / sizeof values[0]; j++) {
            uint64_t b = values[j];
            TEST_ASSERT_EQUAL_HEX64(a == b ? all : 0, mask_equal(a, b));
            TEST_ASSERT_EQUAL_HEX64(a < b ? all : 0, mask_less_unsigned(a, b));
            int64_t difference;
            if (!__builtin_sub_overflow((int64_t)a, (int64_t)b, &difference) && difference != INT64_MIN)
                TEST_ASSERT_EQUAL_HEX64((int64_t)a < (int64_t)b ? all : 0, mask_less((int64_t)a, (int64_t)b));
            TEST_ASSERT_EQUAL_HEX64(a, select64(all, a, b));
            TEST_ASSERT_EQUAL_HEX64(b, select64(0, a, b));
            TEST_ASSERT_EQUAL_HEX32((uint32_t)a, select32(all, (uint32_t)a, (uint32_t)b));
            TEST_ASSERT_EQUAL_HEX32((uint32_t)b, select32(0, (uint32_t)a, (uint32_t)b));
        }
    }
}

static void test_bytes_are_loaded_and_stored_in_their_order(void)
{
    static const uint8_t bytes[9] = {0, 0x81, 0x92, 0xA3, 0xB4, 0xC5, 0xD6, 0xE7, 0xF8};
    uint8_t out[8];
    TEST_ASSERT_EQUAL_HEX32(0x9281, load_le16(bytes + 1));
    TEST_ASSERT_EQUAL_HEX32(0xB4A39281, load_le32(bytes + 1));
    TEST_ASSERT_EQUAL_HEX64(0xF8E7D6C5B4A39281, load_le64(bytes + 1));
    TEST_ASSERT_EQUAL_HEX32(0x8192A3B4, load_be32(bytes + 1));
    store_le32(out, 0xB4A39281);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(bytes + 1, out, 4);
    store_le64(out, 0xF8E7D6C5B4A39281);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(bytes + 1, out, 8);
    store_be32(out, 0x8192A3B4);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(bytes + 1, out, 4);
}

static void test_wipe_zeroes_what_it_is_given_and_nothing_else(void)
{
    for (size_t size = 0; size <= 40; size++) {
        uint8_t bytes[42];
        memset(bytes, 0xA5, sizeof bytes);
        pml_wipe(bytes + 1, size);
        TEST_ASSERT_TRUE(is_zero(bytes + 1, size));
        TEST_ASSERT_EQUAL_HEX8(0xA5, bytes[0]);
        TEST_ASSERT_EQUAL_HEX8(0xA5, bytes[1 + size]);
    }
}

/* ---- texts ---- */

static void test_status_texts_are_distinct_and_never_null(void)
{
#define NUMBER(name, number, text) number,
    static const int known[] = {PML_STATUS_LIST(NUMBER)};
#undef NUMBER
    const int count = (int)(sizeof known / sizeof known[0]);
    const int unknown[] = {1, 2, -count, -1000, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        TEST_ASSERT_NOT_NULL(pml_status_text(unknown[i]));
    for (int a = PML_OK; a > -count; a--) {
        TEST_ASSERT_EQUAL(a, known[-a]);
        TEST_ASSERT_NOT_NULL(pml_status_text(a));
        TEST_ASSERT_TRUE(strlen(pml_status_text(a)) > 0);
        for (int b = PML_OK; b > a; b--)
            TEST_ASSERT_TRUE_MESSAGE(strcmp(pml_status_text(a), pml_status_text(b)) != 0, pml_status_text(a));
        for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
            TEST_ASSERT_TRUE(strcmp(pml_status_text(a), pml_status_text(unknown[i])) != 0);
    }
}

static void test_version_is_that_of_the_header(void)
{
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", PML_VERSION_MAJOR, PML_VERSION_MINOR, PML_VERSION_PATCH);
    TEST_ASSERT_EQUAL_STRING(expected, pml_version());
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_sha256_gives_the_digests_of_fips_180);
    RUN_TEST(test_sha256_of_a_million_letters);
    RUN_TEST(test_sha256_of_every_length_to_130);
    RUN_TEST(test_chacha20_gives_the_blocks_of_rfc_8439);
    RUN_TEST(test_random_words_are_the_key_stream_in_order);
    RUN_TEST(test_random_below_accepts_exactly_a_multiple_of_the_bound);
    RUN_TEST(test_random_below_rejects_more_than_once);
    RUN_TEST(test_masks_compare_at_the_extremes);
    RUN_TEST(test_bytes_are_loaded_and_stored_in_their_order);
    RUN_TEST(test_wipe_zeroes_what_it_is_given_and_nothing_else);
    RUN_TEST(test_status_texts_are_distinct_and_never_null);
    RUN_TEST(test_version_is_that_of_the_header);
    return UNITY_END();
}
