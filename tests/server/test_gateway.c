/* SPDX-License-Identifier: Apache-2.0
 * The gateway without HTTP: the requests it reads, the answers it seals, and its keys. */
#define _XOPEN_SOURCE 700
#include "server/gateway/crypto_openssl.h"
#include "server/gateway/gateway.h"
#include "server/gateway/gateway_keys.h"
#include "server_support.h"

#include <sys/stat.h>

enum { RELEASE = 27, MESSAGE = RELEASE + 104, COUNT = 9, PADDED = 5000, EPOCH_NUMBER = 1700000000 };

static const uint8_t pack_id[PML_ID_SIZE] = "a pack of tests";
static struct pml_gateway *gateway;
static struct pml_gateway_keys keys; /* what it has */
static char key_path[512];

static void save_keys(void)
{
    struct pml_bytes text = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_keys_print(&keys, &text));
    put_file("keys", text.bytes, text.size);
    TEST_ASSERT_EQUAL(0, chmod(key_path, 0600));
    pml_gateway_keys_forget(&text);
}

void setUp(void)
{
    make_folder();
    snprintf(key_path, sizeof key_path, "%s", in_folder("keys"));
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_keys_add(&keys, &said));
    save_keys();
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_gateway_open(&gateway, key_path, &said), said.text);
}

void tearDown(void)
{
    pml_gateway_close(gateway);
    gateway = NULL;
    pml_gateway_keys_wipe(&keys);
    remove_folder();
}

/* ---- requests ---- */

/* COUNT messages, the i-th about the release i, i, i, …, for the newest key. */
struct asked {
    uint8_t request[PML_EPOCH_HEAD_SIZE + COUNT * MESSAGE];
    pml_opener openers[COUNT];
};

static void put_number(uint8_t *at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(number >> 8 * (size - 1 - i));
}

static void make_request(struct asked *asked)
{
    const pml_private_key *own = &keys.keys[0].key;
    pml_seal_key key = {.id = own->id, .aead = PML_AEAD_CHACHA20_POLY1305};
    memcpy(key.public_key, own->public_key, sizeof key.public_key);
    put_number(asked->request, EPOCH_NUMBER, 8);
    memcpy(asked->request + 8, pack_id, PML_ID_SIZE);
    put_number(asked->request + 24, COUNT, 4);
    put_number(asked->request + 28, MESSAGE, 4);
    for (size_t i = 0; i < COUNT; i++) {
        uint8_t release[RELEASE];
        memset(release, (int)i, sizeof release);
        TEST_ASSERT_EQUAL(PML_OK, pml_message_seal(pml_crypto_openssl(), &key, EPOCH_NUMBER, pack_id, release, RELEASE,
                                                   pml_entropy_openssl, NULL,
                                                   asked->request + PML_EPOCH_HEAD_SIZE + i * MESSAGE, MESSAGE,
                                                   &asked->openers[i]));
    }
}

static void assert_refused(const struct asked *asked, size_t at, uint64_t number, size_t size)
{
    struct asked changed = *asked;
    struct pml_epoch epoch;
    put_number(changed.request + at, number, size);
    TEST_ASSERT_FALSE(pml_epoch_read(changed.request, sizeof changed.request, &epoch));
    TEST_ASSERT_NULL(epoch.messages);
}

