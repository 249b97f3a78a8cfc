/* SPDX-License-Identifier: Apache-2.0
 * What is special about stores in PostgreSQL: sessions that end, statements that hang, rows that are not those that were
 * written, and how often one is asked. */
#define _XOPEN_SOURCE 700
#include "common/clock.h"
#include "store_support.h"

#include <time.h>

void setUp(void)
{
    make_stores();
}

void tearDown(void)
{
    remove_stores();
}

static void change(const char *name, const char *change)
{
    char text[900];
    snprintf(text, sizeof text, "SET client_min_messages = warning; SET search_path = %s, public; %s", schema_of(name),
             change);
    tell_postgres(text, NULL);
}

/* ---- what is there ---- */

static void test_places_that_do_not_answer(void)
{
    static const char *const places[] = {"postgres:host=/nowhere user=me password=secret dbname=x",
                                         "postgres://me:secret@127.0.0.1:1/x",
                                         "postgres://me:secret@127.0.0.1:1,127.0.0.1:2/x"};
    static const char *const wrong[] = {"postgres:postgresql//me:secret@db/x", "postgres://me:hunt%secret@db/x",
                                        "postgres://me:hun/secret@db/x", "postgres://me:hun@secret@127.0.0.1/x",
                                        "postgres:nonsense=secret"};
    struct pml_store *store;
    for (size_t i = 0; i < 6; i++) {
        const enum pml_store_use use = i % 2 ? PML_STORE_WRITE : PML_STORE_READ;
        TEST_ASSERT_EQUAL(PML_UNAVAILABLE, pml_store_open(&store, places[i / 2], use, &said));
        assert_said("Check the URI");
        TEST_ASSERT_NULL(strstr(said.text, "secret"));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_open(&store, wrong[i], PML_STORE_READ, &said));
        assert_said("cannot be understood");
        TEST_ASSERT_NULL(strstr(said.text, "secret"));
    }
}

static void test_what_the_database_has(void)
{
    refuse_open("a", PML_STORE_READ, PML_ABSENT, "has no store. Make it with privatemail index");
    change("a", "CREATE TABLE privatemail_galleries(gallery INTEGER)"); /* as version 0.1 has it */
    refuse_open("a", PML_STORE_READ, PML_REFUSED, "privatemail index --pack P --features F.npy --store postgres:URI");
    refuse_open("a", PML_STORE_WRITE, PML_REFUSED, "privatemail index --pack P --features F.npy --store postgres:URI");
    change("a", "DROP TABLE privatemail_galleries");
    make_store("a");
    change("a", "CREATE TABLE privatemail_galleries(gallery INTEGER)"); /* beside ours */
    close_store(open_reader("a"));
    change("a", "DROP TABLE privatemail_private");
    refuse_open("a", PML_STORE_READ, PML_ABSENT, "has no store");
    make_store("a"); /* a writer makes what is missing */
    close_store(open_reader("a"));
    char storage[64], text[300];
    snprintf(text, sizeof text,
             "SELECT string_agg(attstorage::text, '') FROM pg_attribute WHERE attname = 'bytes' AND attrelid IN"
             " ('%s.privatemail_parts'::regclass, '%s.privatemail_private'::regclass)",
             schema_of("a"), schema_of("a"));
    tell_postgres(text, storage);
    TEST_ASSERT_EQUAL_STRING("ee", storage);
    (void)uri_of("b");
    change("b", "CREATE TABLE privatemail_parts(name TEXT, bytes TEXT); CREATE TABLE privatemail_private(name TEXT);"
                "CREATE TABLE privatemail_pointers(pack TEXT)");
    refuse_open("b", PML_STORE_READ, PML_UNAVAILABLE, "PostgreSQL says");
}

/* A database's first schema is its store, not one that comes later. */
static void test_schemas(void)
{
    struct pml_store *store;
    char uri[700], later[60];
    make_store("a");
    snprintf(later, sizeof later, "%s", schema_of("a"));
    (void)uri_of("b");
    snprintf(uri, sizeof uri, "postgres:%s options='-c search_path=%s,%s'", postgres(), schema_of("b"), later);
    TEST_ASSERT_EQUAL(PML_ABSENT, pml_store_open(&store, uri, PML_STORE_READ, &said));
}

