/* SPDX-License-Identifier: Apache-2.0
 * Both frames against SPEC 6 as it reads (naive_embedding.h), and against the device's own arithmetic. */
#define _POSIX_C_SOURCE 200809L
#include "embedding_support.h"
#include "naive_embedding.h"
#include "stages/stages.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static double largest(const double *values, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

/* `within`: relative to the size of the anchors' rows. */
static void compare_with_naive(const pml_pack *pack, unsigned iterations, double within, const char *name)
{
    struct pml_embedding *frames = make_frames(pack, iterations, 2);
    struct naive naive = make_naive(pack, iterations);
    const size_t n = naive.info.anchors, k = naive.info.dimensions, slots = naive.info.slots;
    float places[ITEMS * PML_DIMENSIONS_MAX], *released = malloc(slots * k * sizeof *released);
    double *placed = malloc(slots * k * sizeof *placed), right[PML_DIMENSIONS_MAX];
    uint32_t item_slots[ITEMS];
    struct pml_rows rows = draw_items(pack, &naive.info, item_slots);
    const double size = largest(naive.server, (iterations + 2) * n * k);
    TEST_ASSERT_EQUAL(0, pml_embedding_items(frames, &rows, item_slots, 2, places));
    for (size_t i = 0; i < ITEMS; i++) {
        naive_item(&naive, rows.values + i * rows.columns, item_slots[i], right);
        for (size_t c = 0; c < k; c++)
            TEST_ASSERT_DOUBLE_WITHIN_MESSAGE((within + 0x1p-24) * fmax(size, fabs(right[c])), right[c],
                                              (double)places[i * k + c], name);
    }
    draw_released(&naive.info, released);
    TEST_ASSERT_EQUAL(0, pml_embedding_place(frames, released, placed));
    for (uint32_t s = 0; s < slots; s++) {
        naive_place(&naive, released + s * k, s, right);
        for (size_t c = 0; c < k; c++)
            TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(within * fmax(size, largest(right, k)), right[c], placed[s * k + c],
                                              name);
    }
    pml_rows_free(&rows);
    free(released);
    free(placed);
    free_naive(&naive);
    pml_embedding_free(frames);
}

static void test_golden_packs(void)
{
    const unsigned iterations[] = {0, 1, 5, 22}; /* after 22 two of them are best aligned by a reflection */
    unsigned done = 0;
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        pml_pack pack = open_golden(i);
        /* Twelve points in sixteen dimensions that shrink at every step: what they span is known less and less. */
        const bool shrinking = i == 8;
        for (size_t t = 0; has_anchors(&pack) && t < (shrinking ? 3 : 4); t++, done++)
            compare_with_naive(&pack, iterations[t], shrinking ? 1e-6 : 1e-11, golden_packs[i].name);
    }
    TEST_ASSERT_EQUAL_UINT(8 * 4 - 1, done);
}

struct build_case {
    const char *name;
    size_t rows, classes;
    struct pml_build_options options;
};

static const struct build_case build_cases[] = {
    {"class slots, label graph", 150, 5, {.slots = PML_SLOTS_CLASS, .alpha = 0.7, .bandwidth = 1.2}},
    {"class codes", 200, 4, {.slots = PML_SLOTS_CLASS, .codes = PML_CODES_CLASS, .neighbours = 3}},
    {"one slot, three dimensions", 120, 1, {.slots = PML_SLOTS_ONE, .dimensions = 3}},
    {"groups", 90, 9, {.slots = PML_SLOTS_GROUP, .slot_count = 3, .alpha = 0.3, .bandwidth = 1, .dimensions = 5}},
    {"all others are neighbours", 30, 3, {.slots = PML_SLOTS_CLASS, .neighbours = 29, .alpha = 1, .bandwidth = 2}},
    {"fewer rows a slot than neighbours", 40, 20, {.slots = PML_SLOTS_CLASS, .alpha = 0.5, .bandwidth = 1}},
};

