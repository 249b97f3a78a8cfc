/* SPDX-License-Identifier: Apache-2.0
 * Stores of every kind, and blobs for them. Define _XOPEN_SOURCE first. Without PML_TEST_POSTGRES the kinds are files,
 * folders and memory; with it (tests/cli/postgres.py) they are schemas of that PostgreSQL. */
#ifndef TEST_STORE_SUPPORT_H
#define TEST_STORE_SUPPORT_H

#include "common/digest.h"
#include "server/server_support.h"
#include "server/store/store.h"

#include <libpq-fe.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum kind { SQLITE, FOLDER, MEMORY, POSTGRES };

static enum kind kind;
static struct pml_store *memory_store; /* the only one, until the test ends */
static const uint8_t pack_id[PML_ID_SIZE] = {0xab, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/* ---- where stores are ---- */

static inline const char *postgres(void)
{
    return getenv("PML_TEST_POSTGRES");
}

/* Runs statements, and answers the first value in `value` (of 64 bytes) when there is one. */
static inline void tell_postgres(const char *text, char *value)
{
    PGconn *session = PQconnectdb(postgres());
    PGresult *result = PQexec(session, text);
    TEST_ASSERT_TRUE_MESSAGE(PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK,
                             PQerrorMessage(session));
    if (value)
        snprintf(value, 64, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    PQfinish(session);
}

/* The schema that stands for a file. */
static inline const char *schema_of(const char *name)
{
    static char schema[40];
    snprintf(schema, sizeof schema, "t_%llx", (unsigned long long)pml_digest_string(0, name, strlen(name)));
    return schema;
}

static inline const char *uri_of(const char *name)
{
    static char uri[700];
    if (kind == POSTGRES) {
        snprintf(uri, sizeof uri, "SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS %s", schema_of(name));
        tell_postgres(uri, NULL);
        snprintf(uri, sizeof uri, "postgres:%s options='-c search_path=%s,public'", postgres(), schema_of(name));
    } else {
        snprintf(uri, sizeof uri, "%s:%s", kind == SQLITE ? "sqlite" : "dir", in_folder(name));
    }
    return uri;
}

static inline void make_stores(void)
{
    make_folder();
    memory_store = NULL;
}

static inline void remove_stores(void)
{
    char command[400];
    pml_store_close(memory_store);
    memory_store = NULL;
    snprintf(command, sizeof command, "rm -rf '%s'", test_folder);
    TEST_ASSERT_EQUAL(0, system(command));
    if (kind != POSTGRES)
        return;
    /* a test that failed may have left sessions, and they their locks */
    tell_postgres("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'privatemail'",
                  NULL);
    tell_postgres("SET client_min_messages = warning; DO $$ DECLARE name text; BEGIN FOR name IN SELECT nspname"
                  " FROM pg_namespace WHERE nspname LIKE 't\\_%' LOOP EXECUTE 'DROP SCHEMA ' || name || ' CASCADE';"
                  " END LOOP; END $$",
                  NULL);
}

/* Runs a test with every kind, or those without memory, whose stores have no readers beside their writer. */
#define RUN_KINDS(test, last)                                                                                          \
    for (kind = postgres() ? POSTGRES : SQLITE; kind <= (postgres() ? POSTGRES : (last)); kind++)                      \
    RUN_TEST(test)

/* ---- opening ---- */

static inline struct pml_store *open_for(const char *name, enum pml_store_use use)
{
    struct pml_store *store = memory_store;
    said.text[0] = 0;
    if (kind == MEMORY && !store)
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_memory_open(&memory_store));
    if (kind == MEMORY)
        return memory_store;
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_store_open(&store, uri_of(name), use, &said), said.text);
    return store;
}

static inline struct pml_store *open_writer(const char *name)
{
    return open_for(name, PML_STORE_WRITE);
}

static inline struct pml_store *open_reader(const char *name)
{
    return open_for(name, PML_STORE_READ);
}

static inline void close_store(struct pml_store *store)
{
    if (store != memory_store)
        pml_store_close(store);
}

static inline void refuse_open(const char *name, enum pml_store_use use, pml_outcome outcome, const char *part)
{
    struct pml_store *store = NULL;
    said.text[0] = 0;
    TEST_ASSERT_EQUAL_MESSAGE(outcome, pml_store_open(&store, uri_of(name), use, &said), said.text);
    TEST_ASSERT_NULL(store);
    assert_said(part);
}

/* ---- blobs ---- */

/* Bytes that only this number has; free them. */
static inline uint8_t *draw_blob(uint64_t number, size_t size)
{
    uint64_t state = 77 * number + 5;
    uint8_t *bytes = malloc(size + 8);
    TEST_ASSERT_NOT_NULL(bytes);
    for (size_t i = 0; i < size; i += 8) {
        const uint64_t word = draw64(&state);
        memcpy(bytes + i, &word, 8);
    }
    return bytes;
}

static inline struct pml_name put_blob(struct pml_store *store, enum pml_shelf shelf, uint64_t number, size_t size)
{
    struct pml_name name;
    uint8_t *bytes = draw_blob(number, size);
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_store_put(store, shelf, bytes, size, &name, &said), said.text);
    free(bytes);
    return name;
}

static inline void switch_to(struct pml_store *store, const struct pml_pointer *pointer)
{
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_store_switch(store, pack_id, pointer, &said), said.text);
}

/* What was handed over: of every blob its size, and in all how many. */
struct taken {
    size_t count, bytes;
    uint8_t *copy; /* of the last */
    size_t size;
};

static inline pml_outcome take_blob(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    struct taken *taken = context;
    (void)index;
    taken->count++;
    taken->bytes += size;
    free(taken->copy);
    taken->copy = malloc(size + 1);
    memcpy(taken->copy, bytes, size);
    taken->size = size;
    return PML_DONE;
}