static void test_requests_are_read_only_whole(void)
{
    struct asked asked;
    struct pml_epoch epoch;
    make_request(&asked);
    TEST_ASSERT_TRUE(pml_epoch_read(asked.request, sizeof asked.request, &epoch));
    TEST_ASSERT_EQUAL_UINT64(EPOCH_NUMBER, epoch.number);
    TEST_ASSERT_EQUAL_MEMORY(pack_id, epoch.pack, PML_ID_SIZE);
    TEST_ASSERT_EQUAL_UINT32(COUNT, epoch.count);
    TEST_ASSERT_EQUAL_UINT32(MESSAGE, epoch.message_size);
    TEST_ASSERT_EQUAL_PTR(asked.request + PML_EPOCH_HEAD_SIZE, epoch.messages);
    for (size_t size = 0; size < sizeof asked.request; size++) {
        uint8_t *cut = malloc(size > 0 ? size : 1); /* so that a read beyond it is seen */
        memcpy(cut, asked.request, size);
        TEST_ASSERT_FALSE(pml_epoch_read(cut, size, &epoch));
        free(cut);
    }
    static const uint64_t counts[] = {0, COUNT - 1, COUNT + 1, 1024, 1025, UINT32_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        assert_refused(&asked, 24, counts[i], 4);
    static const uint64_t sizes[] = {0, 1, 55, MESSAGE - 1, MESSAGE + 1, 257, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        assert_refused(&asked, 28, sizes[i], 4);
    assert_refused(&asked, 24, (uint64_t)3 * COUNT << 32 | MESSAGE / 3, 8); /* 27 · 43 is not 9 · 131 */
    for (size_t i = 1; i < 7; i++)                                          /* another algorithm in the last message */
        assert_refused(&asked, PML_EPOCH_HEAD_SIZE + (COUNT - 1) * MESSAGE + i, 7, 1);
}

static void test_clocks_may_differ(void)
{
    const uint64_t now = EPOCH_NUMBER;
    TEST_ASSERT_TRUE(pml_epoch_is_current(now, now));
    TEST_ASSERT_TRUE(pml_epoch_is_current(now + 3600, now));
    TEST_ASSERT_FALSE(pml_epoch_is_current(now + 3601, now));
    TEST_ASSERT_TRUE(pml_epoch_is_current(now - 90000, now));
    TEST_ASSERT_FALSE(pml_epoch_is_current(now - 90001, now));
    TEST_ASSERT_FALSE(pml_epoch_is_current(0, now));
    TEST_ASSERT_FALSE(pml_epoch_is_current(UINT64_MAX, now));
}

/* ---- answers ---- */

/* A pml_inner_fn: the release i, i, … gets 200 and 500 · i bytes i; number 3 gets an error, and so does what is refused. */
static void answer(void *context, unsigned refusal, const void *release, size_t size, struct pml_inner *inner)
{
    const uint8_t *bytes = release;
    ++*(unsigned *)context;
    if (inner->padded == 0)
        inner->padded = PADDED;
    inner->status = refusal > 0 ? refusal : bytes[0] == 3 ? 503 : 200;
    if (inner->status != 200)
        return;
    TEST_ASSERT_EQUAL_UINT64(RELEASE, size);
    for (size_t i = 0; i < (size_t)500 * bytes[0]; i++)
        TEST_ASSERT_EQUAL(PML_DONE, pml_bytes_append(&inner->content, bytes, 1));
}

/* All that a batch gives, read in pieces of this size. */
static struct pml_bytes read_all(struct asked *asked, size_t piece, unsigned *calls)
{
    struct pml_batch_options options = {.gallery = 0x1122334455667788u, .padded = PADDED, answer, calls};
    struct pml_gateway_batch *batch;
    struct pml_bytes all = {0};
    uint8_t bytes[20000];
    ssize_t given;
    TEST_ASSERT_TRUE(pml_epoch_read(asked->request, sizeof asked->request, &options.epoch));
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_batch_open(&batch, gateway, &options));
    while ((given = pml_gateway_batch_read(batch, bytes, piece)) > 0) {
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(piece, (size_t)given);
        TEST_ASSERT_EQUAL(PML_DONE, pml_bytes_append(&all, bytes, (size_t)given));
    }
    TEST_ASSERT_EQUAL(0, given);
    TEST_ASSERT_EQUAL_UINT64(all.size, pml_gateway_batch_size(batch));
    pml_gateway_batch_close(batch);
    return all;
}

static pml_status take_content(void *context, const uint8_t *bytes, size_t size)
{
    return pml_bytes_append(context, bytes, size) == PML_DONE ? PML_OK : PML_ERROR_MEMORY;
}

/* Opens an answer. Returns its status, 0 when it cannot be opened. */
static unsigned open_answer(const pml_opener *opener, const uint8_t *sealed, size_t size, struct pml_bytes *content)
{
    pml_open open;
    uint8_t buffer[PML_OPEN_BUFFER];
    unsigned status = 0;
    TEST_ASSERT_EQUAL(PML_OK, pml_open_begin(&open, pml_crypto_bearssl(), opener, buffer, sizeof buffer, size));
    if (pml_open_feed(&open, sealed, size, take_content, content) != PML_OK)
        return 0;
    return pml_open_end(&open, &status) == PML_OK ? status : 0;
}

static void assert_answers(struct asked *asked, size_t piece)
{
    const size_t size = (size_t)pml_gateway_answer_size(PADDED);
    unsigned calls = 0;
    struct pml_bytes all = read_all(asked, piece, &calls);
    uint8_t head[PML_EPOCH_ANSWERS_HEAD_SIZE];
    TEST_ASSERT_EQUAL_UINT64(sizeof head + COUNT * size, all.size);
    put_number(head, EPOCH_NUMBER, 8);
    memcpy(head + 8, pack_id, PML_ID_SIZE);
    put_number(head + 24, 0x1122334455667788u, 8);
    put_number(head + 32, COUNT, 4);
    put_number(head + 36, size, 4);
    TEST_ASSERT_EQUAL_MEMORY(head, all.bytes, sizeof head);
    for (size_t i = 0; i < COUNT; i++) {
        struct pml_bytes content = {0};
        TEST_ASSERT_EQUAL_UINT32(i == 3 ? 503 : 200,
                                 open_answer(&asked->openers[i], all.bytes + sizeof head + i * size, size, &content));
        TEST_ASSERT_EQUAL_UINT64(i == 3 ? 0 : 500 * i, content.size);
        for (size_t j = 0; j < content.size; j++)
            TEST_ASSERT_EQUAL_UINT8(i, content.bytes[j]);
        pml_bytes_free(&content);
    }
    TEST_ASSERT_EQUAL_UINT32(COUNT, calls);
    pml_bytes_free(&all);
}

static void test_answers_come_in_order_and_in_any_pieces(void)
{
    static const size_t pieces[] = {1, 39, 40, 41, 4096, 5000, 20000};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct asked asked;
        make_request(&asked);
        assert_answers(&asked, pieces[i]);
    }
}

