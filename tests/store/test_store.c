/* SPDX-License-Identifier: Apache-2.0
 * Stores of every kind: what was put comes back, what is damaged does not, and pointers switch at once. */
#define _XOPEN_SOURCE 700
#include "store_support.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <time.h>

void setUp(void)
{
    make_stores();
}

void tearDown(void)
{
    remove_stores();
}

/* ---- round trips ---- */

static void test_blobs_come_back(void)
{
    static const size_t sizes[] = {0, 1, 31, 4096, 100000, 3000000};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    struct pml_name names[2 * COUNT];
    struct taken taken;
    struct pml_store *writer = open_writer("a");
    for (size_t i = 0; i < COUNT; i++) {
        names[i] = names[COUNT + i] = put_blob(writer, PML_PARTS, i, sizes[i]);
        TEST_ASSERT_EQUAL(PML_DONE, get_blob(writer, PML_PARTS, &names[i])); /* a writer sees what it has put */
        TEST_ASSERT_EQUAL(PML_ABSENT, get_blob(writer, PML_PRIVATE, &names[i]));
        const struct pml_name again = put_blob(writer, PML_PARTS, i, sizes[i]);
        TEST_ASSERT_TRUE(pml_name_same(&again, &names[i]));
    }
    switch_to(writer, &(struct pml_pointer){.version = names[3]});
    close_store(writer);
    struct pml_store *reader = open_reader("a");
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_ping(reader));
    TEST_ASSERT_EQUAL(PML_DONE, get_names(reader, PML_PARTS, names, 2 * COUNT, &taken)); /* every name twice */
    TEST_ASSERT_EQUAL_UINT64(2 * COUNT, taken.count);
    TEST_ASSERT_EQUAL_UINT64(2 * (0 + 1 + 31 + 4096 + 100000 + 3000000), taken.bytes);
    free(taken.copy);
    TEST_ASSERT_EQUAL(PML_DONE, get_names(reader, PML_PARTS, names, 0, &taken));
    names[1].bytes[5] ^= 1;
    TEST_ASSERT_EQUAL(PML_ABSENT, get_names(reader, PML_PARTS, names, COUNT, &taken));
    free(taken.copy);
    close_store(reader);
}

static pml_outcome stop_at_third(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    (void)index, (void)bytes, (void)size;
    return ++*(int *)context == 3 ? PML_REFUSED : PML_DONE;
}

static void test_whoever_takes_may_end_it(void)
{
    struct pml_name names[5];
    int calls = 0;
    struct pml_store *writer = open_writer("a");
    for (size_t i = 0; i < 5; i++)
        names[i] = put_blob(writer, PML_PARTS, i, 100);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_get(writer, PML_PARTS, names, 5, stop_at_third, &calls));
    TEST_ASSERT_EQUAL(3, calls);
    close_store(writer);
}

/* ---- pointers ---- */

struct seen {
    uint8_t first[8];
    size_t count;
};

static pml_outcome see_pack(void *context, const uint8_t pack[PML_ID_SIZE], const struct pml_pointer *pointer)
{
    struct seen *seen = context;
    TEST_ASSERT_EQUAL_HEX(pack[0], pointer->version.bytes[0]);
    seen->first[seen->count++] = pack[0];
    return PML_DONE;
}

static void test_pointers(void)
{
    static const uint8_t order[] = {200, 3, 90};
    struct pml_pointer pointer, read;
    struct seen seen = {0};
    struct pml_store *writer = open_writer("a");
    TEST_ASSERT_EQUAL(PML_ABSENT, pml_store_pointer(writer, pack_id, &pointer));
    for (size_t i = 0; i < 6; i++) {
        uint8_t pack[PML_ID_SIZE] = {order[i % 3]};
        memset(&pointer, (int)i, sizeof pointer);
        pointer.version.bytes[0] = pack[0];
        if (i >= 4)
            memset(&pointer.record, 0, sizeof pointer.record);
        if (i == 5)
            memset(&pointer.building, 0, sizeof pointer.building);
        TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_store_switch(writer, pack, &pointer, &said), said.text);
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(writer, pack, &read));
        TEST_ASSERT_EQUAL(0, memcmp(&pointer, &read, sizeof read));
    }
    struct pml_store *reader = open_reader("a");
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_packs(reader, see_pack, &seen));
    TEST_ASSERT_EQUAL_UINT64(3, seen.count);
    TEST_ASSERT_TRUE(seen.first[0] == 3 && seen.first[1] == 90 && seen.first[2] == 200);
    TEST_ASSERT_EQUAL(PML_ABSENT, pml_store_pointer(reader, pack_id, &read));
    TEST_ASSERT_TRUE(pml_name_none(&read.version));
    close_store(reader);
    close_store(writer);
}