static void test_rows_that_are_none(void)
{
    static const char *const changes[] = {
        "UPDATE privatemail_pointers SET version = NULL",
        "UPDATE privatemail_pointers SET version = '\\x00'",
        "UPDATE privatemail_pointers SET record = record || '\\x00'",
        "UPDATE privatemail_parts SET bytes = NULL",
        "UPDATE privatemail_parts SET bytes = bytes || bytes",
        "UPDATE privatemail_parts a SET bytes = b.bytes FROM privatemail_parts b WHERE b.name <> a.name",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        uint64_t generation;
        make_store("a");
        struct pml_store *reader = open_reader("a");
        TEST_ASSERT_EQUAL_UINT64(GENERATIONS, read_generation(reader));
        change("a", changes[i]);
        TEST_ASSERT_EQUAL(PML_DAMAGED, try_generation(reader, &generation));
        close_store(reader);
        remove_stores();
        make_stores();
    }
    make_store("a");
    struct pml_store *reader = open_reader("a");
    struct pml_pointer pointer;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(reader, pack_id, &pointer));
    change("a", "DROP TABLE privatemail_parts");
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, get_blob(reader, PML_PARTS, &pointer.version));
    close_store(reader);
}

/* ---- sessions ---- */

static void end_sessions(void)
{
    tell_postgres("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name ="
                  " 'privatemail'",
                  NULL);
}

/* Nobody notices: what was asked on a session that had ended is asked again on a new one. */
static void test_sessions_that_end(void)
{
    struct manifest manifest;
    struct pml_pointer pointer;
    make_store("a");
    struct pml_store *reader = open_reader("a");
    for (int round = 0; round < 3; round++) {
        TEST_ASSERT_EQUAL_UINT64(GENERATIONS, read_generation(reader));
        end_sessions();
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_ping(reader));
    }
    struct pml_store *writer = open_writer("a"); /* a writer has lost what it put, and says so */
    put_generation(writer, GENERATIONS + 1, &manifest, &pointer);
    end_sessions();
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, pml_store_switch(writer, pack_id, &pointer, &said));
    assert_said("connection to PostgreSQL is lost");
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_switch(writer, pack_id, &pointer, &said));
    close_store(writer);
    TEST_ASSERT_EQUAL_UINT64(GENERATIONS, read_generation(reader));
    close_store(reader);
}

/* While no session can be had, everybody is told at once; then it goes on by itself. */
static void test_a_database_that_is_gone(void)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    char text[200];
    make_store("a");
    tell_postgres("CREATE ROLE guest LOGIN", NULL);
    snprintf(text, sizeof text, "GRANT USAGE ON SCHEMA %s TO guest; GRANT SELECT ON ALL TABLES IN SCHEMA %s TO guest",
             schema_of("a"), schema_of("a"));
    change("a", text);
    char uri[800];
    struct pml_store *reader;
    snprintf(uri, sizeof uri, "%s user=guest", uri_of("a"));
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_store_open(&reader, uri, PML_STORE_READ, &said), said.text);
    TEST_ASSERT_EQUAL_UINT64(GENERATIONS, read_generation(reader));
    tell_postgres("ALTER ROLE guest NOLOGIN", NULL);
    end_sessions();
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, pml_store_ping(reader));
    double took = 1.0; /* a busy machine may hold us up, but not every time */
    for (int tries = 0; tries < 10 && took >= 1.0; tries++) {
        const double start = pml_clock_now();
        for (int i = 0; i < 1000; i++)
            TEST_ASSERT_EQUAL(PML_UNAVAILABLE, pml_store_ping(reader));
        took = pml_clock_now() - start;
    }
    TEST_ASSERT_TRUE(took < 1.0);
    tell_postgres("ALTER ROLE guest LOGIN", NULL);
    int tries = 0; /* none, when a session was just due to be tried */
    while (pml_store_ping(reader) != PML_DONE && ++tries < 3000)
        nanosleep(&moment, NULL);
    TEST_ASSERT_TRUE(tries < 3000);
    TEST_ASSERT_EQUAL_UINT64(GENERATIONS, read_generation(reader));
    pml_store_close(reader);
    change("a", "DROP OWNED BY guest; DROP ROLE guest");
}

