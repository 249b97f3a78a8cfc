/* SPDX-License-Identifier: Apache-2.0
 * Lists of answers: bytes written by hand from SPEC 3.2, random lists there and back, what a device reads of them, and
 * broken ones. */
#define _XOPEN_SOURCE 700
#include "server/gallery/answer_list.h"
#include "tools/builder_support.h"

enum { SKETCH = 3, MOST = 40 };

static const pml_pack_info pack = {.sketch = SKETCH, .directions = 8, .slots = 2};

void setUp(void)
{
}

void tearDown(void)
{
}

static void assert_list(const struct pml_candidate *candidates, size_t count, const uint8_t *expected, size_t size)
{
    struct pml_bytes bytes = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_answer_write_list(&bytes, &pack, 1, candidates, count));
    TEST_ASSERT_EQUAL_UINT64(size, bytes.size);
    TEST_ASSERT_EQUAL_MEMORY(expected, bytes.bytes, size);
    pml_bytes_free(&bytes);
}

static void test_bytes_by_hand(void)
{
    static const int8_t a[SKETCH] = {1, 2, 3}, b[SKETCH] = {4, 5, 6};
    /* one class, no payload: 300 and, out of order, 5; then a smaller class and a payload */
    const struct pml_candidate candidates[] = {
        {300, -7, a, SKETCH, NULL, 0}, {5, -7, b, SKETCH, NULL, 0}, {6, -8, a, SKETCH, (const uint8_t *)"x", 1}};
    static const uint8_t none[] = {0x85, 1, 0, 0, 0, 0x40};
    assert_list(candidates, 0, none, sizeof none);
    static const uint8_t plain[] = {0x85, 1, 2, 0, 0x26, 0x49, 5, 4, 5, 6, 0xA6, 2, 1, 2, 3}; /* 294 = 0x126 */
    assert_list(candidates, 2, plain, sizeof plain);
    static const uint8_t both[] = {0x85, 1, 3, 3, 0x27, 0x54, 5,    1, 4, 5, 6, 0, 0,
                                   0,    1, 2, 3, 1,    'x',  0xA5, 2, 1, 1, 2, 3, 0};
    assert_list(candidates, 3, both, sizeof both);
}

/* Random candidates with ascending items, which are added in descending order where `reversed`. */
static size_t draw_candidates(uint64_t *state, struct pml_candidate *candidates, const uint8_t *noise)
{
    static const uint64_t gaps[] = {1, 2, 127, 128, 129, 16384, 16385, (uint64_t)1 << 35};
    const size_t count = (size_t)draw_below(state, MOST + 1), classes = (size_t)draw_below(state, 3);
    const bool payloads = draw_below(state, 2) == 0;
    uint64_t item = draw_below(state, 3) * 1000;
    for (size_t i = 0; i < count; i++) {
        const int32_t labels[3] = {5, (int32_t)draw_between(state, -300, 300),
                                   draw_below(state, 2) == 0 ? INT32_MIN : INT32_MAX};
        candidates[i] = (struct pml_candidate){item,   labels[classes], (const int8_t *)noise + draw_below(state, 200),
                                               SKETCH, noise,           payloads ? (size_t)draw_below(state, 300) : 0};
        item += gaps[draw_below(state, sizeof gaps / sizeof *gaps)];
    }
    return count;
}

static void assert_same(const struct pml_candidate *left, const struct pml_candidate *right)
{
    TEST_ASSERT_EQUAL_UINT64(left->item, right->item);
    TEST_ASSERT_EQUAL_INT32(left->label, right->label);
    TEST_ASSERT_EQUAL_UINT64(left->payload_size, right->payload_size);
    TEST_ASSERT_EQUAL_MEMORY(left->sketch, right->sketch, SKETCH);
    if (left->payload_size > 0)
        TEST_ASSERT_EQUAL_MEMORY(left->payload, right->payload, left->payload_size);
}

