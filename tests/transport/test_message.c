/* SPDX-License-Identifier: Apache-2.0
 * Messages of an epoch and single requests: what goes in comes out, and nothing else opens. */
#include "transport_support.h"

#include "transport/capsule.h"

#define MESSAGE_SIZE (RELEASE_SIZE + 104u)

void setUp(void)
{
}

void tearDown(void)
{
}

static pml_status open_copy(const struct scene *s, const uint8_t *message, size_t size, pml_opened *opened)
{
    static uint8_t copy[1024];
    memcpy(copy, message, size);
    return pml_message_open(s->crypto, &s->private_key, EPOCH, s->pack_id, copy, size, opened);
}

static void refuse(const struct scene *s, const uint8_t *message, size_t size)
{
    pml_opened opened;
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED, open_copy(s, message, size, &opened));
    TEST_ASSERT_TRUE(all_zero(&opened, sizeof opened));
}

static void test_a_message_opens(void)
{
    struct scene s;
    set_scene(&s);
    uint8_t message[MESSAGE_SIZE];
    pml_opener opener;
    pml_opened opened;
    TEST_ASSERT_EQUAL(MESSAGE_SIZE, pml_message_size(RELEASE_SIZE));
    seal_message(&s, message, sizeof message, &opener);
    ASSERT_HEX("07002000010003", message);
    TEST_ASSERT_EQUAL(PML_OK, open_copy(&s, message, sizeof message, &opened));
    TEST_ASSERT_EQUAL(200, opened.status);
    TEST_ASSERT_EQUAL(RELEASE_SIZE, opened.content.size);
    TEST_ASSERT_EQUAL_MEMORY(s.release, opened.content.bytes, RELEASE_SIZE);
    TEST_ASSERT_EQUAL_MEMORY(&opener, &opened.opener, sizeof opener);
    /* SPEC 10.3, byte for byte */
    ASSERT_HEX("0004504f535405687474707300092f76312f7175657279170565706f6368103031323334353637383961626364656"
               "61b",
               opened.plaintext.bytes);
}

static void test_sizes(void)
{
    static uint8_t release[PML_SEAL_RELEASE_MAX + 1], message[PML_SEAL_RELEASE_MAX + 106], copy[sizeof message];
    static const size_t sizes[] = {1, 63, 64, 65, 1000, PML_SEAL_RELEASE_MAX};
    struct scene s;
    set_scene(&s);
    pml_opened opened;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t size = sizes[i] + (sizes[i] < 64 ? 104 : 105);
        TEST_ASSERT_EQUAL(size, pml_message_size(sizes[i]));
        TEST_ASSERT_EQUAL(PML_OK, pml_message_seal(s.crypto, &s.key, EPOCH, s.pack_id, release, sizes[i], counting,
                                                   &s.count, message, sizeof message, NULL));
        TEST_ASSERT_TRUE(all_zero(message + size, sizeof message - size));
        memcpy(copy, message, size);
        TEST_ASSERT_EQUAL(PML_OK, pml_message_open(s.crypto, &s.private_key, EPOCH, s.pack_id, copy, size, &opened));
        TEST_ASSERT_EQUAL(sizes[i], opened.content.size);
        /* One byte less fails and leaves nothing. */
        TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_message_seal(s.crypto, &s.key, EPOCH, s.pack_id, release, sizes[i],
                                                             counting, &s.count, message, size - 1, NULL));
        TEST_ASSERT_TRUE(all_zero(message, size - 1));
    }
    TEST_ASSERT_EQUAL(0, pml_message_size(0));
    TEST_ASSERT_EQUAL(0, pml_message_size(PML_SEAL_RELEASE_MAX + 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT,
                      pml_message_seal(s.crypto, &s.key, EPOCH, s.pack_id, release, PML_SEAL_RELEASE_MAX + 1, counting,
                                       &s.count, message, sizeof message, NULL));
}

