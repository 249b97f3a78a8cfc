/* SPDX-License-Identifier: Apache-2.0
 * Key configurations and Binary HTTP, well formed and not. */
#include "transport_support.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- key configurations ---- */

static void test_a_configuration_is_read(void)
{
    struct scene s;
    set_scene(&s);
    uint8_t two[2 * PML_KEY_CONFIGURATION_SIZE + 20], other[PML_KEY_SIZE];
    pml_seal_key key;
    memset(other, 9, sizeof other);
    TEST_ASSERT_EQUAL(PML_OK, pml_keys_write(200, other, two, sizeof two));
    ASSERT_HEX("002dc8002009", two);
    ASSERT_HEX("00080001000300010001", two + 37);
    TEST_ASSERT_EQUAL(PML_OK, pml_keys_write(7, s.private_key.public_key, two + 47, 47));
    TEST_ASSERT_EQUAL(PML_OK, pml_keys_choose(s.crypto, two, 94, &key));
    TEST_ASSERT_EQUAL(200, key.id); /* the first */
    TEST_ASSERT_EQUAL(PML_AEAD_CHACHA20_POLY1305, key.aead);
    TEST_ASSERT_EQUAL_MEMORY(other, key.public_key, PML_KEY_SIZE);

    TEST_ASSERT_EQUAL(PML_OK, pml_keys_hold(two, 94, &s.key)); /* the second */
    TEST_ASSERT_EQUAL(PML_ERROR_KEYS, pml_keys_hold(two, 47, &s.key));
    pml_seal_key changed = s.key;
    changed.id++;
    TEST_ASSERT_EQUAL(PML_ERROR_KEYS, pml_keys_hold(two, 94, &changed));
    changed = s.key;
    changed.public_key[31] ^= 1;
    TEST_ASSERT_EQUAL(PML_ERROR_KEYS, pml_keys_hold(two, 94, &changed));
    changed = s.key;
    changed.aead = 2;
    TEST_ASSERT_EQUAL(PML_ERROR_KEYS, pml_keys_hold(two, 94, &changed));

    /* A key of another KEM in front is passed over. */
    uint8_t three[47 + 12] = {0, 10, 1, 0, 0x10};
    memcpy(three + 12, two + 47, 47);
    TEST_ASSERT_EQUAL(PML_OK, pml_keys_choose(s.crypto, three, sizeof three, &key));
    TEST_ASSERT_EQUAL_MEMORY(&s.key, &key, sizeof key);
    TEST_ASSERT_EQUAL(PML_ERROR_KEYS, pml_keys_choose(s.crypto, three, 12, &key));
    TEST_ASSERT_TRUE(all_zero(&key, sizeof key));
}

static void refuse_keys(const char *hex)
{
    uint8_t bytes[256];
    pml_seal_key key;
    memset(&key, 1, sizeof key);
    TEST_ASSERT_EQUAL_MESSAGE(PML_ERROR_KEYS, pml_keys_choose(pml_crypto_bearssl(), bytes, unhex(hex, bytes), &key),
                              hex);
    TEST_ASSERT_TRUE(all_zero(&key, sizeof key));
}

#define KEY "0909090909090909090909090909090909090909090909090909090909090909"

static void test_malformed_configurations(void)
{
    refuse_keys("");
    refuse_keys("00");
    refuse_keys("0000");
    refuse_keys("0002c800");
    refuse_keys("0029c80020" KEY "000400020003");               /* another KDF */
    refuse_keys("0029c80020" KEY "000400010002");               /* another AEAD */
    refuse_keys("0025c80020" KEY "0000");                       /* no suites */
    refuse_keys("0027c80020" KEY "00020001");                   /* half a suite */
    refuse_keys("0029c80020" KEY "000800010003");               /* fewer suites than said */
    refuse_keys("002ac80020" KEY "00040001000300");             /* a byte more */
    refuse_keys("0029c80020" KEY "00040001000300");             /* a byte behind a good key */
    refuse_keys("0029c80020" KEY "0004000100030029c80020" KEY); /* a broken key behind a good one */
    uint8_t bytes[47], other[PML_KEY_SIZE] = {9};
    pml_seal_key key;
    TEST_ASSERT_EQUAL(PML_OK, pml_keys_write(1, other, bytes, sizeof bytes));
    for (size_t size = 0; size < sizeof bytes; size++)
        TEST_ASSERT_EQUAL(PML_ERROR_KEYS, pml_keys_choose(pml_crypto_bearssl(), bytes, size, &key));
    TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_keys_write(1, other, bytes, 46));
    TEST_ASSERT_TRUE(all_zero(bytes, 46));
}

/* ---- Binary HTTP ---- */

