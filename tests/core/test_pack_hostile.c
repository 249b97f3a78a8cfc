/* SPDX-License-Identifier: Apache-2.0
 * Packs whose hash is right and whose content is not: every rule of SPEC 1, broken one at a time. That slots have
 * unequal numbers of cells is not among them: m is one field, so a pack cannot say it. */
#include "support/pack_layout.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

enum {
    CLASSES,
    PROTOTYPES,
    PROTOTYPE_NORMS,
    ANCHORS,
    ANCHOR_NORMS,
    STARTS,
    ANCHOR_CODES,
    SLOT_CODES,
    CELL_CODES,
    LISTS,
    PROTOTYPE_CELLS,
    SKETCH,
    MODEL,
    HEADER
};

/* `value` goes into `width` bytes at `offset` of `where`; width 0 ends a list of edits. */
struct edit {
    unsigned where, offset, width;
    uint64_t value;
};

enum { EDITS = 5 };

struct hostile {
    const char *name;
    unsigned pack;
    int status;
    struct edit edits[EDITS];
};

#define SIZE HEADER, 40, 8
#define D HEADER, 48, 4
#define N HEADER, 52, 4
#define NEIGHBOURS HEADER, 56, 2
#define DIMENSIONS HEADER, 58, 2
#define SLOTS HEADER, 60, 2
#define KIND HEADER, 62, 2
#define M HEADER, 64, 4
#define C HEADER, 68, 4
#define LAMBDA HEADER, 72, 4
#define ALPHA HEADER, 76, 2
#define L HEADER, 78, 2
#define BITS HEADER, 80, 4
#define ROWS HEADER, 84, 4
#define LIMIT (1u << 20)

/* The golden packs: PACK_ONE d=8 n=12 K=3 k=2 m=M=4 L=8; PACK_CLASS d=13 n=22 K=5 k=2 G=4 m=6 M=18 C=4 L=16;
 * PACK_GROUP n=16 k=3 G=3 m=5 C=6. A count that is in range but too large for the file is an error of its
 * size; where another error is meant, such a count is there to show that the header alone was enough. */
