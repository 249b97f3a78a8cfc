/* SPDX-License-Identifier: Apache-2.0
 * Stages that compute with codes (label rows, certificate, update), on packs of random shape and extreme codes. */
#include "base/exact.h"
#include "golden/vectors.h"
#include "privacy/draws.h"
#include "stages/stages.h"
#include "support/support.h"

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_GAUSSIAN

#define ANCHORS_MAX 160u
#define SLOTS_MAX 12u

/* A pack of codes only, which is all that these stages read. */
struct codes {
    pml_pack view;
    uint8_t starts[4 * (SLOTS_MAX + 1)], anchors[2 * ANCHORS_MAX * 4], slots[2 * SLOTS_MAX * 4];
};

static void store_code(uint8_t *section, size_t index, int64_t code)
{
    section[2 * index] = (uint8_t)code;
    section[2 * index + 1] = (uint8_t)((uint64_t)code >> 8);
}

/* Codes within ±size, every third of them at an end. */
static int64_t draw_code(uint64_t *state, int64_t size)
{
    return draw_below(state, 3) == 0 ? (draw_below(state, 2) == 0 ? size : -size) : draw_between(state, -size, size);
}

static void draw_codes(uint64_t *state, struct codes *c, uint16_t k, int64_t size)
{
    memset(c, 0, sizeof *c);
    pml_pack *v = &c->view;
    v->dimensions = k;
    v->slots = (uint16_t)(1 + draw_below(state, SLOTS_MAX));
    for (uint32_t s = 0; s < v->slots; s++) {
        store_le32(c->starts + 4 * s, v->anchors);
        v->anchors += 1 + (uint32_t)draw_below(state, ANCHORS_MAX / SLOTS_MAX);
    }
    store_le32(c->starts + 4 * (size_t)v->slots, v->anchors);
    uint32_t most = v->anchors < PML_NEIGHBOURS_MAX ? v->anchors : PML_NEIGHBOURS_MAX;
    v->neighbours = (uint16_t)(draw_below(state, 2) == 0 ? most : 1 + draw_below(state, most));
    v->lambda = (uint32_t)(1 + (draw64(state) >> (32 + draw_below(state, 31))));
    v->alpha = (uint16_t)(v->slots == 1 || draw_below(state, 4) == 0 ? 0 : draw_between(state, 1, 1024));
    for (size_t i = 0; i < (size_t)v->anchors * k; i++)
        store_code(c->anchors, i, draw_code(state, size));
    for (size_t i = 0; i < (size_t)v->slots * k; i++)
        store_code(c->slots, i, draw_code(state, size));
    v->section[PML_SECTION_ANCHOR_STARTS] = c->starts;
    v->section[PML_SECTION_ANCHOR_CODES] = c->anchors;
    v->section[PML_SECTION_SLOT_CODES] = c->slots;
}

static int64_t anchor_code(const pml_pack *v, size_t anchor, size_t i)
{
    return pack_code(v->section[PML_SECTION_ANCHOR_CODES], anchor * v->dimensions + i);
}

static int64_t slot_code(const pml_pack *v, size_t slot, size_t i)
{
    return pack_code(v->section[PML_SECTION_SLOT_CODES], slot * v->dimensions + i);
}

/* ---- label rows ---- */

struct nearby {
    uint32_t distance, anchor;
};

static int by_distance(const void *left, const void *right)
{
    const struct nearby *a = left, *b = right;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->anchor < b->anchor ? -1 : a->anchor > b->anchor;
}

static void check_label_rows(const pml_pack *v)
{
    int64_t *rows = malloc((size_t)v->slots * v->dimensions * sizeof *rows);
    TEST_ASSERT_NOT_NULL(rows);
    pml_label_rows(v, pml_weights_label, rows);
    for (uint32_t slot = 0; slot < v->slots; slot++) {
        struct nearby all[ANCHORS_MAX];
        for (uint32_t j = 0, at = 0; j < v->anchors; j++) {
            while (pack_u32(v->section[PML_SECTION_ANCHOR_STARTS], at + 1) <= j)
                at++;
            all[j] = (struct nearby){at > slot ? at - slot : slot - at, j};
        }
        qsort(all, v->anchors, sizeof *all, by_distance);
        for (size_t i = 0; i < v->dimensions; i++) {
            int64_t sum = 0;
            for (size_t j = 0; j < v->neighbours && v->alpha != 0; j++)
                sum += (int64_t)pml_weights_label(all[j].distance, v->lambda) *
                       (slot_code(v, slot, i) - anchor_code(v, all[j].anchor, i));
            TEST_ASSERT_EQUAL_INT64(sum, rows[(size_t)slot * v->dimensions + i]);
        }
    }
    free(rows);
}

