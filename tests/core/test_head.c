/* SPDX-License-Identifier: Apache-2.0
 * Heads (SPEC 1, 5.19): guesses by hand and against the reference; memory; what is refused; heads that are not sound, in a
 * pack whose hash is right and in front files. */
#include "golden/head_vectors.h"
#include "pack/pack.h"
#include "privacy/draws.h"
#include "support/front_writer.h"
#include "support/kernel_sets.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_HEAD

enum { TIED, BEHIND_FRONTS, EXTREME, ONE_LABEL, MOST = 128 };

static pml_pack open_head(unsigned index)
{
    pml_pack pack;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&pack, golden_heads[index].bytes, golden_heads[index].size, NULL, NULL));
    return pack;
}

/* Guesses with memory of exactly the size that is asked for, at an odd address; it must be wiped. */
static pml_status guess(const pml_pack *pack, const struct pml_kernels *kernels, const pml_query *query,
                        pml_guess *guesses, size_t count)
{
    const size_t size = pml_guess_size(pack);
    uint8_t *memory = malloc(size + 1);
    TEST_ASSERT_NOT_NULL(memory);
    memset(memory, 0xA5, size + 1);
    pml_status status = pml_pack_guess(pack, kernels, query, memory + 1, size, guesses, count);
    TEST_ASSERT_EQUAL_HEX8(0xA5, memory[0]);
    for (size_t i = 1; i <= size && status == PML_OK; i++)
        TEST_ASSERT_EQUAL_HEX8(0, memory[i]);
    free(memory);
    return status;
}

static pml_query golden_query(const struct golden_guess *g, float *features)
{
    memcpy(features, g->bits, g->d * sizeof *features);
    return (pml_query){.features = features, .count = g->d, .modality = g->modality, .label = 123456};
}

/* ---- against the reference ---- */

static void test_guesses_are_those_of_the_reference_with_every_kernel_set(void)
{
    const struct kernel_sets sets = kernel_sets_of_cpu();
    for (size_t i = 0; i < GOLDEN_GUESS_COUNT; i++) {
        const struct golden_guess *g = golden_guesses + i;
        const pml_pack pack = open_head(g->pack);
        const size_t most = g->count < PML_GUESSES_MAX ? g->count : PML_GUESSES_MAX;
        float features[MOST];
        const pml_query query = golden_query(g, features);
        for (size_t k = 0; k < sets.count; k++)
            for (size_t count = 1; count <= most; count += count < 3 ? 1 : most - count > 0 ? most - count : 1) {
                pml_guess guesses[PML_GUESSES_MAX];
                TEST_ASSERT_EQUAL_MESSAGE(PML_OK, guess(&pack, sets.of[k], &query, guesses, count), g->name);
                for (size_t j = 0; j < count; j++) {
                    TEST_ASSERT_EQUAL_INT32_MESSAGE(g->labels[j], guesses[j].label, g->name);
                    TEST_ASSERT_EQUAL_INT64_MESSAGE(g->scores[j], guesses[j].score, g->name);
                }
            }
    }
}

static void read_piece(void *context, size_t first, size_t count, float *out)
{
    memcpy(out, (const float *)context + first, count * sizeof *out);
}

static void test_pieces_give_the_same_guesses_and_no_kernels_are_the_portable_ones(void)
{
    for (size_t i = 0; i < GOLDEN_GUESS_COUNT; i++) {
        const struct golden_guess *g = golden_guesses + i;
        const pml_pack pack = open_head(g->pack);
        float features[MOST];
        pml_query query = golden_query(g, features);
        query.features = NULL;
        query.read = read_piece;
        query.read_context = features;
        pml_guess best;
        TEST_ASSERT_EQUAL_MESSAGE(PML_OK, guess(&pack, NULL, &query, &best, 1), g->name);
        TEST_ASSERT_EQUAL_INT32_MESSAGE(g->labels[0], best.label, g->name);
    }
}

