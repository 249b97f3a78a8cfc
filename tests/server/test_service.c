/* SPDX-License-Identifier: Apache-2.0
 * The service on a real store: what it answers, item for item, what it refuses, and a million broken releases. All of it
 * with plain and with coded sketches. */
#define _XOPEN_SOURCE 700
#include "version_support.h"

static struct pml_service *service;

static int open_service(const struct recipe *recipe)
{
    const struct pml_service_options options = {.nearest = NEAREST, .threads = 1};
    pml_service_unref(service);
    make_store(recipe);
    return pml_service_open(&service, &built.pack, store, &options, &said);
}

static void open_usual(void)
{
    TEST_ASSERT_EQUAL_MESSAGE(0, open_service(&usual), said.text);
}

void setUp(void)
{
    memset(&said, 0, sizeof said);
    make_pack();
}

void tearDown(void)
{
    pml_service_unref(service);
    service = NULL;
    pml_store_close(store);
    store = NULL;
    free_pack();
}

/* ---- what must come ---- */

/* Reads a release and puts its answer together. Returns the status of the first, or the outcome of the second. */
static int answer_to(const uint8_t *release, size_t size, struct pml_bytes *answer)
{
    pml_release_view view;
    struct pml_parts parts;
    const pml_status status = pml_service_read(service, release, size, &view);
    if (status != PML_OK)
        return status;
    const pml_outcome outcome = pml_service_parts(service, &view, &parts);
    TEST_ASSERT_EQUAL_UINT64(outcome != PML_DONE ? 0 : view.mechanism == PML_CROWD ? 2 : CLASSES + 1, parts.count);
    for (size_t i = 0; i < parts.count; i++)
        TEST_ASSERT_EQUAL(PML_DONE, pml_bytes_append(answer, parts.parts[i]->bytes, parts.parts[i]->size));
    TEST_ASSERT_EQUAL_UINT64(answer->size, parts.size);
    pml_parts_free(&parts);
    return outcome;
}

static void assert_answer(const uint8_t *release, size_t size, struct pml_bytes *expected)
{
    struct pml_bytes answer = {0};
    TEST_ASSERT_EQUAL(PML_DONE, answer_to(release, size, &answer));
    TEST_ASSERT_EQUAL_UINT64(expected->size, answer.size);
    TEST_ASSERT_EQUAL(0, memcmp(expected->bytes, answer.bytes, answer.size));
    pml_bytes_free(&answer);
    pml_bytes_free(expected);
}

static void test_response_brings_the_cells(void)
{
    uint8_t release[RELEASE_MAX];
    open_usual();
    for (unsigned symbols = 0; symbols < 64; symbols++) {
        struct pml_bytes expected = expected_response(&usual, symbols);
        assert_answer(release, write_response(release, (uint8_t)symbols), &expected);
    }
}

#if PML_WITH_CROWD
static void test_a_crowds_message_brings_one_cell(void)
{
    uint8_t release[RELEASE_MAX];
    open_usual();
    for (uint32_t symbol = 0; symbol < CLASSES * CELLS; symbol++) {
        const uint32_t slot = symbol / CELLS, cell = symbol % CELLS;
        struct pml_bytes expected = begin_expected(&usual, 1);
        append_expected(&expected, &usual, slot, ITEMS, in_cell, &cell);
        const size_t size = write_crowd(release, (uint8_t)symbol);
        assert_answer(release, size, &expected);
    }
    struct pml_bytes answer = {0};
    TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, answer_to(release, write_crowd(release, CLASSES * CELLS), &answer));
}
#endif