static void test_a_request_is_read(void)
{
    /* RFC 9292, figure 8, cut off where it may be, padded, and whole. */
    static const char *const forms[] = {
        "00034745540568747470730b6578616d706c652e636f6d012f",
        "00034745540568747470730b6578616d706c652e636f6d012f00",
        "00034745540568747470730b6578616d706c652e636f6d012f0000",
        "00034745540568747470730b6578616d706c652e636f6d012f000000",
        "00034745540568747470730b6578616d706c652e636f6d012f00000000000000",
    };
    uint8_t bytes[256], again[256];
    size_t written;
    pml_binary_request request;
    for (size_t i = 0; i < 5; i++) {
        TEST_ASSERT_EQUAL(PML_OK, pml_binary_request_read(bytes, unhex(forms[i], bytes), &request));
        TEST_ASSERT_EQUAL_STRING_LEN("GET", request.method.bytes, 3);
        TEST_ASSERT_EQUAL(11, request.authority.size);
        TEST_ASSERT_EQUAL(0, request.content.size);
    }
    TEST_ASSERT_EQUAL(PML_OK, pml_binary_request_write(&request, again, sizeof again, &written));
    TEST_ASSERT_EQUAL(strlen(forms[3]) / 2, written);
    ASSERT_HEX(forms[3], again);
    for (size_t capacity = 0; capacity < written; capacity++)
        TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_binary_request_write(&request, again, capacity, &written));
}

static void test_fields(void)
{
    uint8_t bytes[64];
    pml_binary_request request;
    const size_t whole = unhex("000150000000"
                               "0a"
                               "01610162"
                               "0263640165"
                               "00"
                               "0178"
                               "00",
                               bytes);
    TEST_ASSERT_EQUAL(PML_ERROR_SEALED, pml_binary_request_read(bytes, whole, &request)); /* an empty name at the end */
    const size_t good = unhex("000150000000"
                              "09"
                              "01610162"
                              "0263640165"
                              "0178"
                              "00",
                              bytes);
    TEST_ASSERT_EQUAL(PML_OK, pml_binary_request_read(bytes, good, &request));
    TEST_ASSERT_EQUAL(1, pml_binary_field(request.fields, "cd").size);
    TEST_ASSERT_EQUAL_STRING_LEN("e", pml_binary_field(request.fields, "cd").bytes, 1);
    TEST_ASSERT_NULL(pml_binary_field(request.fields, "c").bytes);
    TEST_ASSERT_NULL(pml_binary_field(request.fields, "b").bytes); /* a value is no name */
    TEST_ASSERT_EQUAL_STRING_LEN("x", request.content.bytes, 1);
}

static void test_malformed_http(void)
{
    static const char *const requests[] = {
        "",
        "01",
        "02",
        "03",
        "0000000000",
        "000147",
        "00014700",
        "0001470000",
        "000147000002",
        "00ffffffffffffffff",
        "0001470000000000000001",
        "00014700000003016101",
        "4001014700000000",
    };
    static const char *const responses[] = {
        "",           "00",         "01",           "0140",           "014063",
        "0140640000", "0142580000", "0140c80002aa", "0140c8000000ff", "0140c803016101",
    };
    uint8_t bytes[64];
    pml_binary_request request;
    pml_binary_response response;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        TEST_ASSERT_EQUAL_MESSAGE(PML_ERROR_SEALED, pml_binary_request_read(bytes, unhex(requests[i], bytes), &request),
                                  requests[i]);
        TEST_ASSERT_TRUE(all_zero(&request, sizeof request));
    }
    for (size_t i = 0; i < sizeof responses / sizeof responses[0]; i++)
        TEST_ASSERT_EQUAL_MESSAGE(PML_ERROR_SEALED,
                                  pml_binary_response_read(bytes, unhex(responses[i], bytes), &response), responses[i]);
}

static void test_a_response(void)
{
    uint8_t bytes[64];
    pml_binary_response response;
    /* 102 and 103 first, then 200 with a field and content. */
    const size_t size = unhex("0140660040670401610162"
                              "40c8"
                              "0401630164"
                              "0568656c6c6f"
                              "00"
                              "0000",
                              bytes);
    TEST_ASSERT_EQUAL(PML_OK, pml_binary_response_read(bytes, size, &response));
    TEST_ASSERT_EQUAL(200, response.status);
    TEST_ASSERT_EQUAL_STRING_LEN("hello", response.content.bytes, 5);
    TEST_ASSERT_EQUAL_STRING_LEN("d", pml_binary_field(response.fields, "c").bytes, 1);
    TEST_ASSERT_EQUAL(PML_OK, pml_binary_response_read(bytes, unhex("0140c8", bytes), &response));
    TEST_ASSERT_EQUAL(200, response.status);

    response = (pml_binary_response){.status = 404, .content = {"no", 2}};
    memset(bytes, 1, sizeof bytes);
    TEST_ASSERT_EQUAL(PML_OK, pml_binary_response_write(&response, bytes, 20));
    ASSERT_HEX("01419400026e6f00000000000000000000000000"
               "01",
               bytes);
    TEST_ASSERT_EQUAL(8, pml_binary_response_size(2));
    TEST_ASSERT_EQUAL(PML_OK, pml_binary_response_write(&response, bytes, 8));
    TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_binary_response_write(&response, bytes, 7));
    response.status = 100;
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_binary_response_write(&response, bytes, 20));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_configuration_is_read);
    RUN_TEST(test_malformed_configurations);
    RUN_TEST(test_a_request_is_read);
    RUN_TEST(test_fields);
    RUN_TEST(test_malformed_http);
    RUN_TEST(test_a_response);
    return UNITY_END();
}
