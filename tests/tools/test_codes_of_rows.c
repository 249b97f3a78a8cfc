/* SPDX-License-Identifier: Apache-2.0
 * Codes that follow the rows: on a sphere, the same everywhere, and near where rows are near. */
#define _POSIX_C_SOURCE 200809L
#include "builder_support.h"
#include "common/rows/knn.h"
#include "common/rows_support.h"

#include <math.h>

#define ROWS 400u
#define COLUMNS 32u
#define CLASSES 25u
#define NEAREST 8u

static const enum pml_codes kinds[] = {PML_CODES_PCA, PML_CODES_SPECTRAL, PML_CODES_LDA};

static struct pml_rows rows;
static int32_t labels[ROWS];
static uint32_t order[ROWS];
static uint32_t one_slot[] = {0, ROWS}, two_slots[] = {0, 150, ROWS};

void setUp(void)
{
    rows = drawn(5, ROWS, COLUMNS, CLASSES);
    for (size_t i = 0; i < ROWS; i++) {
        order[i] = (uint32_t)(i < ROWS / 2 ? 2 * i : 2 * i - ROWS + 1); /* labels come in another order */
        labels[order[i]] = label_of(i % CLASSES, CLASSES);
    }
}

void tearDown(void)
{
    pml_rows_free(&rows);
}

static struct pml_code_source source_of(const uint32_t *starts, size_t slots)
{
    return (struct pml_code_source){
        .rows = &rows, .starts = starts, .slots = slots, .labels = labels, .order = order, .seed = 3, .threads = 2};
}

static struct pml_code_book make(enum pml_codes kind, const struct pml_code_source *source, unsigned dimensions)
{
    struct pml_code_book book = {.dimensions = dimensions};
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_codes_make(&book, kind, source, &said), said.text);
    return book;
}

static void free_book(struct pml_code_book *book)
{
    free(book->slots);
    free(book->anchors);
}

static double distance(const int16_t *left, const int16_t *right, unsigned k)
{
    double squares = 0.0;
    for (unsigned c = 0; c < k; c++)
        squares += ((double)left[c] - right[c]) * ((double)left[c] - right[c]);
    return sqrt(squares);
}

/* Rounding moves each coordinate by at most a half. */
static void test_anchors_lie_on_a_sphere(void)
{
    static const int16_t origin[PML_DIMENSIONS_MAX];
    const struct pml_code_source source = source_of(one_slot, 1);
    for (size_t i = 0; i < 3; i++)
        for (unsigned k = 1; k <= 16; k += 5) {
            struct pml_code_book book = make(kinds[i], &source, k);
            for (size_t j = 0; j < ROWS; j++)
                TEST_ASSERT_DOUBLE_WITHIN(0.5 * sqrt(k), 24000.0, distance(book.anchors + j * k, origin, k));
            TEST_ASSERT_EQUAL_INT16_ARRAY(origin, book.slots, k);
            free_book(&book);
        }
}

static void test_one_of_several_slots_is_at_the_mean_of_its_anchors(void)
{
    const struct pml_code_source source = source_of(two_slots, 2);
    for (size_t i = 0; i < 3; i++) {
        struct pml_code_book book = make(kinds[i], &source, 6);
        for (size_t s = 0; s < 2; s++)
            for (unsigned c = 0; c < 6; c++) {
                double sum = 0.0;
                for (size_t j = two_slots[s]; j < two_slots[s + 1]; j++)
                    sum += book.anchors[j * 6 + c];
                TEST_ASSERT_EQUAL_INT16((int16_t)floor(sum / (two_slots[s + 1] - two_slots[s]) + 0.5),
                                        book.slots[s * 6 + c]);
            }
        free_book(&book);
    }
}

/* A row in the middle of all has no direction. */
static void test_a_row_in_the_middle_is_at_the_origin(void)
{
    static const float values[] = {127, 40, 127, 127, 40, 127};
    static const uint32_t starts[] = {0, 3};
    struct pml_rows three = quantised(values, 3, 2);
    const struct pml_code_source source = {.rows = &three, .starts = starts, .slots = 1, .threads = 1};
    struct pml_code_book book = make(PML_CODES_PCA, &source, 1);
    TEST_ASSERT_EQUAL_INT16(24000, abs(book.anchors[0]));
    TEST_ASSERT_EQUAL_INT16(0, book.anchors[1]);
    TEST_ASSERT_EQUAL_INT16(-book.anchors[0], book.anchors[2]);
    free_book(&book);
    pml_rows_free(&three);
}