static void test_gaussian_brings_the_nearest(void)
{
    struct pml_embedding *embedding;
    uint8_t release[RELEASE_MAX];
    uint64_t state = 5;
    open_usual();
    TEST_ASSERT_EQUAL(0, pml_embedding_make(&embedding, &built.pack, ITERATIONS, 1, NULL, &said));
    for (size_t round = 0; round < 50; round++) {
        float rows[2 * CLASSES];
        double places[2 * CLASSES], told[2 * CLASSES];
        pml_release_view view;
        size_t size = write_gaussian(release, &state);
        TEST_ASSERT_EQUAL(PML_OK, pml_release_rows(&built.pack, release, size, rows, 2 * CLASSES));
        pml_embedding_place(embedding, rows, places);
        TEST_ASSERT_EQUAL(PML_OK, pml_service_read(service, release, size, &view));
        TEST_ASSERT_EQUAL(PML_DONE, pml_service_place(service, &view, told));
        TEST_ASSERT_EQUAL(0, memcmp(places, told, sizeof places));
        struct pml_bytes expected = expected_gaussian(&usual, places);
        assert_answer(release, size, &expected);
    }
    pml_embedding_free(embedding);
}

/* With a cache the answers are the same; the store is read only while a part of the answer is not kept. */
static void test_kept_parts(void)
{
    uint8_t release[RELEASE_MAX];
    const uint8_t symbols[] = {0x00, 0x00, 0x03, 0x03, 0x0C, 0x0F}; /* the cells of three slots, two bits each */
    const bool reads[] = {true, false, true, false, true, false};
    struct pml_service_counts counts = {0};
    const struct pml_service_options options = {.threads = 1, .cache = pml_cache_open(1 << 20), .counts = &counts};
    make_store(&usual);
    TEST_ASSERT_EQUAL(PML_DONE, pml_service_open(&service, &built.pack, store, &options, &said));
    for (size_t i = 0; i < sizeof symbols; i++) {
        const uint64_t touched = counts.touched;
        struct pml_bytes expected = expected_response(&usual, symbols[i]);
        assert_answer(release, write_response(release, symbols[i]), &expected);
        TEST_ASSERT_EQUAL_UINT64(touched + reads[i], counts.touched);
    }
    TEST_ASSERT_EQUAL_UINT64(sizeof symbols, counts.queries);
    pml_service_unref(service);
    service = NULL;
    pml_cache_close(options.cache);
}

/* ---- refusals ---- */

static void assert_refused(struct recipe recipe, pml_outcome outcome, const char *part)
{
    TEST_ASSERT_EQUAL(outcome, open_service(&recipe));
    assert_said(part);
    TEST_ASSERT_NULL(service);
}

static void test_galleries_that_do_not_fit(void)
{
    struct recipe foreign = usual, deeper = usual, mismeasured = usual, swapped = usual;
    foreign.foreign = deeper.deeper = mismeasured.mismeasured = swapped.swapped = true;
    assert_refused(foreign, PML_REFUSED, "another pack");
    assert_refused(deeper, PML_REFUSED, "another pack");
    assert_refused(mismeasured, PML_DAMAGED, "are damaged");
    assert_refused(swapped, PML_DAMAGED, "places");
}

static void test_a_store_without_a_gallery(void)
{
    const struct pml_service_options options = {.threads = 1};
    const struct pml_name none = {{0}}, wrong = {{1}};
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_memory_open(&store));
    TEST_ASSERT_EQUAL(PML_ABSENT, pml_service_open(&service, &built.pack, store, &options, &said));
    assert_said("no gallery of this pack");
    point_at(&none);
    TEST_ASSERT_EQUAL(PML_ABSENT, pml_service_open(&service, &built.pack, store, &options, &said));
    assert_said("no gallery of this pack");
    point_at(&wrong);
    TEST_ASSERT_EQUAL(PML_ABSENT, pml_service_open(&service, &built.pack, store, &options, &said));
    assert_said("not in the store");
    TEST_ASSERT_NULL(service);
}

