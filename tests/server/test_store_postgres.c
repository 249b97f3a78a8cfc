/* SPDX-License-Identifier: Apache-2.0
 * What is special about stores in PostgreSQL: many packs in one place, connections that end, rows that are not those
 * that were written. */
#define _XOPEN_SOURCE 700
#include "store_support.h"

#include <time.h>

void setUp(void)
{
    if (postgres())
        make_stores();
}

void tearDown(void)
{
    if (postgres())
        remove_stores();
}

/* A gallery of one more pack in the place of "a". */
static void make_other(uint8_t pack, size_t count)
{
    struct pml_store_info info = gallery_info;
    struct pml_store_writer *writer;
    uint64_t done;
    info.pack[0] = pack;
    info.items = count;
    TEST_ASSERT_EQUAL(0, pml_store_begin(&writer, uri_of("a"), &info, gallery_source, false, &done, &said));
    add_items(writer, 0, count);
    finish_store(writer);
}

static int open_pack(uint8_t first, struct pml_store **store)
{
    uint8_t pack[PML_ID_SIZE];
    memcpy(pack, gallery_info.pack, sizeof pack);
    pack[0] = first;
    return pml_store_open(store, uri_of("a"), pack, &said);
}

static void test_many_packs(void)
{
    struct pml_store *store;
    TEST_ASSERT_EQUAL(PML_ABSENT, pml_store_open(&store, uri_of("a"), NULL, &said));
    assert_said("make it with privatemail index");
    make_store("a");
    make_other(2, 10);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_open(&store, uri_of("a"), NULL, &said));
    assert_said("galleries of 2 packs");
    TEST_ASSERT_EQUAL(PML_ABSENT, open_pack(3, &store));
    for (uint8_t pack = 1; pack < 3; pack++) {
        TEST_ASSERT_EQUAL_MESSAGE(0, open_pack(pack, &store), said.text);
        TEST_ASSERT_EQUAL_UINT64(pack == 1 ? GALLERY : 10, pml_store_describe(store)->items);
        pml_store_close(store);
    }
    struct pml_store_info info = gallery_info; /* one that is not complete is not there */
    struct pml_store_writer *writer;
    uint64_t done;
    info.pack[0] = 4;
    TEST_ASSERT_EQUAL(0, pml_store_begin(&writer, uri_of("a"), &info, gallery_source, false, &done, &said));
    add_items(writer, 0, 100);
    TEST_ASSERT_EQUAL(0, pml_store_checkpoint(writer, &said));
    TEST_ASSERT_EQUAL(PML_ABSENT, open_pack(4, &store));
    pml_store_abandon(writer);
    TEST_ASSERT_EQUAL(PML_ABSENT, open_pack(4, &store));
}

static void test_places_that_do_not_answer(void)
{
    static const char *const places[] = {"postgres:host=/nowhere user=me password=secret dbname=x",
                                         "postgres://me:secret@127.0.0.1:1/x", "postgres:dbname="};
    for (size_t i = 0; i < 2; i++) {
        struct pml_store *store;
        struct pml_store_writer *writer;
        uint64_t done;
        TEST_ASSERT_EQUAL(PML_UNAVAILABLE, pml_store_open(&store, places[i], NULL, &said));
        assert_said("check the URI");
        TEST_ASSERT_NULL(strstr(said.text, "secret"));
        TEST_ASSERT_EQUAL(PML_UNAVAILABLE,
                          pml_store_begin(&writer, places[i], &gallery_info, gallery_source, false, &done, &said));
        assert_said("check the URI");
    }
}

/* ---- rows that were changed ---- */

static void change(const char *format)
{
    char text[400];
    int length = snprintf(text, sizeof text, "SET search_path = %s, public; ", schema_of("a"));
    snprintf(text + length, sizeof text - (size_t)length, "%s", format);
    tell_postgres(text, NULL);
}

/* Answers whether reading failed; what does not fail is right. */
static bool cell_fails(struct pml_store *store, uint32_t slot, uint32_t cell)
{
    struct pml_fragment expected = expected_cell(slot, cell), found = {0}, none = {0};
    int status = read_cell(store, slot, cell, &found);
    TEST_ASSERT_TRUE(same_fragment(&found, status == PML_DONE ? &expected : &none));
    pml_bytes_free(&expected.bytes);
    pml_bytes_free(&found.bytes);
    return status != PML_DONE;
}

