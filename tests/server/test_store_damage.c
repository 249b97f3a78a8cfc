/* SPDX-License-Identifier: Apache-2.0
 * Stores that are not what was written: refused when opened, or failing when read, but never answering wrongly. */
#define _XOPEN_SOURCE 700
#include "store_support.h"

#include <sqlite3.h>

void setUp(void)
{
    make_folder();
}

void tearDown(void)
{
    remove_folder();
}

enum { PLACES = 10 };

static struct pml_fragment cells[SLOTS][CELLS_A_SLOT], nearest[PLACES];

static const double *place_of(size_t index)
{
    static double place[3];
    for (size_t i = 0; i < 3; i++)
        place[i] = (double)((index * 7 + i * 3) % 9) - 4.25;
    return place;
}

static void expect_all(void)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        for (uint32_t cell = 0; cell < CELLS_A_SLOT; cell++)
            cells[slot][cell] = expected_cell(slot, cell);
    for (uint32_t i = 0; i < PLACES; i++)
        nearest[i] = expected_nearest(i % SLOTS, place_of(i), 20);
}

static void forget_all(void)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        for (uint32_t cell = 0; cell < CELLS_A_SLOT; cell++)
            pml_bytes_free(&cells[slot][cell].bytes);
    for (size_t i = 0; i < PLACES; i++)
        pml_bytes_free(&nearest[i].bytes);
}

/* Right, or failed and nothing handed out. Answers whether it failed. */
static bool right_or_failed(int status, struct pml_fragment *found, const struct pml_fragment *expected)
{
    TEST_ASSERT_TRUE(status == PML_DONE || status == PML_DAMAGED || status == PML_UNAVAILABLE);
    const struct pml_fragment none = {0};
    TEST_ASSERT_TRUE(same_fragment(found, status == PML_DONE ? expected : &none));
    pml_bytes_free(&found->bytes);
    return status != PML_DONE;
}

static size_t failures(struct pml_store *store)
{
    size_t failed = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        for (uint32_t cell = 0; cell < CELLS_A_SLOT; cell++) {
            struct pml_fragment found = {0};
            int status = read_cell(store, slot, cell, &found);
            failed += right_or_failed(status, &found, &cells[slot][cell]);
        }
    }
    for (uint32_t i = 0; i < PLACES; i++) {
        struct pml_fragment found = {0};
        int status = read_nearest(store, i % SLOTS, place_of(i), 20, &found);
        failed += right_or_failed(status, &found, &nearest[i]);
    }
    return failed;
}

enum { REFUSED, FAILING, HARMLESS, OUTCOMES };

static int outcome(const uint8_t *bytes, size_t size)
{
    struct pml_store *store;
    put_file("damaged", bytes, size);
    if (pml_store_open(&store, uri_of("damaged"), NULL, &said) != 0) {
        TEST_ASSERT_NULL(store);
        TEST_ASSERT_TRUE(strlen(said.text) > 20);
        return REFUSED;
    }
    size_t failed = failures(store);
    pml_store_close(store);
    return failed > 0 ? FAILING : HARMLESS;
}

static void test_changed_bytes(void)
{
    size_t size, seen[OUTCOMES] = {0};
    uint64_t state = 9;
    make_store("whole");
    uint8_t *whole = file_bytes("whole", &size), *damaged = malloc(size);
    TEST_ASSERT_NOT_NULL(damaged);
    TEST_ASSERT_EQUAL(HARMLESS, outcome(whole, size));
    for (size_t i = 0; i < rounds(600); i++) {
        memcpy(damaged, whole, size);
        for (uint64_t changes = 1 + draw_below(&state, 1 + i % 5); changes > 0; changes--) {
            uint64_t at = draw_below(&state, i % 4 == 0 ? 8192 : size); /* the head and the schema more often */
            damaged[at] = i % 2 ? (uint8_t)draw64(&state) : (uint8_t)(damaged[at] ^ 1u << draw_below(&state, 8));
        }
        seen[outcome(damaged, size)]++;
    }
    TEST_ASSERT_TRUE(seen[REFUSED] > 0 && seen[FAILING] > 0);
    free(whole);
    free(damaged);
}