static void test_readers_do_not_write(void)
{
    struct pml_name name;
    struct pml_pointer pointer = {0};
    struct manifest manifest;
    struct pml_store *writer = open_writer("a");
    put_generation(writer, 1, &manifest, &pointer);
    switch_to(writer, &pointer);
    close_store(writer);
    struct pml_store *reader = open_reader("a");
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_put(reader, PML_PARTS, "x", 1, &name, &said));
    assert_said("open for reading only");
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_switch(reader, pack_id, &(struct pml_pointer){0}, &said));
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_remove(reader, PML_PARTS, manifest.names, 1, &said));
    TEST_ASSERT_EQUAL_UINT64(1, read_generation(reader));
    close_store(reader);
}

static void test_what_is_not_there_is_absent(void)
{
    if (kind == POSTGRES)
        refuse_open("none", PML_STORE_READ, PML_ABSENT, "privatemail index");
    else
        refuse_open("none", PML_STORE_READ, PML_ABSENT, "with privatemail index");
}

/* ---- damage ---- */

/* Changes the byte in the middle of a blob, wherever it is kept. */
static pml_outcome spoil_in_memory(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    (void)context, (void)index;
    ((uint8_t *)(uintptr_t)bytes)[size / 2] ^= 1;
    return PML_DONE;
}

static void spoil(const char *store, const struct pml_name *name, size_t size)
{
    char digits[PML_NAME_DIGITS + 1], text[400];
    pml_name_write(name, digits);
    if (kind == MEMORY) {
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_get(memory_store, PML_PARTS, name, 1, spoil_in_memory, NULL));
    } else if (kind == FOLDER) {
        char path[200];
        snprintf(path, sizeof path, "%.60s/part/%s", store, digits);
        FILE *file = fopen(in_folder(path), "r+b");
        TEST_ASSERT_NOT_NULL(file);
        fseek(file, (long)size / 2, SEEK_SET);
        const int byte = fgetc(file);
        fseek(file, (long)size / 2, SEEK_SET);
        fputc(byte ^ 1, file);
        fclose(file);
    } else if (kind == SQLITE) {
        sqlite3 *database;
        sqlite3_blob *blob;
        uint8_t byte;
        snprintf(text, sizeof text, "SELECT rowid FROM parts WHERE name = x'%s'", digits);
        sqlite3_stmt *statement;
        TEST_ASSERT_EQUAL(SQLITE_OK, sqlite3_open(in_folder(store), &database));
        TEST_ASSERT_EQUAL(SQLITE_OK, sqlite3_prepare_v2(database, text, -1, &statement, NULL));
        TEST_ASSERT_EQUAL(SQLITE_ROW, sqlite3_step(statement));
        const sqlite3_int64 row = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        TEST_ASSERT_EQUAL(SQLITE_OK, sqlite3_blob_open(database, "main", "parts", "bytes", row, 1, &blob));
        sqlite3_blob_read(blob, &byte, 1, (int)size / 2);
        byte ^= 1;
        sqlite3_blob_write(blob, &byte, 1, (int)size / 2);
        sqlite3_blob_close(blob);
        sqlite3_close(database);
    } else {
        snprintf(text, sizeof text,
                 "UPDATE %s.privatemail_parts SET bytes = set_byte(bytes, %zu, get_byte(bytes, %zu) # 1) WHERE name ="
                 " '\\x%s'",
                 schema_of(store), size / 2, size / 2, digits);
        tell_postgres(text, NULL);
    }
}