static void test_label_rows_sum_the_first_anchors_sorted_by_slot_distance(void)
{
    uint64_t state = 1;
    for (unsigned p = 0; p < GOLDEN_PACK_COUNT; p++) {
        pml_pack pack = open_golden(p);
        if (pack.anchors > 0)
            check_label_rows(&pack);
    }
    for (size_t i = 0; i < rounds(1000); i++) {
        struct codes c;
        draw_codes(&state, &c, (uint16_t)(1 + draw_below(&state, 4)), 32767);
        check_label_rows(&c.view);
    }
}

/* ---- update ---- */

static void draw_neighbours(uint64_t *state, const pml_pack *v, uint32_t *indices, uint32_t *weights)
{
    uint32_t first = (uint32_t)draw_below(state, v->anchors);
    for (uint32_t j = 0; j < v->neighbours; j++) {
        indices[j] = (first + j) % v->anchors;
        weights[j] = draw_below(state, 3) == 0 ? 65536 : (uint32_t)draw_between(state, 1, 65536);
    }
}

static void test_the_update_rounds_the_exact_mean(void)
{
    uint64_t state = 2;
    for (size_t round = 0; round < rounds(3000); round++) {
        struct codes c;
        uint32_t indices[PML_NEIGHBOURS_MAX], weights[PML_NEIGHBOURS_MAX];
        int64_t labels[SLOTS_MAX * 4];
        int32_t row[4];
        draw_codes(&state, &c, (uint16_t)(1 + draw_below(&state, 4)), 32767);
        const pml_pack *v = &c.view;
        uint32_t slot = (uint32_t)draw_below(&state, v->slots), grid = 1 + (uint32_t)draw_below(&state, 1 << 18);
        draw_neighbours(&state, v, indices, weights);
        pml_label_rows(v, pml_weights_label, labels);
        wide degree = 0;
        for (size_t j = 0; j < v->neighbours; j++)
            degree += weights[j];
        bool fits = true; /* a certified pack has no row beyond 2^20 */
        wide exact[4];
        for (size_t i = 0; i < v->dimensions; i++) {
            wide sum = 256 * slot_code(v, slot, i) * degree + (wide)v->alpha * labels[slot * v->dimensions + i];
            for (size_t j = 0; j < v->neighbours; j++)
                sum += (wide)256 * weights[j] * anchor_code(v, indices[j], i);
            wide up = 2 * sum + 512 * degree * grid, down = 2 * 512 * degree * grid;
            exact[i] = up >= 0 ? up / down : -((down - 1 - up) / down);
            fits = fits && exact[i] < 1 << 30 && exact[i] > -(1 << 30);
        }
        if (!fits)
            continue;
        pml_update_row(v, slot, labels + slot * v->dimensions, indices, weights, grid, row);
        for (size_t i = 0; i < v->dimensions; i++)
            TEST_ASSERT_EQUAL_INT64((int64_t)exact[i], row[i]);
    }
}

/* When slot and anchors share one code, that code is the row, whatever neighbours, weights and alpha are. */
static void test_the_update_of_equal_codes_is_the_code(void)
{
    uint64_t state = 3;
    for (size_t round = 0; round < rounds(2000); round++) {
        struct codes c;
        uint32_t indices[PML_NEIGHBOURS_MAX], weights[PML_NEIGHBOURS_MAX];
        int64_t labels[SLOTS_MAX * 2], code[2] = {draw_code(&state, 32767), draw_code(&state, 32767)};
        int32_t row[2];
        draw_codes(&state, &c, 2, 32767);
        for (size_t i = 0; i < (size_t)c.view.anchors * 2; i++)
            store_code(c.anchors, i, code[i % 2]);
        for (size_t i = 0; i < (size_t)c.view.slots * 2; i++)
            store_code(c.slots, i, code[i % 2]);
        uint32_t slot = (uint32_t)draw_below(&state, c.view.slots), grid = 1 + (uint32_t)draw_below(&state, 5000);
        draw_neighbours(&state, &c.view, indices, weights);
        pml_label_rows(&c.view, pml_weights_label, labels);
        pml_update_row(&c.view, slot, labels + slot * 2, indices, weights, grid, row);
        TEST_ASSERT_EQUAL_INT64(divide_round(code[0], grid), row[0]);
        TEST_ASSERT_EQUAL_INT64(divide_round(code[1], grid), row[1]);
        pml_update_row(&c.view, slot, labels + slot * 2, indices, weights, 1, row);
        TEST_ASSERT_EQUAL_INT64(code[0], row[0]);
        TEST_ASSERT_EQUAL_INT64(code[1], row[1]);
    }
}