static const struct hostile headers[] = {
    {"unchanged", PACK_CLASS, PML_OK, {{D, 13}}},
    {"no features", PACK_CLASS, PML_ERROR_PACK, {{D, 0}, {N, LIMIT}}},
    {"most features", PACK_CLASS, PML_ERROR_PACK_SIZE, {{D, 4096}}},
    {"too many features", PACK_CLASS, PML_ERROR_PACK, {{D, 4097}}},
    {"features beyond all", PACK_CLASS, PML_ERROR_PACK, {{D, UINT32_MAX}}},
    {"one feature less: the end of the rows is in the gap", PACK_CLASS, PML_ERROR_PACK, {{D, 12}}},
    {"no anchors", PACK_CLASS, PML_ERROR_PACK, {{N, 0}}},
    {"fewer anchors than neighbours", PACK_CLASS, PML_ERROR_PACK, {{N, 4}}},
    {"most anchors", PACK_CLASS, PML_ERROR_PACK_SIZE, {{N, LIMIT}}},
    {"too many anchors", PACK_CLASS, PML_ERROR_PACK, {{N, LIMIT + 1}}},
    {"anchors beyond all", PACK_CLASS, PML_ERROR_PACK, {{N, UINT32_MAX}}},
    {"no neighbours", PACK_CLASS, PML_ERROR_PACK, {{NEIGHBOURS, 0}}},
    {"more neighbours than anchors", PACK_ONE, PML_ERROR_PACK, {{NEIGHBOURS, 13}}},
    {"as many neighbours as anchors", PACK_ONE, PML_OK, {{NEIGHBOURS, 12}}},
    {"most neighbours", PACK_CLASS, PML_ERROR_PACK_SIZE, {{NEIGHBOURS, 64}, {N, LIMIT}}},
    {"too many neighbours", PACK_CLASS, PML_ERROR_PACK, {{NEIGHBOURS, 65}, {N, LIMIT}}},
    {"neighbours beyond all", PACK_CLASS, PML_ERROR_PACK, {{NEIGHBOURS, 65535}, {N, LIMIT}}},
    {"no dimensions", PACK_CLASS, PML_ERROR_PACK, {{DIMENSIONS, 0}}},
    {"most dimensions", PACK_CLASS, PML_ERROR_PACK_SIZE, {{DIMENSIONS, 16}}},
    {"too many dimensions", PACK_CLASS, PML_ERROR_PACK, {{DIMENSIONS, 17}}},
    {"no slots", PACK_CLASS, PML_ERROR_PACK, {{SLOTS, 0}, {C, 0}, {ALPHA, 0}, {N, LIMIT}}},
    {"most slots", PACK_CLASS, PML_ERROR_PACK_SIZE, {{SLOTS, 1024}, {C, 1024}}},
    {"too many slots", PACK_CLASS, PML_ERROR_PACK, {{SLOTS, 1025}, {C, 1025}}},
    {"no cells", PACK_ONE, PML_ERROR_PACK, {{M, 0}}},
    {"one cell", PACK_ONE, PML_ERROR_PACK, {{M, 1}, {D, 4096}}},
    {"most cells", PACK_ONE, PML_ERROR_PACK_SIZE, {{M, 65536}, {ROWS, 65536}}},
    {"too many cells", PACK_ONE, PML_ERROR_PACK, {{M, 65537}, {ROWS, 65537}}},
    {"cells in a Gaussian pack", PACK_GAUSSIAN_ONLY, PML_ERROR_PACK, {{M, 2}}},
    {"no prototypes", PACK_ONE, PML_ERROR_PACK, {{ROWS, 0}}},
    {"fewer prototypes than cells", PACK_ONE, PML_ERROR_PACK, {{ROWS, 3}, {D, 4096}}},
    {"most prototypes", PACK_ONE, PML_ERROR_PACK_SIZE, {{ROWS, LIMIT}}},
    {"too many prototypes", PACK_ONE, PML_ERROR_PACK, {{ROWS, LIMIT + 1}}},
    {"prototypes in a Gaussian pack", PACK_GAUSSIAN_ONLY, PML_ERROR_PACK, {{ROWS, 2}}},
    {"most prototypes of all slots", PACK_CLASS, PML_ERROR_PACK_SIZE, {{SLOTS, 1024}, {C, 1024}, {ROWS, 1024}}},
    {"too many of all slots", PACK_CLASS, PML_ERROR_PACK, {{SLOTS, 1024}, {C, 1024}, {ROWS, 1025}}},
    {"G·M is 2^26", PACK_CLASS, PML_ERROR_PACK, {{SLOTS, 1024}, {C, 1024}, {ROWS, 65536}}},
    {"G·M is 2^32", PACK_CLASS, PML_ERROR_PACK, {{ROWS, 1u << 30}}},
    {"G·M·d is 2^32", PACK_RESPONSE_ONLY, PML_ERROR_PACK_SIZE, {{SLOTS, 16}, {C, 16}, {ROWS, 65536}, {D, 4096}}},
    {"n·d is 2^32", PACK_GAUSSIAN_ONLY, PML_ERROR_PACK_SIZE, {{N, LIMIT}, {D, 4096}}},
    {"everything at its most",
     PACK_CLASS,
     PML_ERROR_PACK_SIZE,
     {{N, LIMIT}, {D, 4096}, {NEIGHBOURS, 64}, {ROWS, 65536}}},
    {"no classes", PACK_CLASS, PML_ERROR_PACK, {{C, 0}}},
    {"more classes than slots", PACK_CLASS, PML_ERROR_PACK, {{C, 5}, {D, 4096}}},
    {"fewer classes than groups", PACK_GROUP, PML_ERROR_PACK, {{C, 2}, {D, 4096}}},
    {"most classes", PACK_GROUP, PML_ERROR_PACK_SIZE, {{C, 65536}}},
    {"too many classes", PACK_GROUP, PML_ERROR_PACK, {{C, 65537}}},
    {"classes beyond all", PACK_GROUP, PML_ERROR_PACK, {{C, UINT32_MAX}}},
    {"sketch of 7", PACK_CLASS, PML_ERROR_PACK, {{L, 7}}},
    {"sketch of 8", PACK_CLASS, PML_ERROR_PACK_SIZE, {{L, 8}}},
    {"sketch of 256", PACK_CLASS, PML_ERROR_PACK_SIZE, {{L, 256}}},
    {"sketch of 257", PACK_CLASS, PML_ERROR_PACK, {{L, 257}}},
    {"sketch beyond all", PACK_CLASS, PML_ERROR_PACK, {{L, 65535}}},
    {"a projection without sketches", PACK_CLASS, PML_ERROR_PACK, {{L, 0}}},
    {"sketches without a projection", PACK_GAUSSIAN_ONLY, PML_ERROR_PACK, {{L, 8}}},
    {"lambda 0", PACK_CLASS, PML_ERROR_PACK, {{LAMBDA, 0}}},
    {"lambda at its most", PACK_CLASS, PML_OK, {{LAMBDA, UINT32_MAX}}},
    {"alpha at its most", PACK_CLASS, PML_OK, {{ALPHA, 1024}}},
    {"alpha too large", PACK_CLASS, PML_ERROR_PACK, {{ALPHA, 1025}}},
    {"alpha beyond all", PACK_CLASS, PML_ERROR_PACK, {{ALPHA, 65535}}},
    {"alpha with one slot", PACK_ONE, PML_ERROR_PACK, {{ALPHA, 1}}},
    {"alpha with one class", PACK_CLASS, PML_ERROR_PACK, {{SLOTS, 1}, {C, 1}, {ROWS, 65536}}},
    {"one class without alpha", PACK_CLASS, PML_ERROR_PACK_SIZE, {{SLOTS, 1}, {C, 1}, {ROWS, 65536}, {ALPHA, 0}}},
    {"alpha with one group", PACK_GROUP, PML_ERROR_PACK, {{SLOTS, 1}, {ROWS, 65536}}},
    {"one group without alpha", PACK_GROUP, PML_ERROR_PACK_SIZE, {{SLOTS, 1}, {ROWS, 65536}, {ALPHA, 0}}},
    {"anchors of a response pack", PACK_RESPONSE_ONLY, PML_ERROR_PACK, {{N, 1}}},
    {"neighbours of a response pack", PACK_RESPONSE_ONLY, PML_ERROR_PACK, {{NEIGHBOURS, 1}}},
    {"dimensions without codes", PACK_RESPONSE_ONLY, PML_ERROR_PACK, {{DIMENSIONS, 1}}},
    {"lambda of a response pack", PACK_RESPONSE_CODES, PML_ERROR_PACK, {{LAMBDA, 1}}},
    {"alpha of a response pack", PACK_RESPONSE_CODES, PML_ERROR_PACK, {{ALPHA, 1}}},
    {"anchors without slot codes", PACK_GAUSSIAN_ONLY, PML_ERROR_PACK, {{BITS, 0x79}, {DIMENSIONS, 0}, {N, LIMIT}}},
    {"the same with slot codes", PACK_GAUSSIAN_ONLY, PML_ERROR_PACK_SIZE, {{BITS, 0xF9}, {DIMENSIONS, 1}, {N, LIMIT}}},
    {"kind 3", PACK_CLASS, PML_ERROR_PACK, {{KIND, 3}}},
    {"kind beyond all", PACK_CLASS, PML_ERROR_PACK, {{KIND, 65535}}},
    {"one slot, with classes", PACK_CLASS, PML_ERROR_PACK, {{KIND, PML_SLOTS_ONE}}},
    {"one slot of four",
     PACK_CLASS,
     PML_ERROR_PACK,
     {{KIND, PML_SLOTS_ONE}, {BITS, 0xFFE}, {C, 0}, {ALPHA, 0}, {D, 4096}}},
    {"one slot, with a class table", PACK_ONE, PML_ERROR_PACK, {{BITS, 0xCFF}}},
    {"one slot, with a count of classes", PACK_ONE, PML_ERROR_PACK, {{C, 1}}},
    {"classes without their table", PACK_ONE, PML_ERROR_PACK, {{KIND, PML_SLOTS_CLASS}, {C, 1}}},
    {"groups without their table", PACK_ONE, PML_ERROR_PACK, {{KIND, PML_SLOTS_GROUP}, {C, 1}}},
    {"groups of one class each", PACK_CLASS, PML_OK, {{KIND, PML_SLOTS_GROUP}}},
    {"classes that are groups", PACK_GROUP, PML_ERROR_PACK, {{KIND, PML_SLOTS_CLASS}}},
    {"size larger by one", PACK_CLASS, PML_ERROR_PACK_SIZE, {{SIZE, 2785}}},
    {"size smaller by one", PACK_CLASS, PML_ERROR_PACK_SIZE, {{SIZE, 2783}}},
    {"size 0", PACK_CLASS, PML_ERROR_PACK_SIZE, {{SIZE, 0}}},
    {"size 2^63", PACK_CLASS, PML_ERROR_PACK_SIZE, {{SIZE, (uint64_t)1 << 63}}},
    {"size right in its low half only", PACK_CLASS, PML_ERROR_PACK_SIZE, {{SIZE, ((uint64_t)1 << 32) + 2784}}},
    {"size beyond all", PACK_CLASS, PML_ERROR_PACK_SIZE, {{SIZE, UINT64_MAX}}},
    {"major version 1", PACK_CLASS, PML_ERROR_PACK_VERSION, {{HEADER, 4, 2, 1}}},
    {"minor version 0", PACK_CLASS, PML_ERROR_PACK_VERSION, {{HEADER, 6, 2, 0}}},
    {"minor version 2 without a model", PACK_CLASS, PML_OK, {{HEADER, 6, 2, 2}}},
    {"minor version 3 without fronts", PACK_CLASS, PML_ERROR_PACK_VERSION, {{HEADER, 6, 2, 3}}},
    {"minor version 4", PACK_CLASS, PML_ERROR_PACK_VERSION, {{HEADER, 6, 2, 4}}},
    {"major version 1, minor 2", PACK_NAMED, PML_ERROR_PACK_VERSION, {{HEADER, 4, 2, 1}}},
    {"a model in version 0.1", PACK_NAMED, PML_ERROR_PACK, {{HEADER, 6, 2, 1}}},
    {"another magic", PACK_CLASS, PML_ERROR_PACK_VERSION, {{HEADER, 0, 4, 0x6B706D70}}},
};