/* Equal scores: the smaller label first, wherever the list ends. */
static void test_of_equal_scores_the_smaller_label_comes_first(void)
{
    const pml_pack pack = open_head(TIED);
    unsigned ties = 0;
    uint64_t state = 5;
    for (int trial = 0; trial < 200; trial++) {
        float features[11];
        for (size_t i = 0; i < 11; i++)
            features[i] = (float)draw_between(&state, -1000, 1000) + 0.5f;
        const pml_query query = {.features = features, .count = 11};
        pml_guess all[9], some[9];
        TEST_ASSERT_EQUAL(PML_OK, guess(&pack, NULL, &query, all, 9));
        for (size_t i = 1; i < 9; i++) {
            TEST_ASSERT_TRUE(all[i - 1].score >= all[i].score);
            TEST_ASSERT_TRUE(all[i - 1].score != all[i].score || all[i - 1].label < all[i].label);
            ties += all[i - 1].score == all[i].score;
        }
        for (size_t count = 1; count < 9; count++) {
            TEST_ASSERT_EQUAL(PML_OK, guess(&pack, NULL, &query, some, count));
            for (size_t i = 0; i < count; i++)
                TEST_ASSERT_TRUE(some[i].label == all[i].label && some[i].score == all[i].score);
        }
    }
    TEST_ASSERT_EQUAL(200 * 6, ties); /* nine rows, three of each */
}

/* ---- what is asked for ---- */

static void test_info_and_head_tell_the_labels(void)
{
    for (unsigned i = 0; i < GOLDEN_HEAD_COUNT; i++) {
        const pml_pack pack = open_head(i);
        pml_pack_info info;
        pml_front head, file;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&pack, &info));
        TEST_ASSERT_EQUAL(golden_heads[i].labels, info.labels);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_head(&pack, &head));
        TEST_ASSERT_EQUAL(PML_OK, pml_front_open(&file, golden_heads[i].file, golden_heads[i].file_size));
        TEST_ASSERT_TRUE(head.kind == PML_FRONT_MATRIX && head.outputs == info.labels && head.inputs == info.features);
        TEST_ASSERT_TRUE(file.outputs == head.outputs && file.inputs == head.inputs &&
                         file.body_size == head.body_size);
        TEST_ASSERT_EQUAL_MEMORY(file.body, head.body, head.body_size);
        TEST_ASSERT_EQUAL_MEMORY(file.labels, head.labels, 4 * (size_t)head.outputs);
    }
    const pml_pack none = open_golden(PACK_ONE);
    pml_front head;
    TEST_ASSERT_EQUAL(PML_ERROR_SECTION, pml_pack_head(&none, &head));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_head(&none, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_head(NULL, &head));
}

static void test_memory_is_exact(void)
{
    for (unsigned i = 0; i < GOLDEN_HEAD_COUNT; i++) {
        const pml_pack pack = open_head(i);
        pml_pack_info info;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&pack, &info));
        const size_t size = pml_guess_size(&pack), fronts = PML_FRONT_MEMORY(info.inputs, info.features);
        TEST_ASSERT_EQUAL(PML_GUESS_MEMORY(info.features) + (info.modalities > 0 ? fronts : 0), size);
        float features[MOST] = {1.0f};
        const pml_query query = {.features = features, .count = info.features};
        pml_guess best = {.label = 9, .score = 9};
        uint8_t *memory = malloc(size);
        memset(memory, 0xA5, size);
        TEST_ASSERT_EQUAL(PML_ERROR_MEMORY, pml_pack_guess(&pack, NULL, &query, memory, size - 1, &best, 1));
        TEST_ASSERT_TRUE(best.label == 0 && best.score == 0);
        for (size_t j = 0; j < size; j++)
            TEST_ASSERT_EQUAL_HEX8(0xA5, memory[j]);
        free(memory);
    }
    const pml_pack none = open_golden(PACK_ONE), unopened = {0};
    TEST_ASSERT_EQUAL(0, pml_guess_size(&none));
    TEST_ASSERT_EQUAL(0, pml_guess_size(&unopened));
    TEST_ASSERT_EQUAL(0, pml_guess_size(NULL));
}

