/* SPDX-License-Identifier: Apache-2.0
 * Candidates and answers: the writer against a writer of the tests' own and the device's reader, the reader against
 * everything that is not the one right encoding. */
#include "privacy/draws.h"
#include "server/gallery/answer_list.h"
#include "support/answer_writer.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static const uint64_t items[] = {0,     23,         24,         255,       256,        65535,
                                 65536, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};
static const int32_t labels[] = {0,  23,  24,  255,  256,  65535,  65536,    INT32_MAX,
                                 -1, -24, -25, -256, -257, -65537, INT32_MIN};
static const size_t payload_sizes[] = {0, 1, 23, 24, 255, 256, 65535};
enum { ITEMS = sizeof items / sizeof items[0], LABELS = sizeof labels / sizeof labels[0] };
enum { PAYLOADS = sizeof payload_sizes / sizeof payload_sizes[0] };

static uint8_t noise[PML_PAYLOAD_MAX + 1];

static void make_noise(void)
{
    uint64_t state = 5;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)draw64(&state);
}

static void assert_same(const struct pml_candidate *expected, const struct pml_candidate *found)
{
    TEST_ASSERT_EQUAL_UINT64(expected->item, found->item);
    TEST_ASSERT_EQUAL_INT32(expected->label, found->label);
    TEST_ASSERT_EQUAL_UINT64(expected->sketch_size, found->sketch_size);
    TEST_ASSERT_EQUAL_UINT64(expected->payload_size, found->payload_size);
    TEST_ASSERT_TRUE(expected->sketch_size == 0 || memcmp(expected->sketch, found->sketch, expected->sketch_size) == 0);
    TEST_ASSERT_TRUE(expected->payload_size == 0 ||
                     memcmp(expected->payload, found->payload, expected->payload_size) == 0);
}

/* Reads from a copy that ends where its allocation ends. */
static bool read_exactly(const uint8_t *bytes, size_t size, size_t *offset, struct pml_candidate *candidate)
{
    uint8_t *copy = malloc(size + 1);
    TEST_ASSERT_NOT_NULL(copy);
    memcpy(copy + 1, bytes, size);
    const bool read = pml_candidate_read(copy + 1, size, offset, candidate);
    free(copy);
    return read;
}

static void test_what_is_written_is_right_and_read_back(void)
{
    for (size_t i = 0; i < ITEMS; i++) {
        for (size_t j = 0; j < LABELS; j++) {
            for (size_t k = 0; k < PAYLOADS; k++) {
                const size_t length = k % 2 ? 64 : 8;
                struct pml_candidate found,
                    candidate = {items[i], labels[j], (const int8_t *)noise + k, length, noise, payload_sizes[k]};
                struct writer expected = {0};
                struct pml_bytes bytes = {0};
                size_t offset = 0;
                write_candidate(&expected, items[i], labels[j], candidate.sketch, length, noise, payload_sizes[k]);
                TEST_ASSERT_EQUAL(0, pml_candidate_write(&bytes, &candidate));
                TEST_ASSERT_EQUAL_UINT64(expected.size, bytes.size);
                TEST_ASSERT_EQUAL_MEMORY(expected.bytes, bytes.bytes, bytes.size);
                TEST_ASSERT_TRUE(pml_candidate_read(bytes.bytes, bytes.size, &offset, &found));
                TEST_ASSERT_EQUAL_UINT64(bytes.size, offset);
                assert_same(&candidate, &found);
                pml_bytes_free(&bytes);
                free(expected.bytes);
            }
        }
    }
}