/* Most rows at 0 degrees, one at 20 and one at 60: that at 20 is beyond the mean, but not beyond the middle of 0 and 60. */
static void test_codes_lie_around_the_mean_of_the_rows(void)
{
    float values[16];
    static const uint32_t starts[] = {0, 8};
    for (size_t i = 0; i < 8; i++) {
        values[2 * i] = i == 7 ? 73 : 127;
        values[2 * i + 1] = i == 7 ? 127 : i == 6 ? 46 : 0;
    }
    struct pml_rows eight = quantised(values, 8, 2);
    const struct pml_code_source source = {.rows = &eight, .starts = starts, .slots = 1, .threads = 1};
    struct pml_code_book book = make(PML_CODES_PCA, &source, 1);
    TEST_ASSERT_EQUAL_INT16(book.anchors[7], book.anchors[6]);
    TEST_ASSERT_EQUAL_INT16(-book.anchors[7], book.anchors[0]);
    free_book(&book);
    pml_rows_free(&eight);
}

/* ---- the same everywhere ---- */

static uint64_t hash_codes(const struct pml_code_book *book)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < (size_t)ROWS * book->dimensions; i++)
        for (unsigned shift = 0; shift < 16; shift += 8)
            hash = (hash ^ ((uint16_t)book->anchors[i] >> shift & 255u)) * 1099511628211u;
    return hash;
}

/* Recorded on x86-64. A platform with another sum or another rounding makes other packs. */
static void test_codes_are_the_same_everywhere(void)
{
    static const uint64_t recorded[] = {0xB15CD4C48297EDBA, 0xD12C1C38EFB670E8, 0x215B466A34083ABB};
    for (size_t i = 0; i < 3; i++)
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            struct pml_code_source source = source_of(one_slot, 1);
            source.threads = threads;
            struct pml_code_book book = make(kinds[i], &source, 8);
            TEST_ASSERT_EQUAL_HEX64(recorded[i], hash_codes(&book));
            free_book(&book);
        }
}

static void test_lists_that_are_given_are_those_that_are_found(void)
{
    uint32_t *lists = malloc(ROWS * 10 * sizeof *lists);
    TEST_ASSERT_NOT_NULL(lists);
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&rows, 10, 2, NULL, lists));
    for (size_t i = 0; i < 2; i++) {
        struct pml_code_source source = source_of(one_slot, 1);
        struct pml_code_book found = make(kinds[i], &source, 5);
        source.lists = lists;
        source.neighbours = 10;
        struct pml_code_book given = make(kinds[i], &source, 5);
        TEST_ASSERT_EQUAL_INT16_ARRAY(found.anchors, given.anchors, ROWS * 5);
        free_book(&found);
        free_book(&given);
    }
    free(lists);
}

/* ---- neighbours ---- */

/* How many anchors are nearer to anchor i than anchor j is. */
static size_t rank_of(const struct pml_code_book *book, size_t i, size_t j)
{
    const unsigned k = book->dimensions;
    const double own = distance(book->anchors + i * k, book->anchors + j * k, k);
    size_t nearer = 0;
    for (size_t other = 0; other < ROWS; other++)
        nearer += other != i && distance(book->anchors + i * k, book->anchors + other * k, k) < own;
    return nearer;
}

/* The share of the rows' nearest neighbours that are among the nearest 5 % by their codes. */
static double kept(const struct pml_code_book *book, const uint32_t *lists)
{
    size_t found = 0;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t n = 0; n < NEAREST; n++)
            found += rank_of(book, i, lists[i * NEAREST + n]) < ROWS / 20;
    return (double)found / (ROWS * NEAREST);
}

static void test_neighbours_stay_neighbours(void)
{
    static const double least[] = {0.9, 0.9, 0.9};
    const struct pml_code_source source = source_of(one_slot, 1);
    uint32_t *lists = malloc(ROWS * NEAREST * sizeof *lists);
    TEST_ASSERT_NOT_NULL(lists);
    TEST_ASSERT_EQUAL(PML_DONE, pml_knn(&rows, NEAREST, 2, NULL, lists));
    struct pml_code_book book = make(PML_CODES_RANDOM, &source, 12);
    TEST_ASSERT_TRUE(kept(&book, lists) < 0.1);
    free_book(&book);
    for (size_t i = 0; i < 3; i++) {
        book = make(kinds[i], &source, 12);
        const double share = kept(&book, lists);
        TEST_ASSERT_TRUE_MESSAGE(share > least[i], "fewer than nine of ten neighbours are kept");
        free_book(&book);
    }
    free(lists);
}

