/* SPDX-License-Identifier: Apache-2.0
 * Stores: what they answer, and how they are named. */
#define _XOPEN_SOURCE 700
#include "store_support.h"

#include <pthread.h>

void setUp(void)
{
    make_stores();
}

void tearDown(void)
{
    remove_stores();
}

/* ---- reading ---- */

static void assert_described(const struct pml_store_info *found, const struct pml_store_info *expected)
{
    TEST_ASSERT_EQUAL_MEMORY(expected->pack, found->pack, PML_ID_SIZE);
    TEST_ASSERT_EQUAL_UINT64(expected->items, found->items);
    TEST_ASSERT_EQUAL_UINT32(expected->sketch, found->sketch);
    TEST_ASSERT_EQUAL_UINT32(expected->dimensions, found->dimensions);
    TEST_ASSERT_EQUAL_UINT32(expected->cells_per_item, found->cells_per_item);
    TEST_ASSERT_EQUAL_UINT32(expected->iterations, found->iterations);
    TEST_ASSERT_EQUAL_UINT32(expected->share, found->share);
}

static void test_cells_are_complete(void)
{
    make_store("a");
    struct pml_store *store = open_store("a");
    assert_described(pml_store_describe(store), &gallery_info);
    uint64_t total = 0, size;
    for (uint32_t slot = 0; slot < SLOTS + 1; slot++) { /* one slot and one cell that have nothing */
        for (uint32_t cell = 0; cell < CELLS_A_SLOT + 1; cell++) {
            struct pml_fragment expected = expected_cell(slot, cell), found = {0};
            TEST_ASSERT_EQUAL(PML_DONE, read_cell(store, slot, cell, &found));
            TEST_ASSERT_TRUE(same_fragment(&expected, &found));
            TEST_ASSERT_EQUAL(PML_DONE, pml_store_cell_size(store, (struct pml_cell){slot, cell}, &size));
            TEST_ASSERT_EQUAL_UINT64(expected.count, size);
            total += size;
            pml_bytes_free(&expected.bytes);
            pml_bytes_free(&found.bytes);
        }
    }
    TEST_ASSERT_EQUAL_UINT64(2 * GALLERY, total);
    TEST_ASSERT_EQUAL(0, pml_store_ping(store));
    pml_store_close(store);
}

static void test_sizes_are_those_of_the_candidates(void)
{
    make_store("a");
    struct pml_store *store = open_store("a");
    assert_sizes(store);
    pml_store_close(store);
}

static void test_items_are_all_of_them(void)
{
    make_store("a");
    struct pml_store *store = open_store("a");
    assert_items(store);
    pml_store_close(store);
}

static void test_nearest_are_nearest(void)
{
    static const uint32_t counts[] = {0, 1, 2, 31, 32, GALLERY, UINT32_MAX};
    uint64_t state = 3;
    make_store("a");
    struct pml_store *store = open_store("a");
    for (size_t i = 0; i < rounds(300); i++) {
        uint32_t slot = (uint32_t)draw_below(&state, SLOTS + 1), count = counts[i % 7];
        double place[3];
        for (size_t j = 0; j < 3; j++)
            place[j] = (double)draw_between(&state, -10, 10) / 2.0;
        struct pml_fragment expected = expected_nearest(slot, place, count), found = {0};
        TEST_ASSERT_EQUAL(PML_DONE, read_nearest(store, slot, place, count, &found));
        TEST_ASSERT_TRUE(same_fragment(&expected, &found));
        pml_bytes_free(&expected.bytes);
        pml_bytes_free(&found.bytes);
    }
    struct pml_fragment none = {0};
    TEST_ASSERT_EQUAL(PML_DONE, read_nearest(store, UINT32_MAX, (double[3]){0}, 9, &none));
    TEST_ASSERT_EQUAL_UINT64(0, none.count);
    pml_store_close(store);
    pml_bytes_free(&none.bytes);
}

/* Everything that an answer needs, in one call: many cells, empty ones and the same twice among them. */
static void test_many_cells_at_once(void)
{
    enum { MANY = 2 * (SLOTS + 1) * (CELLS_A_SLOT + 1) };
    struct pml_cell cells[MANY];
    struct pml_fragment found[MANY] = {0};
    make_store("a");
    struct pml_store *store = open_store("a");
    for (uint32_t i = 0; i < MANY; i++) /* in no order */
        cells[i] = (struct pml_cell){i * 7 % (SLOTS + 1), i * 11 % (CELLS_A_SLOT + 1)};
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_cells(store, cells, MANY, take_fragment, found));
    for (size_t i = 0; i < MANY; i++) {
        struct pml_fragment expected = expected_cell(cells[i].slot, cells[i].cell);
        TEST_ASSERT_TRUE(same_fragment(&expected, &found[i]));
        pml_bytes_free(&expected.bytes);
        pml_bytes_free(&found[i].bytes);
    }
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_cells(store, NULL, 0, take_fragment, NULL));
    pml_store_close(store);
}