static void test_candidates_follow_one_another(void)
{
    struct pml_bytes bytes = {0};
    for (uint64_t i = 0; i < 300; i++) {
        struct pml_candidate candidate = {i * i, -(int32_t)i, (const int8_t *)noise + i, 32, noise + 2 * i, i};
        TEST_ASSERT_EQUAL(0, pml_candidate_write(&bytes, &candidate));
    }
    size_t offset = 0;
    for (uint64_t i = 0; i < 300; i++) {
        struct pml_candidate found, candidate = {i * i, -(int32_t)i, (const int8_t *)noise + i, 32, noise + 2 * i, i};
        TEST_ASSERT_TRUE(pml_candidate_read(bytes.bytes, bytes.size, &offset, &found));
        assert_same(&candidate, &found);
    }
    TEST_ASSERT_EQUAL_UINT64(bytes.size, offset);
    struct pml_candidate none;
    TEST_ASSERT_FALSE(pml_candidate_read(bytes.bytes, bytes.size, &offset, &none));
    TEST_ASSERT_EQUAL_UINT64(bytes.size, offset);
    offset++; /* beyond the end */
    TEST_ASSERT_FALSE(pml_candidate_read(bytes.bytes, bytes.size, &offset, &none));
    pml_bytes_free(&bytes);
}

static void test_a_part_is_no_candidate(void)
{
    struct pml_bytes bytes = {0};
    struct pml_candidate found, candidate = {1000, -5, (const int8_t *)noise, 32, noise, 300};
    TEST_ASSERT_EQUAL(0, pml_candidate_write(&bytes, &candidate));
    for (size_t size = 0; size < bytes.size; size++) {
        size_t offset = 0;
        TEST_ASSERT_FALSE(read_exactly(bytes.bytes, size, &offset, &found));
        TEST_ASSERT_EQUAL_UINT64(0, offset);
    }
    pml_bytes_free(&bytes);
}

/* Heads as the test says: 0 extra bytes means the shortest. */
struct heads {
    unsigned array, item, label, sketch, payload; /* majors */
    uint64_t fields, label_value, sketch_size, payload_size;
    unsigned longer; /* which head, from 1, has 8 bytes; 0: none */
};

static bool read_heads(const struct heads *heads)
{
    const unsigned majors[] = {heads->array, heads->item, heads->label, heads->sketch, heads->payload};
    const uint64_t values[] = {heads->fields, 7, heads->label_value, heads->sketch_size, heads->payload_size};
    struct writer w = {0};
    struct pml_candidate found;
    size_t offset = 0;
    for (unsigned i = 0; i < 5; i++) {
        if (heads->longer == i + 1)
            write_head_of(&w, majors[i], values[i], 8);
        else
            write_head(&w, majors[i], values[i]);
        if (i >= 3)
            write_bytes(&w, noise, values[i] <= sizeof noise ? (size_t)values[i] : 0);
    }
    const bool read = read_exactly(w.bytes, w.size, &offset, &found);
    free(w.bytes);
    return read;
}

static void test_other_types_and_limits_are_refused(void)
{
    const struct heads sound = {CBOR_ARRAY, CBOR_UINT, CBOR_UINT, CBOR_BYTES, CBOR_BYTES, 4, 5, 32, 40, 0};
    TEST_ASSERT_TRUE(read_heads(&sound));
    for (unsigned major = 0; major < 8; major++) {
        struct heads heads = sound;
        heads.array = major;
        TEST_ASSERT_EQUAL(major == CBOR_ARRAY, read_heads(&heads));
        heads = sound, heads.item = major;
        TEST_ASSERT_EQUAL(major == CBOR_UINT, read_heads(&heads));
        heads = sound, heads.label = major;
        TEST_ASSERT_EQUAL(major == CBOR_UINT || major == CBOR_NEGATIVE, read_heads(&heads));
        heads = sound, heads.sketch = major;
        TEST_ASSERT_EQUAL(major == CBOR_BYTES, read_heads(&heads));
        heads = sound, heads.payload = major;
        TEST_ASSERT_EQUAL(major == CBOR_BYTES, read_heads(&heads));
    }
    for (unsigned longer = 1; longer <= 5; longer++) {
        struct heads heads = sound;
        heads.longer = longer;
        TEST_ASSERT_FALSE(read_heads(&heads));
    }
    struct heads heads = sound;
    for (heads.fields = 0; heads.fields < 8; heads.fields++)
        TEST_ASSERT_EQUAL(heads.fields == 4, read_heads(&heads));
    heads = sound, heads.label_value = INT32_MAX;
    TEST_ASSERT_TRUE(read_heads(&heads));
    heads.label_value++;
    TEST_ASSERT_FALSE(read_heads(&heads));
    heads.label = CBOR_NEGATIVE;
    TEST_ASSERT_FALSE(read_heads(&heads));
    heads.label_value = UINT64_MAX;
    TEST_ASSERT_FALSE(read_heads(&heads));
    heads = sound, heads.sketch_size = PML_SKETCH_MAX;
    TEST_ASSERT_TRUE(read_heads(&heads));
    heads.sketch_size++;
    TEST_ASSERT_FALSE(read_heads(&heads));
    heads = sound, heads.payload_size = PML_PAYLOAD_MAX;
    TEST_ASSERT_TRUE(read_heads(&heads));
    heads.payload_size++;
    TEST_ASSERT_FALSE(read_heads(&heads));
    heads.payload_size = UINT64_MAX; /* a length that is not there, and would wrap around */
    TEST_ASSERT_FALSE(read_heads(&heads));
}