static void test_every_flipped_bit_and_every_truncation(void)
{
    struct scene s;
    set_scene(&s);
    uint8_t message[MESSAGE_SIZE + 1] = {0};
    seal_message(&s, message, sizeof message, NULL);
    for (size_t bit = 0; bit < 8 * MESSAGE_SIZE; bit++) {
        message[bit / 8] ^= (uint8_t)(1u << bit % 8);
        refuse(&s, message, MESSAGE_SIZE);
        message[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t size = 0; size < MESSAGE_SIZE; size++)
        refuse(&s, message, size);
    refuse(&s, message, MESSAGE_SIZE + 1);
    pml_opened opened;
    TEST_ASSERT_EQUAL(PML_OK, open_copy(&s, message, MESSAGE_SIZE, &opened));
}

static void test_another_epoch_pack_or_key(void)
{
    struct scene s, other;
    set_scene(&s);
    uint8_t message[MESSAGE_SIZE];
    seal_message(&s, message, sizeof message, NULL);
    other = s;
    other.pack_id[15] ^= 1;
    refuse(&other, message, sizeof message);
    other = s;
    other.private_key.id ^= 1;
    refuse(&other, message, sizeof message);
    other = s;
    other.private_key.secret[5] ^= 1;
    TEST_ASSERT_EQUAL(PML_OK, pml_key_complete(other.crypto, &other.private_key));
    refuse(&other, message, sizeof message);
    pml_opened opened;
    for (unsigned i = 0; i < 64; i += 7) {
        uint8_t copy[MESSAGE_SIZE];
        memcpy(copy, message, sizeof copy);
        TEST_ASSERT_EQUAL(PML_ERROR_SEALED, pml_message_open(s.crypto, &s.private_key, EPOCH ^ (uint64_t)1 << i,
                                                             s.pack_id, copy, sizeof copy, &opened));
        TEST_ASSERT_TRUE(all_zero(copy + PML_SEAL_HEAD_SIZE, MESSAGE_SIZE - PML_SEAL_HEAD_SIZE - PML_AEAD_TAG_SIZE));
    }
}

/* An epoch's message is no single request, and the other way round. */
static void test_kinds_do_not_mix(void)
{
    struct scene s;
    set_scene(&s);
    uint8_t message[MESSAGE_SIZE], request[64 + 55];
    pml_opened opened;
    seal_message(&s, message, sizeof message, NULL);
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED,
                      pml_ohttp_request_open(s.crypto, &s.private_key, message, sizeof message, &opened));
    memset(request, 0, sizeof request);
    TEST_ASSERT_EQUAL(PML_OK, pml_ohttp_request_seal(s.crypto, &s.key, request + PML_SEAL_HEAD_SIZE, 64, counting,
                                                     &s.count, request, sizeof request, NULL));
    refuse(&s, request, sizeof request);
}

/* Seals any plaintext as a message of this epoch, as a hostile client may, and opens it. */
static void open_crafted(struct scene *s, const void *plaintext, size_t size, pml_opened *opened)
{
    static uint8_t message[512];
    const pml_aead *aead = pml_aead_find(s->crypto, PML_AEAD_CHACHA20_POLY1305);
    const pml_binding binding = pml_binding_epoch(EPOCH, s->pack_id);
    uint8_t info[CAPSULE_INFO_MAX], ephemeral[32], *data = message + PML_SEAL_HEAD_SIZE;
    pml_hpke hpke;
    (void)counting(&s->count, ephemeral, sizeof ephemeral);
    pml_capsule_header(message, s->key.id, PML_AEAD_CHACHA20_POLY1305);
    TEST_ASSERT_EQUAL(0, pml_hpke_send(&hpke, s->crypto, aead, s->key.public_key,
                                       pml_capsule_info(binding.request, message, info), ephemeral,
                                       message + CAPSULE_HEADER));
    memcpy(data, plaintext, size);
    TEST_ASSERT_EQUAL(0, aead->seal(hpke.key, hpke.nonce, binding.aad, binding.aad_size, data, size, data + size));
    TEST_ASSERT_EQUAL(PML_OK, pml_message_open(s->crypto, &s->private_key, EPOCH, s->pack_id, message,
                                               PML_OHTTP_REQUEST_SIZE(size), opened));
    TEST_ASSERT_EQUAL(size, opened->plaintext.size);
}

static unsigned status_of(struct scene *s, const char *method, const char *path, const char *field)
{
    uint8_t bytes[256];
    size_t size;
    pml_opened opened;
    const pml_binary_request request = {
        .method = {method, strlen(method)},
        .scheme = {"https", 5},
        .path = {path, strlen(path)},
        .fields = {field, strlen(field)},
        .content = {s->release, RELEASE_SIZE},
    };
    TEST_ASSERT_EQUAL(PML_OK, pml_binary_request_write(&request, bytes, sizeof bytes, &size));
    open_crafted(s, bytes, size, &opened);
    TEST_ASSERT_EQUAL(opened.status == 200 ? RELEASE_SIZE : 0, opened.content.size);
    TEST_ASSERT_FALSE(all_zero(opened.opener.secret, 32));
    return opened.status;
}