/* PACK_CLASS has the labels −7 0 3 1000000 and starts 0 6 9 17 22. */
static const struct hostile contents[] = {
    {"labels not ascending", PACK_CLASS, PML_ERROR_PACK, {{CLASSES, 8, 4, 4}}},
    {"labels compared as signed numbers", PACK_CLASS, PML_ERROR_PACK, {{CLASSES, 24, 4, UINT32_MAX}}},
    {"a label twice", PACK_CLASS, PML_ERROR_PACK, {{CLASSES, 8, 4, 3}}},
    {"another label", PACK_CLASS, PML_OK, {{CLASSES, 8, 4, 2}}},
    {"smallest and largest label", PACK_CLASS, PML_OK, {{CLASSES, 0, 4, 0x80000000}, {CLASSES, 24, 4, 0x7FFFFFFF}}},
    {"slot out of range", PACK_GROUP, PML_ERROR_PACK, {{CLASSES, 44, 2, 3}}},
    {"slot out of range in place of another", PACK_GROUP, PML_ERROR_PACK, {{CLASSES, 20, 2, 3}, {CLASSES, 44, 2, 3}}},
    {"slot beyond all", PACK_GROUP, PML_ERROR_PACK, {{CLASSES, 4, 2, 65535}}},
    {"slots of classes exchanged", PACK_CLASS, PML_ERROR_PACK, {{CLASSES, 4, 2, 1}, {CLASSES, 12, 2, 0}}},
    {"a group that no class names", PACK_GROUP, PML_ERROR_PACK, {{CLASSES, 4, 2, 1}, {CLASSES, 36, 2, 1}}},
    {"a class in another group", PACK_GROUP, PML_OK, {{CLASSES, 4, 2, 1}}},
    {"reserved in a class", PACK_CLASS, PML_ERROR_PACK, {{CLASSES, 6, 2, 1}}},
    {"reserved in the last class", PACK_CLASS, PML_ERROR_PACK, {{CLASSES, 30, 2, 0x8000}}},
    {"first start not 0", PACK_CLASS, PML_ERROR_PACK, {{STARTS, 0, 4, 1}}},
    {"a slot without anchors", PACK_CLASS, PML_ERROR_PACK, {{STARTS, 8, 4, 6}}},
    {"starts descending", PACK_CLASS, PML_ERROR_PACK, {{STARTS, 8, 4, 5}}},
    {"a start beyond the anchors", PACK_CLASS, PML_ERROR_PACK, {{STARTS, 12, 4, 23}}},
    {"a start beyond all", PACK_CLASS, PML_ERROR_PACK, {{STARTS, 12, 4, UINT32_MAX}}},
    {"last start below n", PACK_CLASS, PML_ERROR_PACK, {{STARTS, 16, 4, 21}}},
    {"last start above n", PACK_CLASS, PML_ERROR_PACK, {{STARTS, 16, 4, 23}}},
    {"other starts", PACK_CLASS, PML_OK, {{STARTS, 4, 4, 1}, {STARTS, 8, 4, 2}, {STARTS, 12, 4, 21}}},
    {"first anchor code", PACK_CLASS, PML_ERROR_PACK, {{ANCHOR_CODES, 0, 2, 0x8000}}},
    {"last anchor code", PACK_CLASS, PML_ERROR_PACK, {{ANCHOR_CODES, 86, 2, 0x8000}}},
    {"smallest anchor code", PACK_CLASS, PML_OK, {{ANCHOR_CODES, 86, 2, 0x8001}}},
    {"first slot code", PACK_CLASS, PML_ERROR_PACK, {{SLOT_CODES, 0, 2, 0x8000}}},
    {"last slot code", PACK_CLASS, PML_ERROR_PACK, {{SLOT_CODES, 14, 2, 0x8000}}},
    {"slot code without anchors", PACK_RESPONSE_CODES, PML_ERROR_PACK, {{SLOT_CODES, 10, 2, 0x8000}}},
    {"smallest slot code", PACK_CLASS, PML_OK, {{SLOT_CODES, 14, 2, 0x8001}}},
    {"first cell code", PACK_CLASS, PML_ERROR_PACK, {{CELL_CODES, 0, 2, 0x8000}}},
    {"last cell code", PACK_CLASS, PML_ERROR_PACK, {{CELL_CODES, 94, 2, 0x8000}}},
    {"smallest cell code", PACK_CLASS, PML_OK, {{CELL_CODES, 94, 2, 0x8001}}},
    {"neighbour out of range", PACK_CLASS, PML_ERROR_PACK, {{LISTS, 0, 4, 22}}},
    {"neighbour beyond all", PACK_CLASS, PML_ERROR_PACK, {{LISTS, 436, 4, UINT32_MAX}}},
    {"neighbour of itself", PACK_CLASS, PML_ERROR_PACK, {{LISTS, 60, 4, 3}}},
    {"neighbour of itself, last", PACK_CLASS, PML_ERROR_PACK, {{LISTS, 436, 4, 21}}},
    {"neighbour twice", PACK_CLASS, PML_ERROR_PACK, {{LISTS, 140, 4, 1}, {LISTS, 156, 4, 1}}},
    {"first cell out of range", PACK_CLASS, PML_ERROR_PACK, {{PROTOTYPE_CELLS, 0, 2, 6}}},
    {"last cell out of range", PACK_CLASS, PML_ERROR_PACK, {{PROTOTYPE_CELLS, 142, 2, 6}}},
    {"cell beyond all", PACK_CLASS, PML_ERROR_PACK, {{PROTOTYPE_CELLS, 142, 2, 65535}}},
    {"largest cell", PACK_CLASS, PML_OK, {{PROTOTYPE_CELLS, 142, 2, 5}}},
    {"first value of the projection", PACK_CLASS, PML_ERROR_PACK, {{SKETCH, 0, 1, 0x80}}},
    {"last value of the projection", PACK_CLASS, PML_ERROR_PACK, {{SKETCH, 207, 1, 0x80}}},
    {"smallest value of the projection", PACK_CLASS, PML_OK, {{SKETCH, 207, 1, 0x81}}},
};