static void test_built_packs(void)
{
    for (size_t i = 0; i < sizeof build_cases / sizeof build_cases[0]; i++) {
        struct input input = make_input(build_cases[i].rows, 12, build_cases[i].classes);
        input.options = build_cases[i].options;
        input.options.cells = 8;
        input.options.rows_are_public = input.options.gaussian = 1;
        struct built built = build(&input);
        for (unsigned iterations = 0; iterations <= 6; iterations += 3)
            compare_with_naive(&built.pack, iterations, 1e-11, build_cases[i].name);
        free(built.bytes);
        free_input(&input);
    }
}

/* ---- packs at the edge ---- */

/* One slot, `n` equal anchors of two features, all with the same code but the last. */
static uint8_t *make_equal_anchors(uint32_t n, uint32_t K, int16_t last, size_t *size)
{
    struct pack_fields f = {.d = 2, .n = n, .K = K, .k = 2, .G = 1, .lambda = 65536, .sections = 0xF8};
    *size = section_offset(&f, 7) + section_size(&f, 7);
    uint8_t *bytes = calloc(1, *size);
    TEST_ASSERT_NOT_NULL(bytes);
    memcpy(bytes, "PMPK\0\0\1\0", 8);
    const struct {
        unsigned at, width;
        uint64_t value;
    } fields[] = {{40, 8, *size}, {48, 4, f.d}, {52, 4, n},        {56, 2, K},
                  {58, 2, 2},     {60, 2, 1},   {72, 4, f.lambda}, {80, 4, f.sections}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        store_le(bytes + fields[i].at, fields[i].width, fields[i].value);
    const int8_t row[2] = {127, 3};
    for (size_t i = 0; i < n; i++) {
        memcpy(bytes + section_offset(&f, 3) + 2 * i, row, 2);
        store_le(bytes + section_offset(&f, 4) + 4 * i, 4, pml_inverse_norm(row, 2));
        store_le(bytes + section_offset(&f, 6) + 4 * i, 2, i + 1 < n ? 100 : (uint64_t)last);
        store_le(bytes + section_offset(&f, 6) + 4 * i + 2, 2, 200);
    }
    store_le(bytes + section_offset(&f, 5) + 4, 4, n);
    store_le(bytes + section_offset(&f, 7), 2, 1000);
    pml_pack_seal(bytes, *size);
    return bytes;
}

/* The anchors stay where they are; everything else comes half as near at every step. */
static void test_anchors_that_are_all_equal(void)
{
    for (uint32_t n = 1; n <= 3; n++) {
        size_t size;
        uint8_t *bytes = make_equal_anchors(n, n, 100, &size);
        pml_pack pack;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&pack, bytes, size, NULL, NULL));
        compare_with_naive(&pack, 4, 1e-12, "equal anchors");
        struct pml_embedding *frames = make_frames(&pack, 4, 1);
        const float released[2] = {1700, -1400};
        double placed[2];
        TEST_ASSERT_EQUAL(0, pml_embedding_place(frames, released, placed));
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, 100 + 1600.0 / 16, placed[0]);
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, 200 - 1600.0 / 16, placed[1]);
        pml_embedding_free(frames);
        free(bytes);
    }
}

/* All anchors but one start from one row, so that the median of the distances is 0; the one tells the bandwidth. An item
 * is as near to all of them: it takes the first. */
static void test_one_anchor_apart(void)
{
    size_t size;
    uint8_t *bytes = make_equal_anchors(7, 2, 900, &size);
    pml_pack pack;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&pack, bytes, size, NULL, NULL));
    compare_with_naive(&pack, 3, 1e-12, "one anchor apart");
    struct pml_embedding *frames = make_frames(&pack, 3, 1);
    struct naive naive = make_naive(&pack, 3);
    const float released[2] = {600, 200};
    double placed[2], right[2];
    TEST_ASSERT_EQUAL_DOUBLE(400, naive.width);
    TEST_ASSERT_EQUAL(0, pml_embedding_place(frames, released, placed));
    naive_place(&naive, released, 0, right);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, right[0], placed[0]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, right[1], placed[1]);
    free_naive(&naive);
    pml_embedding_free(frames);
    free(bytes);
}

/* ---- server and device ---- */

