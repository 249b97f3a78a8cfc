/* SPDX-License-Identifier: Apache-2.0
 * Reading a release: every sound one is taken, every other is refused by the right name, no byte beyond it is read. */
#include "golden/vectors.h"
#include "support/pack_layout.h"
#include "support/support.h"

#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

enum { AT_ID = 5, AT_MECHANISM = 22, AT_STEP = 25 };

#define ROWS_MAX 64u

static unsigned bits_of_symbol(uint32_t m)
{
    unsigned bits = 0;
    for (uint32_t rest = m - 1; rest > 0; rest >>= 1)
        bits++;
    return bits;
}

static size_t body_size_of(const struct pack_fields *f, int mechanism, int value_bytes)
{
    return mechanism == PML_RESPONSE ? ((size_t)f->G * bits_of_symbol(f->m) + 7) / 8
                                     : (size_t)f->G * f->k * (size_t)value_bytes;
}

/* Parses a copy that ends where its allocation ends, so that a read beyond it is seen. */
static int parse_copy(const pml_pack *pack, const uint8_t *release, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    TEST_ASSERT_NOT_NULL(copy);
    memcpy(copy + 1, release, size);
    pml_release_view view;
    memset(&view, 0x5A, sizeof view);
    int status = pml_release_parse(pack, copy + 1, size, &view);
    TEST_ASSERT_EQUAL(status != PML_OK, is_zero(&view, sizeof view));
    free(copy);
    return status;
}

static void test_every_golden_release_is_taken(void)
{
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++) {
        const struct golden_release *g = golden_releases + i;
        const struct pack_fields f = read_fields(golden_packs[g->pack].bytes);
        const bool gaussian = g->mechanism == PML_GAUSSIAN;
        pml_pack pack = open_golden(g->pack);
        pml_release_view view;
        uint8_t id[PML_ID_SIZE];
        TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_release_parse(&pack, g->release, g->release_size, &view), g->name);
        TEST_ASSERT_EQUAL(g->mechanism, view.mechanism);
        TEST_ASSERT_EQUAL(gaussian ? g->value_bytes : 0, view.value_bytes);
        TEST_ASSERT_EQUAL(gaussian ? 0 : bits_of_symbol(f.m), view.symbol_bits);
        TEST_ASSERT_EQUAL_UINT32(gaussian ? load_be32(g->release + AT_STEP) : 0, view.step);
        TEST_ASSERT_EQUAL(body_size_of(&f, g->mechanism, g->value_bytes), view.body_size);
        TEST_ASSERT_EQUAL_PTR(g->release + g->release_size, view.body + view.body_size);
        TEST_ASSERT_EQUAL(PML_OK, pml_release_id(g->release, g->release_size, id));
        TEST_ASSERT_EQUAL_MEMORY(golden_packs[g->pack].id, id, sizeof id);
    }
}

static void test_every_prefix_and_one_byte_more_are_refused(void)
{
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++) {
        const struct golden_release *g = golden_releases + i;
        uint8_t longer[256] = {0};
        pml_pack pack = open_golden(g->pack);
        for (size_t length = 0; length < g->release_size; length++)
            TEST_ASSERT_EQUAL_MESSAGE(PML_ERROR_RELEASE, parse_copy(&pack, g->release, length), g->name);
        memcpy(longer, g->release, g->release_size);
        TEST_ASSERT_EQUAL(PML_OK, parse_copy(&pack, longer, g->release_size));
        TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, parse_copy(&pack, longer, g->release_size + 1));
    }
}

/* SPEC 2's rule for a response body, bit by bit. */
static bool symbols_below(const uint8_t *body, size_t size, size_t count, uint32_t bound)
{
    const unsigned width = bits_of_symbol(bound);
    for (size_t bit = count * width; bit < 8 * size; bit++)
        if (body[bit / 8] >> bit % 8 & 1)
            return false;
    for (size_t c = 0; c < count; c++) {
        uint32_t symbol = 0;
        for (unsigned b = 0; b < width; b++)
            symbol |= (uint32_t)(body[(c * width + b) / 8] >> (c * width + b) % 8 & 1) << b;
        if (symbol >= bound)
            return false;
    }
    return true;
}

static bool symbols_are_sound(const struct pack_fields *f, const uint8_t *body, size_t size)
{
    return symbols_below(body, size, f->G, f->m);
}

/* A response release whose mechanism became 3: a message of a crowd, where both have one length (SPEC 2). */
static bool is_of_a_crowd(const struct golden_release *g, const struct pack_fields *f, const uint8_t *changed,
                          size_t body)
{
    const uint32_t symbols = (uint32_t)f->G * f->m;
    return PML_WITH_CROWD && g->mechanism == PML_RESPONSE && changed[22] == PML_CROWD && f->G > 1 &&
           body == (bits_of_symbol(symbols) + 7u) / 8 &&
           symbols_below(changed + g->release_size - body, body, 1, symbols);
}