#undef C

static void run(const struct hostile *hostile)
{
    size_t size;
    uint8_t *bytes = copy_golden(hostile->pack, &size);
    const struct pack_fields fields = read_fields(bytes);
    for (const struct edit *e = hostile->edits; e < hostile->edits + EDITS && e->width > 0; e++) {
        size_t start = e->where == HEADER ? 0 : section_offset(&fields, e->where);
        TEST_ASSERT_TRUE_MESSAGE(e->where == HEADER || e->offset + e->width <= section_size(&fields, e->where),
                                 hostile->name);
        store_le(bytes + start + e->offset, e->width, e->value);
    }
    seal_pack(bytes, size);
    pml_pack pack;
    memset(&pack, 0x5A, sizeof pack);
    TEST_ASSERT_EQUAL_INT_MESSAGE(hostile->status, pml_pack_open(&pack, bytes, size, NULL, NULL), hostile->name);
    TEST_ASSERT_EQUAL_MESSAGE(hostile->status != PML_OK, is_zero(&pack, sizeof pack), hostile->name);
    free(bytes);
}

static void test_every_header_field_out_of_range_is_refused(void)
{
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        run(headers + i);
}

static void test_every_broken_rule_of_the_content_is_refused(void)
{
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++)
        run(contents + i);
}

