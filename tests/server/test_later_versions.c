/* SPDX-License-Identifier: Apache-2.0
 * Blobs of a version that is not made yet: each reader names it, and index replaces nothing that it does not know. */
#define _XOPEN_SOURCE 700
#include "tools/builder_support.h"

#include "gallery_support.h"

enum { LATER = 9, VERSION_AT = 4 };

static struct setup setup;

void setUp(void)
{
}

void tearDown(void)
{
}

static void assert_named(void)
{
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said.text, "version 9"), said.text);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said.text, "version 1"), said.text);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said.text, "newer privatemail"), said.text);
    said.text[0] = 0;
}

static pml_outcome append(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    (void)index;
    return pml_bytes_append(context, bytes, size);
}

/* Gives a blob a later version, and its new name. */
static void make_later(struct pml_store *store, enum pml_shelf shelf, struct pml_name *name)
{
    struct pml_bytes bytes = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_get(store, shelf, name, 1, append, &bytes));
    bytes.bytes[VERSION_AT] = LATER;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_put(store, shelf, bytes.bytes, bytes.size, name, &said));
    pml_bytes_free(&bytes);
}

/* ---- readers ---- */

typedef pml_outcome (*read_fn)(const struct pml_bytes *bytes);

static pml_outcome read_manifest(const struct pml_bytes *bytes)
{
    struct pml_manifest manifest;
    const pml_outcome outcome = pml_manifest_read(bytes->bytes, bytes->size, &manifest, &said);
    pml_manifest_free(&manifest);
    return outcome;
}

static pml_outcome read_record(const struct pml_bytes *bytes)
{
    struct pml_record record;
    const pml_outcome outcome = pml_record_read(bytes->bytes, bytes->size, &record, &said);
    pml_record_free(&record);
    return outcome;
}

static pml_outcome read_state(const struct pml_bytes *bytes)
{
    struct pml_state state;
    const pml_outcome outcome = pml_state_read(bytes->bytes, bytes->size, &state, &said);
    pml_state_free(&state);
    return outcome;
}

static pml_outcome read_building(const struct pml_bytes *bytes)
{
    struct pml_building building;
    return pml_building_read(bytes->bytes, bytes->size, &building, &said);
}

/* Whatever follows may be of another form: a later version is named as soon as its number is there. */
static void check_reader(struct pml_bytes *bytes, read_fn read)
{
    const size_t size = bytes->size;
    TEST_ASSERT_EQUAL(PML_DONE, read(bytes));
    bytes->bytes[VERSION_AT] = LATER;
    for (bytes->size = 0; bytes->size < 8; bytes->size++)
        TEST_ASSERT_EQUAL(PML_DAMAGED, read(bytes));
    for (; bytes->size <= size; bytes->size++) {
        TEST_ASSERT_EQUAL(PML_OTHER_VERSION, read(bytes));
        assert_named();
    }
    bytes->size = size;
    bytes->bytes[0] = 'Q';
    TEST_ASSERT_EQUAL(PML_DAMAGED, read(bytes));
    pml_bytes_free(bytes);
}

static void test_readers_name_the_version(void)
{
    struct pml_kept kept = {{{1}}, {{2}}};
    struct pml_record record = {.keep = 1, .history = &kept, .count = 1};
    struct pml_manifest manifest = {.items = 1, .slots = 1, .cells = 2, .longest = 512};
    struct pml_state state = {.items = 0};
    struct pml_building building = {.done = PML_STAGE_ROWS};
    struct pml_bytes bytes = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_manifest_allocate(&manifest));
    TEST_ASSERT_EQUAL(PML_DONE, pml_manifest_write(&manifest, &bytes));
    pml_manifest_free(&manifest);
    check_reader(&bytes, read_manifest);
    TEST_ASSERT_EQUAL(PML_DONE, pml_record_write(&record, &bytes));
    check_reader(&bytes, read_record);
    TEST_ASSERT_EQUAL(PML_DONE, pml_state_write(&state, &bytes));
    check_reader(&bytes, read_state);
    TEST_ASSERT_EQUAL(PML_DONE, pml_building_write(&building, &bytes));
    check_reader(&bytes, read_building);
}