static void expect(pml_status wanted, const pml_pack *pack, const pml_query *query, size_t count)
{
    static uint8_t memory[4096];
    pml_guess guesses[PML_GUESSES_MAX + 1];
    memset(guesses, 0x5A, sizeof guesses);
    TEST_ASSERT_EQUAL(wanted, pml_pack_guess(pack, NULL, query, memory, sizeof memory, guesses, count));
    for (size_t i = 0; i < count && count <= PML_GUESSES_MAX; i++)
        TEST_ASSERT_TRUE(guesses[i].label == 0 && guesses[i].score == 0);
    TEST_ASSERT_EQUAL_HEX32(0x5A5A5A5A, guesses[PML_GUESSES_MAX].label);
}

static void test_what_cannot_be_guessed_is_refused_and_leaves_zeros(void)
{
    const pml_pack pack = open_head(BEHIND_FRONTS), nine = open_head(TIED), none = open_golden(PACK_ONE),
                   unopened = {0};
    float features[MOST] = {1.0f, -2.0f};
    pml_query query = {.features = features, .count = 13};
    expect(PML_ERROR_ARGUMENT, &pack, &query, 0);
    expect(PML_ERROR_ARGUMENT, &pack, &query, PML_GUESSES_MAX + 1);
    expect(PML_ERROR_ARGUMENT, NULL, &query, 1);
    expect(PML_ERROR_ARGUMENT, &unopened, &query, 1);
    expect(PML_ERROR_ARGUMENT, &pack, NULL, 1);
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_guess(&pack, NULL, &query, NULL, 999, &(pml_guess){0}, 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_guess(&pack, NULL, &query, features, sizeof features, NULL, 1));
    query.count = 11;
    expect(PML_ERROR_ARGUMENT, &nine, &query, 10); /* more than it has labels */
    expect(PML_ERROR_DIMENSION, &pack, &query, 1);
    query.count = 8;
    expect(PML_ERROR_SECTION, &none, &query, 1);
    query.count = 13;
    query.modality = 8;
    expect(PML_ERROR_MODALITY, &pack, &query, 1);
    query.modality = 0;
    features[5] = NAN;
    expect(PML_ERROR_FEATURES, &pack, &query, 3);
    features[5] = -INFINITY;
    expect(PML_ERROR_FEATURES, &pack, &query, 3);
    memset(features, 0, sizeof features);
    expect(PML_ERROR_FEATURES, &pack, &query, 3);
    const pml_pack zero = open_head(ONE_LABEL); /* modality 1 maps everything to zero */
    features[0] = 1.0f;
    expect(PML_ERROR_FEATURES, &zero, &(pml_query){.features = features, .count = 3, .modality = 1}, 1);
}

/* ---- heads that are not sound ---- */

struct edit {
    int section; /* −1: the header */
    size_t offset;
    unsigned width;
    uint64_t value;
};

struct hostile {
    const char *name;
    pml_status status;
    struct edit edit;
};

/* The first golden head has d = 11 and nine labels: records at 0, rows at 108, labels at 207. */
static const struct hostile cases[] = {
    {"unchanged", PML_OK, {PML_SECTION_HEAD_SIZE, 0, 4, 9}},
    {"version 0.3", PML_ERROR_PACK_VERSION, {-1, 6, 2, 3}},
    {"version 0.2", PML_ERROR_PACK_VERSION, {-1, 6, 2, 2}},
    {"version 0.5", PML_ERROR_PACK_VERSION, {-1, 6, 2, 5}},
    {"no labels", PML_ERROR_PACK, {PML_SECTION_HEAD_SIZE, 0, 4, 0}},
    {"one label less", PML_ERROR_PACK_SIZE, {PML_SECTION_HEAD_SIZE, 0, 4, 8}},
    {"one label more", PML_ERROR_PACK_SIZE, {PML_SECTION_HEAD_SIZE, 0, 4, 10}},
    {"most labels", PML_ERROR_PACK_SIZE, {PML_SECTION_HEAD_SIZE, 0, 4, 4096}},
    {"too many labels", PML_ERROR_PACK, {PML_SECTION_HEAD_SIZE, 0, 4, 4097}},
    {"labels beyond all", PML_ERROR_PACK, {PML_SECTION_HEAD_SIZE, 0, 4, UINT32_MAX}},
    {"something behind the number of labels", PML_ERROR_PACK, {PML_SECTION_HEAD_SIZE, 4, 4, 1}},
    {"something at the end of it", PML_ERROR_PACK, {PML_SECTION_HEAD_SIZE, 15, 1, 1}},
    {"offset at its most", PML_OK, {PML_SECTION_HEAD, 0, 8, (uint64_t)1 << 50}},
    {"offset too large", PML_ERROR_PACK, {PML_SECTION_HEAD, 0, 8, ((uint64_t)1 << 50) + 1}},
    {"offset too small", PML_ERROR_PACK, {PML_SECTION_HEAD, 96, 8, -((uint64_t)1 << 50) - 1}},
    {"gain 0", PML_ERROR_PACK, {PML_SECTION_HEAD, 8, 4, 0}},
    {"gain 32", PML_OK, {PML_SECTION_HEAD, 104, 4, 32}},
    {"gain 33", PML_ERROR_PACK, {PML_SECTION_HEAD, 104, 4, 33}},
    {"-127", PML_OK, {PML_SECTION_HEAD, 206, 1, 129}},
    {"-128", PML_ERROR_PACK, {PML_SECTION_HEAD, 206, 1, 128}},
    {"another first label", PML_OK, {PML_SECTION_HEAD, 207, 4, (uint32_t)-70001}},
    {"two equal labels", PML_ERROR_PACK, {PML_SECTION_HEAD, 207, 4, (uint32_t)-70000}},
    {"labels that descend", PML_ERROR_PACK, {PML_SECTION_HEAD, 207, 4, 5}},
    {"a last label below the one before it", PML_ERROR_PACK, {PML_SECTION_HEAD, 207 + 32, 4, 65535}},
    {"labels that ascend only without their signs", PML_ERROR_PACK, {PML_SECTION_HEAD, 207 + 32, 4, (uint32_t)-1}},
};