static void test_lost_and_misplaced_pages(void)
{
    size_t size, seen[OUTCOMES] = {0};
    uint64_t state = 10;
    make_store("whole");
    uint8_t *whole = file_bytes("whole", &size), *damaged = malloc(size);
    TEST_ASSERT_NOT_NULL(damaged);
    const size_t pages = size / 4096;
    TEST_ASSERT_EQUAL_UINT64(0, size % 4096);
    for (size_t i = 0; i < rounds(200); i++) {
        size_t to = (size_t)draw_below(&state, pages), from = (size_t)draw_below(&state, pages);
        memcpy(damaged, whole, size);
        if (i % 2)
            memset(damaged + to * 4096, 0, 4096);
        else
            memcpy(damaged + to * 4096, whole + from * 4096, 4096);
        int result = outcome(damaged, size);
        TEST_ASSERT_TRUE(result != HARMLESS || (i % 2 == 0 && to == from));
        seen[result]++;
    }
    TEST_ASSERT_TRUE(seen[REFUSED] > 0);
    for (size_t i = 0; i < 40; i++) {
        size_t kept = i < 20 ? pages * 4096 * i / 20 : (size_t)draw_below(&state, size);
        TEST_ASSERT_EQUAL(REFUSED, outcome(whole, kept));
    }
    free(whole);
    free(damaged);
}

static void refuse(const char *name, const char *part)
{
    struct pml_store *store;
    const pml_outcome outcome_expected = strstr(part, "is damaged") ? PML_DAMAGED : PML_REFUSED;
    TEST_ASSERT_EQUAL(outcome_expected, pml_store_open(&store, uri_of(name), NULL, &said));
    assert_said(part);
}

static void test_what_is_no_store_is_said(void)
{
    size_t size;
    uint8_t zeros[4096] = {0};
    make_store("a");
    uint8_t *bytes = file_bytes("a", &size);
    refuse("absent", "make the store with privatemail index");
    refuse(".", "is not a file");
    put_file("b", "", 0);
    refuse("b", "is not a store");
    put_file("b", "a list of things to do\n", 23);
    refuse("b", "is not a store");
    put_file("b", zeros, sizeof zeros);
    refuse("b", "is not a store");
    bytes[71] ^= 1; /* the last byte of the application's id */
    put_file("b", bytes, size);
    refuse("b", "is not a store");
    bytes[71] ^= 1;
    bytes[63] ^= 1; /* the last byte of the version */
    put_file("b", bytes, size);
    refuse("b", "is a store of version 3, this program reads version 2");
    bytes[63] ^= 1;
    put_file("b", bytes, size / 2);
    refuse("b", "is damaged");
    struct pml_store_writer *writer = begin_store("c", false, 0);
    add_items(writer, 0, 100);
    TEST_ASSERT_EQUAL(0, pml_store_checkpoint(writer, &said));
    pml_store_abandon(writer);
    refuse("c.building", "is not complete");
    free(bytes);
}

/* ---- stores that were made to harm ---- */

static void change(const char *name, const char *text)
{
    sqlite3 *database = NULL;
    TEST_ASSERT_EQUAL(SQLITE_OK, sqlite3_open(in_folder(name), &database));
    int code = sqlite3_exec(database, text, NULL, NULL, NULL);
    TEST_ASSERT_EQUAL_MESSAGE(SQLITE_OK, code, sqlite3_errmsg(database));
    sqlite3_close(database);
}