/* Spoils message number `index` in one byte. Nobody is asked about it, and nobody can open what it gets. */
static void assert_spoilt(size_t index, size_t byte)
{
    const size_t size = (size_t)pml_gateway_answer_size(PADDED);
    struct asked asked;
    unsigned calls = 0;
    make_request(&asked);
    asked.request[PML_EPOCH_HEAD_SIZE + index * MESSAGE + byte] ^= 0x10;
    struct pml_bytes all = read_all(&asked, 4096, &calls);
    TEST_ASSERT_EQUAL_UINT32(COUNT - 1, calls);
    TEST_ASSERT_EQUAL_UINT64(PML_EPOCH_ANSWERS_HEAD_SIZE + COUNT * size, all.size);
    const uint8_t *answers = all.bytes + PML_EPOCH_ANSWERS_HEAD_SIZE;
    for (size_t i = 0; i < COUNT; i++) {
        struct pml_bytes content = {0};
        const unsigned status = open_answer(&asked.openers[i], answers + i * size, size, &content);
        TEST_ASSERT_EQUAL_UINT32(i == index ? 0 : i == 3 ? 503 : 200, status);
        pml_bytes_free(&content);
        /* The lengths of chunks lie open, and are those of an answer. */
        TEST_ASSERT_EQUAL_MEMORY("\x50\x10", answers + i * size + 32, 2);
        TEST_ASSERT_EQUAL_UINT8(0, answers[i * size + 32 + 2 + PML_OPEN_BUFFER]);
    }
    pml_bytes_free(&all);
}

static void test_unreadable_messages_look_like_others(void)
{
    for (size_t byte = 0; byte < MESSAGE; byte += byte == 0 ? 7 : 9) /* the header's algorithms are the reader's */
        assert_spoilt(byte % COUNT, byte);
}

static void test_unreadable_messages_are_sealed_for_nobody(void)
{
    const size_t size = (size_t)pml_gateway_answer_size(PADDED);
    struct asked asked;
    struct pml_bytes content = {0};
    unsigned calls = 0;
    make_request(&asked);
    uint8_t *message = asked.request + PML_EPOCH_HEAD_SIZE;
    message[MESSAGE - 1] ^= 1;
    struct pml_bytes all = read_all(&asked, 4096, &calls);
    /* Whoever knows the message knows its enc; a secret of zeros is the first that he would try. */
    pml_opener guesses[3] = {asked.openers[0], asked.openers[0], {.aead = PML_AEAD_CHACHA20_POLY1305}};
    memset(guesses[1].secret, 0, sizeof guesses[1].secret);
    for (size_t i = 0; i < 3; i++)
        TEST_ASSERT_EQUAL_UINT32(0, open_answer(&guesses[i], all.bytes + PML_EPOCH_ANSWERS_HEAD_SIZE, size, &content));
    pml_bytes_free(&content);
    pml_bytes_free(&all);
}