static uint8_t *copy_head(size_t *size)
{
    *size = golden_heads[TIED].size;
    uint8_t *bytes = malloc(*size);
    TEST_ASSERT_NOT_NULL(bytes);
    memcpy(bytes, golden_heads[TIED].bytes, *size);
    return bytes;
}

static void test_every_rule_of_a_head_is_kept(void)
{
    const pml_pack sound = open_head(TIED);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size;
        uint8_t *bytes = copy_head(&size);
        const struct edit *edit = &cases[i].edit;
        const size_t at = edit->section < 0 ? 0 : (size_t)(sound.section[edit->section] - sound.bytes);
        store_le(bytes + at + edit->offset, edit->width, edit->value);
        seal_pack(bytes, size);
        pml_pack pack;
        TEST_ASSERT_EQUAL_MESSAGE(cases[i].status, pml_pack_open(&pack, bytes, size, NULL, NULL), cases[i].name);
        free(bytes);
    }
}

static void test_the_two_sections_of_a_head_come_together_and_with_their_version(void)
{
    const uint32_t sections = load_le32(golden_heads[TIED].bytes + AT_SECTIONS);
    for (unsigned without = 1; without < 4; without++) {
        size_t size;
        uint8_t *bytes = copy_head(&size);
        store_le(bytes + AT_SECTIONS, 4, sections & ~(without << PML_SECTION_HEAD_SIZE));
        seal_pack(bytes, size);
        pml_pack pack;
        TEST_ASSERT_EQUAL(without == 3 ? PML_ERROR_PACK_VERSION : PML_ERROR_PACK,
                          pml_pack_open(&pack, bytes, size, NULL, NULL));
        free(bytes);
    }
}

/* ---- front files ---- */

static void open_file(pml_status wanted, size_t offset, unsigned width, uint64_t value, const char *name)
{
    const struct golden_head *g = golden_heads + TIED;
    pml_front front;
    uint8_t *bytes = malloc(g->file_size);
    TEST_ASSERT_NOT_NULL(bytes);
    memcpy(bytes, g->file, g->file_size);
    store_le(bytes + offset, width, value);
    pml_front_seal(bytes, g->file_size);
    TEST_ASSERT_EQUAL_MESSAGE(wanted, pml_front_open(&front, bytes, g->file_size), name);
    TEST_ASSERT_TRUE((wanted == PML_OK) == (front.labels != NULL));
    free(bytes);
}

