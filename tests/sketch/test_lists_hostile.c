/* SPDX-License-Identifier: Apache-2.0
 * Answers of version 2 that lie. Each is refused as a whole and nothing is handed out; and what is refused does not
 * depend on who asks: every answer is read for several queries, in one piece and byte by byte, and all must agree. */
#include "pack/pack.h"
#include "support/coded_packs.h"
#include "support/viewers.h"

void setUp(void)
{
}

void tearDown(void)
{
}

enum { FEATURES_MAX = 64 };

struct viewers {
    struct coded_ranking r;
    float features[2][FEATURES_MAX];
    int32_t labels[2];
    size_t d;
    bool crowd;
};

static void set_viewers(struct viewers *v, unsigned pack)
{
    pml_pack_info info;
    uint32_t slot;
    *v = (struct viewers){.r = {.pack = open_coded(pack)}};
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&v->r.pack, &info));
    TEST_ASSERT_TRUE(info.features <= FEATURES_MAX);
    v->d = info.features;
    for (size_t i = 0; i < 2; i++) {
        make_features(&v->r.pack, (uint32_t)i + 1, v->features[i]);
        if (info.classes > 0)
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&v->r.pack, i, v->labels + i, &slot));
    }
}

static void drop_viewers(struct viewers *v)
{
    free(v->r.memory);
}

static pml_ranking *begin_for(struct viewers *v, unsigned viewer, pml_match *matches)
{
    static const float invalid[FEATURES_MAX];
    const bool lenient = viewer == 3;
    const pml_query query = {
        .features = lenient ? invalid : v->features[viewer % 2], .count = v->d, .label = v->labels[viewer % 2]};
    const pml_ranking_config config = {.matches = matches,
                                       .capacity = CAPACITY,
                                       .scope = viewer < 2 ? PML_OWN_SLOT : PML_ALL_SLOTS,
                                       .substitute = lenient,
                                       .crowd = v->crowd};
    begin_coded(&v->r, &query, &config);
    return v->r.ranking;
}

/* Feeds pieces of this length. What is handed out, and the status, are those of the whole. */
static void check_pieces(struct viewers *v, const uint8_t *bytes, size_t size, size_t piece, int whole)
{
    pml_match matches[CAPACITY], expected[CAPACITY];
    pml_answer_summary summary, expected_summary;
    TEST_ASSERT_EQUAL(whole, feed_and_finish(begin_for(v, 2, expected), bytes, size, &expected_summary));
    pml_ranking *ranking = begin_for(v, 2, matches);
    int fed = PML_OK;
    for (size_t at = 0; at < size; at += piece) {
        const int status = pml_ranking_feed(ranking, bytes + at, size - at < piece ? size - at : piece);
        TEST_ASSERT_TRUE(fed == PML_OK || status == fed);
        fed = status;
    }
    const int status = pml_ranking_finish(ranking, &summary);
    TEST_ASSERT_EQUAL(whole, status);
    TEST_ASSERT_TRUE(fed == PML_OK || fed == status);
    check_outcome(status, matches, &summary, size);
    if (status == PML_OK) {
        TEST_ASSERT_EQUAL_UINT64(expected_summary.found, summary.found);
        TEST_ASSERT_EQUAL_UINT64(expected_summary.carried, summary.carried);
        TEST_ASSERT_EQUAL_MEMORY(expected, matches, sizeof matches);
    }
}

/* An answer with lists of all forms, one of them empty when there are more than three slots. */
static void write_sample(struct writer *w, const pml_pack *pack, unsigned first_form)
{
    pml_pack_info info;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(pack, &info));
    write_header(w, pack, 300);
    for (uint32_t slot = 0; slot < info.slots; slot++) {
        struct list list = {.form = (first_form + slot) % 4, .label = -200};
        for (uint64_t i = 0; i < 4 && slot != 2; i++) {
            uint8_t sketch[PML_SKETCH_MAX];
            for (size_t j = 0; j < info.sketch; j++)
                sketch[j] = (uint8_t)(37 * i + 11 * j + slot * 5);
            add_to_list(&list, 100 * i + slot, list.form & LIST_CLASSES ? (int32_t)(150 * i) - 200 : -200, sketch,
                        info.sketch, "payload", list.form & LIST_PAYLOADS ? (size_t)(2 * i) : 0);
        }
        write_list(w, slot, &list);
    }
}

