/* SPDX-License-Identifier: Apache-2.0
 * Opening a pack: damage of every kind is seen, what a sound pack says is what its bytes say, at any address. */
#include "golden/vectors.h"
#include "support/pack_layout.h"
#include "support/support.h"

#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* Opens a copy that ends where its allocation ends, so that a read beyond it is seen. */
static int open_copy(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    TEST_ASSERT_NOT_NULL(copy);
    memcpy(copy + 1, bytes, size);
    pml_pack pack;
    memset(&pack, 0x5A, sizeof pack);
    int status = pml_pack_open(&pack, copy + 1, size, NULL, NULL);
    TEST_ASSERT_EQUAL(status != PML_OK, is_zero(&pack, sizeof pack));
    free(copy);
    return status;
}

static void test_every_prefix_is_refused(void)
{
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        size_t size;
        const uint8_t *bytes = golden_bytes(i, &size);
        for (size_t length = 0; length < size; length++)
            TEST_ASSERT_EQUAL(length < 8 ? PML_ERROR_PACK_VERSION : PML_ERROR_PACK_SIZE, open_copy(bytes, length));
        TEST_ASSERT_EQUAL(PML_OK, open_copy(bytes, size));
    }
}

/* The same with size and hash made right for the prefix: the counts no longer fit. */
static void test_every_sealed_prefix_is_refused(void)
{
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        size_t size;
        uint8_t *bytes = copy_golden(i, &size);
        for (size_t length = HEADER_SIZE; length <= size; length++) {
            store_le64(bytes + AT_SIZE, length);
            seal_pack(bytes, length);
            TEST_ASSERT_EQUAL(length < size ? PML_ERROR_PACK_SIZE : PML_OK, open_copy(bytes, length));
        }
        free(bytes);
    }
}

static void test_one_byte_more_is_refused(void)
{
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        const size_t size = golden_packs[i].size;
        uint8_t *longer = calloc(1, size + 1);
        TEST_ASSERT_NOT_NULL(longer);
        memcpy(longer, golden_packs[i].bytes, size);
        TEST_ASSERT_EQUAL(PML_ERROR_PACK_SIZE, open_copy(longer, size + 1));
        store_le64(longer + AT_SIZE, size + 1);
        seal_pack(longer, size + 1);
        TEST_ASSERT_EQUAL(PML_ERROR_PACK_SIZE, open_copy(longer, size + 1));
        free(longer);
    }
}

/* What a change of the byte at `at` must be called; 0 when several names are right. */
static int name_of_damage(const struct pack_fields *fields, size_t at)
{
    if (at < AT_HASH)
        return PML_ERROR_PACK_VERSION;
    if (at < AT_SIZE)
        return PML_ERROR_PACK_HASH;
    if (at < AT_FIELDS)
        return PML_ERROR_PACK_SIZE;
    if (at < HEADER_SIZE)
        return 0;
    const size_t records = section_offset(fields, 13); /* they say where the bodies end, so they are looked at first */
    if (records > 0 && at >= records && at < records + RECORDS_SIZE)
        return 0;
    return is_gap(fields, at) ? PML_ERROR_PACK : PML_ERROR_PACK_HASH;
}

static void test_every_changed_byte_is_refused(void)
{
    static const uint8_t changes[] = {0x01, 0x80};
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        size_t size;
        uint8_t *bytes = copy_golden(i, &size);
        const struct pack_fields fields = read_all_fields(bytes);
        for (size_t at = 0; at < size; at++)
            for (size_t change = 0; change < sizeof changes; change++) {
                bytes[at] ^= changes[change];
                int status = open_copy(bytes, size), expected = name_of_damage(&fields, at);
                if (expected == 0 && (status == PML_ERROR_PACK || status == PML_ERROR_PACK_SIZE))
                    expected = status;
                TEST_ASSERT_EQUAL(expected != 0 ? expected : PML_ERROR_PACK_HASH, status);
                bytes[at] ^= changes[change];
            }
        TEST_ASSERT_EQUAL(PML_OK, open_copy(bytes, size));
        free(bytes);
    }
}