static inline pml_outcome get_names(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *names,
                                    size_t count, struct taken *taken)
{
    *taken = (struct taken){0};
    const pml_outcome outcome = pml_store_get(store, shelf, names, count, take_blob, taken);
    return outcome;
}

/* The outcome for one blob. Right bytes are handed over, or none. */
static inline pml_outcome get_blob(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *name)
{
    struct taken taken;
    const pml_outcome outcome = get_names(store, shelf, name, 1, &taken);
    TEST_ASSERT_EQUAL_UINT64(outcome == PML_DONE, taken.count);
    if (taken.count > 0) {
        const struct pml_name is = pml_name_of(taken.copy, taken.size);
        TEST_ASSERT_TRUE(pml_name_same(&is, name));
    }
    free(taken.copy);
    return outcome;
}

/* ---- galleries of generations: a manifest that lists blobs, which all belong to it ---- */

enum { LISTED = 6 };

struct manifest {
    uint64_t generation;
    struct pml_name names[LISTED];
};

static inline void put_generation(struct pml_store *store, uint64_t generation, struct manifest *manifest,
                                  struct pml_pointer *pointer)
{
    memset(manifest, 0, sizeof *manifest);
    manifest->generation = generation;
    for (size_t i = 0; i < LISTED; i++)
        manifest->names[i] = put_blob(store, PML_PARTS, generation * LISTED + i, 10 + (generation * 7919 + i) % 30000);
    TEST_ASSERT_EQUAL_MESSAGE(
        PML_DONE, pml_store_put(store, PML_PARTS, manifest, sizeof *manifest, &pointer->version, &said), said.text);
    pointer->record = put_blob(store, PML_PRIVATE, generation, 8 + generation % 100);
    pointer->building = (struct pml_name){0};
}

/* Reads all that the pointer leads to. What does not belong together is PML_DAMAGED. Threads may call it. */
static inline pml_outcome try_generation(struct pml_store *store, uint64_t *generation)
{
    struct pml_pointer pointer;
    struct taken taken, record;
    struct manifest manifest;
    pml_outcome outcome = pml_store_pointer(store, pack_id, &pointer);
    if (outcome != PML_DONE)
        return outcome;
    outcome = get_names(store, PML_PARTS, &pointer.version, 1, &taken);
    if (outcome == PML_DONE && taken.size != sizeof manifest)
        outcome = PML_DAMAGED;
    if (outcome == PML_DONE)
        memcpy(&manifest, taken.copy, sizeof manifest);
    free(taken.copy);
    if (outcome != PML_DONE)
        return outcome;
    outcome = get_names(store, PML_PARTS, manifest.names, LISTED, &taken);
    free(taken.copy);
    if (outcome == PML_DONE && taken.count != LISTED)
        outcome = PML_DAMAGED;
    const size_t size = 8 + manifest.generation % 100; /* the record is of the same generation */
    uint8_t *expected = draw_blob(manifest.generation, size);
    if (outcome == PML_DONE)
        outcome = get_names(store, PML_PRIVATE, &pointer.record, 1, &record);
    else
        record = (struct taken){0};
    if (outcome == PML_DONE && (record.size != size || memcmp(record.copy, expected, size) != 0))
        outcome = PML_DAMAGED;
    free(record.copy);
    free(expected);
    *generation = manifest.generation;
    return outcome;
}

/* The generation; 0 when there is none. */
static inline uint64_t read_generation(struct pml_store *store)
{
    uint64_t generation = 0;
    const pml_outcome outcome = try_generation(store, &generation);
    if (outcome == PML_ABSENT) {
        struct pml_pointer pointer;
        TEST_ASSERT_EQUAL(PML_ABSENT, pml_store_pointer(store, pack_id, &pointer));
        return 0;
    }
    TEST_ASSERT_EQUAL(PML_DONE, outcome);
    return generation;
}

/* ---- stores to spoil ---- */

enum { GENERATIONS = 3 };

static inline void make_store(const char *name)
{
    struct manifest manifest;
    struct pml_pointer pointer;
    struct pml_store *writer = open_writer(name);
    for (uint64_t generation = 1; generation <= GENERATIONS; generation++) {
        put_generation(writer, generation, &manifest, &pointer);
        switch_to(writer, &pointer);
    }
    close_store(writer);
}

/* The whole file; free it. */
static inline uint8_t *file_bytes(const char *name, size_t *size)
{
    FILE *file = fopen(in_folder(name), "rb");
    TEST_ASSERT_NOT_NULL(file);
    TEST_ASSERT_EQUAL(0, fseek(file, 0, SEEK_END));
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    TEST_ASSERT_NOT_NULL(bytes);
    TEST_ASSERT_EQUAL_UINT64(*size, fread(bytes, 1, *size, file));
    fclose(file);
    return bytes;
}

static inline pml_outcome pass_name(void *context, const struct pml_name *name)
{
    (void)name;
    ++*(size_t *)context;
    return PML_DONE;
}

static inline pml_outcome pass_pack(void *context, const uint8_t pack[PML_ID_SIZE], const struct pml_pointer *pointer)
{
    (void)pack, (void)pointer;
    ++*(size_t *)context;
    return PML_DONE;
}

/* ---- processes ---- */

/* Runs a test in a process of its own, that of nobody when it is wanted; false when it fails there. */
static inline bool run_apart(void (*test)(void), bool nobody)
{
    int status = 1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (nobody && geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        if (TEST_PROTECT())
            test();
        fflush(NULL);
        _exit(Unity.CurrentTestFailed ? 1 : 0);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

#endif
