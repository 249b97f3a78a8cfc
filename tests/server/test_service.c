/* SPDX-License-Identifier: Apache-2.0
 * The service on a real store: what it answers, item for item, what it refuses, and a million broken releases. */
#define _XOPEN_SOURCE 700
#include "server/service/service.h"
#include "tools/builder_support.h"

#include <math.h>

enum { CLASSES = 3, MOST = 4, ITEMS = 90, CELLS = 4, WIDTH = 8, NEAREST = 7 };

/* What a store of these tests is made with. */
struct recipe {
    uint32_t dimensions, cells, sketch;
    bool foreign; /* another pack's */
};

static struct input input;
static struct built built;
static struct pml_store *store;
static struct pml_service *service;

/* ---- a gallery ---- */

struct drawn {
    struct pml_store_item item;
    uint32_t cell;
    float place[MOST];
    int8_t sketch[PML_SKETCH_MAX];
    uint8_t payload[20];
};

/* Item numbers fall as the index rises, so that the order of adding is not the order of answering. */
static void draw_item(size_t index, const struct recipe *recipe, struct drawn *drawn)
{
    uint64_t state = 31 * index + 7;
    memset(drawn, 0, sizeof *drawn);
    drawn->cell = (uint32_t)draw_below(&state, CELLS);
    for (size_t i = 0; i < MOST; i++)
        drawn->place[i] = (float)draw_between(&state, -3000, 3000);
    for (size_t i = 0; i < sizeof drawn->sketch; i++)
        drawn->sketch[i] = (int8_t)draw_between(&state, -127, 127);
    for (size_t i = 0; i < sizeof drawn->payload; i++)
        drawn->payload[i] = (uint8_t)draw64(&state);
    drawn->item = (struct pml_store_item){
        (uint32_t)(index % CLASSES),
        recipe->cells > 0 ? &drawn->cell : NULL,
        recipe->cells,
        recipe->dimensions > 0 ? drawn->place : NULL,
        {5 * (ITEMS - index), (int32_t)index - 40, drawn->sketch, recipe->sketch, drawn->payload, index % 20}};
}

static void make_store(const struct recipe *recipe)
{
    struct pml_store_info info = {.items = ITEMS,
                                  .sketch = recipe->sketch,
                                  .dimensions = recipe->dimensions,
                                  .cells_per_item = recipe->cells,
                                  .iterations = 2};
    static const uint8_t source[32] = "a test";
    struct pml_store_writer *writer;
    struct drawn drawn;
    uint64_t done;
    char uri[600];
    snprintf(uri, sizeof uri, "sqlite:%s", in_folder("gallery.store"));
    memcpy(info.pack, built.info.id, PML_ID_SIZE);
    info.pack[0] ^= recipe->foreign;
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_begin(&writer, uri, &info, source, true, &done, &said), said.text);
    for (size_t i = 0; i < ITEMS; i++) {
        draw_item(i, recipe, &drawn);
        TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_add(writer, &drawn.item, &said), said.text);
    }
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_finish(writer, &said), said.text);
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_open(&store, uri, NULL, &said), said.text);
}

static const struct recipe usual = {.dimensions = 2, .cells = 1, .sketch = WIDTH};

static int open_service(const struct recipe *recipe)
{
    struct pml_service_options options = {.nearest = NEAREST, .threads = 1, .measure = true};
    make_store(recipe);
    return pml_service_open(&service, &built.pack, store, &options, &said);
}

static void open_usual(void)
{
    TEST_ASSERT_EQUAL_MESSAGE(0, open_service(&usual), said.text);
}

void setUp(void)
{
    make_folder();
    input = make_input(60, 8, CLASSES);
    input.options.cells = CELLS;
    input.options.sketch = WIDTH;
    built = build(&input);
}

void tearDown(void)
{
    pml_service_close(service);
    service = NULL;
    if (store)
        pml_store_close(store);
    store = NULL;
    free(built.bytes);
    free_input(&input);
    remove_folder();
}

