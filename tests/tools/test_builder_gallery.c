/* SPDX-License-Identifier: Apache-2.0
 * Packs of public rows and a gallery: cells follow the gallery, and nothing else of it is published. */
#define _XOPEN_SOURCE 700
#include "builder_support.h"
#include "common/rows_support.h"

#include <math.h>

enum { PUBLIC = 300, GALLERY = 500, COLUMNS = 16 };

static struct input input;
static struct pml_features gallery;

void setUp(void)
{
    input = make_input(PUBLIC, COLUMNS, 10);
    input.options.slots = PML_SLOTS_ONE;
    input.options.cells = 60;
    input.options.rows_per_prototype = 2;
    gallery = (struct pml_features){malloc(GALLERY * COLUMNS * sizeof(float)), GALLERY, COLUMNS};
    TEST_ASSERT_NOT_NULL(gallery.values);
    draw_rows(9, GALLERY, COLUMNS, GALLERY, gallery.values); /* each far from all others */
    input.options.gallery = &gallery;
}

void tearDown(void)
{
    free_input(&input);
    pml_features_free(&gallery);
}

static void refuse(const char *part)
{
    uint8_t *bytes;
    size_t size;
    TEST_ASSERT_EQUAL(PML_REFUSED,
                      pml_pack_build(&input.features, &input.labels, &input.options, &bytes, &size, NULL, &said));
    TEST_ASSERT_NULL(bytes);
    assert_said(part);
}

static bool is_within(const struct built *built, const int8_t *row)
{
    for (size_t at = 0; at + COLUMNS <= built->size; at++)
        if (memcmp(built->bytes + at, row, COLUMNS) == 0)
            return true;
    return false;
}

/* Rows of these features whose bytes are somewhere in the pack. */
static size_t rows_within(const struct built *built, const struct pml_features *features)
{
    struct pml_rows rows = quantised(features->values, features->rows, features->columns);
    size_t found = 0;
    for (size_t i = 0; i < rows.count; i++)
        found += is_within(built, rows.values + i * COLUMNS);
    pml_rows_free(&rows);
    return found;
}

static void test_no_row_of_the_gallery_is_in_the_pack(void)
{
    for (int soft = 0; soft < 2; soft++)
        for (int refine = -1; refine < 2; refine++) {
            input.options.soft = soft;
            input.options.refine = refine;
            struct built built = build(&input);
            TEST_ASSERT_EQUAL_UINT64(0, rows_within(&built, &gallery));
            TEST_ASSERT_EQUAL_UINT64(PUBLIC, rows_within(&built, &input.features)); /* as anchors */
            TEST_ASSERT_EQUAL_UINT64(PUBLIC, built.info.anchors);
            TEST_ASSERT_EQUAL_UINT64(GALLERY, built.report.gallery);
            free(built.bytes);
        }
}

/* The sketches of these rows by either pack. */
static void assert_same_sketches(const struct built *left, const struct built *right)
{
    struct pml_rows rows = quantised(gallery.values, gallery.rows, gallery.columns);
    int8_t sketches[2][PML_SKETCH_MAX];
    TEST_ASSERT_EQUAL_UINT64(left->info.sketch, right->info.sketch);
    for (size_t i = 0; i < rows.count; i++) {
        TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&left->pack, NULL, rows.values + i * COLUMNS, sketches[0]));
        TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&right->pack, NULL, rows.values + i * COLUMNS, sketches[1]));
        TEST_ASSERT_EQUAL_MEMORY(sketches[0], sketches[1], left->info.sketch);
    }
    pml_rows_free(&rows);
}

/* Everything behind the prototypes and their norms but the cell codes, which are means over the public rows of a cell. */
static void test_only_cells_follow_the_gallery(void)
{
    input.options.prototypes_per_cell = 1;
    for (int plain = 0; plain < 2; plain++) {
        input.options.plain_sketches = plain;
        input.options.gallery = &gallery;
        struct built with = build(&input);
        input.options.gallery = NULL;
        struct built without = build(&input);
        const uint64_t first = (88 + 15) / 16 * 16, norms = (first + 60 * COLUMNS + 15) / 16 * 16,
                       anchors = (norms + 4 * 60 + 15) / 16 * 16,
                       anchor_norms = (anchors + PUBLIC * COLUMNS + 15) / 16 * 16, starts = anchor_norms + 4 * PUBLIC,
                       codes = starts + 16;
        const size_t dimensions = with.info.dimensions, slot_codes = codes + 2 * PUBLIC * dimensions;
        TEST_ASSERT_EQUAL_UINT64(with.size, without.size);
        TEST_ASSERT_TRUE(memcmp(with.bytes + first, without.bytes + first, 60 * COLUMNS) != 0);
        TEST_ASSERT_EQUAL_MEMORY(without.bytes + anchors, with.bytes + anchors, slot_codes - anchors);
        assert_same_sketches(&with, &without);
        TEST_ASSERT_EQUAL_UINT64(0, without.report.gallery);
        free(with.bytes);
        free(without.bytes);
    }
}