static void test_only_the_pinned_id_opens(void)
{
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        const struct golden_pack *g = golden_packs + i;
        pml_pack pack;
        uint8_t id[PML_ID_SIZE];
        memcpy(id, g->id, sizeof id);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&pack, g->bytes, g->size, id, NULL));
        for (unsigned bit = 0; bit < 8 * sizeof id; bit++) {
            id[bit / 8] ^= (uint8_t)(1u << bit % 8);
            TEST_ASSERT_EQUAL(PML_ERROR_PACK_ID, pml_pack_open(&pack, g->bytes, g->size, id, NULL));
            TEST_ASSERT_TRUE(is_zero(&pack, sizeof pack));
            id[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void test_null_arguments_are_refused(void)
{
    size_t size;
    const uint8_t *bytes = golden_bytes(PACK_CLASS, &size);
    pml_pack pack = open_golden(PACK_CLASS);
    pml_pack_info info;
    int16_t code[PML_DIMENSIONS_MAX];
    uint32_t slot, list[PML_NEIGHBOURS_MAX];
    int32_t label;
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_open(NULL, bytes, size, NULL, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_describe(NULL, &info));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_describe(&pack, NULL));
    TEST_ASSERT_NULL(pml_pack_anchor(NULL, 0));
    TEST_ASSERT_NULL(pml_pack_prototype(NULL, 0, 0));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_anchor_code(NULL, 0, code));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_anchor_code(&pack, 0, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_slot_code(NULL, 0, code));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_slot_code(&pack, 0, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_anchor_slot(NULL, 0, &slot));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_anchor_slot(&pack, 0, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_list(NULL, 0, list));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_list(&pack, 0, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_class(NULL, 0, &label, &slot));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_class(&pack, 0, NULL, &slot));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_class(&pack, 0, &label, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_slot(NULL, 0, &slot));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_slot(&pack, 0, NULL));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_open(&pack, NULL, size, NULL, NULL));
}

static void test_the_description_is_the_header(void)
{
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        const struct pack_fields fields = read_fields(golden_packs[i].bytes);
        pml_pack pack = open_golden(i);
        pml_pack_info info;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&pack, &info));
        TEST_ASSERT_EQUAL_MEMORY(golden_packs[i].bytes + AT_HASH, info.id, PML_ID_SIZE);
        TEST_ASSERT_EQUAL_UINT64(golden_packs[i].size, info.size);
        TEST_ASSERT_EQUAL_UINT32(fields.d, info.features);
        TEST_ASSERT_EQUAL_UINT32(fields.n, info.anchors);
        TEST_ASSERT_EQUAL_UINT32(fields.K, info.neighbours);
        TEST_ASSERT_EQUAL_UINT32(fields.k, info.dimensions);
        TEST_ASSERT_EQUAL_UINT32(fields.G, info.slots);
        TEST_ASSERT_EQUAL_UINT32(fields.kind, info.slot_kind);
        TEST_ASSERT_EQUAL_UINT32(fields.m, info.cells);
        TEST_ASSERT_EQUAL_UINT32(fields.M, info.prototypes);
        TEST_ASSERT_EQUAL_UINT32(fields.C, info.classes);
        TEST_ASSERT_EQUAL_UINT32(fields.lambda, info.lambda);
        TEST_ASSERT_EQUAL_UINT32(fields.alpha, info.alpha);
        TEST_ASSERT_EQUAL_UINT32(fields.L, info.sketch);
        TEST_ASSERT_EQUAL(fields.sections >> 8 & 1, info.cell_codes);
        TEST_ASSERT_EQUAL(fields.sections >> 9 & 1, info.lists);
    }
}

static void compare_code(const uint8_t *bytes, size_t offset, uint32_t k, size_t index, const int16_t *code)
{
    for (size_t i = 0; i < k; i++)
        TEST_ASSERT_EQUAL_INT16((int16_t)load_le16(bytes + offset + 2 * (index * k + i)), code[i]);
}

/* Anchors with all that belongs to them: rows, slots, codes, lists. */
static void compare_anchors(const pml_pack *pack, const uint8_t *bytes, const struct pack_fields *f)
{
    int16_t code[PML_DIMENSIONS_MAX];
    uint32_t slot, list[PML_NEIGHBOURS_MAX];
    for (size_t i = 0; i < f->n; i++) {
        TEST_ASSERT_EQUAL_PTR(bytes + section_offset(f, 3) + i * f->d, pml_pack_anchor(pack, i));
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_anchor_slot(pack, i, &slot));
        TEST_ASSERT_TRUE(load_le32(bytes + section_offset(f, 5) + 4 * slot) <= i);
        TEST_ASSERT_TRUE(load_le32(bytes + section_offset(f, 5) + 4 * (slot + 1)) > i);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_anchor_code(pack, i, code));
        compare_code(bytes, section_offset(f, 6), f->k, i, code);
        TEST_ASSERT_EQUAL(f->sections >> 9 & 1 ? PML_OK : PML_ERROR_SECTION, pml_pack_list(pack, i, list));
        for (size_t j = 0; f->sections >> 9 & 1 && j < f->K; j++)
            TEST_ASSERT_EQUAL_UINT32(load_le32(bytes + section_offset(f, 9) + 4 * (i * f->K + j)), list[j]);
    }
    TEST_ASSERT_NULL(pml_pack_anchor(pack, f->n));
    TEST_ASSERT_NULL(pml_pack_anchor(pack, SIZE_MAX));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_anchor_slot(pack, f->n, &slot));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_anchor_slot(pack, SIZE_MAX, &slot));
    TEST_ASSERT_EQUAL(f->n > 0 ? PML_ERROR_ARGUMENT : PML_ERROR_SECTION, pml_pack_anchor_code(pack, f->n, code));
    TEST_ASSERT_EQUAL(f->n > 0 ? PML_ERROR_ARGUMENT : PML_ERROR_SECTION, pml_pack_anchor_code(pack, SIZE_MAX, code));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_list(pack, f->n, list));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_list(pack, SIZE_MAX, list));
}