static void test_damaged_blobs_are_not_handed_over(void)
{
    static const size_t sizes[] = {1, 500, 70000};
    struct pml_name names[3];
    struct taken taken;
    struct pml_store *writer = open_writer("a");
    for (size_t i = 0; i < 3; i++)
        names[i] = put_blob(writer, PML_PARTS, i, sizes[i]);
    switch_to(writer, &(struct pml_pointer){.version = names[0]});
    close_store(writer);
    struct pml_store *reader = open_reader("a");
    for (size_t i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL(PML_DONE, get_blob(reader, PML_PARTS, &names[i]));
        spoil("a", &names[i], sizes[i]);
        TEST_ASSERT_EQUAL(PML_DAMAGED, get_blob(reader, PML_PARTS, &names[i]));
    }
    TEST_ASSERT_EQUAL(PML_DAMAGED, get_names(reader, PML_PARTS, names, 3, &taken));
    TEST_ASSERT_EQUAL_UINT64(0, taken.count);
    close_store(reader);
    writer = open_writer("a"); /* what is taken away can be put again */
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_remove(writer, PML_PARTS, names, 3, &said));
    put_blob(writer, PML_PARTS, 1, sizes[1]);
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(writer, PML_PARTS, &names[1]));
    close_store(writer);
}

/* Putting the right bytes again is enough. */
static void test_damaged_blobs_are_mended(void)
{
    static const size_t sizes[] = {1, 500, 70000, 3000000};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    struct pml_name names[COUNT];
    struct pml_store *writer = open_writer("a");
    for (size_t i = 0; i < COUNT; i++)
        names[i] = put_blob(writer, PML_PARTS, i, sizes[i]);
    switch_to(writer, &(struct pml_pointer){.version = names[0]});
    struct pml_store *reader = open_reader("a");
    for (size_t i = 0; i < COUNT; i++) {
        spoil("a", &names[i], sizes[i]);
        TEST_ASSERT_EQUAL(PML_DAMAGED, get_blob(reader, PML_PARTS, &names[i]));
        for (size_t again = 0; again < 2; again++) /* also twice before it is sent */
            put_blob(writer, PML_PARTS, i, sizes[i]);
        TEST_ASSERT_EQUAL(PML_DONE, get_blob(writer, PML_PARTS, &names[i]));
        switch_to(writer, &(struct pml_pointer){.version = names[0]});
        TEST_ASSERT_EQUAL(PML_DONE, get_blob(reader, PML_PARTS, &names[i]));
    }
    close_store(reader);
    close_store(writer);
}

/* ---- readers beside a writer ---- */

static struct pml_store *shared;
static atomic_bool ended;
static atomic_uint reads, faults;

/* Between two reads a reader rests, so that a writer gets its turn where threads share one core. */
static void *read_on(void *context)
{
    const struct timespec moment = {0, 100000};
    uint64_t last = 0;
    (void)context;
    while (!atomic_load(&ended)) {
        uint64_t generation = 0;
        const bool right = try_generation(shared, &generation) == PML_DONE && generation >= last;
        atomic_fetch_add(right ? &reads : &faults, 1);
        last = generation;
        nanosleep(&moment, NULL);
    }
    return NULL;
}

static void test_readers_see_the_old_or_the_new(void)
{
    enum { THREADS = 3, SWITCHES = 150 };
    pthread_t threads[THREADS];
    struct manifest manifest;
    struct pml_pointer pointer;
    struct pml_store *writer = open_writer("a");
    put_generation(writer, 1, &manifest, &pointer);
    switch_to(writer, &pointer);
    shared = open_reader("a");
    atomic_store(&ended, false);
    atomic_store(&reads, 0);
    atomic_store(&faults, 0);
    for (size_t i = 0; i < THREADS; i++)
        TEST_ASSERT_EQUAL(0, pthread_create(&threads[i], NULL, read_on, NULL));
    for (uint64_t generation = 2; generation <= SWITCHES; generation++) {
        put_generation(writer, generation, &manifest, &pointer);
        if (generation % 50 == 0) /* what was not switched to is not seen */
            TEST_ASSERT_EQUAL_UINT64(generation - 1, read_generation(shared));
        switch_to(writer, &pointer);
        TEST_ASSERT_EQUAL_UINT64(generation, read_generation(shared));
    }
    atomic_store(&ended, true);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    TEST_ASSERT_TRUE(atomic_load(&reads) > 0 && atomic_load(&faults) == 0);
    close_store(shared);
    close_store(writer);
}

