/* SPDX-License-Identifier: Apache-2.0
 * Packs of version 0.5, coded sketches and answers of version 2 against the independent reference (tests/golden). */
#include "support/coded_packs.h"
#include "support/kernel_sets.h"
#include "support/pack_layout.h"

enum { FEATURES_MAX = 64 };

void setUp(void)
{
}

void tearDown(void)
{
}

static bool opens(unsigned pack)
{
    return GOLDEN_CODED_OPENS(golden_coded_packs[pack].needs);
}

static void test_packs_open_and_are_described(void)
{
    for (unsigned i = 0; i < GOLDEN_CODED_PACK_COUNT; i++) {
        const struct golden_coded_pack *g = golden_coded_packs + i;
        pml_pack_info info;
        if (!opens(i))
            continue;
        const pml_pack pack = open_coded(i);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&pack, &info));
        TEST_ASSERT_EQUAL_MEMORY_MESSAGE(g->id, info.id, sizeof info.id, g->name);
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(g->directions, info.directions, g->name);
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(g->sketch, info.sketch, g->name);
    }
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        const pml_pack plain = open_golden(i);
        pml_pack_info info;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&plain, &info));
        TEST_ASSERT_EQUAL_UINT32(0, info.directions);
    }
}

/* Of every kernel set, into a buffer that ends where the sketch ends, from a row that ends where it ends. */
static void test_sketches(void)
{
    const struct kernel_sets sets = kernel_sets_of_cpu();
    for (size_t i = 0; i < GOLDEN_CODED_SKETCH_COUNT; i++) {
        const struct golden_coded_sketch *g = golden_coded_sketches + i;
        if (!opens(g->pack))
            continue;
        const pml_pack pack = open_coded(g->pack);
        int8_t *row = malloc(g->d), *out = malloc(g->length);
        TEST_ASSERT_TRUE(row && out);
        memcpy(row, g->row, g->d);
        for (size_t k = 0; k <= sets.count; k++) { /* the last: NULL, the portable one */
            memset(out, 0x5A, g->length);
            TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&pack, k < sets.count ? sets.of[k] : NULL, row, out));
            TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(g->sketch, out, g->length, golden_coded_packs[g->pack].name);
        }
        free(row);
        free(out);
    }
}

static void compare_matches(const struct golden_answer *g, const pml_match *matches)
{
    for (size_t i = 0; i < g->match_count; i++) {
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(g->matches[i].item, matches[i].item, g->name);
        TEST_ASSERT_EQUAL_INT32_MESSAGE(g->matches[i].score, matches[i].score, g->name);
        TEST_ASSERT_EQUAL_INT32_MESSAGE(g->matches[i].label, matches[i].label, g->name);
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(g->matches[i].slot, matches[i].slot, g->name);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(g->matches[i].payload_offset, matches[i].payload_offset, g->name);
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(g->matches[i].payload_size, matches[i].payload_size, g->name);
    }
}

static void check_answer(const struct golden_answer *g, bool crowd, const struct pml_kernels *kernels, size_t piece)
{
    struct coded_ranking r = {.pack = open_coded(g->pack)};
    float features[FEATURES_MAX];
    pml_match matches[PML_MATCHES_MAX];
    pml_answer_summary summary;
    TEST_ASSERT_TRUE(g->d <= FEATURES_MAX);
    memcpy(features, g->bits, g->d * sizeof *features);
    const pml_query query = {.features = features, .count = g->d, .label = g->label, .modality = g->modality};
    const pml_ranking_config config = {.matches = matches,
                                       .capacity = g->limit,
                                       .scope = g->all_slots ? PML_ALL_SLOTS : PML_OWN_SLOT,
                                       .crowd = crowd,
                                       .kernels = kernels};
    begin_coded(&r, &query, &config);
    for (size_t at = 0; at < g->size; at += piece)
        TEST_ASSERT_EQUAL_MESSAGE(
            PML_OK, pml_ranking_feed(r.ranking, g->bytes + at, g->size - at < piece ? g->size - at : piece), g->name);
    TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_ranking_finish(r.ranking, &summary), g->name);
    TEST_ASSERT_EQUAL_MESSAGE(g->match_count, summary.found, g->name);
    TEST_ASSERT_EQUAL_UINT64(g->size, summary.bytes);
    compare_matches(g, matches);
    free(r.memory);
}

static void check_answers(const struct golden_answer *answers, size_t count, bool crowd)
{
    const struct kernel_sets sets = kernel_sets_of_cpu();
    for (size_t i = 0; i < count; i++) {
        const struct golden_answer *g = answers + i;
        if (!opens(g->pack))
            continue;
        for (size_t k = 0; k < sets.count; k++)
            check_answer(g, crowd, sets.of[k], g->size);
        const size_t whole = getenv("PML_TEST_QUICK") ? 20 : 700; /* pieces of every length up to here */
        for (size_t piece = 1; piece <= g->size && piece <= whole; piece++)
            check_answer(g, crowd, sets.of[sets.count - 1], piece);
    }
}

static void test_answers_in_pieces_of_every_length(void)
{
    check_answers(golden_coded_answers, GOLDEN_CODED_ANSWER_COUNT, false);
    check_answers(golden_coded_crowd_answers, GOLDEN_CODED_CROWD_ANSWER_COUNT, true);
}