/* What a release must be called after the byte at `at` was changed. */
static int name_of_change(const struct golden_release *g, const struct pack_fields *f, const uint8_t *changed,
                          size_t at)
{
    const size_t body = body_size_of(f, g->mechanism, g->value_bytes), start = g->release_size - body;
    if (at >= AT_ID && at < AT_ID + PML_ID_SIZE)
        return PML_ERROR_PACK_ID;
    if (g->mechanism == PML_GAUSSIAN && at >= AT_STEP && at < AT_STEP + 4)
        return load_be32(changed + AT_STEP) != 0 ? PML_OK : PML_ERROR_RELEASE;
    if (at == 22 && is_of_a_crowd(g, f, changed, body))
        return PML_OK;
    if (at < start)
        return PML_ERROR_RELEASE;
    return g->mechanism == PML_GAUSSIAN || symbols_are_sound(f, changed + start, body) ? PML_OK : PML_ERROR_RELEASE;
}

static void test_every_changed_byte_has_its_name(void)
{
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++) {
        const struct golden_release *g = golden_releases + i;
        const struct pack_fields f = read_fields(golden_packs[g->pack].bytes);
        pml_pack pack = open_golden(g->pack);
        uint8_t *changed = malloc(g->release_size);
        float rows[ROWS_MAX];
        TEST_ASSERT_NOT_NULL(changed);
        memcpy(changed, g->release, g->release_size);
        for (size_t at = 0; at < g->release_size; at++)
            for (unsigned change = 1; change < 256; change++) {
                pml_release_view view;
                changed[at] = (uint8_t)(g->release[at] ^ change);
                int expected = name_of_change(g, &f, changed, at);
                TEST_ASSERT_EQUAL_MESSAGE(expected, pml_release_parse(&pack, changed, g->release_size, &view), g->name);
                const bool named = at >= AT_ID || (at == 0 && (changed[0] == 0xA4 || changed[0] == 0xA5));
                uint8_t id[PML_ID_SIZE];
                TEST_ASSERT_EQUAL(named ? PML_OK : PML_ERROR_RELEASE, pml_release_id(changed, g->release_size, id));
                if (expected == PML_OK && g->row_count == 0)
                    expected = PML_ERROR_SECTION;
                TEST_ASSERT_EQUAL(expected, pml_release_rows(&pack, changed, g->release_size, rows, ROWS_MAX));
                changed[at] = g->release[at];
            }
        free(changed);
    }
}

/* A response whose symbols are all `symbol`, with `padding` in the unused bits. */
static size_t write_response(const uint8_t *pack_bytes, uint32_t symbol, uint8_t padding, uint8_t *out)
{
    const struct pack_fields f = read_fields(pack_bytes);
    const size_t body = body_size_of(&f, PML_RESPONSE, 0), width = bits_of_symbol(f.m);
    static const uint8_t start[] = {0xA4, 0, 1, 1, 0x50}, middle[] = {2, 1, 4};
    uint8_t *p = out;
    memcpy(p, start, sizeof start);
    memcpy(p + 5, pack_bytes + AT_HASH, PML_ID_SIZE);
    memcpy(p + 21, middle, sizeof middle);
    p += 24;
    if (body < 24) {
        *p++ = (uint8_t)(0x40 + body);
    } else {
        *p++ = body < 256 ? 0x58 : 0x59;
        if (body >= 256)
            *p++ = (uint8_t)(body >> 8);
        *p++ = (uint8_t)body;
    }
    memset(p, 0, body);
    for (size_t bit = 0; bit < f.G * width; bit++)
        p[bit / 8] |= (uint8_t)((symbol >> bit % width & 1) << bit % 8);
    p[body - 1] |= padding;
    return (size_t)(p - out) + body;
}

