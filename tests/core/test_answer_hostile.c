/* SPDX-License-Identifier: Apache-2.0
 * Answers that lie. Each is refused as a whole and nothing is handed out; and what is refused does not depend on who
 * asks: every answer here is read for several queries, in one piece and byte by byte, and all must agree. */
#include "golden/vectors.h"
#include "support/viewers.h"

void setUp(void)
{
}

void tearDown(void)
{
}

#define MECHANISM (PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN)

struct viewers {
    struct fixture strict, lenient;
    float features[2][64];
    int32_t labels[2];
    size_t d;
};

static void set_viewers(struct viewers *v, unsigned pack)
{
    pml_pack_info info;
    uint32_t slot;
    setup_fixture(&v->strict, pack, MECHANISM, 1.0);
    setup_client(&v->strict);
    setup_fixture(&v->lenient, pack, MECHANISM, 1.0);
    v->lenient.config.substitute = true;
    setup_client(&v->lenient);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&v->strict.pack, &info));
    v->d = info.features;
    for (size_t i = 0; i < 2; i++) {
        make_features(&v->strict.pack, (uint32_t)i + 1, v->features[i]);
        v->labels[i] = 0;
        if (info.classes > 0)
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&v->strict.pack, i, v->labels + i, &slot));
    }
}

static void drop_viewers(struct viewers *v)
{
    teardown_fixture(&v->strict);
    teardown_fixture(&v->lenient);
}

static pml_ranking *begin_for(struct viewers *v, unsigned viewer, pml_match *matches)
{
    float invalid[64] = {0};
    const bool lenient = viewer == 3;
    struct fixture *f = lenient ? &v->lenient : &v->strict;
    TEST_ASSERT_EQUAL(PML_OK, begin_ranking(f, lenient ? invalid : v->features[viewer % 2], v->d, v->labels[viewer % 2],
                                            viewer < 2 ? PML_OWN_SLOT : PML_ALL_SLOTS, matches, CAPACITY));
    return f->ranking;
}

/* The status that feeding byte by byte leads to; `fed` is that of the last feed. */
static int status_by_bytes(struct viewers *v, const uint8_t *bytes, size_t size, int *fed)
{
    pml_match matches[CAPACITY];
    pml_answer_summary summary;
    pml_ranking *ranking = begin_for(v, 1, matches);
    *fed = PML_OK;
    for (size_t i = 0; i < size; i++) {
        int status = pml_ranking_feed(ranking, bytes + i, 1);
        TEST_ASSERT_TRUE(*fed == PML_OK || status == *fed);
        *fed = status;
    }
    int status = pml_ranking_finish(ranking, &summary);
    check_outcome(status, matches, &summary, size);
    return status;
}

/* Golden answers of different bytes, and their packs' viewers. */
static const size_t golden_indices[] = {0, 1, 5};

static void test_every_prefix_and_one_byte_more_are_refused(void)
{
    for (size_t i = 0; i < 3; i++) {
        const struct golden_answer *g = golden_answers + golden_indices[i];
        struct viewers v;
        set_viewers(&v, g->pack);
        TEST_ASSERT_EQUAL(PML_OK, status_of(&v, g->bytes, g->size));
        for (size_t length = 0; length < g->size; length++)
            TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status_of(&v, g->bytes, length));
        uint8_t *longer = calloc(1, g->size + 1);
        TEST_ASSERT_NOT_NULL(longer);
        memcpy(longer, g->bytes, g->size);
        for (unsigned last = 0; last < 256; last++) { /* whole heads, and beginnings of longer ones */
            longer[g->size] = (uint8_t)last;
            TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status_of(&v, longer, g->size + 1));
        }
        free(longer);
        drop_viewers(&v);
    }
}

static void test_every_changed_byte_is_the_same_to_every_viewer(void)
{
    static const uint8_t changes[] = {0x01, 0x20, 0x80, 0xFF, 0x1F, 0x04};
    const size_t count = getenv("PML_TEST_QUICK") ? 1 : sizeof changes;
    for (size_t i = 0; i < 3; i++) {
        const struct golden_answer *g = golden_answers + golden_indices[i];
        unsigned accepted = 0, refused = 0;
        struct viewers v;
        set_viewers(&v, g->pack);
        uint8_t *changed = malloc(g->size);
        TEST_ASSERT_NOT_NULL(changed);
        memcpy(changed, g->bytes, g->size);
        for (size_t at = 0; at < g->size; at++)
            for (size_t c = 0; c < count; c++) {
                changed[at] ^= changes[c];
                int fed, status = status_of(&v, changed, g->size);
                TEST_ASSERT_EQUAL(status, status_by_bytes(&v, changed, g->size, &fed));
                if (at >= 3 && at < 3 + PML_ID_SIZE)
                    TEST_ASSERT_EQUAL(PML_ERROR_PACK_ID, status);
                else if (status != PML_OK)
                    TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, status);
                accepted += status == PML_OK;
                refused += status != PML_OK;
                changed[at] = g->bytes[at];
            }
        TEST_ASSERT_TRUE(accepted > 0 && refused > 0); /* sketches and payloads are free, all else is not */
        free(changed);
        drop_viewers(&v);
    }
}