static void test_indefinite_lengths_are_refused(void)
{
    static const uint8_t bytes[][16] = {
        {0x9F, 7, 5, 0x41, 1, 0x41, 2, 0xFF},       /* array */
        {0x84, 7, 5, 0x5F, 0x41, 1, 0xFF, 0x41, 2}, /* sketch */
        {0x84, 7, 5, 0x41, 1, 0x5F, 0x41, 2, 0xFF}, /* payload */
        {0x84, 7, 5, 0x41, 1, 0x61, 'a'},           /* text */
        {0xC1, 0x84, 7, 5, 0x41, 1, 0x41, 2},       /* a tag */
    };
    struct pml_candidate found;
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        size_t offset = 0;
        TEST_ASSERT_FALSE(read_exactly(bytes[i], sizeof bytes[i], &offset, &found));
    }
}

/* 10^6 changed candidates: none crashes the reader, and what it takes is what would be written. */
static void test_hostile_bytes(void)
{
    const size_t count = getenv("PML_TEST_QUICK") ? 10000 : 1000000;
    uint64_t state = 77;
    size_t taken = 0;
    struct pml_bytes again = {0};
    for (size_t i = 0; i < count; i++) {
        struct pml_candidate found, candidate = {items[draw_below(&state, ITEMS)],
                                                 labels[draw_below(&state, LABELS)],
                                                 (const int8_t *)noise,
                                                 8 + draw_below(&state, 57),
                                                 noise,
                                                 draw_below(&state, i % 16 == 0 ? 400 : 30)};
        struct pml_bytes bytes = {0};
        TEST_ASSERT_EQUAL(0, pml_candidate_write(&bytes, &candidate));
        const size_t head = bytes.size < 24 ? bytes.size : 24; /* where the heads are, mostly */
        for (uint64_t changes = 1 + draw_below(&state, 3); changes > 0; changes--)
            bytes.bytes[draw_below(&state, i % 4 == 0 ? bytes.size : head)] = (uint8_t)draw64(&state);
        size_t size = i % 8 == 0 ? (size_t)draw_below(&state, bytes.size + 1) : bytes.size, offset = 0;
        uint8_t *copy = realloc(bytes.bytes, size > 0 ? size : 1); /* ends where its allocation ends */
        TEST_ASSERT_NOT_NULL(copy);
        if (pml_candidate_read(copy, size, &offset, &found)) {
            taken++;
            again.size = 0;
            TEST_ASSERT_EQUAL(0, pml_candidate_write(&again, &found));
            TEST_ASSERT_TRUE(again.size == offset && memcmp(again.bytes, copy, offset) == 0);
        } else {
            TEST_ASSERT_EQUAL_UINT64(0, offset);
        }
        free(copy);
    }
    pml_bytes_free(&again);
    TEST_ASSERT_TRUE(taken > count / 50 && taken < count - count / 50); /* changes matter, and not every one is fatal */
}

/* ---- the device's reader ---- */

static void write_one(struct pml_bytes *answer, struct writer *expected, const pml_pack_info *info, uint64_t number)
{
    struct pml_candidate candidate = {number * 1000003,     (int32_t)number - 7, (const int8_t *)noise + 3 * number,
                                      (size_t)info->sketch, noise + number,      (size_t)(number * 37 % 700)};
    TEST_ASSERT_EQUAL(0, pml_candidate_write(answer, &candidate));
    write_candidate(expected, candidate.item, candidate.label, candidate.sketch, candidate.sketch_size,
                    candidate.payload, candidate.payload_size);
}

