/* SPDX-License-Identifier: Apache-2.0
 * Answers: sealed in chunks, opened as a stream in pieces of any size; cut, changed, reordered or foreign ones are refused,
 * and nothing of a chunk is handed out before its tag is checked. */
#include "transport_support.h"

#include "transport/capsule.h"

#define MOST 17000u

void setUp(void)
{
}

void tearDown(void)
{
}

/* One message with its answer. */
struct exchange {
    struct scene s;
    pml_opener client, gateway;
    uint8_t content[MOST], answer[MOST + 256], got[MOST];
    size_t content_size;
    uint64_t size;
};

static struct exchange e;

static void set_exchange(size_t content_size, size_t padded)
{
    uint8_t message[RELEASE_SIZE + 104];
    pml_opened opened;
    set_scene(&e.s);
    seal_message(&e.s, message, sizeof message, &e.client);
    TEST_ASSERT_EQUAL(
        PML_OK, pml_message_open(e.s.crypto, &e.s.private_key, EPOCH, e.s.pack_id, message, sizeof message, &opened));
    e.gateway = opened.opener;
    e.content_size = content_size;
    for (size_t i = 0; i < content_size; i++)
        e.content[i] = (uint8_t)(i * 31 + i / 256 + 1);
    e.size = pml_answer_size(padded);
    TEST_ASSERT_TRUE(e.size <= sizeof e.answer);
    TEST_ASSERT_EQUAL(PML_OK, pml_answer_seal(e.s.crypto, &e.gateway, 200, e.content, content_size, padded, counting,
                                              &e.s.count, e.answer, (size_t)e.size));
}

/* Feeds `size` bytes in pieces, then ends. Returns the first failure. */
static pml_status open_answer(const uint8_t *answer, size_t size, uint64_t announced, size_t piece, struct taken *taken,
                              unsigned *status)
{
    static uint8_t buffer[PML_OPEN_BUFFER];
    pml_open open;
    *taken = (struct taken){.bytes = e.got, .capacity = sizeof e.got};
    *status = 0;
    pml_status result = pml_open_begin(&open, e.s.crypto, &e.client, buffer, sizeof buffer, announced);
    if (result != PML_OK)
        return result;
    for (size_t at = 0; at < size && result == PML_OK; at += piece)
        result = pml_open_feed(&open, answer + at, size - at < piece ? size - at : piece, take_content, taken);
    const pml_status end = pml_open_end(&open, status);
    TEST_ASSERT_TRUE(all_zero(&open, sizeof open));
    TEST_ASSERT_TRUE(all_zero(buffer, sizeof buffer));
    if (result != PML_OK) {
        TEST_ASSERT_EQUAL(PML_ERROR_STATE, end);
        return result;
    }
    return end;
}

static void check_opens(size_t piece)
{
    struct taken taken;
    unsigned status;
    TEST_ASSERT_EQUAL(PML_OK, open_answer(e.answer, (size_t)e.size, e.size, piece, &taken, &status));
    TEST_ASSERT_EQUAL(200, status);
    TEST_ASSERT_EQUAL(e.content_size, taken.size);
    TEST_ASSERT_EQUAL(0, memcmp(e.content, e.got, taken.size));
}

/* Refused; what was handed out before is a true beginning of the content, of whole chunks. */
static void check_refused(const uint8_t *answer, size_t size, uint64_t announced)
{
    struct taken taken;
    unsigned status;
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED, open_answer(answer, size, announced, size, &taken, &status));
    TEST_ASSERT_EQUAL(0, status);
    TEST_ASSERT_TRUE(taken.size <= e.content_size);
    TEST_ASSERT_EQUAL(0, memcmp(e.content, e.got, taken.size));
}

static void test_sizes(void)
{
    TEST_ASSERT_EQUAL(0, pml_answer_size(0));
    TEST_ASSERT_EQUAL(50, pml_answer_size(1));
    TEST_ASSERT_EQUAL(32 + 1 + 512 + 16, pml_answer_size(512));
    TEST_ASSERT_EQUAL(32 + 1 + 4096 + 16, pml_answer_size(4096));
    TEST_ASSERT_EQUAL(32 + 4114 + 1 + 1 + 16, pml_answer_size(4097));
    TEST_ASSERT_EQUAL(32 + 4114 + 1 + 4096 + 16, pml_answer_size(8192));
    TEST_ASSERT_EQUAL(32 + 2 * 4114 + 1 + 1 + 16, pml_answer_size(8193));
    TEST_ASSERT_EQUAL(6, pml_binary_response_size(0));
    TEST_ASSERT_EQUAL(6 + 63, pml_binary_response_size(63));
    TEST_ASSERT_EQUAL(7 + 64, pml_binary_response_size(64));
    TEST_ASSERT_EQUAL(9 + 16384, pml_binary_response_size(16384));
}