/* Which bits may be flipped without a contradiction: then only the size of the file is wrong. Most features make it
 * wrong in any case. */
static void test_sections_that_do_not_go_together_are_refused(void)
{
    static const struct {
        unsigned pack, optional;
    } cases[] = {
        {PACK_ONE, 1u << CELL_CODES | 1u << LISTS},
        {PACK_CLASS, 1u << CELL_CODES | 1u << LISTS},
        {PACK_GROUP, 1u << CELL_CODES | 1u << LISTS},
        {PACK_RESPONSE_ONLY, 0},
        {PACK_RESPONSE_CODES, 1u << CELL_CODES},
        {PACK_GAUSSIAN_ONLY, 1u << LISTS},
        {8, 0}, /* as many neighbours as anchors: no lists */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size;
        const uint32_t sections = read_fields(golden_bytes(cases[i].pack, &size)).sections;
        for (unsigned bit = 0; bit < 32; bit++) {
            struct hostile hostile = {
                "section", cases[i].pack, PML_ERROR_PACK, {{BITS, sections ^ 1u << bit}, {D, 4096}}};
            char name[48];
            snprintf(name, sizeof name, "pack %u, bit %u", cases[i].pack, bit);
            hostile.name = name;
            if (cases[i].optional >> bit & 1)
                hostile.status = PML_ERROR_PACK_SIZE;
            run(&hostile);
        }
    }
}