/* ---- releases, written by hand from SPEC 2 ---- */

enum { RELEASE_MAX = 64 };

static size_t write_head(uint8_t *out, int mechanism)
{
    const uint8_t head[] = {mechanism == PML_GAUSSIAN ? 0xA5 : 0xA4, 0, 1, 1, 0x50}, tail[] = {2, (uint8_t)mechanism};
    memcpy(out, head, sizeof head);
    memcpy(out + sizeof head, built.info.id, PML_ID_SIZE);
    memcpy(out + sizeof head + PML_ID_SIZE, tail, sizeof tail);
    return sizeof head + PML_ID_SIZE + sizeof tail;
}

/* Three symbols of two bits. */
static size_t write_response(uint8_t *out, uint8_t symbols)
{
    size_t size = write_head(out, PML_RESPONSE);
    const uint8_t body[] = {4, 0x41, symbols};
    memcpy(out + size, body, sizeof body);
    return size + sizeof body;
}

/* One of twelve symbols, of four bits: slot · CELLS + cell. */
static size_t write_crowd(uint8_t *out, uint8_t symbol)
{
    size_t size = write_head(out, PML_CROWD);
    const uint8_t body[] = {4, 0x41, symbol};
    memcpy(out + size, body, sizeof body);
    return size + sizeof body;
}

/* Three rows of two values, in steps of 100. */
static size_t write_gaussian(uint8_t *out, uint64_t *state)
{
    size_t size = write_head(out, PML_GAUSSIAN);
    const uint8_t step[] = {3, 0x44, 0, 0, 0, 100, 4, 0x46};
    memcpy(out + size, step, sizeof step);
    size += sizeof step;
    for (size_t i = 0; i < 6; i++)
        out[size++] = (uint8_t)draw64(state);
    return size;
}

/* ---- what must come ---- */

struct ranked {
    double rank;
    struct drawn drawn;
};

static int by_rank(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->rank < b->rank || a->rank > b->rank)
        return a->rank < b->rank ? -1 : 1;
    uint64_t first = a->drawn.item.candidate.item, second = b->drawn.item.candidate.item;
    return first < second ? -1 : first > second;
}

/* Appends a slot: of the items that `rank` gives a number, at most `most`, the smallest first. */
static void append_expected(struct pml_bytes *answer, uint32_t slot, size_t most,
                            double (*rank)(const struct drawn *, const void *), const void *context)
{
    static struct ranked found[ITEMS];
    size_t count = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        draw_item(i, &usual, &found[count].drawn);
        found[count].rank = rank(&found[count].drawn, context);
        count += found[count].drawn.item.slot == slot && !isnan(found[count].rank);
    }
    qsort(found, count, sizeof *found, by_rank);
    count = count < most ? count : most;
    TEST_ASSERT_EQUAL(0, pml_answer_write_slot(answer, slot, (uint32_t)count));
    for (size_t i = 0; i < count; i++) {
        struct pml_candidate candidate = found[i].drawn.item.candidate;
        candidate.sketch = found[i].drawn.sketch; /* the sort has moved them */
        candidate.payload = found[i].drawn.payload;
        TEST_ASSERT_EQUAL(0, pml_candidate_write(answer, &candidate));
    }
}

static struct pml_bytes begin_expected(uint32_t slots)
{
    struct pml_bytes answer = {0};
    TEST_ASSERT_EQUAL(0, pml_answer_write_header(&answer, built.info.id, slots, WIDTH, ITEMS));
    return answer;
}

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

static double in_cell(const struct drawn *drawn, const void *cell)
{
    return drawn->cell == *(const uint32_t *)cell ? 0.0 : (double)NAN;
}

