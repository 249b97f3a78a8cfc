/* SPDX-License-Identifier: Apache-2.0
 * Cells, prototypes and codes of packs that are built. */
#define _POSIX_C_SOURCE 200809L
#include "builder_support.h"
#include "stages/stages.h"

#include <math.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static int32_t cell_code(const struct built *built, size_t slot, size_t cell, size_t dimension)
{
    size_t row = slot * built->info.cells + cell;
    return pack_code(built->pack.section[PML_SECTION_CELL_CODES], row * built->info.dimensions + dimension);
}

static void test_small_slots_repeat_prototypes(void)
{
    struct input input = make_input(20, 8, 4); /* five rows a slot */
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT64(4 * 3, built.report.repeated);
    for (size_t s = 0; s < 4; s++)
        for (size_t p = 5; p < 8; p++) {
            TEST_ASSERT_EQUAL_MEMORY(pml_pack_prototype(&built.pack, s, p - 5), pml_pack_prototype(&built.pack, s, p),
                                     8);
            for (size_t i = 0; i < 2; i++)
                TEST_ASSERT_EQUAL_INT32(cell_code(&built, s, p - 5, i), cell_code(&built, s, p, i));
        }
    free(built.bytes);
    free_input(&input);
}

/* Prototypes that are copies of rows. */
static size_t count_copies(const struct input *input, const struct built *built)
{
    const size_t columns = input->features.columns;
    size_t copies = 0;
    int8_t row[64];
    for (size_t i = 0; i < input->features.rows; i++) {
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(input->features.values + i * columns, columns, row));
        for (uint32_t s = 0; s < built->info.slots; s++)
            for (uint32_t p = 0; p < built->info.prototypes; p++)
                copies += memcmp(row, pml_pack_prototype(&built->pack, s, p), columns) == 0;
    }
    return copies;
}

static void test_prototypes_show_no_row(void)
{
    static const int kinds[] = {PML_SLOTS_ONE, PML_SLOTS_CLASS, PML_SLOTS_GROUP};
    struct input input = make_input(200, 24, 40);
    for (size_t kind = 0; kind < 3; kind++) {
        input.options = (struct pml_build_options){.slots = kinds[kind], .cells = 60};
        struct built built = build(&input);
        TEST_ASSERT_EQUAL_UINT64(0, count_copies(&input, &built));
        free(built.bytes);
        input.options.rows_per_prototype = 1;
        built = build(&input);
        TEST_ASSERT_TRUE(count_copies(&input, &built) > 0);
        free(built.bytes);
    }
    free_input(&input);
}

/* Repeats that no slot needs are not packed; those that a smaller slot needs are. */
static void test_a_pack_has_no_prototypes_that_all_slots_repeat(void)
{
    struct input input = make_input(60, 8, 4); /* fifteen rows a slot */
    input.options.prototypes_per_cell = 16;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(15, built.info.prototypes);
    TEST_ASSERT_EQUAL_UINT64(0, built.report.repeated);
    for (size_t i = 0; i < 60; i++) { /* each row is a prototype, and stays in its slot */
        const int8_t *row = pml_pack_anchor(&built.pack, i);
        uint32_t slot, found = 0;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_anchor_slot(&built.pack, i, &slot));
        for (uint32_t p = 0; p < 15; p++)
            found += memcmp(row, pml_pack_prototype(&built.pack, slot, p), 8) == 0;
        TEST_ASSERT_EQUAL_UINT32(1, found);
    }
    free(built.bytes);
    for (size_t i = 0; i < 60; i++) /* one slot loses five rows to another */
        if (input.labels.values[i] == -20 && i < 20)
            input.labels.values[i] = -13;
    built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(20, built.info.prototypes);
    TEST_ASSERT_EQUAL_UINT64(10 + 5 + 5, built.report.repeated);
    free(built.bytes);
    free_input(&input);
}

/* The rounded mean of the codes of the anchors that belong to the cell. */
static void check_cell_codes(unsigned prototypes_per_cell)
{
    struct input input = make_input(200, 8, 3);
    input.options.prototypes_per_cell = prototypes_per_cell;
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT32(8 * prototypes_per_cell, built.info.prototypes);
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t p = 0; p < 8; p++) {
            double sums[2] = {0, 0}, count = 0;
            int16_t code[2];
            for (size_t i = 0; i < 200; i++) {
                uint32_t slot, cell;
                TEST_ASSERT_EQUAL(PML_OK, pml_pack_anchor_slot(&built.pack, i, &slot));
                cell = pml_prototypes_cell(&built.pack, &pml_kernels_portable, pml_pack_anchor(&built.pack, i), s);
                if (slot != s || cell != p)
                    continue;
                TEST_ASSERT_EQUAL(PML_OK, pml_pack_anchor_code(&built.pack, i, code));
                sums[0] += code[0];
                sums[1] += code[1];
                count++;
            }
            TEST_ASSERT_TRUE(count > 0);
            for (size_t i = 0; i < 2; i++)
                TEST_ASSERT_EQUAL_INT32((int32_t)floor(sums[i] / count + 0.5), cell_code(&built, s, p, i));
        }
    free(built.bytes);
    free_input(&input);
}

static void test_cell_codes_are_means(void)
{
    check_cell_codes(1);
    check_cell_codes(5);
}

/* The nearest two slots are well apart, and anchors near their slot. */
static void check_places(const struct built *built, unsigned k, double apart)
{
    for (uint32_t s = 0; s < built->info.slots; s++)
        for (uint32_t t = 0; t < s; t++) {
            int16_t a[16], b[16];
            double squares = 0;
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot_code(&built->pack, s, a));
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot_code(&built->pack, t, b));
            for (unsigned i = 0; i < k; i++)
                squares += (double)(a[i] - b[i]) * (a[i] - b[i]);
            TEST_ASSERT_TRUE(sqrt(squares) > apart);
        }
    for (size_t j = 0; j < built->info.anchors; j++) {
        int16_t code[16], place[16];
        uint32_t slot;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_anchor_slot(&built->pack, j, &slot));
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_anchor_code(&built->pack, j, code));
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot_code(&built->pack, slot, place));
        for (unsigned i = 0; i < k; i++)
            TEST_ASSERT_INT_WITHIN(9000, place[i], code[i]);
    }
}

static void test_class_codes_lie_around_places_apart(void)
{
    static const double apart[] = {1900, 5000, 5000, 9000};
    struct input input = make_input(100, 8, 25);
    input.options.codes = PML_CODES_CLASS;
    for (unsigned k = 1; k <= 4; k++) {
        input.options.dimensions = k;
        struct built built = build(&input);
        check_places(&built, k, apart[k - 1]);
        free(built.bytes);
    }
    free_input(&input);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_small_slots_repeat_prototypes);
    RUN_TEST(test_prototypes_show_no_row);
    RUN_TEST(test_a_pack_has_no_prototypes_that_all_slots_repeat);
    RUN_TEST(test_cell_codes_are_means);
    RUN_TEST(test_class_codes_lie_around_places_apart);
    return UNITY_END();
}