static void test_head_files_that_are_not_sound(void)
{
    enum { LABELS = 128 + 9 * (12 + 11) };
    open_file(PML_OK, 48, 4, 9, "unchanged");
    open_file(PML_ERROR_FRONT, 6, 2, 1, "version 0.1");
    open_file(PML_ERROR_FRONT, 6, 2, 3, "version 0.3");
    open_file(PML_ERROR_FRONT, 52, 4, 0, "no head in version 0.2");
    open_file(PML_ERROR_FRONT, 52, 4, 2, "flag 2");
    open_file(PML_ERROR_FRONT, 56, 8, 1, "something behind the flag");
    open_file(PML_ERROR_FRONT, 48, 4, 8, "one label less");
    open_file(PML_ERROR_FRONT, 48, 4, 0, "none");
    open_file(PML_ERROR_FRONT, 64 + 2, 2, 1, "roots");
    open_file(PML_ERROR_FRONT, 64, 2, PML_FRONT_SIGNS, "signs");
    open_file(PML_ERROR_FRONT, 64 + 16, 1, 'a', "a name");
    open_file(PML_ERROR_FRONT, LABELS, 4, 6, "labels that descend");
    open_file(PML_ERROR_FRONT, LABELS + 4, 4, (uint64_t)1 << 31, "two equal labels");
    for (size_t size = 0; size < golden_heads[TIED].file_size; size++) {
        pml_front front;
        TEST_ASSERT_EQUAL(PML_ERROR_FRONT, pml_front_open(&front, golden_heads[TIED].file, size));
    }
    /* a front without labels must not claim to be one */
    struct front_writer w = start_front(PML_FRONT_MATRIX, 2, 2, 0, false);
    set_matrix_row(&w, 0, 0, 2, (const int8_t[]){127, 0});
    set_matrix_row(&w, 1, 0, 1, (const int8_t[]){1, -1});
    pml_front front = finish_front(&w);
    TEST_ASSERT_NULL(front.labels);
    store_le(w.bytes + 52, 4, 1);
    pml_front_seal(w.bytes, w.size);
    TEST_ASSERT_EQUAL(PML_ERROR_FRONT, pml_front_open(&front, w.bytes, w.size));
    free(w.bytes);
}

static void test_head_files_of_0_2_are_still_read(void)
{
    static const struct {
        const char *name;
        uint32_t labels, inputs;
    } kept[] = {{"ties", 9, 11}, {"fronts", 70, 13}};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        uint8_t bytes[4096];
        char path[1024];
        pml_front front;
        snprintf(path, sizeof path, "%s/compat/0.4/%s.pmfr", PML_TESTS_DIR, kept[i].name);
        FILE *file = fopen(path, "rb");
        TEST_ASSERT_NOT_NULL_MESSAGE(file, path);
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_front_open(&front, bytes, size), path);
        TEST_ASSERT_TRUE(front.outputs == kept[i].labels && front.inputs == kept[i].inputs && front.labels);
    }
}
#else
static void test_a_build_without_heads_names_the_version(void)
{
    for (unsigned i = 0; i < GOLDEN_HEAD_COUNT; i++) {
        pml_pack pack;
        TEST_ASSERT_EQUAL(PML_ERROR_PACK_VERSION,
                          pml_pack_open(&pack, golden_heads[i].bytes, golden_heads[i].size, NULL, NULL));
    }
    (void)golden_guesses, (void)golden_looks_cases;
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_HEAD
    (void)golden_looks_cases;
    RUN_TEST(test_guesses_are_those_of_the_reference_with_every_kernel_set);
    RUN_TEST(test_pieces_give_the_same_guesses_and_no_kernels_are_the_portable_ones);
    RUN_TEST(test_of_equal_scores_the_smaller_label_comes_first);
    RUN_TEST(test_info_and_head_tell_the_labels);
    RUN_TEST(test_memory_is_exact);
    RUN_TEST(test_what_cannot_be_guessed_is_refused_and_leaves_zeros);
    RUN_TEST(test_every_rule_of_a_head_is_kept);
    RUN_TEST(test_the_two_sections_of_a_head_come_together_and_with_their_version);
    RUN_TEST(test_head_files_that_are_not_sound);
    RUN_TEST(test_head_files_of_0_2_are_still_read);
#else
    RUN_TEST(test_a_build_without_heads_names_the_version);
#endif
    return UNITY_END();
}