static const struct {
    unsigned pack, form;
} samples[] = {{CODED_DEPTH_1, 0}, {CODED_DEPTH_1, 1}, {CODED_DEPTH_1, 2}, {CODED_DEPTH_7, 3}, {CODED_FOUR_SLOTS, 1}};

static void test_every_prefix_and_one_byte_more_are_refused(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        struct viewers v;
        struct writer w = {NULL, 0};
        set_viewers(&v, samples[i].pack);
        write_sample(&w, &v.r.pack, samples[i].form);
        TEST_ASSERT_EQUAL(PML_OK, status_of(&v, w.bytes, w.size));
        for (size_t length = 0; length < w.size; length++)
            TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status_of(&v, w.bytes, length));
        write_bytes(&w, "", 1);
        for (unsigned last = 0; last < 256; last++) { /* whole heads, and beginnings of longer ones */
            w.bytes[w.size - 1] = (uint8_t)last;
            TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status_of(&v, w.bytes, w.size));
        }
        free(w.bytes);
        drop_viewers(&v);
    }
}

static void test_every_changed_byte_is_the_same_to_every_viewer(void)
{
    static const uint8_t changes[] = {0x01, 0x20, 0x80, 0xFF, 0x1F, 0x04};
    const size_t count = getenv("PML_TEST_QUICK") ? 2 : sizeof changes;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        unsigned accepted = 0, refused = 0;
        struct viewers v;
        struct writer w = {NULL, 0};
        set_viewers(&v, samples[i].pack);
        write_sample(&w, &v.r.pack, samples[i].form);
        for (size_t at = 0; at < w.size; at++)
            for (size_t c = 0; c < count; c++) {
                w.bytes[at] ^= changes[c];
                const int status = status_of(&v, w.bytes, w.size);
                check_pieces(&v, w.bytes, w.size, 1, status);
                check_pieces(&v, w.bytes, w.size, 1 + (at + c) % 17, status);
                if (at >= 3 && at < 3 + PML_ID_SIZE)
                    TEST_ASSERT_EQUAL(PML_ERROR_PACK_ID, status);
                else if (status != PML_OK)
                    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status);
                accepted += status == PML_OK;
                refused += status != PML_OK;
                w.bytes[at] ^= changes[c];
            }
        TEST_ASSERT_TRUE(accepted > 0 && refused > 0);
        free(w.bytes);
        drop_viewers(&v);
    }
}

static void test_pieces_of_every_length_are_the_whole(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        struct viewers v;
        struct writer w = {NULL, 0};
        set_viewers(&v, samples[i].pack);
        write_sample(&w, &v.r.pack, samples[i].form);
        for (size_t piece = 1; piece <= w.size; piece++)
            check_pieces(&v, w.bytes, w.size, piece, PML_OK);
        free(w.bytes);
        drop_viewers(&v);
    }
}

static void test_golden_lies_are_refused(void)
{
    unsigned good = 0, bad = 0;
    for (size_t i = 0; i < GOLDEN_REFUSED_ANSWER_COUNT; i++) {
        const struct golden_refused_answer *g = golden_refused_answers + i;
        struct viewers v;
        set_viewers(&v, g->pack);
        v.crowd = g->crowd != 0;
        TEST_ASSERT_EQUAL_MESSAGE(g->status, status_of(&v, g->bytes, g->size), g->name);
        for (size_t piece = 1; piece <= 3; piece++)
            check_pieces(&v, g->bytes, g->size, piece, g->status);
        good += g->status == PML_OK;
        bad += g->status != PML_OK;
        drop_viewers(&v);
    }
    TEST_ASSERT_TRUE(good > 10 && bad > 50);
}

/* ---- limits ---- */