static void compare_slots(const pml_pack *pack, const uint8_t *bytes, const struct pack_fields *f)
{
    int16_t code[PML_DIMENSIONS_MAX];
    const int8_t *rows;
    uint32_t *norms = malloc((f->M + 1) * sizeof *norms), *cells = malloc((f->M + 1) * sizeof *cells);
    TEST_ASSERT_TRUE(norms && cells);
    const int missing = f->sections >> 7 & 1 ? PML_ERROR_ARGUMENT : PML_ERROR_SECTION;
    for (size_t s = 0; s < f->G; s++) {
        TEST_ASSERT_EQUAL(f->sections >> 7 & 1 ? PML_OK : PML_ERROR_SECTION, pml_pack_slot_code(pack, s, code));
        if (f->sections >> 7 & 1)
            compare_code(bytes, section_offset(f, 7), f->k, s, code);
        TEST_ASSERT_EQUAL(f->M > 0 ? PML_OK : PML_ERROR_SECTION, pml_pack_prototypes(pack, s, &rows, norms, cells));
        TEST_ASSERT_EQUAL_PTR(f->M > 0 ? bytes + section_offset(f, 1) + s * f->M * f->d : NULL, rows);
        for (size_t j = 0; j < f->M; j++) {
            const size_t at = s * f->M + j;
            TEST_ASSERT_EQUAL_PTR(bytes + section_offset(f, 1) + at * f->d, pml_pack_prototype(pack, s, j));
            TEST_ASSERT_EQUAL_UINT32(load_le32(bytes + section_offset(f, 2) + 4 * at), norms[j]);
            TEST_ASSERT_EQUAL_UINT32(load_le16(bytes + section_offset(f, 10) + 2 * at), cells[j]);
        }
        TEST_ASSERT_NULL(pml_pack_prototype(pack, s, f->M)); /* not the first of the next slot */
        TEST_ASSERT_NULL(pml_pack_prototype(pack, s, SIZE_MAX));
    }
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_prototypes(pack, f->G, &rows, norms, cells));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_prototypes(pack, 0, &rows, NULL, cells));
    free(norms);
    free(cells);
    TEST_ASSERT_NULL(pml_pack_prototype(pack, f->G, 0));
    TEST_ASSERT_NULL(pml_pack_prototype(pack, SIZE_MAX, 0));
    TEST_ASSERT_EQUAL_PTR(f->sections >> 8 & 1 ? bytes + section_offset(f, 8) : NULL, pack->section[8]);
    TEST_ASSERT_EQUAL(missing, pml_pack_slot_code(pack, f->G, code));
    TEST_ASSERT_EQUAL(missing, pml_pack_slot_code(pack, SIZE_MAX, code));
}

static void compare_classes(const pml_pack *pack, const uint8_t *bytes, const struct pack_fields *f)
{
    int32_t label;
    uint32_t slot, found;
    for (size_t i = 0; i < f->C; i++) {
        const uint8_t *entry = bytes + section_offset(f, 0) + 8 * i;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(pack, i, &label, &slot));
        TEST_ASSERT_EQUAL_INT32((int32_t)load_le32(entry), label);
        TEST_ASSERT_EQUAL_UINT32(load_le16(entry + 4), slot);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot(pack, label, &found));
        TEST_ASSERT_EQUAL_UINT32(slot, found);
    }
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_class(pack, f->C, &label, &slot));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_class(pack, SIZE_MAX, &label, &slot));
    found = 9;
    TEST_ASSERT_EQUAL(f->kind == PML_SLOTS_ONE ? PML_OK : PML_ERROR_LABEL, pml_pack_slot(pack, 123456789, &found));
    TEST_ASSERT_EQUAL_UINT32(0, found);
}

static void test_getters_give_the_bytes_of_the_spec_at_any_address(void)
{
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++)
        for (size_t shift = 0; shift < 8; shift++) {
            const struct pack_fields fields = read_fields(golden_packs[i].bytes);
            const size_t size = golden_packs[i].size;
            uint8_t *memory = malloc(size + shift);
            TEST_ASSERT_NOT_NULL(memory);
            memcpy(memory + shift, golden_packs[i].bytes, size);
            pml_pack pack;
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&pack, memory + shift, size, golden_packs[i].id, NULL));
            compare_anchors(&pack, memory + shift, &fields);
            compare_slots(&pack, memory + shift, &fields);
            compare_classes(&pack, memory + shift, &fields);
            free(memory);
        }
}