/* The associated data of the messages is another than the request says. */
static void test_messages_of_other_epochs_and_packs_are_unreadable(void)
{
    static const size_t places[] = {7, 8, 23}; /* the epoch's last byte; the pack's first and last */
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct asked asked;
        unsigned calls = 0;
        make_request(&asked);
        asked.request[places[i]] ^= 1;
        struct pml_bytes all = read_all(&asked, 4096, &calls);
        TEST_ASSERT_EQUAL_UINT32(0, calls);
        pml_bytes_free(&all);
    }
}

static void test_too_much_content_ends_the_stream(void)
{
    struct asked asked;
    unsigned calls = 0;
    struct pml_batch_options options = {.padded = PML_SEALED_LEAST, .answer = answer, .context = &calls};
    struct pml_gateway_batch *batch;
    uint8_t bytes[4096];
    make_request(&asked);
    TEST_ASSERT_TRUE(pml_epoch_read(asked.request, sizeof asked.request, &options.epoch));
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_batch_open(&batch, gateway, &options));
    TEST_ASSERT_EQUAL(PML_EPOCH_ANSWERS_HEAD_SIZE, pml_gateway_batch_read(batch, bytes, sizeof bytes));
    for (size_t i = 0; i < 2; i++) /* 0 and 500 bytes: 512 are enough */
        TEST_ASSERT_EQUAL(pml_gateway_answer_size(PML_SEALED_LEAST),
                          pml_gateway_batch_read(batch, bytes, sizeof bytes));
    TEST_ASSERT_EQUAL(-1, pml_gateway_batch_read(batch, bytes, sizeof bytes));
    pml_gateway_batch_close(batch);
}

/* ---- one request, lengths, keys ---- */

static void test_single_requests_with_both_aeads(void)
{
    static const uint8_t release[RELEASE] = {6, 6, 6};
    const pml_private_key *own = &keys.keys[0].key;
    for (uint16_t aead = PML_AEAD_AES_128_GCM; aead <= PML_AEAD_CHACHA20_POLY1305; aead += 2) {
        pml_seal_key key = {.id = own->id, .aead = aead};
        memcpy(key.public_key, own->public_key, sizeof key.public_key);
        const pml_binary_request inside = {
            .method = {"POST", 4}, .scheme = {"https", 5}, .path = {"/v1/query", 9}, .content = {release, RELEASE}};
        uint8_t plain[200], sealed[PML_OHTTP_REQUEST_SIZE(sizeof plain)];
        size_t size;
        unsigned calls = 0;
        pml_opener opener;
        struct pml_bytes reply = {0};
        pml_piece opened;
        pml_binary_response response;
        TEST_ASSERT_EQUAL(PML_OK, pml_binary_request_write(&inside, plain, sizeof plain, &size));
        TEST_ASSERT_EQUAL(PML_OK, pml_ohttp_request_seal(pml_crypto_bearssl(), &key, plain, size, pml_entropy_openssl,
                                                         NULL, sealed, sizeof sealed, &opener));
        size = PML_OHTTP_REQUEST_SIZE(size);
        TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_single(gateway, sealed, size, answer, &calls, &reply));
        TEST_ASSERT_EQUAL(PML_OK,
                          pml_ohttp_response_open(pml_crypto_bearssl(), &opener, reply.bytes, reply.size, &opened));
        TEST_ASSERT_EQUAL_UINT64(PADDED, opened.size);
        TEST_ASSERT_EQUAL(PML_OK, pml_binary_response_read(opened.bytes, opened.size, &response));
        TEST_ASSERT_EQUAL_UINT64(3000, response.content.size);
        TEST_ASSERT_EQUAL(PML_REFUSED, pml_gateway_single(gateway, sealed, size, answer, &calls, &reply));
        sealed[0]++;
        TEST_ASSERT_EQUAL(PML_ABSENT, pml_gateway_single(gateway, sealed, size, answer, &calls, &reply));
        TEST_ASSERT_EQUAL_UINT32(1, calls);
        pml_bytes_free(&reply);
    }
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_gateway_single(gateway, NULL, 0, answer, NULL, NULL));
}

