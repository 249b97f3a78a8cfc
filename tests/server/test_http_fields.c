/* SPDX-License-Identifier: Apache-2.0
 * Header fields: what they ask for, and that any text is taken. */
#include "privacy/draws.h"
#include "server/http/http_fields.h"
#include "support/support.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static bool wants_json(const char *first, const char *second)
{
    struct pml_http_accept accept = {0};
    pml_http_accept(&accept, first);
    if (second)
        pml_http_accept(&accept, second);
    return pml_http_accept_json(&accept);
}

static void test_accept(void)
{
    static const char *const json[] = {
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/json, */*;q=0.5",
        "*/*;q=0.5, application/json",
        "application/json;q=0.2, application/cbor-seq;q=0.1",
        "application/*;q=0.1, application/json;q=0.2",
        "application/cbor-seq;q=0, */*",
        "text/html;level=\"a,b;q=0\", application/json ; q=0.001",
        " ,, application/json;q=1.000 ,",
        "application/json;q=0.9, application/cbor;q=0.3, application/cbor-seq;q=0.8",
    };
    static const char *const cbor[] = {
        "",
        "*/*",
        "application/*",
        "application/cbor-seq",
        "application/cbor, application/json;q=0.9",
        "application/json, application/cbor-seq",
        "application/json;q=0",
        "application/json;q=0.5, */*",
        "text/html, image/png",
        "application/jsonx",
        "application/json;q=0.000, text/*",
    };
    for (size_t i = 0; i < sizeof json / sizeof json[0]; i++)
        TEST_ASSERT_TRUE_MESSAGE(wants_json(json[i], NULL), json[i]);
    for (size_t i = 0; i < sizeof cbor / sizeof cbor[0]; i++)
        TEST_ASSERT_FALSE_MESSAGE(wants_json(cbor[i], NULL), cbor[i]);
    TEST_ASSERT_TRUE(wants_json("*/*;q=0.1", "application/json"));
    TEST_ASSERT_FALSE(wants_json("application/json;q=0.8", "application/cbor-seq;q=0.9"));
}

static void test_type(void)
{
    TEST_ASSERT_TRUE(pml_http_is_type("application/cbor", "application/cbor"));
    TEST_ASSERT_TRUE(pml_http_is_type(" Application/CBOR ; x=y", "application/cbor"));
    TEST_ASSERT_FALSE(pml_http_is_type("application/cbor-seq", "application/cbor"));
    TEST_ASSERT_FALSE(pml_http_is_type("application/cbo", "application/cbor"));
    TEST_ASSERT_FALSE(pml_http_is_type("", "application/cbor"));
    TEST_ASSERT_FALSE(pml_http_is_type(NULL, "application/cbor"));
}

static void test_tags(void)
{
    TEST_ASSERT_TRUE(pml_http_has_tag("\"abc\"", "\"abc\""));
    TEST_ASSERT_TRUE(pml_http_has_tag("\"x\", W/\"abc\" , \"y\"", "\"abc\""));
    TEST_ASSERT_TRUE(pml_http_has_tag("*", "\"abc\""));
    TEST_ASSERT_TRUE(pml_http_has_tag("\"a,b\", \"abc\"", "\"abc\""));
    TEST_ASSERT_FALSE(pml_http_has_tag("abc", "\"abc\""));
    TEST_ASSERT_FALSE(pml_http_has_tag("\"abcd\"", "\"abc\""));
    TEST_ASSERT_FALSE(pml_http_has_tag("\"ABC\"", "\"abc\""));
    TEST_ASSERT_FALSE(pml_http_has_tag("W/", "\"abc\""));
    TEST_ASSERT_FALSE(pml_http_has_tag("", "\"abc\""));
    TEST_ASSERT_FALSE(pml_http_has_tag(NULL, "\"abc\""));
}

static void assert_range(const char *field, enum pml_http_range kind, uint64_t first, uint64_t last)
{
    uint64_t found_first = 0, found_last = 0;
    TEST_ASSERT_EQUAL_MESSAGE(kind, pml_http_range(field, 1000, &found_first, &found_last), field);
    if (kind == PML_HTTP_PART) {
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(first, found_first, field);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(last, found_last, field);
    }
}

static void test_ranges(void)
{
    static const char *const whole[] = {"bytes=",     "bytes=-",   "bytes=5",      "bytes=9-8", "bytes=0-1,3-4",
                                        "items=0-1",  "bytes=a-b", "bytes=1-x",    "0-1",       "bytes=--1",
                                        "bytes=1--2", "",          "bytes=0x1-0x2"};
    assert_range("bytes=0-0", PML_HTTP_PART, 0, 0);
    assert_range("bytes=0-999", PML_HTTP_PART, 0, 999);
    assert_range("Bytes= 10-20 ", PML_HTTP_PART, 10, 20);
    assert_range("bytes=990-", PML_HTTP_PART, 990, 999);
    assert_range("bytes=990-2000", PML_HTTP_PART, 990, 999);
    assert_range("bytes=5-99999999999999999999999", PML_HTTP_PART, 5, 999);
    assert_range("bytes=-10", PML_HTTP_PART, 990, 999);
    assert_range("bytes=-5000", PML_HTTP_PART, 0, 999);
    assert_range("bytes=1000-", PML_HTTP_BEYOND, 0, 0);
    assert_range("bytes=99999999999999999999999-", PML_HTTP_BEYOND, 0, 0);
    assert_range("bytes=-0", PML_HTTP_BEYOND, 0, 0);
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        assert_range(whole[i], PML_HTTP_WHOLE, 0, 0);
    uint64_t first, last;
    TEST_ASSERT_EQUAL(PML_HTTP_WHOLE, pml_http_range(NULL, 1000, &first, &last));
}

/* Under sanitisers: nothing is read beyond the text, and a part lies within the whole. */
static void test_any_text(void)
{
    static const char letters[] = "bytes=0123456789-,;\"\\ \t*/qQ=.application/json cbor-seqW";
    uint64_t state = 3;
    for (size_t i = 0; i < rounds(300000); i++) {
        size_t length = (size_t)draw_below(&state, 40);
        char *text = malloc(length + 1);
        TEST_ASSERT_NOT_NULL(text);
        for (size_t j = 0; j < length; j++)
            text[j] = letters[draw_below(&state, sizeof letters - 1)];
        text[length] = 0;
        size_t prefix = draw_below(&state, 2) * 6;
        if (length >= prefix)
            memcpy(text, "bytes=", prefix);
        uint64_t first = 0, last = 0, size = draw_below(&state, 30);
        enum pml_http_range kind = pml_http_range(text, size, &first, &last);
        TEST_ASSERT_TRUE(kind != PML_HTTP_PART || (first <= last && last < size));
        (void)wants_json(text, text);
        (void)pml_http_has_tag(text, "\"abc\"");
        (void)pml_http_is_type(text, "application/cbor");
        free(text);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_accept);
    RUN_TEST(test_type);
    RUN_TEST(test_tags);
    RUN_TEST(test_ranges);
    RUN_TEST(test_any_text);
    return UNITY_END();
}