static void test_answers_that_are_too_long_to_be_sealed(void)
{
    struct pml_service_options options = {.threads = 1, .nearest = NEAREST};
    open_usual();
    const struct pml_longest longest = *pml_service_longest(service);
    pml_service_unref(service);
    options.answer_max = longest.gaussian; /* the longest of the three here */
    TEST_ASSERT_TRUE(longest.gaussian > longest.response && longest.gaussian > longest.message);
    TEST_ASSERT_EQUAL(PML_DONE, pml_service_open(&service, &built.pack, store, &options, &said));
    pml_service_unref(service);
    options.answer_max--;
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_service_open(&service, &built.pack, store, &options, &said));
    assert_said("too long to be sealed");
}

static int answer_status(const uint8_t *release, size_t size)
{
    struct pml_bytes answer = {0};
    int status = answer_to(release, size, &answer);
    TEST_ASSERT_TRUE(status == PML_DONE || (!answer.bytes && answer.size == 0 && answer.capacity == 0));
    pml_bytes_free(&answer);
    return status;
}

static void test_a_gallery_without_cells_or_places(void)
{
    struct recipe no_cells = usual, no_places = usual;
    uint8_t response[RELEASE_MAX], gaussian[RELEASE_MAX];
    uint64_t state = 1;
    size_t response_size = write_response(response, 0x1B), gaussian_size = write_gaussian(gaussian, &state);
    no_cells.no_cells = no_places.no_places = true;
    TEST_ASSERT_EQUAL_MESSAGE(0, open_service(&no_cells), said.text);
    TEST_ASSERT_EQUAL(PML_DONE, answer_status(gaussian, gaussian_size));
    TEST_ASSERT_EQUAL(PML_REFUSED, answer_status(response, response_size));
    TEST_ASSERT_EQUAL_UINT64(0, pml_service_longest(service)->message);
    TEST_ASSERT_EQUAL_UINT64(0, pml_service_longest(service)->response);
    TEST_ASSERT_TRUE(pml_service_longest(service)->gaussian > 0);
    TEST_ASSERT_EQUAL_MESSAGE(0, open_service(&no_places), said.text);
    TEST_ASSERT_EQUAL(PML_DONE, answer_status(response, response_size));
    TEST_ASSERT_EQUAL(PML_REFUSED, answer_status(gaussian, gaussian_size));
    TEST_ASSERT_EQUAL_UINT64(0, pml_service_longest(service)->gaussian);
    TEST_ASSERT_TRUE(pml_service_longest(service)->message > 0);
}

/* The lengths of sealed answers follow from the manifest's sizes: a part that is not as long as it says is not sent. */
static void test_parts_of_other_lengths(void)
{
    struct recipe resized = usual;
    uint8_t release[RELEASE_MAX];
    resized.resized = true;
    TEST_ASSERT_EQUAL_MESSAGE(0, open_service(&resized), said.text);
    TEST_ASSERT_EQUAL(PML_DAMAGED, answer_status(release, write_response(release, 0)));
}

static void test_other_releases(void)
{
    uint8_t release[RELEASE_MAX];
    size_t size = write_response(release, 0);
    open_usual();
    TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, answer_status(release, size - 1));
    TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, answer_status(release, 0));
    release[5] ^= 1;
    TEST_ASSERT_EQUAL(PML_ERROR_PACK_ID, answer_status(release, size));
}

/* ---- a million broken releases ---- */

static size_t mutate(uint8_t *release, size_t size, uint64_t *state)
{
    for (uint64_t i = 1 + draw_below(state, 3); i > 0; i--) {
        size_t at = (size_t)draw_below(state, size);
        switch (draw_below(state, 6)) {
        case 0:
            release[at] = (uint8_t)draw64(state);
            break;
        case 1:
            release[at] ^= (uint8_t)(1u << draw_below(state, 8));
            break;
        case 2: /* cut */
            size = at > 0 ? at : 1;
            break;
        case 3: /* longer */
            if (size < RELEASE_MAX)
                release[size++] = (uint8_t)draw64(state);
            break;
        case 4: /* a byte less in the middle */
            memmove(release + at, release + at + 1, size - at - 1);
            size -= size > 1;
            break;
        default: /* in the body */
            release[size - 1 - draw_below(state, size < 6 ? size : 6)] = (uint8_t)draw64(state);
        }
    }
    return size;
}