static void test_response_brings_the_cells(void)
{
    uint8_t release[RELEASE_MAX];
    open_usual();
    for (unsigned symbols = 0; symbols < 64; symbols++) {
        struct pml_bytes expected = begin_expected(CLASSES);
        for (uint32_t slot = 0; slot < CLASSES; slot++) {
            uint32_t cell = symbols >> 2 * slot & 3;
            append_expected(&expected, slot, ITEMS, in_cell, &cell);
        }
        assert_answer(release, write_response(release, (uint8_t)symbols), &expected);
    }
}

#if PML_WITH_CROWD
static pml_outcome keep_slot(void *context, uint32_t slot, const struct pml_fragment *candidates)
{
    (void)candidates;
    *(uint32_t *)context = *(uint32_t *)context * 100 + slot;
    return PML_DONE;
}

static void test_a_crowds_message_brings_one_cell(void)
{
    uint8_t release[RELEASE_MAX];
    open_usual();
    for (uint32_t symbol = 0; symbol < CLASSES * CELLS; symbol++) {
        const uint32_t slot = symbol / CELLS, cell = symbol % CELLS;
        struct pml_bytes expected = begin_expected(1);
        append_expected(&expected, slot, ITEMS, in_cell, &cell);
        const size_t size = write_crowd(release, (uint8_t)symbol);
        assert_answer(release, size, &expected);
        pml_release_view view;
        uint32_t visited = 7;
        TEST_ASSERT_EQUAL(PML_OK, pml_service_read(service, release, size, &view));
        TEST_ASSERT_EQUAL(PML_DONE, pml_service_visit(service, &view, keep_slot, &visited));
        TEST_ASSERT_EQUAL_UINT32(700 + slot, visited); /* once, with its own number */
    }
    struct pml_bytes answer = {0};
    TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, answer_to(release, write_crowd(release, CLASSES * CELLS), &answer));
}
#endif

static double squared_distance(const struct drawn *drawn, const void *place)
{
    const double *to = place;
    double first = (double)drawn->place[0] - to[0], second = (double)drawn->place[1] - to[1];
    return first * first + second * second;
}

static void test_gaussian_brings_the_nearest(void)
{
    struct pml_embedding *embedding;
    uint8_t release[RELEASE_MAX];
    uint64_t state = 5;
    open_usual();
    TEST_ASSERT_EQUAL(0, pml_embedding_make(&embedding, &built.pack, 2, 1, NULL, &said));
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
        struct pml_bytes expected = begin_expected(CLASSES);
        for (uint32_t slot = 0; slot < CLASSES; slot++)
            append_expected(&expected, slot, NEAREST, squared_distance, places + 2 * slot);
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
    struct pml_cache *cache = pml_cache_open(1 << 20);
    struct pml_service_options options = {.threads = 1, .cache = cache};
    struct pml_service *kept;
    make_store(&usual);
    TEST_ASSERT_EQUAL(PML_DONE, pml_service_open(&service, &built.pack, store, &options, &said));
    kept = service;
    options.cache = NULL;
    for (size_t i = 0; i < sizeof symbols; i++) {
        struct pml_bytes answer = {0};
        const size_t size = write_response(release, symbols[i]);
        const uint64_t touched = pml_service_count(kept).touched;
        TEST_ASSERT_EQUAL(PML_DONE, pml_service_open(&service, &built.pack, store, &options, &said));
        TEST_ASSERT_EQUAL(PML_DONE, answer_to(release, size, &answer));
        pml_service_close(service);
        service = kept;
        assert_answer(release, size, &answer);
        TEST_ASSERT_EQUAL_UINT64(touched + reads[i], pml_service_count(kept).touched);
    }
    TEST_ASSERT_EQUAL_UINT64(sizeof symbols, pml_service_count(kept).queries);
    pml_service_close(service);
    service = NULL;
    pml_cache_close(cache);
}

/* ---- refusals ---- */