static void test_the_device_reads_the_same(void)
{
    struct fixture f;
    setup_fixture(&f, PACK_CLASS, PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN, 2.0);
    setup_client(&f);
    pml_pack_info info;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&f.pack, &info));
    struct pml_bytes answer = {0};
    struct writer expected = {0};
    uint64_t carried = 0, offsets[64];
    TEST_ASSERT_EQUAL(0, pml_answer_write_header(&answer, &info, info.slots, 70000));
    write_header(&expected, &f.pack, 70000);
    for (uint32_t slot = 0; slot < info.slots; slot++) {
        TEST_ASSERT_EQUAL(0, pml_answer_write_list(&answer, &info, slot, NULL, 0));
        answer.bytes[answer.size - 1] = slot % 4; /* the candidates follow */
        write_slot(&expected, slot, slot % 4);
        for (uint32_t i = 0; i < slot % 4 && carried < 64; i++) {
            write_one(&answer, &expected, &info, carried);
            offsets[carried] = answer.size - carried * 37 % 700;
            carried++;
        }
    }
    TEST_ASSERT_EQUAL_UINT64(expected.size, answer.size);
    TEST_ASSERT_EQUAL_MEMORY(expected.bytes, answer.bytes, answer.size);

    static pml_match matches[64];
    static float features[PML_FEATURES_MAX];
    pml_answer_summary summary;
    make_features(&f.pack, 1, features);
    TEST_ASSERT_EQUAL(PML_OK,
                      begin_ranking(&f, features, info.features, some_label(&f.pack), PML_ALL_SLOTS, matches, 64));
    TEST_ASSERT_EQUAL(PML_OK, feed_and_finish(f.ranking, answer.bytes, answer.size, &summary));
    TEST_ASSERT_TRUE(carried > 1);
    TEST_ASSERT_EQUAL_UINT64(carried, summary.carried);
    TEST_ASSERT_EQUAL_UINT64(carried, summary.found);
    TEST_ASSERT_EQUAL_UINT64(70000, summary.gallery);
    for (size_t i = 0; i < summary.found; i++) {
        uint64_t number = matches[i].item / 1000003;
        TEST_ASSERT_TRUE(number < carried && matches[i].item % 1000003 == 0);
        TEST_ASSERT_EQUAL_INT32((int32_t)number - 7, matches[i].label);
        TEST_ASSERT_EQUAL_UINT64(number * 37 % 700, matches[i].payload_size);
        TEST_ASSERT_EQUAL_UINT64(offsets[number], matches[i].payload_offset);
    }
    pml_bytes_free(&answer);
    free(expected.bytes);
    teardown_fixture(&f);
}

static void test_bytes_grow(void)
{
    struct pml_bytes bytes = {0};
    for (size_t i = 0; i < 5000; i++)
        TEST_ASSERT_EQUAL(0, pml_bytes_append(&bytes, noise + i, i % 7));
    TEST_ASSERT_EQUAL(PML_NO_MEMORY, pml_bytes_append(&bytes, noise, SIZE_MAX / 2));
    for (size_t i = 0, at = 0; i < 5000; at += i % 7, i++)
        TEST_ASSERT_EQUAL(0, memcmp(bytes.bytes + at, noise + i, i % 7));
    pml_bytes_free(&bytes);
    TEST_ASSERT_TRUE(!bytes.bytes && bytes.size == 0 && bytes.capacity == 0);
}

int main(void)
{
    make_noise();
    UNITY_BEGIN();
    RUN_TEST(test_what_is_written_is_right_and_read_back);
    RUN_TEST(test_candidates_follow_one_another);
    RUN_TEST(test_a_part_is_no_candidate);
    RUN_TEST(test_other_types_and_limits_are_refused);
    RUN_TEST(test_indefinite_lengths_are_refused);
    RUN_TEST(test_hostile_bytes);
    RUN_TEST(test_the_device_reads_the_same);
    RUN_TEST(test_bytes_grow);
    return UNITY_END();
}