/* Reads what is locked: the outcome, after how many seconds, and how many sessions wait for the lock still. */
static pml_outcome read_locked(struct pml_store *reader, const struct pml_name *name, double *took, char waiting[64])
{
    char text[200];
    PGconn *holder = PQconnectdb(postgres());
    snprintf(text, sizeof text, "BEGIN; LOCK TABLE %s.privatemail_parts", schema_of("a"));
    PQclear(PQexec(holder, text));
    const double start = pml_clock_now();
    const pml_outcome outcome = get_blob(reader, PML_PARTS, name);
    *took = pml_clock_now() - start;
    tell_postgres("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", waiting);
    PQfinish(holder);
    return outcome;
}

/* A statement that takes too long is given up by PostgreSQL, after 4 seconds; the session goes on. After 4.5 the reader gives
 * up both: on a busy machine it may be first, but not every time. */
static void test_statements_that_hang(void)
{
    struct pml_pointer pointer;
    char waiting[64];
    double took = 0.0;
    pml_outcome outcome = PML_DONE;
    make_store("a");
    struct pml_store *reader = NULL;
    for (int tries = 0; tries < 10 && (tries == 0 || took >= 4.4); tries++) {
        if (reader)
            close_store(reader);
        reader = open_reader("a");
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(reader, pack_id, &pointer));
        outcome = read_locked(reader, &pointer.version, &took, waiting);
    }
    TEST_ASSERT_EQUAL_STRING("0", waiting); /* PostgreSQL has given it up too */
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, outcome);
    TEST_ASSERT_TRUE(took > 3.0 && took < 6.0);
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(reader, PML_PARTS, &pointer.version));
    close_store(reader);
}

static long transactions(void)
{
    char count[64];
    tell_postgres("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()", count);
    return strtol(count, NULL, 10);
}

/* However many blobs are asked for: PostgreSQL counts statements, and tells after a second. */
static void test_reading_is_one_round_trip(void)
{
    enum { MANY = 500, ROUNDS = 100 };
    const struct timespec second = {.tv_sec = 1, .tv_nsec = 200000000};
    static struct pml_name names[MANY];
    struct taken taken;
    struct pml_store *writer = open_writer("a");
    for (size_t i = 0; i < MANY; i++)
        names[i] = put_blob(writer, PML_PARTS, i, 1000);
    switch_to(writer, &(struct pml_pointer){.version = names[0]});
    close_store(writer);
    struct pml_store *reader = open_reader("a");
    long before = transactions(), earlier;
    do { /* until what was done before is told */
        earlier = before;
        nanosleep(&second, NULL);
        before = transactions();
    } while (before - earlier > ROUNDS / 10);
    for (size_t round = 0; round <= ROUNDS; round++) {
        if (round == ROUNDS)
            nanosleep(&second, NULL);
        TEST_ASSERT_EQUAL(PML_DONE, get_names(reader, PML_PARTS, names, MANY, &taken));
        TEST_ASSERT_EQUAL_UINT64(MANY, taken.count);
        free(taken.copy);
    }
    const long made = transactions() - before;
    TEST_ASSERT_TRUE(made >= ROUNDS && made < ROUNDS + ROUNDS / 2); /* others are counted too */
    close_store(reader);
}

int main(void)
{
    UNITY_BEGIN();
    kind = POSTGRES;
    if (postgres()) {
        RUN_TEST(test_places_that_do_not_answer);
        RUN_TEST(test_what_the_database_has);
        RUN_TEST(test_schemas);
        RUN_TEST(test_rows_that_are_none);
        RUN_TEST(test_sessions_that_end);
        RUN_TEST(test_a_database_that_is_gone);
        RUN_TEST(test_statements_that_hang);
        RUN_TEST(test_reading_is_one_round_trip);
    }
    return UNITY_END();
}