static void assert_refused(struct recipe recipe, const char *part)
{
    TEST_ASSERT_NOT_EQUAL(0, open_service(&recipe));
    assert_said(part);
    TEST_ASSERT_NULL(service);
    pml_store_close(store);
    store = NULL;
}

static void test_stores_that_do_not_fit(void)
{
    struct recipe foreign = usual, longer = usual, deeper = usual;
    foreign.foreign = true;
    longer.sketch = WIDTH + 8;
    deeper.dimensions = 3;
    assert_refused(foreign, "another pack");
    assert_refused(longer, "sketches");
    assert_refused(deeper, "3 coordinates");
}

static int answer_status(const uint8_t *release, size_t size)
{
    struct pml_bytes answer = {0};
    int status = answer_to(release, size, &answer);
    TEST_ASSERT_TRUE(status == PML_DONE || (!answer.bytes && answer.size == 0 && answer.capacity == 0));
    pml_bytes_free(&answer);
    return status;
}

static void test_a_store_without_cells_or_places(void)
{
    struct recipe no_cells = usual, no_places = usual;
    uint8_t response[RELEASE_MAX], gaussian[RELEASE_MAX];
    uint64_t state = 1;
    size_t response_size = write_response(response, 0x1B), gaussian_size = write_gaussian(gaussian, &state);
    no_cells.cells = 0;
    no_places.dimensions = 0;
    TEST_ASSERT_EQUAL_MESSAGE(0, open_service(&no_cells), said.text);
    TEST_ASSERT_EQUAL(PML_DONE, answer_status(gaussian, gaussian_size));
    TEST_ASSERT_EQUAL(PML_ABSENT, answer_status(response, response_size));
    pml_service_close(service);
    pml_store_close(store);
    TEST_ASSERT_EQUAL_MESSAGE(0, open_service(&no_places), said.text);
    TEST_ASSERT_EQUAL(PML_DONE, answer_status(response, response_size));
    TEST_ASSERT_EQUAL(PML_ABSENT, answer_status(gaussian, gaussian_size));
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

static pml_outcome stop_at_second(void *context, uint32_t slot, const struct pml_fragment *candidates)
{
    TEST_ASSERT_EQUAL_UINT32(*(uint32_t *)context, slot);
    TEST_ASSERT_TRUE((candidates->count == 0) == (candidates->bytes.size == 0));
    ++*(uint32_t *)context;
    return slot == 1 ? PML_REFUSED : PML_DONE;
}

static void test_a_visit_ends_when_told(void)
{
    uint8_t release[RELEASE_MAX];
    uint32_t visited = 0;
    open_usual();
    size_t size = write_response(release, 0);
    pml_release_view view;
    TEST_ASSERT_EQUAL(PML_OK, pml_service_read(service, release, size, &view));
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_service_visit(service, &view, stop_at_second, &visited));
    TEST_ASSERT_EQUAL_UINT32(2, visited);
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

static int longer_first(const void *left, const void *right)
{
    return (*(const size_t *)left < *(const size_t *)right) - (*(const size_t *)left > *(const size_t *)right);
}

/* The header, and of each slot its head and the NEAREST longest of its candidates. */
static uint64_t longest_gaussian(void)
{
    struct pml_bytes heads = begin_expected(CLASSES);
    uint64_t longest = 0;
    for (uint32_t slot = 0; slot < CLASSES; slot++) {
        size_t sizes[ITEMS], count = 0;
        for (size_t i = slot; i < ITEMS; i += CLASSES) {
            struct drawn drawn;
            struct pml_bytes one = {0};
            draw_item(i, &usual, &drawn);
            TEST_ASSERT_EQUAL(0, pml_candidate_write(&one, &drawn.item.candidate));
            sizes[count++] = one.size;
            pml_bytes_free(&one);
        }
        qsort(sizes, count, sizeof *sizes, longer_first);
        TEST_ASSERT_EQUAL(0, pml_answer_write_slot(&heads, slot, NEAREST));
        for (size_t i = 0; i < NEAREST; i++)
            longest += sizes[i];
    }
    longest += heads.size;
    pml_bytes_free(&heads);
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
    TEST_ASSERT_EQUAL_UINT64(longest->response, pml_longest_for(longest, &built.info, write_response(release, 0)));
    TEST_ASSERT_EQUAL_UINT64(0, pml_longest_for(longest, &built.info, write_response(release, 0) + 1));
#if PML_WITH_CROWD
    TEST_ASSERT_EQUAL_UINT64(longest_of(write_crowd, CLASSES * CELLS), longest->message);
#endif
    for (size_t round = 0; round < 50; round++) {
        struct pml_bytes answer = {0};
        TEST_ASSERT_EQUAL(PML_DONE, answer_to(release, write_gaussian(release, &state), &answer));
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(longest->gaussian, answer.size);
        pml_bytes_free(&answer);
    }
}

static void test_a_filled_cache_holds_all_cells(void)
{
    struct pml_cache *cache = pml_cache_open(1 << 20);
    struct pml_service_options options = {.nearest = NEAREST, .threads = 1, .measure = true, .cache = cache};
    struct pml_part *part;
    make_store(&usual);
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_service_open(&service, &built.pack, store, &options, &said), said.text);
    TEST_ASSERT_EQUAL(PML_DONE, pml_service_fill_cache(service));
    TEST_ASSERT_EQUAL_UINT64(CLASSES * CELLS, pml_cache_count(cache).misses);
    TEST_ASSERT_EQUAL_UINT64(pml_service_parts_cost(service), pml_cache_count(cache).bytes);
    for (uint32_t i = 0; i < CLASSES * CELLS; i++) {
        TEST_ASSERT_EQUAL(PML_DONE, pml_service_cell(service, (struct pml_cell){i / CELLS, i % CELLS}, &part));
        pml_part_unref(part);
    }
    TEST_ASSERT_EQUAL_UINT64(CLASSES * CELLS, pml_cache_count(cache).hits);
    TEST_ASSERT_EQUAL_UINT64(0, pml_service_count(service).queries);
    pml_service_close(service);
    service = NULL;
    pml_cache_close(cache);
}