/* Another store takes the place of the one that is read. */
static void test_a_store_that_is_replaced(void)
{
    char from[600];
    if (kind == POSTGRES)
        return;
    for (uint64_t generation = 1; generation <= 2; generation++) {
        struct manifest manifest;
        struct pml_pointer pointer;
        struct pml_store *writer = open_writer(generation == 1 ? "a" : "b");
        put_generation(writer, generation, &manifest, &pointer);
        switch_to(writer, &pointer);
        close_store(writer);
    }
    struct pml_store *reader = open_reader("a");
    TEST_ASSERT_EQUAL_UINT64(1, read_generation(reader));
    snprintf(from, sizeof from, "%s", in_folder("a"));
    TEST_ASSERT_EQUAL(0, rename(from, in_folder("old")));
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, pml_store_ping(reader));
    struct pml_pointer pointer;
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, pml_store_pointer(reader, pack_id, &pointer));
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, get_blob(reader, PML_PARTS, &pointer.version));
    snprintf(from, sizeof from, "%s", in_folder("b"));
    TEST_ASSERT_EQUAL(0, rename(from, in_folder("a")));
    TEST_ASSERT_EQUAL_UINT64(2, read_generation(reader));
    close_store(reader);
}

/* ---- URIs ---- */

static void test_uris(void)
{
    static const char *const wrong[] = {
        "", "sqlite", "sqlite:", "dir:", "/a/path", "postgresql:x", "SQLITE:a", "x:secret"};
    char shown[PML_STORE_SHOWN_MAX];
    struct pml_store *store;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_check(wrong[i], &said));
        assert_said("does not name a store. Give sqlite:FILE, postgres:URI or dir:FOLDER");
        TEST_ASSERT_NULL(strstr(said.text, "secret"));
        TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_open(&store, wrong[i], PML_STORE_READ, &said));
    }
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_check("dir:x", &said));
    pml_store_show("sqlite:a/b", shown);
    TEST_ASSERT_EQUAL_STRING("sqlite:a/b", shown);
    pml_store_show("x:secret", shown);
    TEST_ASSERT_NULL(strstr(shown, "secret"));
    static const char *const hidden[] = {"postgres://me:secret@db:5432/x",
                                         "postgres://me:secret@db,other/x",
                                         "postgres:host=db user=me password=secret dbname=x",
                                         "postgres://me:sec@secret@db/x",
                                         "postgres:password=secret",
                                         "postgres:secret",
                                         "postgres://me:a/secret@db/x"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        pml_store_show(hidden[i], shown);
        TEST_ASSERT_NULL_MESSAGE(strstr(shown, "secret"), hidden[i]);
        TEST_ASSERT_EQUAL(0, strncmp(shown, "postgres://", 11));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_KINDS(test_blobs_come_back, MEMORY);
    RUN_KINDS(test_whoever_takes_may_end_it, MEMORY);
    RUN_KINDS(test_pointers, MEMORY);
    RUN_KINDS(test_readers_do_not_write, FOLDER);
    RUN_KINDS(test_what_is_not_there_is_absent, FOLDER);
    RUN_KINDS(test_damaged_blobs_are_not_handed_over, MEMORY);
    RUN_KINDS(test_damaged_blobs_are_mended, MEMORY);
    RUN_KINDS(test_readers_see_the_old_or_the_new, FOLDER);
    RUN_KINDS(test_a_store_that_is_replaced, FOLDER);
    kind = SQLITE;
    RUN_TEST(test_uris);
    return UNITY_END();
}