/* What a reader would take for stored, but which is computed: the first for ever. */
static const char *const hostile[] = {
    "ALTER TABLE meta RENAME TO facts; CREATE VIEW meta(key, value) AS WITH RECURSIVE endless(i) AS "
    "(SELECT 1 UNION ALL SELECT i + 1 FROM endless) SELECT key, value FROM facts, endless WHERE i < 0",
    "ALTER TABLE items RENAME TO things; CREATE VIEW items AS SELECT * FROM things",
    "ALTER TABLE items ADD COLUMN twice INTEGER AS (slot * 2)",
    "CREATE TRIGGER count AFTER INSERT ON items BEGIN DELETE FROM cells; END",
    "CREATE INDEX by_slot ON items(slot)",
    "CREATE TABLE more(number)",
    "ANALYZE",
    "DROP TABLE cells",
    "DROP TABLE meta; CREATE TABLE meta(key TEXT, value)",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE meta(key TEXT PRIMARY KEY, value )' "
    "WHERE name = 'meta'",
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

static void test_other_tables_than_a_stores_are_refused(void)
{
    size_t size;
    make_store("whole");
    uint8_t *whole = file_bytes("whole", &size);
    change("whole", "VACUUM"); /* the tables stay the same */
    pml_store_close(open_store("whole"));
    for (size_t i = 0; i < HOSTILE; i++) {
        put_file("a", whole, size);
        change("a", hostile[i]);
        refuse("a", "unexpected tables");
    }
    free(whole);
}

static void test_other_tables_are_not_built_in(void)
{
    for (size_t i = 0; i < HOSTILE; i++) {
        struct pml_store_writer *writer = begin_store("a", false, 0);
        uint64_t done;
        add_items(writer, 0, 100);
        TEST_ASSERT_EQUAL(0, pml_store_checkpoint(writer, &said));
        pml_store_abandon(writer);
        change("a.building", hostile[i]);
        TEST_ASSERT_EQUAL(PML_REFUSED,
                          pml_store_begin(&writer, uri_of("a"), &gallery_info, gallery_source, true, &done, &said));
        assert_said("is a database of something else");
        TEST_ASSERT_EQUAL_UINT64(1, empty_folder()); /* and it is still there */
    }
}

static uint32_t number_at(const uint8_t *bytes, size_t size)
{
    uint32_t number = 0;
    while (size-- > 0)
        number = number << 8 | *bytes++;
    return number;
}

static void put_number(uint8_t *bytes, uint32_t number)
{
    for (size_t i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(number >> 8 * (3 - i));
}

/* Makes `page`, a copy of an inner page of an index, one whose children are all `child` (SQLite's file format, 1.6). */
static void point_to(uint8_t *page, uint32_t child)
{
    TEST_ASSERT_EQUAL_HEX(0x02, page[0]);
    put_number(page + 8, child);
    for (uint32_t i = 0; i < number_at(page + 3, 2); i++)
        put_number(page + number_at(page + 12 + 2 * i, 2), child);
}

/* In the tree of cells every branch leads to the same next page, sixteen times: with some leaves in the root, it has
 * rows for thousands of years. */
static void test_a_tree_whose_branches_meet_is_refused_at_once(void)
{
    enum { PAGE = 4096, DEPTH = 16 };
    sqlite3 *database;
    sqlite3_stmt *statement;
    size_t size;
    make_store("a");
    TEST_ASSERT_EQUAL(SQLITE_OK, sqlite3_open(in_folder("a"), &database));
    TEST_ASSERT_EQUAL(SQLITE_OK, sqlite3_prepare_v2(database, "SELECT rootpage FROM sqlite_schema WHERE name = 'cells'",
                                                    -1, &statement, NULL));
    TEST_ASSERT_EQUAL(SQLITE_ROW, sqlite3_step(statement));
    const size_t root = (size_t)(sqlite3_column_int(statement, 0) - 1) * PAGE;
    sqlite3_finalize(statement);
    sqlite3_close(database);

    uint8_t *whole = file_bytes("a", &size), *tree = malloc(size + DEPTH * PAGE);
    TEST_ASSERT_NOT_NULL(tree);
    const uint32_t pages = (uint32_t)(size / PAGE), leaf = number_at(whole + root + 8, 4);
    memcpy(tree, whole, size);
    TEST_ASSERT_TRUE(number_at(tree + root + 3, 2) >= 4);
    for (uint32_t i = 0; i < DEPTH; i++) {
        memcpy(tree + size + i * PAGE, whole + root, PAGE);
        point_to(tree + size + i * PAGE, i + 1 < DEPTH ? pages + i + 2 : leaf);
    }
    point_to(tree + root, pages + 1);
    put_number(tree + 28, pages + DEPTH);
    put_file("a", tree, size + DEPTH * PAGE);
    refuse("a", "is damaged");
    free(tree);
    free(whole);
}

/* Of a file that is cut while it is open, answers stay right or fail. */
static void test_a_store_that_is_cut_while_it_is_read(void)
{
    size_t size;
    make_store("a");
    free(file_bytes("a", &size));
    struct pml_store *store = open_store("a");
    TEST_ASSERT_EQUAL_UINT64(0, failures(store));
    TEST_ASSERT_EQUAL(0, truncate(in_folder("a"), (off_t)(size / 3)));
    failures(store);
    TEST_ASSERT_EQUAL(0, truncate(in_folder("a"), 0));
    failures(store);
    pml_store_close(store);
}

int main(void)
{
    expect_all();
    UNITY_BEGIN();
    RUN_TEST(test_changed_bytes);
    RUN_TEST(test_lost_and_misplaced_pages);
    RUN_TEST(test_what_is_no_store_is_said);
    RUN_TEST(test_other_tables_than_a_stores_are_refused);
    RUN_TEST(test_other_tables_are_not_built_in);
    RUN_TEST(test_a_tree_whose_branches_meet_is_refused_at_once);
    RUN_TEST(test_a_store_that_is_cut_while_it_is_read);
    forget_all();
    return UNITY_END();
}