/* Rows of one class are nearer to each other than by features alone: within a class rows differ more than classes do. */
static void test_discriminant_codes_tell_classes_apart(void)
{
    float values[ROWS * 6];
    uint64_t draws = 9;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < 6; j++)
            values[i * 6 + j] = (float)draw_between(&draws, -1000, 1000);
        values[i * 6 + 1] = (float)(300 * (double)(i % 2) - 150) + (float)draw_between(&draws, -20, 20);
        labels[order[i]] = (int32_t)(i % 2);
    }
    struct pml_rows mixed = quantised(values, ROWS, 6);
    struct pml_code_source source = source_of(one_slot, 1);
    source.rows = &mixed;
    struct pml_code_book book = make(PML_CODES_LDA, &source, 1);
    size_t right = 0;
    for (size_t i = 0; i < ROWS; i++)
        right += (book.anchors[i] > 0) == ((book.anchors[1] > 0) == (i % 2 == 1));
    TEST_ASSERT_TRUE(right > ROWS * 95 / 100);
    free_book(&book);
    pml_rows_free(&mixed);
}

/* ---- defaults and refusals ---- */

static void refuse(enum pml_codes kind, const struct pml_code_source *source, unsigned dimensions, const char *part)
{
    struct pml_code_book book = {.dimensions = dimensions};
    memset(&said, 0, sizeof said);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_codes_make(&book, kind, source, &said));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said.text, part), said.text);
    free_book(&book);
}

static void test_the_default_is_what_the_rows_allow(void)
{
    static const unsigned from_many[] = {16, 16, 16}, from_few[] = {3, 16, 3};
    struct pml_code_source source = source_of(one_slot, 1);
    struct pml_rows few = drawn(8, ROWS, 3, CLASSES);
    for (size_t i = 0; i < 3; i++) {
        source.rows = &rows;
        struct pml_code_book book = make(kinds[i], &source, 0);
        TEST_ASSERT_EQUAL_UINT(from_many[i], book.dimensions);
        free_book(&book);
        source.rows = &few;
        book = make(kinds[i], &source, 0);
        TEST_ASSERT_EQUAL_UINT(from_few[i], book.dimensions);
        free_book(&book);
    }
    struct pml_code_book book = make(PML_CODES_RANDOM, &source, 0);
    TEST_ASSERT_EQUAL_UINT(2, book.dimensions);
    free_book(&book);
    refuse(PML_CODES_PCA, &source, 4, "the number of directions in which the rows vary is 3");
    refuse(PML_CODES_LDA, &source, 4, "the number of directions in which the classes differ is 3");
    pml_rows_free(&few);
}

static void test_codes_that_cannot_follow_are_refused(void)
{
    struct pml_code_source source = source_of(one_slot, 1);
    source.labels = NULL;
    refuse(PML_CODES_LDA, &source, 2, "need labels");
    source.labels = labels;
    for (size_t i = 0; i < ROWS; i++)
        labels[i] = (int32_t)(i % 3);
    refuse(PML_CODES_LDA, &source, 3, "is 2: give fewer --dims");
    for (size_t i = 0; i < ROWS; i++)
        labels[i] = 7;
    refuse(PML_CODES_LDA, &source, 1, "one class only");
    static const uint32_t five[] = {0, 5};
    struct pml_rows slice = pml_rows_slice(&rows, 0, 5);
    source.rows = &slice;
    source.starts = five;
    refuse(PML_CODES_SPECTRAL, &source, 5, "the number of other rows is 4");
    refuse(PML_CODES_PCA, &source, 5, "vary is 4");
    for (size_t i = 1; i < ROWS; i++)
        memcpy(rows.values + i * COLUMNS, rows.values, COLUMNS);
    source = source_of(one_slot, 1);
    for (size_t i = 0; i < 3; i++)
        refuse(kinds[i], &source, 1, "All rows are equal");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_anchors_lie_on_a_sphere);
    RUN_TEST(test_one_of_several_slots_is_at_the_mean_of_its_anchors);
    RUN_TEST(test_a_row_in_the_middle_is_at_the_origin);
    RUN_TEST(test_codes_lie_around_the_mean_of_the_rows);
    RUN_TEST(test_codes_are_the_same_everywhere);
    RUN_TEST(test_lists_that_are_given_are_those_that_are_found);
    RUN_TEST(test_neighbours_stay_neighbours);
    RUN_TEST(test_discriminant_codes_tell_classes_apart);
    RUN_TEST(test_the_default_is_what_the_rows_allow);
    RUN_TEST(test_codes_that_cannot_follow_are_refused);
    return UNITY_END();
}