/* `count` candidates of items 0, 1, … for CODED_DEPTH_1, whose sketches have one byte; the string says `size`. */
static int status_of_many(uint64_t count, uint64_t sent, uint64_t size)
{
    static const uint8_t candidates[2 * 64];
    struct viewers v;
    struct writer w = {NULL, 0};
    pml_match matches[CAPACITY];
    pml_answer_summary summary;
    set_viewers(&v, CODED_DEPTH_1);
    write_header(&w, &v.r.pack, UINT64_MAX);
    write_list_head(&w, 0, count, 0, 7);
    write_head(&w, CBOR_BYTES, size);
    pml_ranking *ranking = begin_for(&v, 0, matches);
    pml_status fed = pml_ranking_feed(ranking, w.bytes, w.size);
    for (uint64_t i = 0; i < sent && fed == PML_OK; i += 64)
        fed = pml_ranking_feed(ranking, candidates, (size_t)(sent - i < 64 ? 2 * (sent - i) : sizeof candidates));
    const int status = pml_ranking_finish(ranking, &summary);
    if (status == PML_OK) {
        TEST_ASSERT_EQUAL_UINT64(count, summary.carried);
        TEST_ASSERT_EQUAL_UINT64(count < CAPACITY ? count : CAPACITY, summary.found);
        for (uint64_t i = 0; i < summary.found; i++)
            TEST_ASSERT_EQUAL_UINT64(i, matches[i].item); /* all scores are equal */
    }
    free(w.bytes);
    drop_viewers(&v);
    return status;
}

static void test_as_many_candidates_as_allowed_are_taken(void)
{
    const uint64_t most = PML_CANDIDATES_MAX;
    TEST_ASSERT_EQUAL(PML_OK, status_of_many(1, 1, 2));
    TEST_ASSERT_EQUAL(PML_OK, status_of_many(most, most, 2 * most));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status_of_many(most + 1, most + 1, 2 * (most + 1)));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status_of_many(most, most, 2 * most + 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status_of_many(most, most, 2 * most - 1));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status_of_many(most, most, 2 * most + ((uint64_t)1 << 32)));
    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status_of_many(3, 3, UINT64_MAX));
}

static void test_payloads_up_to_their_limit_are_taken(void)
{
    static const struct {
        size_t size;
        int status;
    } cases[] = {{16383, PML_OK}, {16384, PML_OK}, {65535, PML_OK}, {65536, PML_ERROR_ANSWER}};
    static const uint8_t filler[65536];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct viewers v;
        struct writer w = {NULL, 0};
        struct list list = {.form = LIST_PAYLOADS, .label = 3};
        pml_match matches[CAPACITY];
        pml_answer_summary summary;
        set_viewers(&v, CODED_DEPTH_1);
        write_header(&w, &v.r.pack, 2);
        add_to_list(&list, 0, 3, filler, 1, filler, cases[i].size);
        add_to_list(&list, 1, 3, filler, 1, filler, 1);
        write_list(&w, 0, &list);
        TEST_ASSERT_EQUAL(cases[i].status, status_of(&v, w.bytes, w.size));
        check_pieces(&v, w.bytes, w.size, 1000, cases[i].status);
        if (cases[i].status == PML_OK) {
            TEST_ASSERT_EQUAL(PML_OK, feed_and_finish(begin_for(&v, 0, matches), w.bytes, w.size, &summary));
            TEST_ASSERT_EQUAL_UINT32(cases[i].size, matches[0].payload_size);
            TEST_ASSERT_EQUAL_UINT64(w.size - 1, matches[1].payload_offset);
        }
        free(w.bytes);
        drop_viewers(&v);
    }
}

/* As many bytes as before, but one bit per direction: more of them than a pack may have. Nothing else is looked at. */
static void test_too_many_directions(void)
{
    uint8_t *bytes = copy_coded(CODED_LONGEST);
    const size_t size = golden_coded_packs[CODED_LONGEST].size;
    pml_pack pack = open_coded(CODED_LONGEST);
    uint8_t *code = bytes + (pack.section[PML_SECTION_SKETCH_CODE] - pack.bytes);
    TEST_ASSERT_TRUE(pack.sketch > PML_DIRECTIONS_MAX / 8);
    memset(code, 0, 14);
    code[0] = (uint8_t)pack.sketch;
    code[1] = (uint8_t)(pack.sketch >> 8);
    TEST_ASSERT_EQUAL(PML_ERROR_PACK, pml_pack_open(&pack, bytes, size, NULL, NULL));
    free(bytes);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_prefix_and_one_byte_more_are_refused);
    RUN_TEST(test_every_changed_byte_is_the_same_to_every_viewer);
    RUN_TEST(test_pieces_of_every_length_are_the_whole);
    RUN_TEST(test_golden_lies_are_refused);
    RUN_TEST(test_as_many_candidates_as_allowed_are_taken);
    RUN_TEST(test_payloads_up_to_their_limit_are_taken);
    RUN_TEST(test_too_many_directions);
    return UNITY_END();
}