/* The device's own reader accepts whole answers only. */
static void assert_whole(struct fixture *fixture, const struct pml_bytes *answer, bool crowd)
{
    static const float features[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const pml_query query = {.features = features, .count = 8, .label = label_of(0, CLASSES)};
    pml_match match;
    const pml_ranking_config config = {.matches = &match, .capacity = 1, .scope = PML_ALL_SLOTS, .crowd = crowd};
    pml_answer_summary summary;
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_begin(&fixture->ranking, fixture->ranking_memory,
                                                sizeof fixture->ranking_memory, &built.pack, &query, &config));
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_feed(fixture->ranking, answer->bytes, answer->size));
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_finish(fixture->ranking, &summary));
    TEST_ASSERT_EQUAL_UINT64(ITEMS, summary.gallery);
}

static void test_broken_releases(void)
{
    struct fixture fixture;
    uint64_t state = 99;
    size_t good = 0, count = rounds(1000000);
    open_usual();
    setup_fixture(&fixture, PACK_ONE, PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN, 1.0);
    fixture.pack = built.pack;
    setup_client(&fixture);
    for (size_t i = 0; i < count; i++) {
        uint8_t release[RELEASE_MAX];
        struct pml_bytes answer = {0};
        const uint64_t kind = draw_below(&state, PML_WITH_CROWD ? 3 : 2);
        size_t size = kind == 0   ? write_gaussian(release, &state)
                      : kind == 1 ? write_response(release, (uint8_t)draw_below(&state, 64))
                                  : write_crowd(release, (uint8_t)draw_below(&state, CLASSES * CELLS));
        size = mutate(release, size, &state);
        int status = answer_to(release, size, &answer);
        if (status == PML_DONE) {
            good++;
            assert_whole(&fixture, &answer, release[22] == PML_CROWD);
        } else {
            TEST_ASSERT_TRUE(status == PML_ERROR_RELEASE || status == PML_ERROR_PACK_ID);
            TEST_ASSERT_NULL(answer.bytes);
        }
        pml_bytes_free(&answer);
    }
    TEST_ASSERT_GREATER_THAN_UINT64(count / 50, good);
    TEST_ASSERT_LESS_THAN_UINT64(count / 2, good);
    teardown_fixture(&fixture);
}

/* ---- the longest answers ---- */

static uint64_t longest_of(size_t (*write)(uint8_t *, uint8_t), uint8_t count)
{
    uint8_t release[RELEASE_MAX];
    uint64_t longest = 0;
    for (uint8_t symbols = 0; symbols < count; symbols++) {
        struct pml_bytes answer = {0};
        TEST_ASSERT_EQUAL(PML_DONE, answer_to(release, write(release, symbols), &answer));
        longest = answer.size > longest ? answer.size : longest;
        pml_bytes_free(&answer);
    }
    return longest;
}

/* SPEC 10.5: the header, and of each slot 24 bytes and the NEAREST longest payloads, each with a sketch and 21 bytes. */
static uint64_t longest_gaussian(void)
{
    struct pml_bytes header = begin_expected(&usual, CLASSES);
    uint64_t longest = header.size;
    for (uint32_t slot = 0; slot < CLASSES; slot++) {
        size_t counts[20] = {0}, wanted = NEAREST;
        for (size_t i = slot; i < ITEMS; i += CLASSES)
            counts[i % 20]++; /* bytes of a payload */
        longest += 24 + NEAREST * (built.info.sketch + 21);
        for (size_t size = 20; size-- > 0 && wanted > 0;)
            for (; counts[size] > 0 && wanted > 0; counts[size]--, wanted--)
                longest += size;
    }
    pml_bytes_free(&header);
    return longest;
}