#if PML_WITH_GAUSSIAN
/* The row the device computes from these features, before grid and noise (grid 1: rounded to whole units), and how far
 * a weight that is rounded to 1/65536 can move it. */
static double device_row(const pml_pack *pack, const int8_t *q, uint32_t slot, int32_t *row)
{
    const pml_pack *v = pack;
    const uint32_t least = pml_weights_floor(v->lambda), inverse = pml_inverse_norm(q, v->features);
    uint64_t keys[PML_NEIGHBOURS_MAX];
    uint32_t indices[PML_NEIGHBOURS_MAX], weights[PML_NEIGHBOURS_MAX];
    int64_t *labels = malloc((size_t)v->slots * v->dimensions * sizeof *labels);
    double degree = 0;
    TEST_ASSERT_NOT_NULL(labels);
    pml_neighbours_find(v, &pml_kernels_portable, q, keys);
    for (size_t j = 0; j < v->neighbours; j++) {
        indices[j] = neighbour_index(keys[j]);
        weights[j] = pml_weights_of(neighbour_score(keys[j]), inverse, v->lambda, least);
        degree += weights[j];
    }
    pml_label_rows(v, pml_weights_label, labels);
    pml_update_row(v, slot, labels + (size_t)slot * v->dimensions, indices, weights, 1, row);
    free(labels);
    /* Σw, Σl and D move by K/2 at most; codes are below 2^15. */
    double part = 0.5 * v->neighbours / degree, pull = v->alpha / 256.0 * v->neighbours * 65536 / degree;
    return 0.5 + 65536 * (part + v->alpha / 256.0 * part + pull * part);
}

/* An item with the query's features and slot stands, without iterations, where the device's row is; and so does that
 * row itself, were it released without noise. */
static void test_an_item_like_the_query_stands_where_the_device_says(void)
{
    double narrowest = INFINITY;
    for (size_t i = 0; i < GOLDEN_UPDATE_COUNT; i++) {
        const struct golden_update *g = golden_updates + i;
        pml_pack pack = open_golden(g->pack);
        const pml_pack *v = &pack;
        struct pml_embedding *frames = make_frames(&pack, 0, 1);
        struct pml_rows rows;
        float x[64], place[PML_DIMENSIONS_MAX], *released = calloc((size_t)v->slots * v->dimensions, sizeof *released);
        double *placed = malloc((size_t)v->slots * v->dimensions * sizeof *placed);
        int32_t row[PML_DIMENSIONS_MAX];
        uint32_t slot;
        TEST_ASSERT_TRUE(g->d <= 64 && released && placed);
        memcpy(x, g->bits, g->d * sizeof *x);
        TEST_ASSERT_EQUAL(0, pml_rows_allocate(&rows, 1, g->d));
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(x, g->d, rows.values));
        pml_rows_measure(&rows, 0);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot(&pack, g->label, &slot));
        double within = device_row(&pack, rows.values, slot, row);
        narrowest = fmin(narrowest, within);
        for (size_t c = 0; c < v->dimensions; c++)
            released[slot * v->dimensions + c] = (float)row[c];
        TEST_ASSERT_EQUAL(0, pml_embedding_items(frames, &rows, &slot, 1, place));
        TEST_ASSERT_EQUAL(0, pml_embedding_place(frames, released, placed));
        for (size_t c = 0; c < v->dimensions; c++) {
            TEST_ASSERT_DOUBLE_WITHIN(within, row[c], (double)place[c]);
            TEST_ASSERT_DOUBLE_WITHIN(1e-6, row[c], placed[slot * v->dimensions + c]);
        }
        free(placed);
        free(released);
        pml_rows_free(&rows);
        pml_embedding_free(frames);
    }
    TEST_ASSERT_TRUE(narrowest < 2.0); /* embedding units, of ±32767 */
}
#endif

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_golden_packs);
    RUN_TEST(test_built_packs);
    RUN_TEST(test_anchors_that_are_all_equal);
    RUN_TEST(test_one_anchor_apart);
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_an_item_like_the_query_stands_where_the_device_says);
#endif
    return UNITY_END();
}
