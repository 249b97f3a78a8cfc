/* SPDX-License-Identifier: Apache-2.0
 * Every kernel that compares coded sketches against the sums of SPEC 5.13, written out: all depths, the largest values,
 * pieces of every length, memory that ends where the sketch ends. */
#include "base/sketch_code.h"
#include "privatemail_platform.h"
#include "support/kernel_sets.h"
#include "support/support.h"

enum { BLOCKS_MOST = 40, DIRECTIONS_MOST = 8 * BLOCKS_MOST };

static struct kernel_sets sets;

void setUp(void)
{
    sets = kernel_sets_of_cpu();
}

void tearDown(void)
{
}

/* A form as a pack holds it, and coordinates of a query. */
struct form {
    uint8_t code[272], ranges[4 * DIRECTIONS_MOST];
    int16_t coordinates[DIRECTIONS_MOST];
    struct pml_coded coded;
};

static void put16(uint8_t *at, int32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static int16_t get16(const uint8_t *at)
{
    return (int16_t)(at[0] | at[1] << 8);
}

/* blocks[b − 1] blocks of b bits. `largest`: every value at the limit that a pack may have. */
static void make_form(struct form *form, const unsigned blocks[7], bool largest, uint64_t *state)
{
    memset(form, 0, sizeof *form);
    uint32_t directions = 0, bytes = 0;
    for (unsigned bits = 1; bits <= 7; bits++) {
        put16(form->code + 2 * (bits - 1), (int32_t)blocks[bits - 1]);
        directions += 8 * blocks[bits - 1];
        bytes += bits * blocks[bits - 1];
        int8_t *levels = (int8_t *)form->code + 16 + (1 << bits) - 2;
        for (int i = 0; i < 1 << bits; i++) /* ascending */
            levels[i] = (int8_t)(-127 + 254 * i / ((1 << bits) - 1));
    }
    /* Σ s < 2^19 and Σ s² < 2^32 (SPEC 1) */
    int32_t most = largest ? (1 << 19) / (int32_t)directions - 1 : 1200;
    while ((uint64_t)most * (uint64_t)most * directions >= (uint64_t)1 << 32)
        most--;
    for (uint32_t i = 0; i < directions; i++) {
        const int32_t limit = most < 32767 ? most : 32767;
        const int32_t width = largest ? limit / 2 : (int32_t)draw_between(state, 0, limit / 2);
        const int32_t middle = largest ? -(limit - width) : (int32_t)draw_between(state, -(limit / 2), limit / 2);
        put16(form->ranges + 2 * i, middle);
        put16(form->ranges + 2 * (directions + i), width);
        form->coordinates[i] = (int16_t)(largest ? -4096 : draw_between(state, -4096, 4096));
    }
    form->coded = (struct pml_coded){form->code, form->ranges, form->coordinates, directions, bytes};
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* SPEC 5.13 to the letter, in wider numbers. */
static void plain_sums(const struct form *form, const uint8_t *sketch, int64_t *dot, int64_t *squares)
{
    size_t bit = 0, direction = 0;
    *dot = *squares = 0;
    for (int bits = 7; bits > 0; bits--)
        for (int i = 0; i < 8 * get16(form->code + 2 * (bits - 1)); i++, direction++) {
            unsigned code = 0;
            for (int b = 0; b < bits; b++, bit++)
                code |= (unsigned)(sketch[bit / 8] >> bit % 8 & 1) << b;
            const int64_t level = ((const int8_t *)form->code)[16 + (1 << bits) - 2 + (int)code];
            const int64_t width = get16(form->ranges + 2 * (form->coded.directions + direction));
            const int64_t value = get16(form->ranges + 2 * direction) + floor_divide(width * level + 64, 128);
            *dot += form->coordinates[direction] * value;
            *squares += value * value;
        }
    TEST_ASSERT_EQUAL_UINT64(8 * form->coded.bytes, bit);
}

static void check(const struct form *form, const uint8_t *sketch, size_t piece)
{
    int64_t dot, squares;
    plain_sums(form, sketch, &dot, &squares);
    TEST_ASSERT_TRUE(dot > INT32_MIN && dot <= INT32_MAX && squares <= UINT32_MAX);
    for (size_t k = 0; k < sets.count; k++) {
        struct pml_compared compared = PML_COMPARED_START;
        for (size_t at = 0; at < form->coded.bytes; at += piece) {
            const size_t left = form->coded.bytes - at;
            PML_KERNEL(sets.of[k], compare)(&form->coded, sketch + at, left < piece ? left : piece, &compared);
        }
        TEST_ASSERT_EQUAL_INT64_MESSAGE(dot, compared.dot, sets.of[k]->name);
        TEST_ASSERT_EQUAL_INT64_MESSAGE(squares, compared.squares, sets.of[k]->name);
    }
}

/* The sketch is in memory of exactly its size, so that the sanitiser sees a byte too many. */
static void check_sketches(const struct form *form, uint64_t *state, size_t count)
{
    uint8_t *sketch = malloc(form->coded.bytes);
    TEST_ASSERT_NOT_NULL(sketch);
    for (size_t round = 0; round < count; round++) {
        for (size_t i = 0; i < form->coded.bytes; i++)
            sketch[i] = (uint8_t)(round == 0 ? 0 : round == 1 ? 255 : draw64(state));
        check(form, sketch, form->coded.bytes);
        check(form, sketch, 1 + (size_t)draw_below(state, form->coded.bytes));
    }
    free(sketch);
}

static void test_each_depth_alone(void)
{
    struct form form;
    uint64_t state = 3;
    for (unsigned bits = 1; bits <= 7; bits++)
        for (unsigned count = 1; count <= 9; count++) {
            unsigned blocks[7] = {0};
            blocks[bits - 1] = count;
            make_form(&form, blocks, false, &state);
            check_sketches(&form, &state, 20);
        }
}

static void test_depths_together(void)
{
    struct form form;
    uint64_t state = 4;
    for (size_t round = 0; round < 300; round++) {
        unsigned blocks[7], sum = 0;
        for (unsigned bits = 1; bits <= 7; bits++) {
            blocks[bits - 1] = (unsigned)draw_below(&state, 6);
            sum += blocks[bits - 1];
        }
        blocks[round % 7] += sum == 0;
        make_form(&form, blocks, false, &state);
        check_sketches(&form, &state, 5);
    }
}

static void test_the_largest_sums(void)
{
    struct form form;
    uint64_t state = 5;
    for (unsigned count = 1; count <= BLOCKS_MOST; count++) {
        unsigned blocks[7] = {0};
        blocks[count % 7] = count;
        make_form(&form, blocks, true, &state);
        check_sketches(&form, &state, 4);
    }
}

static void test_pieces_of_every_length(void)
{
    const unsigned blocks[7] = {3, 2, 3, 2, 2, 1, 2};
    struct form form;
    uint64_t state = 6;
    make_form(&form, blocks, false, &state);
    uint8_t sketch[256];
    for (size_t i = 0; i < form.coded.bytes; i++)
        sketch[i] = (uint8_t)draw64(&state);
    for (size_t piece = 1; piece <= form.coded.bytes; piece++)
        check(&form, sketch, piece);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_each_depth_alone);
    RUN_TEST(test_depths_together);
    RUN_TEST(test_the_largest_sums);
    RUN_TEST(test_pieces_of_every_length);
    return UNITY_END();
}