static void test_a_pack_without_prototypes_and_anchors_is_refused(void)
{
    static const uint32_t sections[] = {0, 1, 0x81, 0x80, 0x200, UINT32_MAX};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        struct hostile hostile = {
            "neither", PACK_RESPONSE_CODES, PML_ERROR_PACK, {{BITS, sections[i]}, {M, 0}, {ROWS, 0}, {L, 0}}};
        run(&hostile);
    }
}

/* Puts `value` into all or one of a row's entries and makes the norm what it is for such a row. */
static void refuse_row(unsigned pack_index, unsigned section, size_t row, bool all, int8_t value)
{
    size_t size;
    uint8_t *bytes = copy_golden(pack_index, &size);
    const struct pack_fields fields = read_fields(bytes);
    uint8_t *start = bytes + section_offset(&fields, section) + row * fields.d;
    for (size_t i = all ? 0 : fields.d - 1; i < fields.d; i++)
        start[i] = (uint8_t)value;
    store_le32(bytes + section_offset(&fields, section + 1) + 4 * row,
               pml_inverse_norm((const int8_t *)start, fields.d));
    seal_pack(bytes, size);
    pml_pack pack;
    TEST_ASSERT_EQUAL(value == 1 ? PML_OK : PML_ERROR_PACK, pml_pack_open(&pack, bytes, size, NULL, NULL));
    free(bytes);
}