/* Who can seal can write anything inside. It is refused inside, with an opener to say so. */
static void test_what_is_refused_inside(void)
{
    struct scene s;
    set_scene(&s);
    pml_opened opened;
    TEST_ASSERT_EQUAL(200, status_of(&s, "POST", "/v1/query", "\005epoch\0200123456789abcdef"));
    TEST_ASSERT_EQUAL(200, status_of(&s, "POST", "/v1/query", "\001a\001b\005epoch\0200123456789abcdef"));
    TEST_ASSERT_EQUAL(409, status_of(&s, "POST", "/v1/query", "\005epoch\0200123456789abcdee"));
    TEST_ASSERT_EQUAL(409, status_of(&s, "POST", "/v1/query", "\005epoch\0200123456789ABCDEF"));
    TEST_ASSERT_EQUAL(409, status_of(&s, "POST", "/v1/query", "\005epoch\0170123456789abcde"));
    TEST_ASSERT_EQUAL(409, status_of(&s, "POST", "/v1/query", ""));
    TEST_ASSERT_EQUAL(404, status_of(&s, "GET", "/v1/query", "\005epoch\0200123456789abcdef"));
    TEST_ASSERT_EQUAL(404, status_of(&s, "POST", "/v1/pack", "\005epoch\0200123456789abcdef"));
    TEST_ASSERT_EQUAL(404, status_of(&s, "POST", "/v1/query/", "\005epoch\0200123456789abcdef"));
    TEST_ASSERT_EQUAL(400, status_of(&s, "POST", "/v1/query", "\005epoch\0210123456789abcdef"));
    open_crafted(&s, "no HTTP", 7, &opened);
    TEST_ASSERT_EQUAL(400, opened.status);
    open_crafted(&s, "", 0, &opened);
    TEST_ASSERT_EQUAL(400, opened.status);
}

static void test_keys_that_cannot_be_used(void)
{
    struct scene s;
    set_scene(&s);
    uint8_t message[MESSAGE_SIZE];
    pml_opener opener;
    memset(&opener, 1, sizeof opener);
    s.key.aead = PML_AEAD_AES_128_GCM; /* not in an epoch */
    TEST_ASSERT_EQUAL(PML_ERROR_KEYS, pml_message_seal(s.crypto, &s.key, EPOCH, s.pack_id, s.release, RELEASE_SIZE,
                                                       counting, &s.count, message, sizeof message, &opener));
    TEST_ASSERT_TRUE(all_zero(&opener, sizeof opener));
    s.key.aead = 0x7777;
    TEST_ASSERT_EQUAL(PML_ERROR_KEYS, pml_ohttp_request_seal(s.crypto, &s.key, s.release, RELEASE_SIZE, counting,
                                                             &s.count, message, sizeof message, NULL));
}

/* Points of small order (RFC 7748, section 6.1; 0, 1, p - 1, p, p + 1, and two of order 8): the result would be known to
 * everybody. */
static void test_points_of_small_order(void)
{
    static const char *const points[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "0000000000000000000000000000000000000000000000000000000000000080",
    };
    struct scene s;
    set_scene(&s);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        uint8_t message[MESSAGE_SIZE];
        struct scene other = s;
        pml_opener opener;
        unhex(points[i], other.key.public_key);
        TEST_ASSERT_EQUAL(PML_ERROR_KEYS,
                          pml_message_seal(s.crypto, &other.key, EPOCH, s.pack_id, s.release, RELEASE_SIZE, counting,
                                           &s.count, message, sizeof message, &opener));
        TEST_ASSERT_TRUE(all_zero(message, sizeof message));
        TEST_ASSERT_TRUE(all_zero(&opener, sizeof opener));
        seal_message(&s, message, sizeof message, NULL);
        unhex(points[i], message + 7);
        refuse(&s, message, sizeof message);
    }
}

static void test_entropy_fails(void)
{
    struct scene s;
    set_scene(&s);
    uint8_t message[MESSAGE_SIZE];
    pml_opener opener;
    memset(&opener, 1, sizeof opener);
    TEST_ASSERT_EQUAL(PML_ERROR_ENTROPY, pml_message_seal(s.crypto, &s.key, EPOCH, s.pack_id, s.release, RELEASE_SIZE,
                                                          failing, NULL, message, sizeof message, &opener));
    TEST_ASSERT_TRUE(all_zero(message, sizeof message));
    TEST_ASSERT_TRUE(all_zero(&opener, sizeof opener));
    TEST_ASSERT_EQUAL(PML_ERROR_ENTROPY, pml_message_seal(s.crypto, &s.key, EPOCH, s.pack_id, s.release, RELEASE_SIZE,
                                                          stuck, NULL, message, sizeof message, &opener));
    TEST_ASSERT_TRUE(all_zero(message, sizeof message));
    TEST_ASSERT_EQUAL(PML_ERROR_ENTROPY, pml_ohttp_request_seal(s.crypto, &s.key, s.release, RELEASE_SIZE, failing,
                                                                NULL, message, sizeof message, &opener));
    TEST_ASSERT_TRUE(all_zero(message, sizeof message));
}

/* Two messages of the same release share nothing but the header. */
static void test_messages_look_alike_and_differ(void)
{
    struct scene s;
    set_scene(&s);
    uint8_t one[MESSAGE_SIZE], two[MESSAGE_SIZE];
    seal_message(&s, one, sizeof one, NULL);
    seal_message(&s, two, sizeof two, NULL);
    TEST_ASSERT_EQUAL_MEMORY(one, two, 7);
    size_t same = 0;
    for (size_t i = 7; i < MESSAGE_SIZE; i++)
        same += one[i] == two[i];
    TEST_ASSERT_TRUE(same < 8);
}