static void test_chunk_boundaries(void)
{
    static const size_t sizes[] = {512, 4095, 4096, 4097, 8191, 8192, 8193, 12289};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t room = sizes[i] - 7; /* without padding */
        const size_t contents[] = {0, 1, 63, 64, 500, 4088, 4089, 4090, 4091, 4096, 8185, room - 1, room};
        for (size_t j = 0; j < sizeof contents / sizeof contents[0]; j++) {
            if (contents[j] > room)
                continue;
            set_exchange(contents[j], sizes[i]);
            check_opens((size_t)e.size);
            check_opens(1 + (i + j) % 3);
            check_opens(4096 + j);
        }
        TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_answer_seal(e.s.crypto, &e.gateway, 200, e.content, room + 1, sizes[i],
                                                            counting, &e.s.count, e.answer, sizeof e.answer));
        TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_answer_seal(e.s.crypto, &e.gateway, 200, e.content, room, sizes[i],
                                                            counting, &e.s.count, e.answer, (size_t)e.size - 1));
        TEST_ASSERT_TRUE(all_zero(e.answer, (size_t)e.size - 1));
    }
}

static void test_every_flipped_bit(void)
{
    set_exchange(300, 512);
    for (size_t bit = 0; bit < 8 * e.size; bit++) {
        e.answer[bit / 8] ^= (uint8_t)(1u << bit % 8);
        check_refused(e.answer, (size_t)e.size, e.size);
        e.answer[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    check_opens(7);
}

static void test_every_truncation(void)
{
    struct taken taken;
    unsigned status;
    set_exchange(300, 512);
    for (size_t size = 0; size < e.size; size++) {
        if (size > 0)
            check_refused(e.answer, size, e.size);
        TEST_ASSERT_EQUAL(PML_ERROR_SEALED, open_answer(e.answer, size, size, (size_t)e.size, &taken, &status));
        TEST_ASSERT_EQUAL(0, taken.size);
    }
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED, open_answer(e.answer, 0, e.size, 1, &taken, &status));
    check_refused(e.answer, (size_t)e.size + 1, e.size); /* one byte too many */
}

/* Three chunks: cut behind one of them, whatever length is announced; changed; two exchanged. */
static void test_chunks_are_bound(void)
{
    static uint8_t changed[sizeof e.answer];
    struct taken taken;
    unsigned status;
    set_exchange(12000, 12100);
    const size_t first = 32, second = first + CHUNK_STEP, third = second + CHUNK_STEP;

    /* The first chunk, then the end: its content is handed out, but the end never says that this was all. */
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED, open_answer(e.answer, second, e.size, 999, &taken, &status));
    TEST_ASSERT_EQUAL(4096 - 6, taken.size);

    /* The first chunk dressed as the last, with a content that ends in it: only the associated data tells. */
    set_exchange(3000, 12100);
    memcpy(changed, e.answer, 32);
    changed[32] = 0;
    memcpy(changed + 33, e.answer + 34, CHUNK_STEP - 2);
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED,
                      open_answer(changed, 33 + CHUNK_STEP - 2, 33 + CHUNK_STEP - 2, 999, &taken, &status));
    TEST_ASSERT_EQUAL(0, taken.size);

    /* Two chunks exchanged that are neither the first nor the last: only their nonces tell. */
    set_exchange(16000, 16100);
    memcpy(changed, e.answer, (size_t)e.size);
    memcpy(changed + second, e.answer + third, CHUNK_STEP);
    memcpy(changed + third, e.answer + second, CHUNK_STEP);
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED, open_answer(changed, (size_t)e.size, e.size, 999, &taken, &status));
    TEST_ASSERT_EQUAL(4096 - 6, taken.size);

    set_exchange(12000, 12100);
    memcpy(changed, e.answer, (size_t)e.size);
    memcpy(changed + first, e.answer + second, CHUNK_STEP);
    memcpy(changed + second, e.answer + first, CHUNK_STEP);
    check_refused(changed, (size_t)e.size, e.size);
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED, open_answer(changed, (size_t)e.size, e.size, 999, &taken, &status));
    TEST_ASSERT_EQUAL(0, taken.size);

    for (size_t at = third; at < e.size; at += 97) {
        memcpy(changed, e.answer, (size_t)e.size);
        changed[at] ^= 0x10;
        TEST_ASSERT_EQUAL(PML_ERROR_SEALED, open_answer(changed, (size_t)e.size, e.size, 999, &taken, &status));
        TEST_ASSERT_EQUAL(8192 - 6, taken.size);
        TEST_ASSERT_EQUAL(2, taken.calls);
    }
    for (size_t at = second; at < second + 2; at++) { /* the length of a chunk */
        memcpy(changed, e.answer, (size_t)e.size);
        changed[at] ^= 1;
        check_refused(changed, (size_t)e.size, e.size);
    }
}

