/* SPDX-License-Identifier: Apache-2.0
 * The name of a pack's model (SPEC 1, section 12): what a name may be, and that an app which demands one gets no other. */
#include "golden/vectors.h"
#include "support/pack_layout.h"
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

void setUp(void)
{
}

void tearDown(void)
{
}

enum { MODEL = 12, ROOM = PML_MODEL_MAX + 1 };

#define SIXTY_FOUR "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A name that a pack may have, or not. */
static const struct {
    const char *name;
    bool sound;
} names[] = {
    {"m", true},
    {"mobilenet-v3, 224x224, mean 0.5", true},
    {SIXTY_FOUR, true},
    {"\xC2\xA0 \xDF\xBF", true}, /* the first character behind the controls, the last of two bytes */
    {"\xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80", true}, /* the first of three bytes, both sides of the surrogates */
    {"\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF", true},      /* the first of four bytes, the last of all */
    {"", false},
    {SIXTY_FOUR "x", false},
    {"a\nb", false},
    {"\x1B[2J", false},
    {"\x7F", false},
    {"\xC2\x80", false}, /* controls of two bytes */
    {"\xC2\x9F", false},
    {"\x80", false}, /* nothing goes before it */
    {"\xC0\xAF", false},
    {"\xC1\xBF", false}, /* longer than it need be */
    {"\xE0\x9F\xBF", false},
    {"\xF0\x8F\xBF\xBF", false},
    {"\xED\xA0\x80", false},     /* a surrogate */
    {"\xF4\x90\x80\x80", false}, /* beyond the last character */
    {"\xF5\x80\x80\x80", false},
    {"\xFF", false},
    {"\xC3", false}, /* ends too early */
    {"\xE2\x82", false},
    {"\xF0\x9F\x93", false},
    {"\xE2\x82 ", false},
    {"\xC3\xC3", false},
};

/* A copy of the pack that has a name, with another one; `size` bytes, the caller's to free. */
static uint8_t *renamed(const char *name, size_t *size)
{
    uint8_t *bytes = copy_golden(PACK_NAMED, size);
    const struct pack_fields fields = read_fields(bytes);
    uint8_t *place = bytes + section_offset(&fields, MODEL);
    TEST_ASSERT_EQUAL(ROOM, section_size(&fields, MODEL));
    memset(place, 0, ROOM);
    memcpy(place, name, strlen(name) < ROOM ? strlen(name) : ROOM);
    seal_pack(bytes, *size);
    return bytes;
}

static void test_only_sound_names_open(void)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t size;
        pml_pack pack;
        uint8_t *bytes = renamed(names[i].name, &size);
        TEST_ASSERT_EQUAL_MESSAGE(names[i].sound ? PML_OK : PML_ERROR_PACK,
                                  pml_pack_open(&pack, bytes, size, NULL, NULL), names[i].name);
        TEST_ASSERT_EQUAL(names[i].sound ? strlen(names[i].name) : 0, pml_model_length(names[i].name));
        TEST_ASSERT_EQUAL_STRING(names[i].sound ? names[i].name : "", pml_pack_model(&pack));
        free(bytes);
    }
    TEST_ASSERT_EQUAL(0, pml_model_length(NULL));
}

/* Else a name could carry up to 63 bytes that nobody sees. */
static void test_nothing_stands_behind_a_name(void)
{
    for (size_t at = 2; at < ROOM; at++) {
        size_t size;
        pml_pack pack;
        uint8_t *bytes = renamed("m", &size);
        const struct pack_fields fields = read_fields(bytes);
        bytes[section_offset(&fields, MODEL) + at] = 'x';
        seal_pack(bytes, size);
        TEST_ASSERT_EQUAL(PML_ERROR_PACK, pml_pack_open(&pack, bytes, size, NULL, NULL));
        free(bytes);
    }
}

static int open_for(unsigned index, const char *model)
{
    pml_pack pack;
    memset(&pack, 0x5A, sizeof pack);
    int status = pml_pack_open(&pack, golden_packs[index].bytes, golden_packs[index].size, NULL, model);
    TEST_ASSERT_EQUAL(status != PML_OK, is_zero(&pack, sizeof pack));
    return status;
}

static void test_an_app_gets_the_model_it_demands_or_an_error(void)
{
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        pml_pack pack = open_golden(i);
        TEST_ASSERT_EQUAL_STRING(golden_packs[i].model, pml_pack_model(&pack));
        TEST_ASSERT_EQUAL(golden_packs[i].model[0] ? PML_OK : PML_ERROR_PACK_MODEL, open_for(i, golden_packs[i].model));
        TEST_ASSERT_EQUAL(PML_ERROR_PACK_MODEL, open_for(i, "another model"));
        TEST_ASSERT_EQUAL(PML_ERROR_PACK_MODEL, open_for(i, ""));
    }
}

static void test_a_name_that_differs_anywhere_is_another(void)
{
    const char *own = golden_packs[PACK_NAMED].model;
    char name[ROOM + 1] = "";
    TEST_ASSERT_EQUAL(PML_MODEL_MAX, strlen(own));
    for (size_t at = 0; at < PML_MODEL_MAX; at++) {
        memcpy(name, own, ROOM);
        name[at] ^= 1;
        TEST_ASSERT_EQUAL(PML_ERROR_PACK_MODEL, open_for(PACK_NAMED, name));
        name[at] = 0;
        TEST_ASSERT_EQUAL(PML_ERROR_PACK_MODEL, open_for(PACK_NAMED, name));
    }
    memcpy(name, own, ROOM);
    name[PML_MODEL_MAX] = 'x';
    TEST_ASSERT_EQUAL(PML_ERROR_PACK_MODEL, open_for(PACK_NAMED, name));
}

static void test_without_a_pack_there_is_no_name(void)
{
    const pml_pack empty = {0};
    TEST_ASSERT_EQUAL_STRING("", pml_pack_model(NULL));
    TEST_ASSERT_EQUAL_STRING("", pml_pack_model(&empty));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_only_sound_names_open);
    RUN_TEST(test_nothing_stands_behind_a_name);
    RUN_TEST(test_an_app_gets_the_model_it_demands_or_an_error);
    RUN_TEST(test_a_name_that_differs_anywhere_is_another);
    RUN_TEST(test_without_a_pack_there_is_no_name);
    return UNITY_END();
}