/* Answers for PACK_TIES, G = 2 and L = 8, in hexadecimal. H: a sound header; I: the right id; J: another id; S: a
 * sketch; T: empty slots 0 and 1; C: the heads and fields of a candidate up to its payload; P: 65535 bytes. `fed` is
 * what the last feed returns, `finished` what finish does. */
struct lie {
    const char *name;
    int fed, finished;
    const char *text;
};

#define GOOD PML_OK, PML_OK
#define BAD PML_ERROR_ANSWER, PML_ERROR_ANSWER
#define SHORT PML_OK, PML_ERROR_ANSWER

static const struct lie lies[] = {
    {"no candidates", GOOD, "85 01 I 02 08 01 82 00 00 82 01 00"},
    {"the same by letters", GOOD, "HT"},
    {"one candidate", GOOD, "H 82 00 01 84 00 00 S 40 82 01 00"},
    {"the same by letters", GOOD, "H 82 00 01 C 40 82 01 00"},
    {"nothing", SHORT, ""},
    {"header of four", BAD, "84 01 I 02 08 01 T"},
    {"header of six", BAD, "86 01 I 02 08 01 T"},
    {"header of no fixed length", BAD, "9F 01 I 02 08 01 FF T"},
    {"header not in its shortest form", BAD, "98 05 01 I 02 08 01 T"},
    {"header as a map", BAD, "A5 01 I 02 08 01 T"},
    {"header with a tag", BAD, "C0 85 01 I 02 08 01 T"},
    {"version 0", BAD, "85 00 I 02 08 01 T"},
    {"version 2", BAD, "85 02 I 02 08 01 T"},
    {"version not in its shortest form", BAD, "85 18 01 I 02 08 01 T"},
    {"version −2", BAD, "85 21 I 02 08 01 T"},
    {"another pack", PML_ERROR_PACK_ID, PML_ERROR_PACK_ID, "85 01 J 02 08 01 T"},
    {"id of no fixed length", BAD, "85 01 5F I FF 02 08 01 T"},
    {"id too short", BAD, "85 01 4F 00"},
    {"id too long", BAD, "85 01 51 00"},
    {"id of 2^64 − 1 bytes", BAD, "85 01 5B FFFFFFFFFFFFFFFF 00"},
    {"id not in its shortest form", BAD, "85 01 58 10 00"},
    {"id as text", BAD, "85 01 70 00"},
    {"fewer slots", BAD, "85 01 I 01 08 01 82 00 00"},
    {"more slots", BAD, "85 01 I 03 08 01 T 82 02 00"},
    {"slots not in their shortest form", BAD, "85 01 I 18 02 08 01 T"},
    {"shorter sketches", BAD, "85 01 I 02 07 01 T"},
    {"longer sketches", BAD, "85 01 I 02 09 01 T"},
    {"no sketches", BAD, "85 01 I 02 00 01 T"},
    {"gallery 0", BAD, "85 01 I 02 08 00 T"},
    {"gallery negative", BAD, "85 01 I 02 08 20 T"},
    {"gallery 23 in two bytes", BAD, "85 01 I 02 08 18 17 T"},
    {"gallery 24", GOOD, "85 01 I 02 08 18 18 T"},
    {"gallery 255 in three bytes", BAD, "85 01 I 02 08 19 00FF T"},
    {"gallery 256", GOOD, "85 01 I 02 08 19 0100 T"},
    {"gallery 65535 in five bytes", BAD, "85 01 I 02 08 1A 0000FFFF T"},
    {"gallery 65536", GOOD, "85 01 I 02 08 1A 00010000 T"},
    {"gallery 2^32 − 1 in nine bytes", BAD, "85 01 I 02 08 1B 00000000FFFFFFFF T"},
    {"gallery 2^32", GOOD, "85 01 I 02 08 1B 0000000100000000 T"},
    {"gallery 2^64 − 1", GOOD, "85 01 I 02 08 1B FFFFFFFFFFFFFFFF T"},
    {"reserved head 28", BAD, "85 01 I 02 08 1C T"},
    {"reserved head 30", BAD, "85 01 I 02 08 1E T"},
    {"gallery of no fixed length", BAD, "85 01 I 02 08 1F T"},
    {"slot of one", BAD, "H 81 00 82 01 00"},
    {"slot of three", BAD, "H 83 00 00 00 82 01 00"},
    {"slot of no fixed length", BAD, "H 9F 00 00 FF 82 01 00"},
    {"slots in the wrong order", BAD, "H 82 01 00 82 00 00"},
    {"first slot missing", BAD, "H 82 01 00"},
    {"last slot missing", SHORT, "H 82 00 00"},
    {"a slot twice", BAD, "H 82 00 00 82 00 00"},
    {"a slot too many", BAD, "H T 82 02 00"},
    {"slot not in its shortest form", BAD, "H 82 18 00 00 82 01 00"},
    {"count negative", BAD, "H 82 00 20"},
    {"count larger than the candidates", BAD, "H 82 00 02 C 40 82 01 00"},
    {"count larger than the answer", SHORT, "H 82 00 00 82 01 02 C 40"},
    {"count smaller than the candidates", BAD, "H 82 00 01 C 40 C 40 82 01 00"},
    {"count 0 with a candidate", BAD, "H 82 00 00 C 40 82 01 00"},
    {"count 2^20", SHORT, "H 82 00 1A 00100000"},
    {"count 2^20 + 1", BAD, "H 82 00 1A 00100001"},
    {"count 2^32", BAD, "H 82 00 1B 0000000100000000"},
    {"count 2^64 − 1", BAD, "H 82 00 1B FFFFFFFFFFFFFFFF"},
    {"candidate of three", BAD, "H 82 00 01 83 00 00 S 82 01 00"},
    {"candidate of five", BAD, "H 82 00 01 85 00 00 S 40 40 82 01 00"},
    {"candidate of no fixed length", BAD, "H 82 00 01 9F 00 00 S 40 FF 82 01 00"},
    {"item 2^64 − 1", GOOD, "H 82 00 01 84 1B FFFFFFFFFFFFFFFF 00 S 40 82 01 00"},
    {"item negative", BAD, "H 82 00 01 84 20 00 S 40 82 01 00"},
    {"item as bytes", BAD, "H 82 00 01 84 40 00 S 40 82 01 00"},
    {"item not in its shortest form", BAD, "H 82 00 01 84 1800 00 S 40 82 01 00"},
    {"class 2^31 − 1", GOOD, "H 82 00 01 84 00 1A 7FFFFFFF S 40 82 01 00"},
    {"class 2^31", BAD, "H 82 00 01 84 00 1A 80000000 S 40 82 01 00"},
    {"class 2^32", BAD, "H 82 00 01 84 00 1B 0000000100000000 S 40 82 01 00"},
    {"class 2^64 − 1", BAD, "H 82 00 01 84 00 1B FFFFFFFFFFFFFFFF S 40 82 01 00"},
    {"class −2^31", GOOD, "H 82 00 01 84 00 3A 7FFFFFFF S 40 82 01 00"},
    {"class −2^31 − 1", BAD, "H 82 00 01 84 00 3A 80000000 S 40 82 01 00"},
    {"class −2^64", BAD, "H 82 00 01 84 00 3B FFFFFFFFFFFFFFFF S 40 82 01 00"},
    {"class not in its shortest form", BAD, "H 82 00 01 84 00 38 00 S 40 82 01 00"},
    {"class as bytes", BAD, "H 82 00 01 84 00 40 S 40 82 01 00"},
    {"class as false", BAD, "H 82 00 01 84 00 F4 S 40 82 01 00"},
    {"class as a float", BAD, "H 82 00 01 84 00 FA 00000000 S 40 82 01 00"},
    {"sketch of 7", BAD, "H 82 00 01 84 00 00 47 01010101010101 40 82 01 00"},
    {"sketch of 9", BAD, "H 82 00 01 84 00 00 49 010101010101010101 40 82 01 00"},
    {"sketch of 0", BAD, "H 82 00 01 84 00 00 40 40 82 01 00"},
    {"sketch of 2^63", BAD, "H 82 00 01 84 00 00 5B 8000000000000000 40 82 01 00"},
    {"sketch not in its shortest form", BAD, "H 82 00 01 84 00 00 58 08 0101010101010101 40 82 01 00"},
    {"sketch of no fixed length", BAD, "H 82 00 01 84 00 00 5F S FF 40 82 01 00"},
    {"sketch as text", BAD, "H 82 00 01 84 00 00 68 0101010101010101 40 82 01 00"},
    {"sketch of zeros", GOOD, "H 82 00 01 84 00 00 48 0000000000000000 40 82 01 00"},
    {"sketch of −128", GOOD, "H 82 00 01 84 00 00 48 8080808080808080 40 82 01 00"},
    {"payload of 23", GOOD, "H 82 00 01 C 57 0000000000000000000000000000000000000000000000 82 01 00"},
    {"payload of 65535", GOOD, "H 82 00 01 C 59 FFFF P 82 01 00"},
    {"payload of 65536", BAD, "H 82 00 01 C 5A 00010000 P 00 82 01 00"},
    {"payload of 2^64 − 1", BAD, "H 82 00 01 C 5B FFFFFFFFFFFFFFFF P 82 01 00"},
    {"payload not in its shortest form", BAD, "H 82 00 01 C 58 01 00 82 01 00"},
    {"payload of no fixed length", BAD, "H 82 00 01 C 5F 40 FF 82 01 00"},
    {"payload as text", BAD, "H 82 00 01 C 60 82 01 00"},
    {"payload longer than the answer", SHORT, "H 82 00 00 82 01 01 C 42 00"},
    {"payload shorter than said", SHORT, "H 82 00 01 C 45 82 01 00"},
    {"a byte too many", BAD, "H T 00"},
    {"a second answer", BAD, "H T H T"},
    {"a break too many", BAD, "H T FF"},
};