static void test_symbols_beyond_the_cells_are_refused(void)
{
    static const struct {
        unsigned pack;
        uint32_t m;
    } cases[] = {{PACK_ONE, 4},           {PACK_CLASS, 6}, {PACK_GROUP, 5},
                 {PACK_RESPONSE_ONLY, 8}, {PACK_WIDE, 2},  {PACK_TIES, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t release[64];
        pml_pack pack = open_golden(cases[i].pack);
        const uint8_t *bytes = golden_packs[cases[i].pack].bytes;
        for (uint32_t symbol = 0; symbol < 1u << bits_of_symbol(cases[i].m); symbol++) {
            size_t size = write_response(bytes, symbol, 0, release);
            TEST_ASSERT_EQUAL(symbol < cases[i].m ? PML_OK : PML_ERROR_RELEASE, parse_copy(&pack, release, size));
        }
    }
}

static void test_padding_must_be_zero(void)
{
    static const struct {
        unsigned pack, used; /* bits of the last byte */
    } cases[] = {{PACK_ONE, 2},           {PACK_CLASS, 4}, {PACK_GROUP, 1},
                 {PACK_RESPONSE_ONLY, 6}, {PACK_WIDE, 3},  {PACK_TIES, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned bit = cases[i].used; bit < 8; bit++) {
            uint8_t release[64];
            pml_pack pack = open_golden(cases[i].pack);
            size_t size = write_response(golden_packs[cases[i].pack].bytes, 0, (uint8_t)(1u << bit), release);
            TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, parse_copy(&pack, release, size));
        }
}

static void test_a_step_of_zero_is_refused(void)
{
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++) {
        const struct golden_release *g = golden_releases + i;
        if (g->mechanism != PML_GAUSSIAN)
            continue;
        uint8_t release[256];
        pml_pack pack = open_golden(g->pack);
        memcpy(release, g->release, g->release_size);
        memset(release + AT_STEP, 0, 4);
        TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, parse_copy(&pack, release, g->release_size));
        memset(release + AT_STEP, 0xFF, 4);
        TEST_ASSERT_EQUAL(PML_OK, parse_copy(&pack, release, g->release_size));
    }
}

/* Every release against every other pack: under its own id, and under the pack's, with lengths as they are. */
static void test_releases_of_other_packs_and_missing_mechanisms_are_refused(void)
{
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++)
        for (unsigned other = 0; other < GOLDEN_PACK_COUNT; other++) {
            const struct golden_release *g = golden_releases + i;
            const struct pack_fields f = read_fields(golden_packs[other].bytes);
            uint8_t release[256];
            pml_pack pack = open_golden(other);
            if (other == g->pack)
                continue;
            TEST_ASSERT_EQUAL(PML_ERROR_PACK_ID, parse_copy(&pack, g->release, g->release_size));
            memcpy(release, g->release, g->release_size);
            memcpy(release + AT_ID, golden_packs[other].id, PML_ID_SIZE);
            if (!(f.sections >> (g->mechanism == PML_GAUSSIAN ? 3 : 1) & 1))
                TEST_ASSERT_EQUAL_MESSAGE(PML_ERROR_RELEASE, parse_copy(&pack, release, g->release_size), g->name);
        }
}

static void test_mechanisms_that_do_not_exist_are_refused(void)
{
    const struct golden_release *g = golden_releases;
    uint8_t release[256];
    pml_pack pack = open_golden(g->pack);
    memcpy(release, g->release, g->release_size);
    for (unsigned mechanism = 0; mechanism < 24; mechanism++) {
        release[AT_MECHANISM] = (uint8_t)mechanism;
        TEST_ASSERT_EQUAL(mechanism == PML_RESPONSE ? PML_OK : PML_ERROR_RELEASE,
                          parse_copy(&pack, release, g->release_size));
    }
}

static void test_rows_need_room_and_codes(void)
{
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++) {
        const struct golden_release *g = golden_releases + i;
        pml_pack pack = open_golden(g->pack);
        if (g->row_count == 0) {
            float row[ROWS_MAX] = {1.0f};
            TEST_ASSERT_EQUAL(PML_ERROR_SECTION, pml_release_rows(&pack, g->release, g->release_size, row, ROWS_MAX));
            TEST_ASSERT_TRUE(is_zero(row, sizeof row));
            continue;
        }
        for (size_t capacity = 0; capacity <= g->row_count; capacity++) {
            float *rows = malloc((capacity + 1) * sizeof *rows);
            TEST_ASSERT_NOT_NULL(rows);
            memset(rows, 0x5A, (capacity + 1) * sizeof *rows);
            int status = pml_release_rows(&pack, g->release, g->release_size, rows + 1, capacity);
            TEST_ASSERT_EQUAL(capacity < g->row_count ? PML_ERROR_BUFFER : PML_OK, status);
            TEST_ASSERT_TRUE(status == PML_OK || is_zero(rows + 1, capacity * sizeof *rows));
            free(rows);
        }
    }
}

static void test_null_arguments_are_refused(void)
{
    const struct golden_release *g = golden_releases;
    pml_pack pack = open_golden(g->pack);
    pml_release_view view;
    uint8_t id[PML_ID_SIZE];
    float rows[ROWS_MAX];
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_release_parse(NULL, g->release, g->release_size, &view));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_release_parse(&pack, NULL, g->release_size, &view));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_release_parse(&pack, g->release, g->release_size, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_release_rows(NULL, g->release, g->release_size, rows, ROWS_MAX));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_release_rows(&pack, NULL, g->release_size, rows, ROWS_MAX));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_release_rows(&pack, g->release, g->release_size, NULL, ROWS_MAX));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_release_id(NULL, g->release_size, id));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_release_id(g->release, g->release_size, NULL));
    memset(id, 0x5A, sizeof id);
    TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, pml_release_id(g->release, 23, id));
    TEST_ASSERT_TRUE(is_zero(id, sizeof id));
}