/* Distances tie, more than a reader's spare rows can tell, at some of the points only. */
static void test_many_points_at_once(void)
{
    enum { MANY = 3 * (SLOTS + 1) };
    double places[MANY][3];
    struct pml_point points[MANY];
    make_store("a");
    struct pml_store *store = open_store("a");
    for (uint32_t i = 0; i < MANY; i++) {
        for (uint32_t j = 0; j < 3; j++)
            places[i][j] = i % 2 ? 0.0 : (double)(i * 5 + j * 3) / 7.0 - 3.0;
        points[i] = (struct pml_point){i * 5 % (SLOTS + 1), places[i]};
    }
    for (uint32_t wanted = 0; wanted < 40; wanted += 13) {
        struct pml_fragment found[MANY] = {0};
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_nearest(store, points, MANY, wanted, take_fragment, found));
        for (size_t i = 0; i < MANY; i++) {
            struct pml_fragment expected = expected_nearest(points[i].slot, places[i], wanted);
            TEST_ASSERT_TRUE(same_fragment(&expected, &found[i]));
            pml_bytes_free(&expected.bytes);
            pml_bytes_free(&found[i].bytes);
        }
    }
    pml_store_close(store);
}

static pml_outcome refuse_second(void *context, size_t index, const struct pml_fragment *candidates)
{
    (void)candidates;
    ++*(size_t *)context;
    return index == 1 ? PML_REFUSED : PML_DONE;
}

static void test_reading_ends_when_told(void)
{
    const struct pml_cell cells[] = {{0, 0}, {1, 0}, {2, 0}};
    const struct pml_point points[] = {{0, (double[3]){0}}, {1, (double[3]){0}}, {2, (double[3]){0}}};
    size_t taken = 0;
    make_store("a");
    struct pml_store *store = open_store("a");
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_cells(store, cells, 3, refuse_second, &taken));
    TEST_ASSERT_EQUAL_UINT64(2, taken);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_nearest(store, points, 3, 9, refuse_second, &taken));
    TEST_ASSERT_EQUAL_UINT64(4, taken);
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_ping(store)); /* its connection is still of use */
    pml_store_close(store);
}

struct reader {
    struct pml_store *store;
    const struct pml_fragment *cells;
    size_t repeat;
    bool right;
};

static void *read_often(void *context)
{
    struct reader *reader = context;
    for (size_t i = 0; i < reader->repeat; i++) {
        struct pml_fragment found = {0};
        uint32_t cell = (uint32_t)(i * 7 % (SLOTS * CELLS_A_SLOT));
        reader->right = reader->right &&
                        read_cell(reader->store, cell / CELLS_A_SLOT, cell % CELLS_A_SLOT, &found) == 0 &&
                        same_fragment(&reader->cells[cell], &found);
        pml_bytes_free(&found.bytes);
    }
    return NULL;
}

static void test_many_threads_read_at_once(void)
{
    struct pml_fragment cells[SLOTS * CELLS_A_SLOT];
    struct reader readers[6];
    pthread_t threads[6];
    make_store("a");
    struct pml_store *store = open_store("a");
    for (uint32_t i = 0; i < SLOTS * CELLS_A_SLOT; i++)
        cells[i] = expected_cell(i / CELLS_A_SLOT, i % CELLS_A_SLOT);
    for (size_t i = 0; i < 6; i++) {
        readers[i] = (struct reader){store, cells, rounds(300), true};
        TEST_ASSERT_EQUAL(0, pthread_create(&threads[i], NULL, read_often, &readers[i]));
    }
    for (size_t i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
        TEST_ASSERT_TRUE(readers[i].right);
    }
    pml_store_close(store);
    for (size_t i = 0; i < SLOTS * CELLS_A_SLOT; i++)
        pml_bytes_free(&cells[i].bytes);
}

static void test_stores_of_one_mechanism(void)
{
    struct pml_store_writer *writer;
    struct pml_store *store;
    struct drawn drawn;
    uint64_t done;
    for (int places = 0; places < 2; places++) {
        struct pml_store_info info = gallery_info;
        struct pml_fragment found = {0};
        const char *name = places ? "gaussian" : "response";
        info.items = 1;
        info.cells_per_item = places ? 0 : 1;
        info.dimensions = places ? 3 : 0;
        draw_item(1, &drawn);
        drawn.item.cells = places ? NULL : drawn.cells;
        drawn.item.cell_count = places ? 0 : 1;
        drawn.item.place = places ? drawn.place : NULL;
        TEST_ASSERT_EQUAL(0, pml_store_begin(&writer, uri_of(name), &info, gallery_source, false, &done, &said));
        TEST_ASSERT_EQUAL(0, pml_store_add(writer, &drawn.item, &said));
        finish_store(writer);
        TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_open(&store, uri_of(name), NULL, &said), said.text);
        TEST_ASSERT_EQUAL(0, read_cell(store, drawn.item.slot, drawn.cells[0], &found));
        TEST_ASSERT_EQUAL_UINT64(!places, found.count);
        TEST_ASSERT_EQUAL(places ? PML_DONE : PML_ABSENT,
                          read_nearest(store, drawn.item.slot, (double[3]){0}, 9, &found));
        TEST_ASSERT_EQUAL_UINT64(1, found.count);
        pml_store_close(store);
        pml_bytes_free(&found.bytes);
    }
}