static unsigned hexadecimal(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'A' + 10);
}

static void write_lie(struct writer *w, const pml_pack *pack, const char *text)
{
    static const int8_t sketch[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    static uint8_t filler[65535];
    pml_pack_info info;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(pack, &info));
    for (const char *p = text; *p != '\0'; p++) {
        switch (*p) {
        case ' ':
            break;
        case 'H':
            write_header(w, pack, 1);
            break;
        case 'J':
            info.id[15] ^= 1;
            write_byte_string(w, info.id, sizeof info.id);
            info.id[15] ^= 1;
            break;
        case 'I':
            write_byte_string(w, info.id, sizeof info.id);
            break;
        case 'S':
            write_byte_string(w, sketch, sizeof sketch);
            break;
        case 'T':
            write_slot(w, 0, 0);
            write_slot(w, 1, 0);
            break;
        case 'P':
            write_bytes(w, filler, sizeof filler);
            break;
        default:
            if (*p == 'C' && (p[1] == ' ')) { /* alone; C0 is a byte */
                write_bytes(w, "\x84\x00\x00", 3);
                write_byte_string(w, sketch, sizeof sketch);
                break;
            }
            write_bytes(w, &(uint8_t){(uint8_t)(hexadecimal(p[0]) << 4 | hexadecimal(p[1]))}, 1);
            p++;
        }
    }
}