/* ---- single requests ---- */

static void test_single_requests(void)
{
    static const uint16_t aeads[] = {PML_AEAD_CHACHA20_POLY1305, PML_AEAD_AES_128_GCM};
    struct scene s;
    set_scene(&s);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t sealed[160], copy[160], answer[160], plain[80];
        pml_opener opener;
        pml_opened opened;
        pml_piece response;
        size_t size;
        s.key.aead = aeads[i];
        const pml_binary_request request = {.method = {"POST", 4},
                                            .scheme = {"https", 5},
                                            .path = {"/v1/query", 9},
                                            .content = {s.release, RELEASE_SIZE}};
        TEST_ASSERT_EQUAL(PML_OK, pml_binary_request_write(&request, plain, sizeof plain, &size));
        const size_t whole = PML_OHTTP_REQUEST_SIZE(size);
        TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_ohttp_request_seal(s.crypto, &s.key, plain, size, counting, &s.count,
                                                                   sealed, whole - 1, &opener));
        TEST_ASSERT_EQUAL(
            PML_OK, pml_ohttp_request_seal(s.crypto, &s.key, plain, size, counting, &s.count, sealed, whole, &opener));
        for (size_t bit = 0; bit < 8 * whole; bit++) {
            memcpy(copy, sealed, whole);
            copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
            /* Bit 49 turns one AEAD into the other, which is known too. */
            TEST_ASSERT_EQUAL(bit < 56 && bit != 49 ? PML_ERROR_KEYS : PML_ERROR_SEALED,
                              pml_ohttp_request_open(s.crypto, &s.private_key, copy, whole, &opened));
        }
        for (size_t cut = 0; cut < whole; cut++) {
            memcpy(copy, sealed, cut);
            TEST_ASSERT_EQUAL(PML_ERROR_SEALED, pml_ohttp_request_open(s.crypto, &s.private_key, copy, cut, &opened));
        }
        TEST_ASSERT_EQUAL(PML_OK, pml_ohttp_request_open(s.crypto, &s.private_key, sealed, whole, &opened));
        TEST_ASSERT_EQUAL(200, opened.status);
        TEST_ASSERT_EQUAL_MEMORY(s.release, opened.content.bytes, RELEASE_SIZE);

        const size_t sealed_size = pml_ohttp_response_size(s.crypto, &opener, size);
        TEST_ASSERT_EQUAL(size + (i == 0 ? 48 : 32), sealed_size);
        TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_ohttp_response_seal(s.crypto, &opened.opener, plain, size, counting,
                                                                    &s.count, answer, sealed_size - 1));
        TEST_ASSERT_EQUAL(PML_ERROR_ENTROPY, pml_ohttp_response_seal(s.crypto, &opened.opener, plain, size, failing,
                                                                     NULL, answer, sealed_size));
        TEST_ASSERT_TRUE(all_zero(answer, sealed_size));
        TEST_ASSERT_EQUAL(PML_OK, pml_ohttp_response_seal(s.crypto, &opened.opener, plain, size, counting, &s.count,
                                                          answer, sealed_size));
        for (size_t bit = 0; bit < 8 * sealed_size; bit++) {
            memcpy(copy, answer, sealed_size);
            copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
            TEST_ASSERT_EQUAL(PML_ERROR_SEALED,
                              pml_ohttp_response_open(s.crypto, &opener, copy, sealed_size, &response));
        }
        for (size_t cut = 0; cut < sealed_size; cut++) {
            memcpy(copy, answer, cut);
            TEST_ASSERT_EQUAL(PML_ERROR_SEALED, pml_ohttp_response_open(s.crypto, &opener, copy, cut, &response));
        }
        TEST_ASSERT_EQUAL(PML_OK, pml_ohttp_response_open(s.crypto, &opener, answer, sealed_size, &response));
        TEST_ASSERT_EQUAL(size, response.size);
        TEST_ASSERT_EQUAL_MEMORY(plain, response.bytes, size);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_message_opens);
    RUN_TEST(test_sizes);
    RUN_TEST(test_every_flipped_bit_and_every_truncation);
    RUN_TEST(test_another_epoch_pack_or_key);
    RUN_TEST(test_kinds_do_not_mix);
    RUN_TEST(test_what_is_refused_inside);
    RUN_TEST(test_keys_that_cannot_be_used);
    RUN_TEST(test_points_of_small_order);
    RUN_TEST(test_entropy_fails);
    RUN_TEST(test_messages_look_alike_and_differ);
    RUN_TEST(test_single_requests);
    return UNITY_END();
}