static void test_what_is_not_served_has_no_length(void)
{
    const struct recipe only_cells = {.dimensions = 0, .cells = 1, .sketch = WIDTH},
                        only_places = {.dimensions = 2, .cells = 0, .sketch = WIDTH};
    TEST_ASSERT_EQUAL_MESSAGE(0, open_service(&only_cells), said.text);
    TEST_ASSERT_EQUAL_UINT64(0, pml_service_longest(service)->gaussian);
    TEST_ASSERT_TRUE(pml_service_longest(service)->message > 0);
    pml_service_close(service);
    pml_store_close(store);
    TEST_ASSERT_EQUAL_MESSAGE(0, open_service(&only_places), said.text);
    TEST_ASSERT_EQUAL_UINT64(0, pml_service_longest(service)->message);
    TEST_ASSERT_EQUAL_UINT64(0, pml_service_longest(service)->response);
    TEST_ASSERT_TRUE(pml_service_longest(service)->gaussian > 0);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_response_brings_the_cells);
#if PML_WITH_CROWD
    RUN_TEST(test_a_crowds_message_brings_one_cell);
#endif
    RUN_TEST(test_kept_parts);
    RUN_TEST(test_a_visit_ends_when_told);
    RUN_TEST(test_broken_releases);
    RUN_TEST(test_gaussian_brings_the_nearest);
    RUN_TEST(test_stores_that_do_not_fit);
    RUN_TEST(test_a_store_without_cells_or_places);
    RUN_TEST(test_other_releases);
    RUN_TEST(test_the_longest_answers_are_known);
    RUN_TEST(test_a_filled_cache_holds_all_cells);
    RUN_TEST(test_what_is_not_served_has_no_length);
    return UNITY_END();
}