static void test_every_lie_is_refused(void)
{
    struct viewers v;
    set_viewers(&v, PACK_TIES);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct writer w = {NULL, 0};
        int fed;
        write_lie(&w, &v.strict.pack, lies[i].text);
        TEST_ASSERT_EQUAL_MESSAGE(lies[i].finished, status_of(&v, w.bytes, w.size), lies[i].name);
        TEST_ASSERT_EQUAL_MESSAGE(lies[i].finished, status_by_bytes(&v, w.bytes, w.size, &fed), lies[i].name);
        TEST_ASSERT_EQUAL_MESSAGE(lies[i].fed, fed, lies[i].name);
        free(w.bytes);
    }
    drop_viewers(&v);
}

static void test_as_many_candidates_as_allowed_are_taken(void)
{
    static const int8_t sketch[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct viewers v;
    struct writer start = {NULL, 0}, candidate = {NULL, 0};
    pml_match matches[CAPACITY];
    pml_answer_summary summary;
    set_viewers(&v, PACK_ONE);
    write_header(&start, &v.strict.pack, 1);
    write_slot(&start, 0, PML_CANDIDATES_MAX);
    write_candidate(&candidate, 7, 0, sketch, sizeof sketch, "", 0);
    pml_ranking *ranking = begin_for(&v, 0, matches);
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_feed(ranking, start.bytes, start.size));
    for (uint32_t i = 0; i < PML_CANDIDATES_MAX; i++)
        if (pml_ranking_feed(ranking, candidate.bytes, candidate.size) != PML_OK)
            TEST_FAIL_MESSAGE("a candidate was refused");
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_finish(ranking, &summary));
    TEST_ASSERT_EQUAL(1, summary.found);
    TEST_ASSERT_EQUAL_UINT64(PML_CANDIDATES_MAX, summary.carried);
    free(start.bytes);
    free(candidate.bytes);
    drop_viewers(&v);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_prefix_and_one_byte_more_are_refused);
    RUN_TEST(test_every_changed_byte_is_the_same_to_every_viewer);
    RUN_TEST(test_every_lie_is_refused);
    RUN_TEST(test_as_many_candidates_as_allowed_are_taken);
    return UNITY_END();
}