/* A response pack of 1024 slots with 8 cells of one feature: its body, 384 bytes, needs CBOR's two-byte length. */
static uint8_t *make_pack_of_most_slots(size_t *size)
{
    enum { SLOTS = 1024, M = 8, START = 96 };
    *size = START + 8 * SLOTS + SLOTS * M + 4 * SLOTS * M + 2 * SLOTS * M;
    uint8_t *bytes = calloc(1, *size);
    TEST_ASSERT_NOT_NULL(bytes);
    memcpy(bytes, "PMPK\0\0\1", 8);
    store_le64(bytes + AT_SIZE, *size);
    store_le(bytes + 48, 4, 1);
    store_le(bytes + 60, 2, SLOTS);
    store_le(bytes + 62, 2, PML_SLOTS_CLASS);
    store_le(bytes + 64, 4, M);
    store_le(bytes + 68, 4, SLOTS);
    store_le(bytes + AT_SECTIONS, 4, 0x407);
    store_le(bytes + AT_PROTOTYPES, 4, M);
    for (size_t i = 0; i < SLOTS; i++) {
        store_le(bytes + START + 8 * i, 4, i);
        store_le(bytes + START + 8 * i + 4, 2, i);
    }
    for (size_t i = 0; i < SLOTS * M; i++) {
        bytes[START + 8 * SLOTS + i] = 1;
        store_le32(bytes + START + 8 * SLOTS + SLOTS * M + 4 * i, 1u << 30);
    }
    seal_pack(bytes, *size);
    return bytes;
}

static void test_long_bodies_are_taken_and_checked(void)
{
    size_t pack_size;
    uint8_t *bytes = make_pack_of_most_slots(&pack_size), release[512];
    pml_pack pack;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&pack, bytes, pack_size, NULL, NULL));
    size_t size = write_response(bytes, 5, 0, release);
    TEST_ASSERT_EQUAL(24 + 3 + 384, size);
    TEST_ASSERT_EQUAL(PML_OK, parse_copy(&pack, release, size));
    for (size_t length = 0; length < size; length++)
        TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, parse_copy(&pack, release, length));
    for (size_t at = 24; at < 27; at++)
        for (unsigned change = 1; change < 256; change++) {
            release[at] ^= (uint8_t)change;
            TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, parse_copy(&pack, release, size));
            release[at] ^= (uint8_t)change;
        }
    free(bytes);
}

/* Neither features nor label nor ε decide how long a release is. */
static void test_the_length_depends_on_pack_mechanism_and_width_only(void)
{
    static const double epsilons[] = {0.25, 1.0, 7.5, 16.0};
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++)
        for (size_t e = 0; e < sizeof epsilons / sizeof epsilons[0]; e++) {
            const struct golden_release *g = golden_releases + i;
            struct fixture f;
            float features[64];
            uint8_t out[256];
            size_t written;
            if (g->mechanism == PML_GAUSSIAN ? !PML_WITH_GAUSSIAN : !PML_WITH_RESPONSE)
                continue;
            setup_fixture(&f, g->pack, g->mechanism, epsilons[e]);
            f.config.value_bytes = (unsigned)g->value_bytes;
            setup_client(&f);
            make_features(&f.pack, (uint32_t)(7 * i + e), features);
            TEST_ASSERT_EQUAL(g->release_size, pml_client_release_size(f.client));
            TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
            TEST_ASSERT_EQUAL(PML_OK, release_query(f.client, features, f.pack.features, g->label, out, sizeof out));
            written = pml_client_release_size(f.client);
            TEST_ASSERT_EQUAL(g->release_size, written);
            TEST_ASSERT_EQUAL(PML_OK, parse_copy(&f.pack, out, written));
            teardown_fixture(&f);
        }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_golden_release_is_taken);
    RUN_TEST(test_every_prefix_and_one_byte_more_are_refused);
    RUN_TEST(test_every_changed_byte_has_its_name);
    RUN_TEST(test_symbols_beyond_the_cells_are_refused);
    RUN_TEST(test_padding_must_be_zero);
    RUN_TEST(test_a_step_of_zero_is_refused);
    RUN_TEST(test_releases_of_other_packs_and_missing_mechanisms_are_refused);
    RUN_TEST(test_mechanisms_that_do_not_exist_are_refused);
    RUN_TEST(test_rows_need_room_and_codes);
    RUN_TEST(test_null_arguments_are_refused);
    RUN_TEST(test_long_bodies_are_taken_and_checked);
    RUN_TEST(test_the_length_depends_on_pack_mechanism_and_width_only);
    return UNITY_END();
}