/* ---- certificate: SPEC 5.7 for all k but 2 ---- */

static int descending(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* H_s(4096·sign·e_i) */
static wide support_of(const pml_pack *v, uint32_t floor, int64_t label_row, size_t i, int64_t sign)
{
    int64_t sorted[ANCHORS_MAX];
    wide best = 0;
    for (size_t j = 0; j < v->anchors; j++)
        sorted[j] = 4096 * sign * anchor_code(v, j, i);
    qsort(sorted, v->anchors, sizeof *sorted, descending);
    for (size_t t = 0; t <= v->neighbours; t++) {
        wide above = (wide)v->alpha * label_row * 4096 * sign, below = 0;
        for (size_t j = 0; j < v->neighbours; j++) {
            above += (wide)256 * (j < t ? 65536 : floor) * sorted[j];
            below += (wide)256 * (j < t ? 65536 : floor);
        }
        wide value = above >= 0 ? (above + below - 1) / below : -(-above / below);
        best = t == 0 || value > best ? value : best;
    }
    return best;
}

static wide upper(wide a, wide b)
{
    return a > b ? a : b;
}

/* ⌈√v⌉, v < 2^60 */
static wide root_of(wide v)
{
    wide root = 0;
    for (int bit = 29; bit >= 0; bit--)
        if ((root + ((wide)1 << bit)) * (root + ((wide)1 << bit)) <= v)
            root += (wide)1 << bit;
    return root + (root * root < v);
}

/* Δ_ball */
static wide ball_of(const pml_pack *v, uint32_t floor, const int64_t *labels)
{
    wide farthest = 0, longest = 0, least = (wide)v->neighbours * floor;
    for (size_t j = 0; j < v->anchors; j++) {
        wide squares = 0;
        for (size_t i = 0; i < v->dimensions; i++)
            squares += (wide)anchor_code(v, j, i) * anchor_code(v, j, i);
        farthest = upper(farthest, squares);
    }
    for (size_t s = 0; s < v->slots; s++) {
        wide squares = 0;
        for (size_t i = 0; i < v->dimensions; i++) {
            wide value = labels[s * v->dimensions + i];
            wide part = ((value < 0 ? -value : value) + 65535) / 65536;
            squares += part * part;
        }
        longest = upper(longest, root_of(squares));
    }
    return root_of(65536 * farthest) + ((wide)v->alpha * (65536 - (wide)floor) * longest + 2 * least - 1) / (2 * least);
}

/* The midpoint of the ball over 16384, within the rounding of one division and of the result */
static void check_ball_centre(const pml_pack *v, uint32_t floor, size_t slot, size_t i, wide label, wide centre)
{
    wide factor = (wide)v->alpha * (65536 + (wide)floor), below = (wide)4096 * v->neighbours * floor;
    wide off = 2 * (below * (centre - 8192 * (wide)slot_code(v, slot, i)) - factor * label);
    wide allowed = below + 2 * (wide)v->neighbours * floor;
    TEST_ASSERT_TRUE(off <= allowed && off >= -allowed);
}

static int check_certificate(const pml_pack *v)
{
    const uint32_t floor = pml_weights_floor(v->lambda);
    int64_t labels[SLOTS_MAX * 4], centres[SLOTS_MAX * 4], scratch[2 * PML_NEIGHBOURS_MAX];
    wide squares = 0, bound = 0, largest = 0, box_centres[SLOTS_MAX * 4];
    pml_certificate certificate;
    pml_label_rows(v, pml_weights_label, labels);
    int status = pml_certificate_of(v, floor, labels, centres, scratch, &certificate);
    for (size_t i = 0; i < v->dimensions; i++) {
        wide widest = 0;
        for (size_t s = 0; s < v->slots; s++) {
            size_t at = s * v->dimensions + i;
            wide plus = support_of(v, floor, labels[at], i, 1), minus = support_of(v, floor, labels[at], i, -1);
            wide code = 4096 * slot_code(v, s, i);
            widest = upper(widest, plus + minus);
            bound = upper(bound, upper(upper(code + plus, -code - plus), upper(code - minus, minus - code)));
            box_centres[at] = 2 * code + plus - minus;
        }
        wide side = (widest + 31) / 32;
        largest = upper(largest, side);
        side = side < 1 << 28 ? side : 1 << 28; /* refused either way */
        squares += side * side;
    }
    wide delta = root_of(squares), ball = ball_of(v, floor, labels);
    const bool balls = ball < delta && ball < 1 << 28;
    delta = balls ? ball : delta;
    for (size_t at = 0; status == PML_OK && at < (size_t)v->slots * v->dimensions; at++) {
        if (balls)
            check_ball_centre(v, floor, at / v->dimensions, at % v->dimensions, labels[at], centres[at]);
        else
            TEST_ASSERT_TRUE(centres[at] == box_centres[at]);
        wide size = centres[at] < 0 ? -(wide)centres[at] : centres[at];
        bound = upper(bound, (size + 1) / 2);
    }
    wide rows = (bound + 8191) / 8192;
    if (largest >= 1 << 28 || delta == 0 || delta >= 1 << 28 || rows >= 1 << 20) {
        TEST_ASSERT_EQUAL(PML_ERROR_SENSITIVITY, status);
    } else {
        TEST_ASSERT_EQUAL(PML_OK, status);
        TEST_ASSERT_EQUAL_DOUBLE((double)delta / 256.0, certificate.sensitivity);
        TEST_ASSERT_EQUAL_DOUBLE((double)rows, certificate.row_bound);
    }
    return status;
}

static void test_the_certificate_holds_at_the_limits_of_codes_and_counts(void)
{
    uint64_t state = 4;
    unsigned certified = 0, refused = 0;
    for (size_t i = 0; i < rounds(3000); i++) {
        struct codes c;
        draw_codes(&state, &c, (uint16_t[]){1, 3, 4}[i % 3], i % 5 == 0 ? 3 : 32767);
        if (check_certificate(&c.view) == PML_OK)
            certified++;
        else
            refused++;
    }
    TEST_ASSERT_TRUE(certified > 20 && refused > 20);
}

/* Slots and anchors at opposite ends, so that the label term alone moves the rows: as the bandwidth falls, rows leave
 * 2^20 before their width does. */
static void test_the_row_bound_alone_can_refuse_a_pack(void)
{
    uint64_t state = 6;
    unsigned certified = 0, refused = 0;
    struct codes c;
    draw_codes(&state, &c, 1, 32767);
    c.view.slots = 2, c.view.anchors = 8, c.view.neighbours = 4, c.view.alpha = 1024;
    store_le32(c.starts + 4, 4);
    store_le32(c.starts + 8, 8);
    for (size_t i = 0; i < 8; i++)
        store_code(c.anchors, i, -32767);
    for (size_t i = 0; i < 2; i++)
        store_code(c.slots, i, 32767);
    for (c.view.lambda = 60000; c.view.lambda < 80000; c.view.lambda += 100)
        if (check_certificate(&c.view) == PML_OK)
            certified++;
        else
            refused++;
    TEST_ASSERT_TRUE(certified > 20 && refused > 20);
}

/* The largest numbers that a pack can make: a sanitiser sees an overflow, and the pack is refused. */
static void test_the_largest_numbers_do_not_overflow(void)
{
    struct codes c;
    uint64_t state = 5;
    for (uint16_t k = 1; k <= 4; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            int64_t labels[2 * 4], centres[2 * 4], scratch[2 * PML_NEIGHBOURS_MAX];
            pml_certificate certificate;
            draw_codes(&state, &c, k, 32767);
            c.view.slots = 2, c.view.anchors = ANCHORS_MAX, c.view.neighbours = PML_NEIGHBOURS_MAX;
            c.view.alpha = 1024, c.view.lambda = 0xFFFFFFFF;
            store_le32(c.starts + 4, ANCHORS_MAX / 2);
            store_le32(c.starts + 8, ANCHORS_MAX);
            for (size_t i = 0; i < (size_t)ANCHORS_MAX * k; i++)
                store_code(c.anchors, i, sign * 32767);
            for (size_t i = 0; i < 2 * (size_t)k; i++)
                store_code(c.slots, i, -sign * 32767);
            pml_label_rows(&c.view, pml_weights_label, labels);
            TEST_ASSERT_EQUAL_INT64(-sign * (int64_t)64 * 65536 * 65534, labels[0]);
            TEST_ASSERT_EQUAL(PML_ERROR_SENSITIVITY,
                              pml_certificate_of(&c.view, 1, labels, centres, scratch, &certificate));
        }
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_label_rows_sum_the_first_anchors_sorted_by_slot_distance);
    RUN_TEST(test_the_update_rounds_the_exact_mean);
    RUN_TEST(test_the_update_of_equal_codes_is_the_code);
    RUN_TEST(test_the_certificate_holds_at_the_limits_of_codes_and_counts);
    RUN_TEST(test_the_row_bound_alone_can_refuse_a_pack);
    RUN_TEST(test_the_largest_numbers_do_not_overflow);
#endif
    return UNITY_END();
}