static void test_there_and_back(void)
{
    static uint8_t noise[600];
    struct pml_candidate candidates[MOST], found;
    uint64_t state = 8;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)draw64(&state);
    for (size_t round = 0; round < 2000; round++) {
        const size_t count = draw_candidates(&state, candidates, noise);
        const bool reversed = round % 2 == 1;
        struct pml_candidate given[MOST];
        struct pml_bytes bytes = {0};
        struct pml_list list;
        for (size_t i = 0; i < count; i++)
            given[i] = candidates[reversed ? count - 1 - i : i];
        TEST_ASSERT_EQUAL(PML_DONE, pml_bytes_append(&bytes, noise, 5)); /* something stands before it */
        TEST_ASSERT_EQUAL(PML_DONE, pml_answer_write_list(&bytes, &pack, 1, given, count));
        const size_t end = bytes.size;
        TEST_ASSERT_EQUAL(PML_DONE, pml_bytes_append(&bytes, noise, 7)); /* and behind it */
        TEST_ASSERT_TRUE(pml_list_open(&list, &pack, bytes.bytes, bytes.size, 5));
        TEST_ASSERT_EQUAL_UINT32(1, list.slot);
        TEST_ASSERT_EQUAL_UINT32(count, list.count);
        for (size_t i = 0; i < count; i++) {
            TEST_ASSERT_TRUE(pml_list_next(&list, &found));
            assert_same(&candidates[i], &found);
        }
        TEST_ASSERT_FALSE(pml_list_next(&list, &found));
        TEST_ASSERT_EQUAL_UINT32(0, list.left);
        TEST_ASSERT_EQUAL_UINT64(end, list.offset);
        pml_bytes_free(&bytes);
    }
}

/* Reads as far as it goes. Returns the candidates, or −1 when the list is refused. */
static int64_t read_all(const uint8_t *bytes, size_t size)
{
    struct pml_list list;
    struct pml_candidate candidate;
    if (!pml_list_open(&list, &pack, bytes, size, 0))
        return -1;
    while (pml_list_next(&list, &candidate))
        ;
    return list.left > 0 ? -1 : (int64_t)list.count;
}

static void test_broken_lists(void)
{
    static const uint8_t good[] = {0x85, 1, 2, 3, 0x27, 0x4B, 5, 1, 4, 5, 6, 0, 0x81, 2, 1, 2, 3, 0};
    uint8_t copy[sizeof good];
    static const struct {
        size_t at;
        uint8_t byte;
    } wrong[] = {
        {0, 0x82}, {1, 2}, {3, 4}, {4, 0x60}, {5, 0x4A}, {5, 0x4C}, {13, 0x80}, {17, 1}, {2, 1}, {2, 3},
    };
    for (size_t i = 0; i < sizeof good; i++) /* the list says how long it is, so nothing shorter is one */
        TEST_ASSERT_EQUAL_INT64(-1, read_all(good, i));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(copy, good, sizeof good);
        copy[wrong[i].at] = wrong[i].byte;
        TEST_ASSERT_EQUAL_INT64_MESSAGE(-1, read_all(copy, sizeof copy), "accepted");
    }
    struct pml_bytes bytes = {0};
    static const int8_t sketch[SKETCH + 1] = {0};
    const struct pml_candidate twice[] = {{4, 0, sketch, SKETCH, NULL, 0}, {4, 0, sketch, SKETCH, NULL, 0}},
                               longer = {4, 0, sketch, SKETCH + 1, NULL, 0};
    TEST_ASSERT_EQUAL(PML_DAMAGED, pml_answer_write_list(&bytes, &pack, 0, twice, 2));
    TEST_ASSERT_EQUAL(PML_DAMAGED, pml_answer_write_list(&bytes, &pack, 0, &longer, 1));
    pml_bytes_free(&bytes);
}

/* A few bytes per candidate beside the sketch, where items are numbered from 0 and lists hold 2 % of them. */
static void test_a_candidate_needs_few_bytes(void)
{
    enum { ITEMS = 1000000 };
    struct pml_candidate *candidates = malloc(ITEMS * sizeof *candidates);
    struct pml_bytes bytes = {0};
    static const int8_t sketch[SKETCH] = {0};
    uint64_t state = 12;
    size_t count = 0;
    TEST_ASSERT_NOT_NULL(candidates);
    for (uint64_t item = 0; item < ITEMS; item += 1 + draw_below(&state, 99))
        candidates[count++] = (struct pml_candidate){item, (int32_t)draw_below(&state, 200), sketch, SKETCH, NULL, 0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_answer_write_list(&bytes, &pack, 0, candidates, count));
    TEST_ASSERT_LESS_THAN_UINT64(count * (SKETCH + 4), bytes.size);
    free(candidates);
    pml_bytes_free(&bytes);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_bytes_by_hand);
    RUN_TEST(test_there_and_back);
    RUN_TEST(test_broken_lists);
    RUN_TEST(test_a_candidate_needs_few_bytes);
    return UNITY_END();
}