static void test_changed_rows(void)
{
    static const char *const changes[] = {
        "UPDATE privatemail_cells_1 SET fragment = set_byte(fragment, 20, 255 - get_byte(fragment, 20))",
        "UPDATE privatemail_cells_1 SET fragment = fragment || fragment",
        "UPDATE privatemail_cells_1 SET fragment = NULL",
        "UPDATE privatemail_cells_1 a SET fragment = b.fragment, digest = b.digest, items = b.items FROM"
        " privatemail_cells_1 b WHERE b.slot = a.slot AND b.cell = (a.cell + 1) % 4",
        "UPDATE privatemail_cells_1 SET items = items[2:]",
        "UPDATE privatemail_cells_1 SET items = items || items[1]",
        "UPDATE privatemail_cells_1 a SET items = b.items FROM privatemail_cells_1 b WHERE b.slot = a.slot AND"
        " b.cell = (a.cell + 1) % 4",
        "UPDATE privatemail_cells_1 SET digest = 0",
        "DROP TABLE privatemail_cells_1",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        make_store("a");
        struct pml_store *store = open_store("a");
        TEST_ASSERT_FALSE(cell_fails(store, 1, 1));
        change(changes[i]);
        TEST_ASSERT_TRUE(cell_fails(store, 1, 1));
        pml_store_close(store);
        remove_stores();
        make_stores();
    }
}

/* Candidates that are too large together are read one by one; and then each is looked at. */
static void test_cells_without_fragments(void)
{
    struct pml_fragment expected = expected_cell(1, 1);
    struct pml_candidate candidate;
    uint64_t digest = pml_digest_number(pml_digest_number(0, 1), 1);
    for (size_t at = 0; pml_candidate_read(expected.bytes.bytes, expected.bytes.size, &at, &candidate);)
        digest = pml_digest_number(digest, candidate.item);
    pml_bytes_free(&expected.bytes);
    char text[200];
    snprintf(text, sizeof text, "UPDATE privatemail_cells_1 SET fragment = NULL, digest = %lld", (long long)digest);
    make_store("a");
    struct pml_store *store = open_store("a");
    change(text);
    TEST_ASSERT_FALSE(cell_fails(store, 1, 1));
    TEST_ASSERT_TRUE(cell_fails(store, 1, 2)); /* whose digest this is not */
    static const char *const changes[] = {
        "UPDATE privatemail_items_1 SET candidate = set_byte(candidate, 20, 255 - get_byte(candidate, 20))",
        "UPDATE privatemail_items_1 SET candidate = set_byte(candidate, 20, 255 - get_byte(candidate, 20)), digest = 1",
        "DELETE FROM privatemail_items_1"};
    for (size_t i = 0; i < 3; i++) {
        change(changes[i]);
        TEST_ASSERT_TRUE(cell_fails(store, 1, 1));
    }
    pml_store_close(store);
}

/* The Gaussian's candidates are the items' own. */
static void test_changed_items(void)
{
    static const char *const changes[] = {
        "UPDATE privatemail_items_1 SET candidate = set_byte(candidate, 20, 255 - get_byte(candidate, 20))",
        "UPDATE privatemail_items_1 SET digest = digest # 1",
        "UPDATE privatemail_items_1 SET place = cube(array[1e300, 0, 0])",
        "UPDATE privatemail_items_1 SET place = cube(array[1, 2])",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct pml_fragment found = {0};
        make_store("a");
        struct pml_store *store = open_store("a");
        TEST_ASSERT_EQUAL(PML_DONE, read_nearest(store, 1, (double[3]){0}, 9, &found));
        found.count = 0, found.bytes.size = 0;
        change(changes[i]);
        TEST_ASSERT_EQUAL(PML_DAMAGED, read_nearest(store, 1, (double[3]){0}, 9, &found));
        TEST_ASSERT_TRUE(found.count == 0 && found.bytes.size == 0);
        pml_bytes_free(&found.bytes);
        pml_store_close(store);
        remove_stores();
        make_stores();
    }
}