/* Releases a fixed query with fixed entropy from a pack that starts `shift` bytes behind an aligned address. */
static size_t release_at(unsigned index, int mechanism, size_t shift, uint8_t *out, size_t capacity)
{
    struct fixture f;
    float features[64];
    size_t written, size = golden_packs[index].size;
    uint8_t *memory = malloc(size + shift);
    TEST_ASSERT_NOT_NULL(memory);
    memcpy(memory + shift, golden_packs[index].bytes, size);
    setup_fixture(&f, index, mechanism, 2.0);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&f.pack, memory + shift, size, NULL, NULL));
    setup_client(&f);
    make_features(&f.pack, 1, features);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    TEST_ASSERT_EQUAL(
        PML_OK, release_query(f.client, features, read_fields(memory + shift).d, some_label(&f.pack), out, capacity));
    written = pml_client_release_size(f.client);
    teardown_fixture(&f);
    free(memory);
    return written;
}

static void test_releases_do_not_depend_on_the_address_of_the_pack(void)
{
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++)
        for (int mechanism = PML_RESPONSE; mechanism <= PML_GAUSSIAN; mechanism++) {
            bool built = mechanism == PML_GAUSSIAN ? PML_WITH_GAUSSIAN : PML_WITH_RESPONSE;
            if (!built || !(read_fields(golden_packs[i].bytes).sections >> (mechanism == PML_GAUSSIAN ? 3 : 1) & 1))
                continue;
            uint8_t first[256], other[256];
            size_t size = release_at(i, mechanism, 0, first, sizeof first);
            for (size_t shift = 1; shift < 8; shift++) {
                TEST_ASSERT_EQUAL(size, release_at(i, mechanism, shift, other, sizeof other));
                TEST_ASSERT_EQUAL_HEX8_ARRAY(first, other, size);
            }
        }
}

static void test_a_pack_that_failed_to_open_gives_errors(void)
{
    struct fixture f;
    size_t size;
    uint8_t *bytes = copy_golden(PACK_CLASS, &size);
    setup_fixture(&f, PACK_CLASS, PML_WITH_RESPONSE ? PML_RESPONSE : PML_GAUSSIAN, 1.0);
    bytes[size - 1] ^= 1;
    TEST_ASSERT_EQUAL(PML_ERROR_PACK_HASH, pml_pack_open(&f.pack, bytes, size, NULL, NULL));
    const struct pack_fields nothing = {.sections = 0};
    pml_pack_info info;
    uint32_t slot;
    int8_t row[64] = {1}, sketch[PML_SKETCH_MAX];
    uint64_t memory[512];
    TEST_ASSERT_TRUE(is_zero(&f.pack, sizeof f.pack));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_describe(&f.pack, &info));
    TEST_ASSERT_TRUE(is_zero(&info, sizeof info));
    compare_anchors(&f.pack, bytes, &nothing);
    compare_slots(&f.pack, bytes, &nothing);
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_pack_slot(&f.pack, 0, &slot));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_sketch(&f.pack, NULL, row, sketch));
    TEST_ASSERT_EQUAL(0, pml_ranking_size(&f.pack));
#if PML_WITH_GAUSSIAN
    pml_certificate certificate;
    pml_calibration calibration;
    TEST_ASSERT_EQUAL(PML_ERROR_SECTION, pml_pack_certify(&f.pack, (int64_t *)memory, 512, &certificate));
    TEST_ASSERT_EQUAL(PML_ERROR_SENSITIVITY, pml_pack_calibrate(&f.pack, &certificate, 1.0, 1e-5, 1, &calibration));
#endif
    TEST_ASSERT_EQUAL(0, pml_client_size(&f.pack, &f.config));
    f.client = (pml_client *)(void *)memory;
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_client_init(&f.client, memory, sizeof memory, &f.pack, &f.config));
    TEST_ASSERT_NULL(f.client);
    free(bytes);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_prefix_is_refused);
    RUN_TEST(test_every_sealed_prefix_is_refused);
    RUN_TEST(test_one_byte_more_is_refused);
    RUN_TEST(test_every_changed_byte_is_refused);
    RUN_TEST(test_only_the_pinned_id_opens);
    RUN_TEST(test_null_arguments_are_refused);
    RUN_TEST(test_the_description_is_the_header);
    RUN_TEST(test_getters_give_the_bytes_of_the_spec_at_any_address);
    RUN_TEST(test_releases_do_not_depend_on_the_address_of_the_pack);
    RUN_TEST(test_a_pack_that_failed_to_open_gives_errors);
    return UNITY_END();
}