static void test_edited_packs_open_or_are_refused(void)
{
    for (size_t i = 0; i < GOLDEN_CODED_EDIT_COUNT; i++) {
        const struct golden_coded_edit *g = golden_coded_edits + i;
        if (!opens(g->pack))
            continue;
        const size_t size = golden_coded_packs[g->pack].size;
        uint8_t *bytes = copy_coded(g->pack);
        pml_pack pack;
        for (size_t j = 0; j < g->count; j++)
            bytes[g->changes[2 * j]] = (uint8_t)g->changes[2 * j + 1];
        seal_pack(bytes, size);
        TEST_ASSERT_EQUAL_MESSAGE(g->status, pml_pack_open(&pack, bytes, size, NULL, NULL), g->name);
        free(bytes);
    }
    for (size_t i = 0; i < GOLDEN_REFUSED_PACK_COUNT; i++) {
        const struct golden_refused_pack *g = golden_refused_packs + i;
        pml_pack pack;
        if (PML_WITH_HEAD || strcmp(g->name, "a projection and directions") != 0) /* it has a head */
            TEST_ASSERT_EQUAL_MESSAGE(g->status, pml_pack_open(&pack, g->bytes, g->size, NULL, NULL), g->name);
    }
}

/* Every beginning of a pack, with its size and hash made right. */
static void test_truncated_packs_are_refused(void)
{
    static const unsigned packs[] = {CODED_DEPTH_1, CODED_CLASS};
    for (size_t i = 0; i < sizeof packs / sizeof packs[0]; i++)
        for (size_t size = 0; size < golden_coded_packs[packs[i]].size; size++) {
            uint8_t *bytes = malloc(size + 1); /* the beginning ends where its allocation ends */
            TEST_ASSERT_NOT_NULL(bytes);
            memcpy(bytes + 1, golden_coded_packs[packs[i]].bytes, size);
            if (size >= HEADER_SIZE) {
                store_le(bytes + 1 + AT_SIZE, 8, size);
                seal_pack(bytes + 1, size);
            }
            pml_pack pack;
            TEST_ASSERT_TRUE(pml_pack_open(&pack, bytes + 1, size, NULL, NULL) != PML_OK);
            free(bytes);
        }
}

/* A pack that opens can be used, whatever it holds. */
static void use_pack(const pml_pack *pack)
{
    int8_t row[FEATURES_MAX], sketch[PML_SKETCH_MAX];
    pml_pack_info info;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(pack, &info));
    TEST_ASSERT_TRUE(info.features <= FEATURES_MAX);
    for (size_t i = 0; i < info.features; i++)
        row[i] = (int8_t)(i % 2 == 0 ? 127 : -100);
    if (info.sketch > 0)
        TEST_ASSERT_EQUAL(PML_OK, pml_sketch(pack, NULL, row, sketch));
}

static void test_packs_with_any_byte_changed_are_refused_or_sound(void)
{
    static const unsigned packs[] = {CODED_DEPTH_1, 10, CODED_DEPTH_7};
    static const uint8_t changes[] = {0x01, 0x80, 0xFF, 0x40, 0x06};
    const size_t count = getenv("PML_TEST_QUICK") ? 2 : sizeof changes;
    for (size_t i = 0; i < sizeof packs / sizeof packs[0]; i++) {
        const size_t size = golden_coded_packs[packs[i]].size;
        unsigned accepted = 0, refused = 0;
        uint8_t *bytes = copy_coded(packs[i]);
        for (size_t at = AT_FIELDS + 4; at < size; at++) /* not d: rows here have FEATURES_MAX features at most */
            for (size_t c = 0; c < count; c++) {
                bytes[at] ^= changes[c];
                seal_pack(bytes, size);
                pml_pack pack;
                const pml_status status = pml_pack_open(&pack, bytes, size, NULL, NULL);
                if (status == PML_OK)
                    use_pack(&pack);
                accepted += status == PML_OK;
                refused += status != PML_OK;
                bytes[at] = golden_coded_packs[packs[i]].bytes[at];
            }
        TEST_ASSERT_TRUE(accepted > 0 && refused > 0);
        free(bytes);
    }
}

/* The macro is exact for packs without fronts; with fronts a ranking may need more. */
static void test_a_ranking_needs_what_is_said(void)
{
    for (unsigned i = 0; i < GOLDEN_CODED_PACK_COUNT; i++) {
        if (!opens(i))
            continue;
        pml_pack pack = open_coded(i);
        pml_pack_info info;
        pml_match match;
        pml_ranking *ranking;
        float features[FEATURES_MAX] = {1.0f};
        int32_t label = 0;
        uint32_t slot;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&pack, &info));
        const size_t size = pml_ranking_size(&pack);
        if (info.modalities == 0)
            TEST_ASSERT_EQUAL(PML_RANKING_MEMORY(info.features, info.sketch, info.directions), size);
        if (info.classes > 0)
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&pack, 0, &label, &slot));
        const pml_query query = {.features = features, .count = info.features, .label = label};
        const pml_ranking_config config = {.matches = &match, .capacity = 1};
        void *memory = malloc(size);
        TEST_ASSERT_NOT_NULL(memory);
        TEST_ASSERT_EQUAL(PML_ERROR_MEMORY, pml_ranking_begin(&ranking, memory, size - 1, &pack, &query, &config));
        TEST_ASSERT_NULL(ranking);
        TEST_ASSERT_EQUAL(PML_OK, pml_ranking_begin(&ranking, memory, size, &pack, &query, &config));
        pml_ranking_wipe(ranking);
        free(memory);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_packs_open_and_are_described);
    RUN_TEST(test_sketches);
    RUN_TEST(test_answers_in_pieces_of_every_length);
    RUN_TEST(test_edited_packs_open_or_are_refused);
    RUN_TEST(test_truncated_packs_are_refused);
    RUN_TEST(test_packs_with_any_byte_changed_are_refused_or_sound);
    RUN_TEST(test_a_ranking_needs_what_is_said);
    return UNITY_END();
}