/* They are public, and would be known to whoever looks for the others. */
static void test_rows_that_are_public_do_not_count(void)
{
    memcpy(gallery.values, input.features.values, 200 * COLUMNS * sizeof(float));
    struct built built = build(&input);
    TEST_ASSERT_EQUAL_UINT64(GALLERY - 200, built.report.gallery);
    free(built.bytes);
    gallery.rows = 201;
    refuse("The gallery has 1 different rows that are not among the public ones");
    gallery.rows = 200;
    refuse("The gallery has 0 different rows");
    gallery.rows = GALLERY;
}

static void test_the_number_of_threads_does_not_matter(void)
{
    input.options.threads = 1;
    struct built one = build(&input);
    input.options.threads = 3;
    struct built three = build(&input);
    TEST_ASSERT_EQUAL_UINT64(one.size, three.size);
    TEST_ASSERT_EQUAL_MEMORY(one.bytes, three.bytes, one.size);
    TEST_ASSERT_EQUAL_UINT64(4, one.report.refine);
    free(one.bytes);
    free(three.bytes);
}

static void test_a_gallery_that_does_not_fit_is_refused(void)
{
    input.options.slots = PML_SLOTS_CLASS;
    refuse("use --slots one");
    input.options.slots = PML_SLOTS_ONE;
    input.options.rows_per_prototype = 1; /* although the public rows may be read */
    refuse("leave it out, or leave --gallery out");
    input.options.rows_per_prototype = 2;
    gallery.columns = COLUMNS / 2;
    refuse("The rows of the gallery have 8 features, but the public ones 16");
    gallery.columns = COLUMNS;
    gallery.rows = PML_ANCHORS_MAX;
    refuse("give a sample of the gallery");
    gallery.rows = GALLERY;
    gallery.values[7 * COLUMNS] = NAN;
    refuse("Row 7 of the gallery (counting from 0)");
    for (size_t i = 0; i < GALLERY; i++)
        memcpy(gallery.values + i * COLUMNS, gallery.values, COLUMNS * sizeof(float));
    for (size_t i = 0; i < GALLERY * COLUMNS; i++)
        gallery.values[i] = 1.0f;
    refuse("The gallery has 1 different rows");
    input.options.gallery = NULL;
    input.options.refine = 65;
    refuse("change --refine");
}

static void test_cells_are_refined_where_that_finds_more(void)
{
    static const struct {
        int refine, slots, soft;
        unsigned cells;
        size_t rounds;
    } cases[] = {{0, PML_SLOTS_ONE, 0, 60, 4},  {-1, PML_SLOTS_ONE, 0, 60, 0}, {7, PML_SLOTS_ONE, 0, 60, 7},
                 {0, PML_SLOTS_ONE, 1, 25, 4},  {0, PML_SLOTS_ONE, 1, 26, 0},  {2, PML_SLOTS_ONE, 1, 26, 2},
                 {0, PML_SLOTS_CLASS, 0, 4, 0}, {3, PML_SLOTS_CLASS, 0, 4, 3}};
    input.options.gallery = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        input.options.refine = cases[i].refine;
        input.options.slots = cases[i].slots;
        input.options.soft = cases[i].soft;
        input.options.cells = cases[i].cells;
        struct built built = build(&input);
        TEST_ASSERT_EQUAL_UINT64(cases[i].rounds, built.report.refine);
        free(built.bytes);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_cells_are_refined_where_that_finds_more);
    RUN_TEST(test_no_row_of_the_gallery_is_in_the_pack);
    RUN_TEST(test_only_cells_follow_the_gallery);
    RUN_TEST(test_rows_that_are_public_do_not_count);
    RUN_TEST(test_the_number_of_threads_does_not_matter);
    RUN_TEST(test_a_gallery_that_does_not_fit_is_refused);
    return UNITY_END();
}