static void test_a_registry_of_another_version(void)
{
    struct pml_store *store;
    make_store("a");
    change("UPDATE privatemail_galleries SET version = 2");
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_open(&store, uri_of("a"), NULL, &said));
    assert_said("another version");
    change("UPDATE privatemail_galleries SET version = 1, lists = 'share'");
    TEST_ASSERT_EQUAL(PML_DAMAGED, pml_store_open(&store, uri_of("a"), NULL, &said));
    assert_said("damaged");
}

/* ---- connections ---- */

static void test_connections_that_end_are_made_anew(void)
{
    make_store("a");
    struct pml_store *store = open_store("a");
    TEST_ASSERT_FALSE(cell_fails(store, 1, 1));
    for (int round = 0; round < 3; round++) {
        tell_postgres("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name ="
                      " 'privatemail'",
                      NULL);
        const struct timespec moment = {.tv_nsec = 20000000};
        int tries = 0;
        while (cell_fails(store, 1, 1) && ++tries < 100)
            nanosleep(&moment, NULL);
        TEST_ASSERT_TRUE(tries > 0 && tries < 100); /* it was noticed, and it was mended */
        TEST_ASSERT_EQUAL(0, pml_store_ping(store));
    }
    pml_store_close(store);
}

static long transactions(void)
{
    char count[64];
    tell_postgres("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()", count);
    return strtol(count, NULL, 10);
}

/* However many slots an answer has: PostgreSQL counts statements, and tells after a second. */
static void test_an_answer_is_one_round_trip(void)
{
    enum { MANY = SLOTS * CELLS_A_SLOT, ROUNDS = 50 };
    const double place[3] = {0.3, 1.2, -0.7};
    const struct timespec second = {.tv_sec = 1, .tv_nsec = 200000000};
    struct pml_cell cells[MANY];
    struct pml_point points[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        cells[i] = (struct pml_cell){i / CELLS_A_SLOT, i % CELLS_A_SLOT};
        points[i] = (struct pml_point){i % SLOTS, place};
    }
    make_store("a");
    struct pml_store *store = open_store("a");
    const long before = transactions();
    for (size_t round = 0; round <= ROUNDS; round++) {
        struct pml_fragment found[2][MANY] = {0};
        if (round == ROUNDS)
            nanosleep(&second, NULL);
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_cells(store, cells, MANY, take_fragment, found[0]));
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_nearest(store, points, MANY, 1, take_fragment, found[1]));
        for (size_t i = 0; i < 2 * MANY; i++)
            pml_bytes_free(&found[i / MANY][i % MANY].bytes);
    }
    const long made = transactions() - before;
    TEST_ASSERT_TRUE(made >= ROUNDS && made < 6 * ROUNDS); /* slot by slot: 40 per round */
    pml_store_close(store);
}

/* A statement that takes too long is given up by PostgreSQL; the connection goes on. */
static void test_statements_that_hang(void)
{
    make_store("a");
    struct pml_store *store = open_store("a");
    PGconn *holder = PQconnectdb(postgres());
    char text[200];
    snprintf(text, sizeof text, "BEGIN; LOCK TABLE %s.privatemail_cells_1", schema_of("a"));
    PQclear(PQexec(holder, text));
    time_t start = time(NULL);
    TEST_ASSERT_TRUE(cell_fails(store, 1, 1));
    TEST_ASSERT_TRUE(time(NULL) - start <= 7);
    PQfinish(holder);
    TEST_ASSERT_FALSE(cell_fails(store, 1, 1));
    pml_store_close(store);
}

int main(void)
{
    UNITY_BEGIN();
    if (postgres()) {
        RUN_TEST(test_many_packs);
        RUN_TEST(test_places_that_do_not_answer);
        RUN_TEST(test_changed_rows);
        RUN_TEST(test_cells_without_fragments);
        RUN_TEST(test_changed_items);
        RUN_TEST(test_a_registry_of_another_version);
        RUN_TEST(test_connections_that_end_are_made_anew);
        RUN_TEST(test_an_answer_is_one_round_trip);
        RUN_TEST(test_statements_that_hang);
    }
    return UNITY_END();
}
