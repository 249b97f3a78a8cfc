/* SPDX-License-Identifier: Apache-2.0
 * SQLite files that are not what was written: refused when opened, or failing when read, but never wrong. */
#define _XOPEN_SOURCE 700
#include "store_support.h"

#include <sqlite3.h>

void setUp(void)
{
    make_stores();
}

void tearDown(void)
{
    remove_stores();
}

/* ---- any bytes ---- */

enum { REFUSED, FAILING, HARMLESS, OUTCOMES };

/* Everything that can be read from it is right, whatever the file is. */
static int outcome_of(const uint8_t *bytes, size_t size)
{
    struct pml_store *store;
    uint64_t generation = 0;
    size_t count = 0;
    put_file("x", bytes, size);
    if (pml_store_open(&store, uri_of("x"), PML_STORE_READ, &said) != PML_DONE)
        return REFUSED;
    pml_outcome outcome = try_generation(store, &generation);
    const pml_outcome names = pml_store_names(store, PML_PARTS, pass_name, &count);
    const pml_outcome packs = pml_store_packs(store, pass_pack, &count);
    pml_store_close(store);
    TEST_ASSERT_TRUE(outcome != PML_DONE || generation <= GENERATIONS);
    return outcome == PML_DONE && names == PML_DONE && packs == PML_DONE ? HARMLESS : FAILING;
}

static void test_changed_bytes(void)
{
    size_t size, seen[OUTCOMES] = {0};
    uint64_t state = 9;
    make_store("whole");
    uint8_t *whole = file_bytes("whole", &size), *damaged = malloc(size);
    TEST_ASSERT_EQUAL_UINT64(0, size % 4096);
    TEST_ASSERT_EQUAL(HARMLESS, outcome_of(whole, size));
    for (size_t i = 0; i < 600; i++) {
        memcpy(damaged, whole, size);
        for (size_t j = 0; j < 1 + i % 4; j++) {
            const size_t at = (size_t)draw_below(&state, i % 2 ? size : 8192); /* the head and the schema more often */
            damaged[at] ^= (uint8_t)(1 + draw_below(&state, 255));
        }
        if (i % 10 == 0)
            memset(damaged + 4096 * draw_below(&state, size / 4096), (int)draw_below(&state, 2), 4096);
        seen[outcome_of(damaged, i % 7 == 0 ? (size_t)draw_below(&state, size) : size)]++;
    }
    TEST_ASSERT_TRUE(seen[REFUSED] > 0 && seen[FAILING] > 0);
    for (size_t i = 0; i < 50; i++) { /* and none of ours at all */
        uint8_t *other = draw_blob(i, size);
        TEST_ASSERT_EQUAL(REFUSED, outcome_of(other, (size_t)draw_below(&state, size - 1) + 1));
        free(other);
    }
    free(whole);
    free(damaged);
}

static void put_changed(const uint8_t *bytes, size_t size, size_t at, uint8_t value)
{
    uint8_t *copy = malloc(size);
    memcpy(copy, bytes, size);
    copy[at] = value;
    put_file("b", copy, size);
    free(copy);
}

static void refuse_both(const char *name, pml_outcome outcome, const char *part)
{
    refuse_open(name, PML_STORE_READ, outcome, part);
    refuse_open(name, PML_STORE_WRITE, outcome, part);
}

static void test_what_is_no_store_is_said(void)
{
    static const uint8_t zeros[4096];
    static const char notes[] = "a list of things to do, which is longer than the hundred bytes of the head that every "
                                "database of SQLite has\n";
    size_t size;
    make_store("a");
    uint8_t *bytes = file_bytes("a", &size);
    refuse_open(".", PML_STORE_READ, PML_REFUSED, "is not a file");
    refuse_open(".", PML_STORE_WRITE, PML_REFUSED, "is not a plain file");
    put_file("b", notes, sizeof notes);
    refuse_both("b", PML_REFUSED, "is not a store");
    put_file("b", zeros, sizeof zeros);
    refuse_both("b", PML_REFUSED, "is not a store");
    put_changed(bytes, size, 71, bytes[71] ^ 1); /* the application's id */
    refuse_both("b", PML_REFUSED, "is not a store");
    put_changed(bytes, size, 63, 2); /* the version */
    refuse_both("b", PML_REFUSED, "privatemail index --pack P --features F.npy --store sqlite:NEWFILE");
    put_changed(bytes, size, 63, 4);
    refuse_both("b", PML_REFUSED, "is a store of version 4, and this program reads version 3");
    put_file("b", bytes, size / 8);
    refuse_open("b", PML_STORE_READ, PML_DAMAGED, "is damaged");
    put_file("b", "", 0); /* nothing yet: a writer makes it */
    refuse_open("b", PML_STORE_READ, PML_ABSENT, "with privatemail index");
    make_store("b");
    TEST_ASSERT_EQUAL(0, symlink("a", in_folder("link")));
    refuse_open("link", PML_STORE_WRITE, PML_REFUSED, "is not a plain file");
    close_store(open_reader("link"));
    char *other = strdup(in_folder("other"));
    TEST_ASSERT_EQUAL(0, link(in_folder("a"), other));
    free(other);
    refuse_open("a", PML_STORE_WRITE, PML_REFUSED, "has a second name");
    refuse_open("other", PML_STORE_WRITE, PML_REFUSED, "has a second name");
    close_store(open_reader("other"));
    TEST_ASSERT_EQUAL(0, unlink(in_folder("other")));
    TEST_ASSERT_EQUAL(0, symlink("b.lock", in_folder("c.lock")));
    refuse_open("c", PML_STORE_WRITE, PML_REFUSED, "link");
    free(bytes);
}

