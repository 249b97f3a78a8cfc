/* SPDX-License-Identifier: Apache-2.0
 * A gallery drawn from item numbers, stores made of it, and what they must answer. Define _XOPEN_SOURCE first.
 * Stores are files; or schemas of the PostgreSQL that PML_TEST_POSTGRES leads to (tests/cli/postgres.py). */
#ifndef TEST_STORE_SUPPORT_H
#define TEST_STORE_SUPPORT_H

#include "common/digest.h"
#include "server_support.h"
#include "store_reading.h"

#include <libpq-fe.h>
#include <sys/stat.h>

enum { GALLERY = 1500, SLOTS = 5, CELLS_A_SLOT = 4, SKETCH = 16 };

static const struct pml_store_info gallery_info = {
    {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, GALLERY, SKETCH, 3, 2, 5, 0, 0};
#define GALLERY_DIGEST 0x4045456ADAE2331Cu /* as SPEC 8 says, in every kind of store */
static const uint8_t gallery_source[32] = "made by the tests of the store";

/* The memory an item points to. */
struct drawn {
    struct pml_store_item item;
    uint32_t cells[2];
    float place[3];
    int8_t sketch[SKETCH];
    uint8_t payload[400];
};

/* Item number i of the gallery. Numbers come in no order, places lie on a coarse grid so that distances tie. */
static inline void draw_item(size_t index, struct drawn *drawn)
{
    uint64_t state = 1000 + index;
    drawn->cells[0] = (uint32_t)draw_below(&state, CELLS_A_SLOT);
    drawn->cells[1] = (drawn->cells[0] + 1 + (uint32_t)draw_below(&state, CELLS_A_SLOT - 1)) % CELLS_A_SLOT;
    for (size_t i = 0; i < 3; i++)
        drawn->place[i] = (float)draw_between(&state, -4, 4);
    for (size_t i = 0; i < SKETCH; i++)
        drawn->sketch[i] = (int8_t)draw_between(&state, -127, 127);
    for (size_t i = 0; i < sizeof drawn->payload; i++)
        drawn->payload[i] = (uint8_t)draw64(&state);
    drawn->item = (struct pml_store_item){(uint32_t)draw_below(&state, SLOTS),
                                          drawn->cells,
                                          2,
                                          drawn->place,
                                          {index * 7919 % GALLERY * 3 + (index == 0 ? INT64_MAX : 0),
                                           (int32_t)index - 700, drawn->sketch, SKETCH, drawn->payload,
                                           index % 3 == 0 ? 0 : (size_t)draw_below(&state, sizeof drawn->payload)}};
}

/* ---- where stores are ---- */

static inline const char *postgres(void)
{
    return getenv("PML_TEST_POSTGRES");
}

/* Runs a statement, and answers its first value in `value` (of 64 bytes) when there is one. */
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

static inline void make_stores(void)
{
    make_folder();
    if (postgres())
        tell_postgres("SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS cube;"
                      "CREATE EXTENSION IF NOT EXISTS btree_gist",
                      NULL);
}

static inline void remove_stores(void)
{
    remove_folder();
    if (postgres())
        tell_postgres(
            "SET client_min_messages = warning; DO $$ DECLARE name text; BEGIN FOR name IN SELECT nspname FROM"
            " pg_namespace WHERE nspname LIKE 't\\_%' LOOP EXECUTE 'DROP SCHEMA ' || name || ' CASCADE'; END LOOP;"
            " END $$",
            NULL);
}

static inline const char *uri_of(const char *name)
{
    static char uri[600];
    if (postgres()) {
        snprintf(uri, sizeof uri, "SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS %s", schema_of(name));
        tell_postgres(uri, NULL);
        snprintf(uri, sizeof uri, "postgres:%s options='-c search_path=%s,public'", postgres(), schema_of(name));
    } else {
        snprintf(uri, sizeof uri, "sqlite:%s", in_folder(name));
    }
    return uri;
}

static inline struct pml_store_writer *begin_store(const char *name, bool force, uint64_t expected)
{
    struct pml_store_writer *writer;
    uint64_t done = UINT64_MAX;
    said.text[0] = 0;
    int status = pml_store_begin(&writer, uri_of(name), &gallery_info, gallery_source, force, &done, &said);
    TEST_ASSERT_EQUAL_MESSAGE(0, status, said.text);
    TEST_ASSERT_EQUAL_UINT64(expected, done);
    return writer;
}

static inline void add_items(struct pml_store_writer *writer, size_t first, size_t end)
{
    struct drawn drawn;
    for (size_t i = first; i < end; i++) {
        draw_item(i, &drawn);
        TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_add(writer, &drawn.item, &said), said.text);
    }
}