static void test_foreign_answers(void)
{
    static uint8_t answer[sizeof e.answer];
    set_exchange(300, 512);
    const pml_opener own = e.client;
    memcpy(answer, e.answer, sizeof answer);
    e.client.secret[0] ^= 1;
    check_refused(answer, (size_t)e.size, e.size);
    e.client = own;
    e.client.enc[31] ^= 1;
    check_refused(answer, (size_t)e.size, e.size);
    e.client = own;
    check_opens(100);
    /* The nonce is fresh in every answer. */
    const uint64_t size = e.size;
    TEST_ASSERT_EQUAL(PML_OK, pml_answer_seal(e.s.crypto, &e.gateway, 200, e.content, 300, 512, counting, &e.s.count,
                                              e.answer, (size_t)size));
    TEST_ASSERT_NOT_EQUAL(0, memcmp(answer, e.answer, 32));
    check_opens(100);
}

/* ---- what may stand inside ---- */

/* Seals any plaintext of one chunk. */
static void seal_plaintext(const uint8_t *plaintext, size_t size)
{
    const pml_aead *aead = pml_aead_find(e.s.crypto, PML_AEAD_CHACHA20_POLY1305);
    uint8_t key[32], nonce[12], *data = e.answer + 33;
    TEST_ASSERT_EQUAL(0, pml_response_keys(e.s.crypto, aead, &e.gateway, e.answer, key, nonce));
    e.answer[32] = 0;
    memcpy(data, plaintext, size);
    TEST_ASSERT_EQUAL(0, aead->seal(key, nonce, (const uint8_t *)"final", 5, data, size, data + size));
    e.size = pml_answer_size(size);
}

static void test_what_is_refused_inside(void)
{
    static const struct {
        const char *hex;
        bool good;
    } cases[] = {
        {"0140c80003aabbcc00", true},
        {"0140c80003aabbcc000000", true},
        {"0140c80003aabbcc", false},     /* no place for trailers */
        {"0140c80003aabbcc01", false},   /* trailers */
        {"0140c80003aabbcc0001", false}, /* padding that is not zero */
        {"0140c80004aabbcc00", false},   /* the content would reach over the trailers */
        {"0140c8ffffffffffffffffff", false},
        {"0040c80003aabbcc00", false},           /* a request */
        {"0340c80003aabbcc00", false},           /* of indeterminate length */
        {"0140c80303aabbcc00", false},           /* fields */
        {"01406400000140c80003aabbcc00", false}, /* informational */
        {"0142580003aabbcc00", false},           /* status 600 */
        {"014057", false},
        {"01", false},
        {"00", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t plaintext[64];
        struct taken taken;
        unsigned status;
        set_exchange(3, 512);
        seal_plaintext(plaintext, unhex(cases[i].hex, plaintext));
        TEST_ASSERT_EQUAL_MESSAGE(cases[i].good ? PML_OK : PML_ERROR_SEALED,
                                  open_answer(e.answer, (size_t)e.size, e.size, 5, &taken, &status), cases[i].hex);
        TEST_ASSERT_EQUAL_MESSAGE(cases[i].good ? 3 : 0, taken.size, cases[i].hex);
    }
}

static pml_status see_status(void *context, const uint8_t *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    TEST_ASSERT_EQUAL(409, pml_open_status(context));
    return PML_OK;
}

static void test_the_status_is_known_before_the_content(void)
{
    static uint8_t buffer[PML_OPEN_BUFFER];
    pml_open open;
    unsigned status;
    set_exchange(3, 512);
    TEST_ASSERT_EQUAL(PML_OK, pml_answer_seal(e.s.crypto, &e.gateway, 409, "epoch", 5, 512, counting, &e.s.count,
                                              e.answer, sizeof e.answer));
    TEST_ASSERT_EQUAL(PML_OK, pml_open_begin(&open, e.s.crypto, &e.client, buffer, sizeof buffer, e.size));
    TEST_ASSERT_EQUAL(0, pml_open_status(&open));
    TEST_ASSERT_EQUAL(PML_OK, pml_open_feed(&open, e.answer, (size_t)e.size, see_status, &open));
    TEST_ASSERT_EQUAL(PML_OK, pml_open_end(&open, &status));
    TEST_ASSERT_EQUAL(409, status);
}

static void test_the_sink_fails(void)
{
    static uint8_t buffer[PML_OPEN_BUFFER];
    pml_open open;
    set_exchange(300, 512);
    struct taken taken = {.bytes = e.got, .capacity = sizeof e.got, .status = PML_ERROR_ANSWER};
    TEST_ASSERT_EQUAL(PML_OK, pml_open_begin(&open, e.s.crypto, &e.client, buffer, sizeof buffer, e.size));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, pml_open_feed(&open, e.answer, (size_t)e.size, take_content, &taken));
    TEST_ASSERT_TRUE(all_zero(&open, sizeof open));
    TEST_ASSERT_TRUE(all_zero(buffer, sizeof buffer));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_open_feed(&open, e.answer, 1, take_content, &taken));
}