static void test_strange_names(void)
{
    static const char *const strange[] = {"a?mode=memory", "50%", "a#b", "a b", "%41", "file:x", ":memory:"};
    char old[256];
    TEST_ASSERT_NOT_NULL(getcwd(old, sizeof old));
    TEST_ASSERT_EQUAL(0, chdir(test_folder));
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        char uri[64];
        struct pml_store *store;
        make_store(strange[i]);
        snprintf(uri, sizeof uri, "sqlite:%s", strange[i]); /* and relative */
        TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_store_open(&store, uri, PML_STORE_READ, &said), said.text);
        TEST_ASSERT_EQUAL_UINT64(GENERATIONS, read_generation(store));
        pml_store_close(store);
    }
    TEST_ASSERT_EQUAL(0, chdir(old));
}

/* ---- made to harm ---- */

static void change(const char *name, const char *text)
{
    sqlite3 *database = NULL;
    TEST_ASSERT_EQUAL(SQLITE_OK, sqlite3_open(in_folder(name), &database));
    const int code = sqlite3_exec(database, text, NULL, NULL, NULL);
    TEST_ASSERT_EQUAL_MESSAGE(SQLITE_OK, code, sqlite3_errmsg(database));
    sqlite3_close(database);
}

/* What a reader would take for stored, but which is computed: the first for ever. */
static const char *const hostile[] = {
    "ALTER TABLE pointers RENAME TO facts; CREATE VIEW pointers AS WITH RECURSIVE endless(i) AS "
    "(SELECT 1 UNION ALL SELECT i + 1 FROM endless) SELECT facts.* FROM facts, endless WHERE i < 0",
    "ALTER TABLE parts RENAME TO things; CREATE VIEW parts AS SELECT * FROM things",
    "ALTER TABLE parts ADD COLUMN twice INTEGER AS (length(bytes) * 2)",
    "CREATE TRIGGER count AFTER INSERT ON parts BEGIN DELETE FROM pointers; END",
    "CREATE INDEX by_size ON parts(length(bytes))",
    "CREATE TABLE more(number)",
    "ANALYZE",
    "DROP TABLE private",
    "DROP TABLE pointers; CREATE TABLE pointers(pack TEXT PRIMARY KEY, version, record, building)",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE parts(name BLOB PRIMARY KEY, bytes BLOB "
    ")' "
    "WHERE name = 'parts'",
};

static void test_other_tables_are_refused(void)
{
    size_t size;
    make_store("whole");
    change("whole", "VACUUM"); /* the tables stay the same */
    close_store(open_reader("whole"));
    uint8_t *whole = file_bytes("whole", &size);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        put_file("a", whole, size);
        change("a", hostile[i]);
        refuse_both("a", PML_REFUSED, "unexpected tables");
        (void)unlink(in_folder("a-wal"));
        (void)unlink(in_folder("a-shm"));
    }
    free(whole);
}

/* Tables that become others while they are read. */
static void test_tables_that_change_later(void)
{
    make_store("a");
    struct pml_store *reader = open_reader("a");
    TEST_ASSERT_EQUAL_UINT64(GENERATIONS, read_generation(reader));
    change("a", "ALTER TABLE pointers RENAME TO facts; CREATE VIEW pointers AS SELECT * FROM facts");
    struct pml_pointer pointer;
    TEST_ASSERT_TRUE(pml_store_pointer(reader, pack_id, &pointer) != PML_DONE);
    TEST_ASSERT_TRUE(pml_store_ping(reader) != PML_DONE);
    close_store(reader);
}

static void test_rows_that_are_none(void)
{
    static const char *const changes[] = {
        "UPDATE pointers SET version = 'text'",
        "UPDATE pointers SET version = NULL",
        "UPDATE pointers SET version = x'00'",
        "UPDATE pointers SET record = 5",
        "UPDATE pointers SET building = building || x'00'",
    };
    size_t size, count = 0;
    make_store("whole");
    uint8_t *whole = file_bytes("whole", &size);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct pml_pointer pointer;
        put_file("a", whole, size);
        change("a", changes[i]);
        struct pml_store *reader = open_reader("a");
        TEST_ASSERT_EQUAL(PML_DAMAGED, pml_store_pointer(reader, pack_id, &pointer));
        TEST_ASSERT_EQUAL(PML_DAMAGED, pml_store_packs(reader, pass_pack, &count));
        TEST_ASSERT_TRUE(pml_name_none(&pointer.version));
        close_store(reader);
    }
    put_file("a", whole, size);
    change("a", "UPDATE parts SET bytes = CAST(bytes AS TEXT) WHERE length(bytes) = 200"); /* the manifests */
    struct pml_store *reader = open_reader("a");
    uint64_t generation;
    TEST_ASSERT_EQUAL(PML_DAMAGED, try_generation(reader, &generation));
    close_store(reader);
    free(whole);
}