static void test_lengths_are_those_of_the_spec(void)
{
    TEST_ASSERT_EQUAL_UINT64(MESSAGE, pml_gateway_message_size(RELEASE));
    TEST_ASSERT_EQUAL_UINT64(PML_SEALED_LEAST, pml_gateway_padded(0));
    TEST_ASSERT_EQUAL_UINT64(PML_SEALED_LEAST, pml_gateway_padded(505));
    TEST_ASSERT_EQUAL_UINT64(PML_SEALED_LEAST + 1, pml_gateway_padded(506));
    TEST_ASSERT_EQUAL_UINT64(16383 + 7, pml_gateway_padded(16383));
    TEST_ASSERT_EQUAL_UINT64(16384 + 9, pml_gateway_padded(16384));
    TEST_ASSERT_EQUAL_UINT64(PML_SEALED_MOST, pml_gateway_padded(PML_SEALED_MOST - 9));
    TEST_ASSERT_EQUAL_UINT64(0, pml_gateway_padded(PML_SEALED_MOST - 8));
    TEST_ASSERT_EQUAL_UINT64(0, pml_gateway_padded(UINT64_MAX));
}

static void test_ids_are_used_again_as_late_as_possible(void)
{
    const uint8_t first = keys.keys[0].key.id;
    for (unsigned i = 1; i < 256; i++) {
        TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_keys_add(&keys, &said));
        TEST_ASSERT_EQUAL_UINT8(first + i, keys.keys[0].key.id);
        if (keys.count > 2)
            TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_keys_drop(&keys, keys.keys[2].key.id));
    }
    TEST_ASSERT_EQUAL(PML_ABSENT, pml_gateway_keys_drop(&keys, first));
}

static void test_dropped_keys_are_gone(void)
{
    static const struct pml_gateway_key none;
    while (keys.count < 4)
        TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_keys_add(&keys, &said));
    static const size_t places[] = {3, 0, 1}; /* the last, the first, the last */
    for (size_t i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_keys_drop(&keys, keys.keys[places[i]].key.id));
        TEST_ASSERT_EQUAL_MEMORY(&none, &keys.keys[keys.count], sizeof none);
    }
}

static void test_keys_are_reloaded_or_stay(void)
{
    struct pml_bytes before = {0}, after = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_configuration(gateway, &before));
    TEST_ASSERT_EQUAL(0, chmod(key_path, 0604)); /* everybody may read them */
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_gateway_reload(gateway, &said));
    assert_said("chmod");
    TEST_ASSERT_EQUAL(0, chmod(key_path, 0640));
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_reload(gateway, &said));
    put_file("keys", "key", 3);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_gateway_reload(gateway, &said));
    assert_said("key ID DATE");
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_configuration(gateway, &after));
    TEST_ASSERT_EQUAL_UINT64(PML_KEY_CONFIGURATION_SIZE, after.size);
    TEST_ASSERT_EQUAL_MEMORY(before.bytes, after.bytes, after.size);
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_keys_add(&keys, &said));
    save_keys();
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_reload(gateway, &said));
    after.size = 0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_configuration(gateway, &after));
    TEST_ASSERT_EQUAL_UINT64((size_t)2 * PML_KEY_CONFIGURATION_SIZE, after.size);
    TEST_ASSERT_EQUAL_MEMORY(before.bytes, after.bytes + PML_KEY_CONFIGURATION_SIZE, PML_KEY_CONFIGURATION_SIZE);
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_keys_drop(&keys, keys.keys[1].key.id));
    save_keys();
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_reload(gateway, &said));
    before.size = 0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_gateway_configuration(gateway, &before));
    TEST_ASSERT_EQUAL_UINT64(PML_KEY_CONFIGURATION_SIZE, before.size);
    TEST_ASSERT_EQUAL_MEMORY(after.bytes, before.bytes, before.size);
    pml_bytes_free(&before);
    pml_bytes_free(&after);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_requests_are_read_only_whole);
    RUN_TEST(test_clocks_may_differ);
    RUN_TEST(test_answers_come_in_order_and_in_any_pieces);
    RUN_TEST(test_unreadable_messages_look_like_others);
    RUN_TEST(test_unreadable_messages_are_sealed_for_nobody);
    RUN_TEST(test_messages_of_other_epochs_and_packs_are_unreadable);
    RUN_TEST(test_too_much_content_ends_the_stream);
    RUN_TEST(test_single_requests_with_both_aeads);
    RUN_TEST(test_lengths_are_those_of_the_spec);
    RUN_TEST(test_ids_are_used_again_as_late_as_possible);
    RUN_TEST(test_dropped_keys_are_gone);
    RUN_TEST(test_keys_are_reloaded_or_stay);
    return UNITY_END();
}