static void test_rows_with_minus_128_and_zero_rows_are_refused(void)
{
    static const size_t rows[] = {0, 1, 11};
    for (size_t i = 0; i < 3; i++)
        for (unsigned section = PROTOTYPES; section <= ANCHORS; section += 2) {
            refuse_row(PACK_CLASS, section, rows[i], false, 1);
            refuse_row(PACK_CLASS, section, rows[i], true, 1);
            refuse_row(PACK_CLASS, section, rows[i], false, -128);
            refuse_row(PACK_CLASS, section, rows[i], true, -128);
            refuse_row(PACK_CLASS, section, rows[i], true, 0);
        }
}

static void test_inverse_norms_off_by_one_are_refused(void)
{
    for (unsigned section = PROTOTYPE_NORMS; section <= ANCHOR_NORMS; section += 2)
        for (int off = -1; off <= 1; off++) {
            size_t size;
            uint8_t *bytes = copy_golden(PACK_CLASS, &size);
            const struct pack_fields fields = read_fields(bytes);
            for (size_t at = 0; at < section_size(&fields, section); at += 4) {
                uint8_t *norm = bytes + section_offset(&fields, section) + at;
                const uint32_t right = load_le32(norm);
                pml_pack pack;
                store_le32(norm, right + (uint32_t)off);
                seal_pack(bytes, size);
                TEST_ASSERT_EQUAL(off == 0 ? PML_OK : PML_ERROR_PACK, pml_pack_open(&pack, bytes, size, NULL, NULL));
                store_le32(norm, right);
            }
            free(bytes);
        }
}

static void test_every_nonzero_byte_of_a_gap_is_refused(void)
{
    unsigned gaps = 0;
    for (unsigned i = PACK_ONE; i <= PACK_TIES; i++) {
        size_t size;
        uint8_t *bytes = copy_golden(i, &size);
        const struct pack_fields fields = read_fields(bytes);
        for (size_t at = HEADER_SIZE; at < size; at++) {
            if (!is_gap(&fields, at))
                continue;
            pml_pack pack;
            bytes[at] = 1;
            seal_pack(bytes, size);
            TEST_ASSERT_EQUAL(PML_ERROR_PACK, pml_pack_open(&pack, bytes, size, NULL, NULL));
            bytes[at] = 0;
            gaps++;
        }
        free(bytes);
    }
    TEST_ASSERT_TRUE(gaps > 100);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_header_field_out_of_range_is_refused);
    RUN_TEST(test_every_broken_rule_of_the_content_is_refused);
    RUN_TEST(test_sections_that_do_not_go_together_are_refused);
    RUN_TEST(test_a_pack_without_prototypes_and_anchors_is_refused);
    RUN_TEST(test_rows_with_minus_128_and_zero_rows_are_refused);
    RUN_TEST(test_inverse_norms_off_by_one_are_refused);
    RUN_TEST(test_every_nonzero_byte_of_a_gap_is_refused);
    return UNITY_END();
}