static uint32_t number_at(const uint8_t *bytes, size_t size)
{
    uint32_t number = 0;
    while (size-- > 0)
        number = number << 8 | *bytes++;
    return number;
}

static void write_number(uint8_t *bytes, uint32_t number)
{
    for (size_t i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(number >> 8 * (3 - i));
}

/* Makes `page`, a copy of an inner page of an index, one whose children are all `child` (SQLite's file format, 1.6). */
static void point_to(uint8_t *page, uint32_t child)
{
    TEST_ASSERT_EQUAL_HEX(0x02, page[0]);
    write_number(page + 8, child);
    for (uint32_t i = 0; i < number_at(page + 3, 2); i++)
        write_number(page + number_at(page + 12 + 2 * i, 2), child);
}

static pml_outcome count_to_many(void *context, const struct pml_name *name)
{
    (void)name;
    return ++*(size_t *)context < 100000 ? PML_DONE : PML_REFUSED;
}

/* In the tree of names every branch leads to the same next page, sixteen times: it has names for thousands of years. */
static void test_a_tree_whose_branches_meet_ends_at_once(void)
{
    enum { PAGE = 4096, DEPTH = 16, MANY = 1500 };
    sqlite3 *database;
    sqlite3_stmt *statement;
    size_t size, count = 0;
    struct pml_store *writer = open_writer("a");
    for (size_t i = 0; i < MANY; i++)
        put_blob(writer, PML_PARTS, i, 10);
    switch_to(writer, &(struct pml_pointer){{{0}}, {{0}}, {{0}}});
    close_store(writer);
    TEST_ASSERT_EQUAL(SQLITE_OK, sqlite3_open(in_folder("a"), &database));
    TEST_ASSERT_EQUAL(
        SQLITE_OK, sqlite3_prepare_v2(database, "SELECT rootpage FROM sqlite_schema WHERE name LIKE '%index_parts_1'",
                                      -1, &statement, NULL));
    TEST_ASSERT_EQUAL(SQLITE_ROW, sqlite3_step(statement));
    const size_t root = (size_t)(sqlite3_column_int(statement, 0) - 1) * PAGE;
    sqlite3_finalize(statement);
    sqlite3_close(database);
    uint8_t *whole = file_bytes("a", &size), *tree = malloc(size + DEPTH * PAGE);
    const uint32_t pages = (uint32_t)(size / PAGE), leaf = number_at(whole + root + 8, 4);
    memcpy(tree, whole, size);
    TEST_ASSERT_TRUE(number_at(tree + root + 3, 2) >= 4);
    for (uint32_t i = 0; i < DEPTH; i++) {
        memcpy(tree + size + i * PAGE, whole + root, PAGE);
        point_to(tree + size + i * PAGE, i + 1 < DEPTH ? pages + i + 2 : leaf);
    }
    point_to(tree + root, pages + 1);
    write_number(tree + 28, pages + DEPTH);
    put_file("a", tree, size + DEPTH * PAGE);
    struct pml_store *reader = open_reader("a");
    TEST_ASSERT_EQUAL(PML_DAMAGED, pml_store_names(reader, PML_PARTS, count_to_many, &count));
    TEST_ASSERT_TRUE(count < MANY);
    close_store(reader);
    free(tree);
    free(whole);
}

static void test_a_store_that_is_cut_while_it_is_read(void)
{
    size_t size;
    uint64_t generation;
    make_store("a");
    free(file_bytes("a", &size));
    struct pml_store *reader = open_reader("a");
    TEST_ASSERT_EQUAL_UINT64(GENERATIONS, read_generation(reader));
    for (size_t parts = 3; parts > 0; parts--) {
        TEST_ASSERT_EQUAL(0, truncate(in_folder("a"), (off_t)(size / 4 * (parts - 1))));
        (void)try_generation(reader, &generation); /* right, or it fails */
        (void)pml_store_ping(reader);
    }
    close_store(reader);
}

int main(void)
{
    UNITY_BEGIN();
    kind = SQLITE;
    RUN_TEST(test_changed_bytes);
    RUN_TEST(test_what_is_no_store_is_said);
    RUN_TEST(test_strange_names);
    RUN_TEST(test_other_tables_are_refused);
    RUN_TEST(test_tables_that_change_later);
    RUN_TEST(test_rows_that_are_none);
    RUN_TEST(test_a_tree_whose_branches_meet_ends_at_once);
    RUN_TEST(test_a_store_that_is_cut_while_it_is_read);
    return UNITY_END();
}