static void test_the_longest_answers_are_known(void)
{
    uint8_t release[RELEASE_MAX];
    uint64_t state = 9;
    open_usual();
    const struct pml_longest *longest = pml_service_longest(service);
    TEST_ASSERT_EQUAL_UINT64(longest_of(write_response, 64), longest->response);
    TEST_ASSERT_EQUAL_UINT64(longest_gaussian(), longest->gaussian);
    TEST_ASSERT_EQUAL_UINT64(longest->gaussian, pml_longest_for(longest, &built.info, write_gaussian(release, &state)));
    TEST_ASSERT_EQUAL_UINT64(longest->gaussian, /* two bytes per value */
                             pml_longest_for(longest, &built.info, write_gaussian(release, &state) + 6));
    /* Symbols of both have one byte here, so that the lengths do not tell the kinds apart. */
    TEST_ASSERT_EQUAL_UINT64(write_response(release, 0), pml_longest_message(&built.info));
    TEST_ASSERT_EQUAL_UINT64(longest->response > longest->message ? longest->response : longest->message,
                             pml_longest_for(longest, &built.info, write_response(release, 0)));
    TEST_ASSERT_EQUAL_UINT64(0, pml_longest_for(longest, &built.info, write_response(release, 0) + 1));
#if PML_WITH_CROWD
    const uint64_t most = longest_of(write_crowd, CLASSES * CELLS);
    TEST_ASSERT_TRUE(longest->message >= most && longest->message <= most + most / 32);
#endif
    for (size_t round = 0; round < 50; round++) {
        struct pml_bytes answer = {0};
        TEST_ASSERT_EQUAL(PML_DONE, answer_to(release, write_gaussian(release, &state), &answer));
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(longest->gaussian, answer.size);
        pml_bytes_free(&answer);
    }
}

static void test_a_filled_cache_holds_all_parts(void)
{
    uint8_t release[RELEASE_MAX];
    uint64_t state = 3;
    struct pml_service_counts counts = {0};
    const struct pml_service_options options = {
        .nearest = NEAREST, .threads = 1, .cache = pml_cache_open(1 << 20), .counts = &counts};
    make_store(&usual);
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_service_open(&service, &built.pack, store, &options, &said), said.text);
    TEST_ASSERT_EQUAL(PML_DONE, pml_service_fill_cache(service));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(pml_service_parts_cost(service), pml_cache_count(options.cache).bytes);
    pml_store_close(store); /* nobody needs it any more */
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_memory_open(&store));
    for (unsigned symbols = 0; symbols < 64; symbols++)
        TEST_ASSERT_EQUAL(PML_DONE, answer_status(release, write_response(release, (uint8_t)symbols)));
    for (unsigned i = 0; i < 64; i++)
        TEST_ASSERT_EQUAL(PML_DONE, answer_status(release, write_gaussian(release, &state)));
    TEST_ASSERT_EQUAL_UINT64(128, counts.queries);
    TEST_ASSERT_EQUAL_UINT64(0, counts.touched);
    pml_service_unref(service);
    service = NULL;
    pml_cache_close(options.cache);
}

static void run_all(void)
{
    RUN_TEST(test_response_brings_the_cells);
#if PML_WITH_CROWD
    RUN_TEST(test_a_crowds_message_brings_one_cell);
#endif
    RUN_TEST(test_kept_parts);
    RUN_TEST(test_broken_releases);
    RUN_TEST(test_gaussian_brings_the_nearest);
    RUN_TEST(test_galleries_that_do_not_fit);
    RUN_TEST(test_a_gallery_without_cells_or_places);
    RUN_TEST(test_parts_of_other_lengths);
    RUN_TEST(test_other_releases);
    RUN_TEST(test_the_longest_answers_are_known);
    RUN_TEST(test_a_filled_cache_holds_all_parts);
    RUN_TEST(test_a_store_without_a_gallery);
    RUN_TEST(test_answers_that_are_too_long_to_be_sealed);
}

int main(void)
{
    UNITY_BEGIN();
    run_all();
    coded = true;
    run_all();
    return UNITY_END();
}