static void test_bad_calls(void)
{
    static uint8_t buffer[PML_OPEN_BUFFER];
    pml_open open;
    unsigned status;
    struct taken taken = {.bytes = e.got, .capacity = sizeof e.got};
    set_exchange(300, 512);
    const pml_crypto *crypto = e.s.crypto;
    TEST_ASSERT_EQUAL(PML_ERROR_MEMORY, pml_open_begin(&open, crypto, &e.client, buffer, sizeof buffer - 1, e.size));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_open_feed(&open, e.answer, 1, take_content, &taken));
    TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_open_end(&open, &status));
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED, pml_open_begin(&open, crypto, &e.client, buffer, sizeof buffer, UINT64_MAX));
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED, pml_open_begin(&open, crypto, &e.client, buffer, sizeof buffer, 49));
    /* Between the largest answer of one chunk and the least of two. */
    for (uint64_t size = pml_answer_size(4096) + 1; size < pml_answer_size(4097); size++)
        TEST_ASSERT_EQUAL(PML_ERROR_SEALED, pml_open_begin(&open, crypto, &e.client, buffer, sizeof buffer, size));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_open_begin(NULL, crypto, &e.client, buffer, sizeof buffer, e.size));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_open_begin(&open, NULL, &e.client, buffer, sizeof buffer, e.size));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_open_begin(&open, crypto, NULL, buffer, sizeof buffer, e.size));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_open_begin(&open, crypto, &e.client, NULL, sizeof buffer, e.size));
    e.client.aead = PML_AEAD_AES_128_GCM;
    TEST_ASSERT_EQUAL(PML_ERROR_KEYS, pml_open_begin(&open, crypto, &e.client, buffer, sizeof buffer, e.size));
    TEST_ASSERT_EQUAL(PML_ERROR_ENTROPY, pml_answer_seal(crypto, &e.gateway, 200, e.content, 300, 512, failing, NULL,
                                                         e.answer, sizeof e.answer));
    TEST_ASSERT_TRUE(all_zero(e.answer, sizeof e.answer));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_answer_seal(crypto, &e.gateway, 199, e.content, 300, 512, counting,
                                                          &e.s.count, e.answer, sizeof e.answer));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_sizes);
    RUN_TEST(test_chunk_boundaries);
    RUN_TEST(test_every_flipped_bit);
    RUN_TEST(test_every_truncation);
    RUN_TEST(test_chunks_are_bound);
    RUN_TEST(test_foreign_answers);
    RUN_TEST(test_what_is_refused_inside);
    RUN_TEST(test_the_status_is_known_before_the_content);
    RUN_TEST(test_the_sink_fails);
    RUN_TEST(test_bad_calls);
    return UNITY_END();
}