static inline void finish_store(struct pml_store_writer *writer)
{
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_finish(writer, &said), said.text);
}

static inline void make_store(const char *name)
{
    struct pml_store_writer *writer = begin_store(name, false, 0);
    add_items(writer, 0, GALLERY);
    finish_store(writer);
}

static inline struct pml_store *open_store(const char *name)
{
    struct pml_store *store;
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_open(&store, uri_of(name), NULL, &said), said.text);
    return store;
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

static inline void assert_same_file(const char *left, const char *right)
{
    size_t left_size, right_size;
    uint8_t *left_bytes = file_bytes(left, &left_size), *right_bytes = file_bytes(right, &right_size);
    TEST_ASSERT_EQUAL_UINT64(left_size, right_size);
    TEST_ASSERT_EQUAL(0, memcmp(left_bytes, right_bytes, left_size));
    free(left_bytes);
    free(right_bytes);
}

/* A hash of every row of a finished gallery. */
static inline void hash_schema(const char *name, char hash[64])
{
    char text[900], number[64];
    snprintf(text, sizeof text, "SELECT gallery FROM %s.privatemail_galleries WHERE state = 'done'", schema_of(name));
    tell_postgres(text, number);
    snprintf(text, sizeof text,
             "SET search_path = %s, public; SELECT md5((SELECT string_agg(i::text, '|' ORDER BY item) FROM"
             " privatemail_items_%s i) || (SELECT coalesce(string_agg(c::text, '|' ORDER BY slot, cell), '') FROM"
             " privatemail_cells_%s c) || (SELECT g.digest || ' ' || added || ' ' || items FROM privatemail_galleries g"
             " WHERE gallery = %s))",
             schema_of(name), number, number, number);
    tell_postgres(text, hash);
}

/* Not only the same answers: the same bytes, or rows. */
static inline void assert_same_store(const char *left, const char *right)
{
    char left_hash[64], right_hash[64];
    if (!postgres()) {
        assert_same_file(left, right);
        return;
    }
    hash_schema(left, left_hash);
    hash_schema(right, right_hash);
    TEST_ASSERT_EQUAL_STRING(left_hash, right_hash);
}

/* Stores, finished and begun ones, that are there under any name. */
static inline void assert_stores(const char *name, size_t expected)
{
    char text[200], count[64];
    if (!postgres()) {
        TEST_ASSERT_EQUAL_UINT64(expected, empty_folder());
        return;
    }
    snprintf(text, sizeof text,
             "SELECT count(*) FROM pg_tables WHERE schemaname = '%s' AND tablename ~ 'items_[0-9]+$'", schema_of(name));
    tell_postgres(text, count);
    TEST_ASSERT_EQUAL_STRING("1", count);
}

/* ---- what the store must answer, by looking at all items ---- */

struct ranked {
    double distance;
    uint64_t item;
    size_t index;
};