/* ---- URIs and names ---- */

static void test_uris(void)
{
    static const char *const wrong[] = {"",          "a",        "sqlite",         "sqlite:", "sqlit:a",
                                        "sqlite3:a", "SQLITE:a", "postgresql://x", ":a"};
    struct pml_store *store;
    struct pml_store_writer *writer;
    uint64_t done;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_check(wrong[i], &said));
        TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_open(&store, wrong[i], NULL, &said));
        assert_said("it must be sqlite:FILE or postgres:URI.");
        TEST_ASSERT_NULL(store);
        TEST_ASSERT_EQUAL(PML_REFUSED,
                          pml_store_begin(&writer, wrong[i], &gallery_info, gallery_source, false, &done, &said));
        assert_said("it must be sqlite:FILE or postgres:URI.");
        TEST_ASSERT_NULL(writer);
    }
    TEST_ASSERT_EQUAL(0, pml_store_check("sqlite:a", &said));
    TEST_ASSERT_EQUAL(0, pml_store_check("postgres://host/name", &said));
    TEST_ASSERT_TRUE(pml_store_shared("postgres:name") && !pml_store_shared("sqlite:a") && !pml_store_shared("a"));
    char shown[PML_STORE_SHOWN_MAX];
    pml_store_show("sqlite:a b", shown);
    TEST_ASSERT_EQUAL_STRING("sqlite:a b", shown);
    pml_store_show("postgres://me:secret@host:1/name?sslmode=require", shown);
    TEST_ASSERT_EQUAL_STRING("postgres://host/name", shown);
    pml_store_show("postgres:password='secret' dbname=n", shown);
    TEST_ASSERT_NULL(strstr(shown, "secret"));
    pml_store_show("postgres:///me:secret@host/name", shown);
    TEST_ASSERT_NULL(strstr(shown, "secret"));
    pml_store_close(NULL);
    pml_store_abandon(NULL);
}

/* Whatever the kind, the same items give the same digest (SPEC 8, 9). */
static void test_the_digest(void)
{
    make_store("a");
    struct pml_store *store = open_store("a");
    TEST_ASSERT_EQUAL_HEX64(GALLERY_DIGEST, pml_store_describe(store)->digest);
    pml_store_close(store);
}

/* Characters that mean something in a URI of SQLite's mean nothing here. */
static void test_strange_names(void)
{
    static const char *const names[] = {"a b",    "a?mode=rw", "a#b", "a%20b",       "100%",
                                        "file:a", ":memory:",  "ä",   "a&b=c;d'e\"f"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        make_store(names[i]);
        pml_store_close(open_store(names[i]));
        TEST_ASSERT_EQUAL(0, access(in_folder(names[i]), R_OK));
        TEST_ASSERT_EQUAL_UINT64(1, empty_folder());
    }
    char before[512];
    TEST_ASSERT_NOT_NULL(getcwd(before, sizeof before));
    TEST_ASSERT_EQUAL(0, chdir(test_folder));
    static const char *const relative[] = {"sqlite::memory:", "sqlite:file:a?mode=memory", "sqlite:plain"};
    for (size_t i = 0; i < 3; i++) {
        struct pml_store_writer *writer;
        struct pml_store *store;
        uint64_t done;
        int status = pml_store_begin(&writer, relative[i], &gallery_info, gallery_source, false, &done, &said);
        TEST_ASSERT_EQUAL_MESSAGE(0, status, said.text);
        add_items(writer, 0, GALLERY);
        finish_store(writer);
        TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_open(&store, relative[i], NULL, &said), said.text);
        pml_store_close(store);
        TEST_ASSERT_EQUAL(0, access(relative[i] + 7, R_OK));
    }
    TEST_ASSERT_EQUAL(0, chdir(before));
    TEST_ASSERT_EQUAL_UINT64(3, empty_folder());
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_cells_are_complete);
    RUN_TEST(test_sizes_are_those_of_the_candidates);
    RUN_TEST(test_items_are_all_of_them);
    RUN_TEST(test_nearest_are_nearest);
    RUN_TEST(test_many_cells_at_once);
    RUN_TEST(test_many_points_at_once);
    RUN_TEST(test_reading_ends_when_told);
    RUN_TEST(test_many_threads_read_at_once);
    RUN_TEST(test_stores_of_one_mechanism);
    RUN_TEST(test_uris);
    RUN_TEST(test_the_digest);
    if (!postgres())
        RUN_TEST(test_strange_names);
    return UNITY_END();
}