/* ---- index ---- */

static struct model some_items(void)
{
    struct model model = {0};
    for (size_t i = 0; i < 40; i++)
        model.there[i] = true;
    return model;
}

static void assert_untouched(struct pml_store *store, const struct model *model, const struct pml_pointer *pointer)
{
    struct pml_change_report report;
    struct pml_pointer after;
    TEST_ASSERT_EQUAL(PML_OTHER_VERSION, try_index(store, model, &setup, true, &report));
    assert_named();
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(store, setup.built.info.id, &after));
    assert_same_name(&pointer->version, &after.version);
    assert_same_name(&pointer->record, &after.record);
    assert_same_name(&pointer->building, &after.building);
}

static void test_index_replaces_nothing_that_it_does_not_know(void)
{
    const uint8_t *pack = setup.built.info.id;
    const struct model model = some_items();
    struct pml_building building = {.done = PML_STAGE_ROWS};
    for (unsigned kind = 0; kind < 3; kind++) {
        struct pml_store *store = open_memory();
        struct pml_pointer pointer;
        index_model(store, &model, &setup);
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(store, pack, &pointer));
        if (kind == 0)
            make_later(store, PML_PARTS, &pointer.version);
        if (kind == 1)
            make_later(store, PML_PRIVATE, &pointer.record);
        if (kind == 2) {
            TEST_ASSERT_EQUAL(PML_DONE, pml_building_save(store, &building, &pointer.building, &said));
            make_later(store, PML_PRIVATE, &pointer.building);
        }
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_switch(store, pack, &pointer, &said));
        assert_untouched(store, &model, &pointer);
        pml_store_close(store);
    }
}

/* What is needed cannot be told, so nothing is taken away. */
static void test_nothing_is_swept_beside_a_later_version(void)
{
    const uint8_t *pack = setup.built.info.id;
    const struct model model = some_items();
    struct pml_store *store = open_memory();
    struct pml_pointer pointer;
    struct pml_name stray;
    struct pml_manifest manifest;
    struct pml_bytes bytes = {0};
    uint64_t swept = 0;
    index_model(store, &model, &setup);
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_put(store, PML_PARTS, "stray", 5, &stray, &said));
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(store, pack, &pointer));
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_get(store, PML_PARTS, &pointer.version, 1, append, &bytes));
    TEST_ASSERT_EQUAL(PML_DONE, pml_manifest_read(bytes.bytes, bytes.size, &manifest, &said));
    bytes.size = 0;
    make_later(store, PML_PARTS, &manifest.places[0].name);
    TEST_ASSERT_EQUAL(PML_DONE, pml_manifest_write(&manifest, &bytes));
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_put(store, PML_PARTS, bytes.bytes, bytes.size, &pointer.version, &said));
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_switch(store, pack, &pointer, &said));
    TEST_ASSERT_EQUAL(PML_OTHER_VERSION, pml_gallery_sweep(store, NULL, &swept, &said));
    assert_named();
    bytes.size = 0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_get(store, PML_PARTS, &stray, 1, append, &bytes));
    pml_manifest_free(&manifest);
    pml_bytes_free(&bytes);
    pml_store_close(store);
}

int main(void)
{
    UNITY_BEGIN();
    struct input input = make_input(300, COLUMNS, CLASSES);
    input.options.slots = PML_SLOTS_CLASS;
    input.options.cells = 7;
    input.options.sketch = 8;
    input.options.gaussian = true;
    setup = (struct setup){.built = build(&input), .settings = {.list = 9, .iterations = 1}, .threads = 1};
    free_input(&input);
    RUN_TEST(test_readers_name_the_version);
    RUN_TEST(test_index_replaces_nothing_that_it_does_not_know);
    RUN_TEST(test_nothing_is_swept_beside_a_later_version);
    free(setup.built.bytes);
    return UNITY_END();
}