static inline int by_rank(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

static inline void encode(struct ranked *found, size_t count, struct pml_fragment *fragment)
{
    struct drawn drawn;
    qsort(found, count, sizeof *found, by_rank);
    for (size_t i = 0; i < count; i++) {
        draw_item(found[i].index, &drawn);
        TEST_ASSERT_EQUAL(PML_DONE, pml_candidate_write(&fragment->bytes, &drawn.item.candidate));
    }
    fragment->count = (uint32_t)count;
}

static inline struct pml_fragment expected_cell(uint32_t slot, uint32_t cell)
{
    static struct ranked found[GALLERY];
    struct pml_fragment fragment = {0};
    struct drawn drawn;
    size_t count = 0;
    for (size_t i = 0; i < GALLERY; i++) {
        draw_item(i, &drawn);
        if (drawn.item.slot == slot && (drawn.cells[0] == cell || drawn.cells[1] == cell))
            found[count++] = (struct ranked){0.0, drawn.item.candidate.item, i};
    }
    encode(found, count, &fragment);
    return fragment;
}

static inline struct pml_fragment expected_nearest(uint32_t slot, const double *place, size_t wanted)
{
    static struct ranked found[GALLERY];
    struct pml_fragment fragment = {0};
    struct drawn drawn;
    size_t count = 0;
    for (size_t i = 0; i < GALLERY; i++) {
        draw_item(i, &drawn);
        double distance = 0.0;
        for (size_t j = 0; j < 3; j++)
            distance += ((double)drawn.place[j] - place[j]) * ((double)drawn.place[j] - place[j]);
        if (drawn.item.slot == slot)
            found[count++] = (struct ranked){distance, drawn.item.candidate.item, i};
    }
    qsort(found, count, sizeof *found, by_rank);
    encode(found, count < wanted ? count : wanted, &fragment);
    return fragment;
}

static inline bool same_fragment(const struct pml_fragment *left, const struct pml_fragment *right)
{
    return left->count == right->count && left->bytes.size == right->bytes.size &&
           (left->bytes.size == 0 || memcmp(left->bytes.bytes, right->bytes.bytes, left->bytes.size) == 0);
}

/* The sizes that a store tells are those of its candidates. */
struct taken_items {
    struct pml_bytes bytes;
    size_t count;
};

static inline pml_outcome take_whole_item(void *context, size_t index, const struct pml_fragment *candidates)
{
    struct taken_items *taken = context;
    TEST_ASSERT_EQUAL(taken->count++, index);
    TEST_ASSERT_EQUAL_UINT32(1, candidates->count);
    return pml_bytes_append(&taken->bytes, candidates->bytes.bytes, candidates->bytes.size);
}

/* Every item comes once, in ascending order, whether a cell lists it or not. */
static inline void assert_items(struct pml_store *store)
{
    struct taken_items taken = {0};
    struct drawn drawn;
    size_t offset = 0;
    uint64_t before = 0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_items(store, take_whole_item, &taken));
    TEST_ASSERT_EQUAL(GALLERY, taken.count);
    for (size_t i = 0; i < GALLERY; i++) {
        struct pml_candidate candidate;
        TEST_ASSERT_TRUE(pml_candidate_read(taken.bytes.bytes, taken.bytes.size, &offset, &candidate));
        TEST_ASSERT_TRUE(i == 0 || candidate.item > before);
        before = candidate.item;
        TEST_ASSERT_TRUE(candidate.label >= -700 && candidate.label < GALLERY - 700);
        draw_item((size_t)(candidate.label + 700), &drawn);
        TEST_ASSERT_EQUAL_UINT64(drawn.item.candidate.item, candidate.item);
        TEST_ASSERT_EQUAL_MEMORY(drawn.item.candidate.sketch, candidate.sketch, SKETCH);
    }
    pml_bytes_free(&taken.bytes);
}

static inline void assert_sizes(struct pml_store *store)
{
    struct sizes cells = {0}, items = {0};
    struct drawn drawn;
    uint64_t bytes[SLOTS] = {0}, counts[SLOTS] = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_sizes(store, PML_SIZED_CELLS, take_size, &cells));
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_sizes(store, PML_SIZED_ITEMS, take_size, &items));
    for (uint32_t slot = 0; slot < SIZED_SLOTS; slot++) {
        for (uint32_t cell = 0; cell < SIZED_CELLS; cell++) {
            struct pml_fragment expected = expected_cell(slot, cell);
            TEST_ASSERT_EQUAL_UINT64(expected.count > 0, cells.calls[slot][cell]);
            TEST_ASSERT_EQUAL_UINT64(expected.count, cells.counts[slot][cell]);
            TEST_ASSERT_EQUAL_UINT64(expected.bytes.size, cells.bytes[slot][cell]);
            pml_bytes_free(&expected.bytes);
        }
    }
    for (size_t i = 0; i < GALLERY; i++) {
        struct pml_bytes one = {0};
        draw_item(i, &drawn);
        TEST_ASSERT_EQUAL(PML_DONE, pml_candidate_write(&one, &drawn.item.candidate));
        counts[drawn.item.slot]++;
        bytes[drawn.item.slot] += one.size;
        pml_bytes_free(&one);
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        TEST_ASSERT_EQUAL_UINT64(counts[slot], items.counts[slot][0]);
        TEST_ASSERT_EQUAL_UINT64(bytes[slot], items.bytes[slot][0]);
    }
}

#endif
