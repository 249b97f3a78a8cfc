/* SPDX-License-Identifier: Apache-2.0
 * Fronts that are not sound (SPEC 1.1, 1.2): in a pack whose hash is right, every rule broken one at a time; front files
 * cut and changed anywhere. And what the most hostile of the sound ones can do: nothing but give another row. */
#include "golden/vectors.h"
#include "pack/front.h"
#include "stages/stages.h"
#include "support/front_writer.h"
#include "support/kernel_sets.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_FRONT

/* ---- records and bodies in a pack ---- */

enum { HEADER, RECORDS, BODIES, EDITS = 3 };

/* Golden pack m has d = 13 and the modalities 0 and 1 none, 2 signs of 31, 3 signs of 40, 4 matrix of 9, 5 matrix of 10,
 * 6 kernels of 7 with 5 centres, 7 kernels of 8 with 6. Where the bodies of 4 to 7 begin: */
enum {
    BODY_4 = 0,
    BODY_5 = 13 * (12 + 9),
    BODY_6 = BODY_5 + 13 * (12 + 10),
    BODY_7 = BODY_6 + 8 * 13 + 5 * (12 + 7 + 13)
};
enum { CENTRES_6 = BODY_6 + 8 * 13, CENTRE_6 = CENTRES_6 + 5 * 12, COEFFICIENTS_6 = CENTRE_6 + 5 * 7 };

struct hostile {
    const char *name;
    int status;
    struct edit {
        unsigned where, offset, width;
        uint64_t value;
    } edits[EDITS];
};

#define RECORD(v, offset, width) RECORDS, RECORD_SIZE *(v) + (offset), width
#define KIND_OF(v) RECORD(v, 0, 2)
#define INPUTS_OF(v) RECORD(v, 4, 4)
#define CENTRES_OF(v) RECORD(v, 8, 4)
#define NAME_OF(v, at) RECORD(v, 16 + (at), 1)
#define UNSOUND PML_ERROR_PACK
#define OTHER_SIZE PML_ERROR_PACK_SIZE

static const struct hostile cases[] = {
    {"unchanged", PML_OK, {{KIND_OF(0), 1}}},
    {"version 0.2", PML_ERROR_PACK_VERSION, {{HEADER, 6, 2, 2}}},
    {"version 0.4", PML_ERROR_PACK_VERSION, {{HEADER, 6, 2, 4}}},
    {"records without bodies", UNSOUND, {{HEADER, 80, 4, 0x3DFF}}},
    {"bodies without records", UNSOUND, {{HEADER, 80, 4, 0x5DFF}}},
    {"a section 15", UNSOUND, {{HEADER, 80, 4, 0xFDFF}}},
    {"no modality", UNSOUND, {{KIND_OF(0), 0}}},
    {"a record after a gap", UNSOUND, {{KIND_OF(3), 0}}},
    {"kind 5", UNSOUND, {{KIND_OF(2), 5}}},
    {"kind 65535", UNSOUND, {{KIND_OF(7), 65535}}},
    {"signs without roots", PML_OK, {{RECORD(3, 2, 2), 0}}},
    {"roots twice", UNSOUND, {{RECORD(3, 2, 2), 2}}},
    {"roots 65535 times", UNSOUND, {{RECORD(6, 2, 2), 65535}}},
    {"none of other features", UNSOUND, {{INPUTS_OF(0), 12}}},
    {"signs of nothing", UNSOUND, {{INPUTS_OF(2), 0}}},
    {"signs of most", PML_OK, {{INPUTS_OF(2), 1000000}}},
    {"signs of too many", UNSOUND, {{INPUTS_OF(2), 1000001}}},
    {"signs beyond all", UNSOUND, {{INPUTS_OF(2), UINT32_MAX}}},
    {"matrix of nothing", UNSOUND, {{INPUTS_OF(4), 0}}},
    {"matrix of one less", OTHER_SIZE, {{INPUTS_OF(5), 9}}},
    {"matrix of most", OTHER_SIZE, {{INPUTS_OF(4), 4096}}},
    {"matrix of too many", UNSOUND, {{INPUTS_OF(4), 4097}}},
    {"matrix beyond all", UNSOUND, {{INPUTS_OF(4), UINT32_MAX}}},
    {"kernels of too many", UNSOUND, {{INPUTS_OF(6), 4097}}},
    {"no centres", UNSOUND, {{CENTRES_OF(6), 0}}},
    {"most centres", OTHER_SIZE, {{CENTRES_OF(6), 4096}}},
    {"too many centres", UNSOUND, {{CENTRES_OF(6), 4097}}},
    {"centres beyond all", UNSOUND, {{CENTRES_OF(6), UINT32_MAX}}},
    {"centres of a matrix", UNSOUND, {{CENTRES_OF(4), 1}}},
    {"centres of signs", UNSOUND, {{CENTRES_OF(2), 1}}},
    {"reserved", UNSOUND, {{RECORD(4, 12, 4), 1}}},
    {"another seed", PML_OK, {{RECORD(2, 32, 8), 0}}},
    {"a seed of none", UNSOUND, {{RECORD(0, 63, 1), 1}}},
    {"a seed of kernels", UNSOUND, {{RECORD(6, 32, 1), 1}}},
    {"no name", UNSOUND, {{NAME_OF(4, 0), 0}}},
    {"a name of one letter", PML_OK, {{RECORD(4, 16, 8), 'z'}}},
    {"something behind a name", UNSOUND, {{RECORD(4, 16, 8), (uint64_t)'x' << 56 | 'z'}}},
    {"a name without an end", UNSOUND, {{NAME_OF(7, 15), 'x'}}},
    {"a capital", UNSOUND, {{NAME_OF(4, 0), 'I'}}},
    {"a blank", UNSOUND, {{NAME_OF(4, 2), ' '}}},
    {"a comma", UNSOUND, {{NAME_OF(4, 2), ','}}},
    {"a character of control", UNSOUND, {{NAME_OF(4, 2), 31}}},
    {"UTF-8", UNSOUND, {{NAME_OF(4, 2), 0xC3}}},
    {"a brace", UNSOUND, {{NAME_OF(4, 2), 'z' + 1}}},
    {"a grave accent", UNSOUND, {{NAME_OF(4, 2), 'a' - 1}}},
    {"a colon", UNSOUND, {{NAME_OF(4, 2), '9' + 1}}},
    {"a slash", UNSOUND, {{NAME_OF(4, 2), '0' - 1}}},
    {"two equal names", UNSOUND, {{RECORD(5, 16, 8), 0x6567616D69}, {RECORD(5, 24, 8), 0}}}, /* image */
    {"offset of a matrix at its most", PML_OK, {{BODIES, BODY_4, 8, (uint64_t)1 << 50}}},
    {"offset of a matrix at its least", PML_OK, {{BODIES, BODY_4 + 12, 8, -((uint64_t)1 << 50)}}},
    {"offset of a matrix too large", UNSOUND, {{BODIES, BODY_4, 8, ((uint64_t)1 << 50) + 1}}},
    {"offset of a matrix too small", UNSOUND, {{BODIES, BODY_5 + 12 * 12, 8, -((uint64_t)1 << 50) - 1}}},
    {"offset of a matrix beyond all", UNSOUND, {{BODIES, BODY_4, 8, (uint64_t)1 << 63}}},
    {"offset of kernels at its most", PML_OK, {{BODIES, BODY_6, 8, (uint64_t)1 << 53}}},
    {"offset of kernels too large", UNSOUND, {{BODIES, BODY_6 + 8 * 12, 8, ((uint64_t)1 << 53) + 1}}},
    {"offset of kernels too small", UNSOUND, {{BODIES, BODY_7, 8, -((uint64_t)1 << 53) - 1}}},
    {"offset of kernels beyond all", UNSOUND, {{BODIES, BODY_7, 8, (uint64_t)1 << 63}}},
    {"gain 0", UNSOUND, {{BODIES, BODY_4 + 8, 4, 0}}},
    {"gain 32", PML_OK, {{BODIES, BODY_4 + 8, 4, 32}}},
    {"gain 33", UNSOUND, {{BODIES, BODY_5 + 12 * 12 + 8, 4, 33}}},
    {"gain beyond all", UNSOUND, {{BODIES, BODY_4 + 8, 4, UINT32_MAX}}},
    {"-128 in a matrix", UNSOUND, {{BODIES, BODY_5 - 1, 1, 128}}},
    {"-127 in a matrix", PML_OK, {{BODIES, BODY_5 - 1, 1, 129}}},
    {"lambda 0", UNSOUND, {{BODIES, CENTRES_6 + 4, 4, 0}}},
    {"lambda at its most", PML_OK, {{BODIES, CENTRES_6 + 4, 4, UINT32_MAX}}},
    {"amplitude 0", UNSOUND, {{BODIES, CENTRES_6 + 12 * 4 + 8, 4, 0}}},
    {"amplitude 255", PML_OK, {{BODIES, CENTRES_6 + 8, 4, 255}}},
    {"amplitude 256", UNSOUND, {{BODIES, CENTRES_6 + 8, 4, 256}}},
    {"amplitude beyond all", UNSOUND, {{BODIES, CENTRES_6 + 8, 4, UINT32_MAX}}},
    {"inverse norm 0", UNSOUND, {{BODIES, CENTRES_6, 4, 0}}},
    {"inverse norm 2^30", UNSOUND, {{BODIES, CENTRES_6, 4, 1u << 30}}},
    {"another centre", UNSOUND, {{BODIES, CENTRE_6, 1, 0}}},
    {"-128 in a centre", UNSOUND, {{BODIES, CENTRE_6, 1, 128}}},
    {"a centre of zero", UNSOUND, {{BODIES, CENTRE_6, 7, 0}}},
    {"a centre of zero, and its norm", UNSOUND, {{BODIES, CENTRE_6, 7, 0}, {BODIES, CENTRES_6, 4, 0}}},
    {"-128 among coefficients", UNSOUND, {{BODIES, COEFFICIENTS_6, 1, 128}}},
    {"-128 as the last byte", UNSOUND, {{BODIES, BODY_7 + 8 * 13 + 6 * (12 + 8 + 13) - 1, 1, 128}}},
    {"coefficients of zero", PML_OK, {{BODIES, COEFFICIENTS_6, 8, 0}, {BODIES, COEFFICIENTS_6 + 8, 5, 0}}},
};

static void test_every_rule_of_a_front_is_checked(void)
{
    unsigned failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size;
        uint8_t *bytes = copy_golden(PACK_FRONTS, &size);
        const struct pack_fields fields = read_all_fields(bytes);
        const size_t starts[] = {0, section_offset(&fields, 13), section_offset(&fields, 14)};
        for (size_t e = 0; e < EDITS; e++) {
            const struct edit *edit = cases[i].edits + e;
            store_le(bytes + starts[edit->where] + edit->offset, edit->width, edit->value);
        }
        seal_pack(bytes, size);
        pml_pack pack;
        int status = pml_pack_open(&pack, bytes, size, NULL, NULL);
        if (status != cases[i].status) {
            printf("%s: %s, not %s\n", cases[i].name, pml_status_text(status), pml_status_text(cases[i].status));
            failed++;
        }
        TEST_ASSERT_EQUAL(status != PML_OK, is_zero(&pack, sizeof pack));
        free(bytes);
    }
    TEST_ASSERT_EQUAL(0, failed);
}

/* A centre's inverse norm is the right one of its row, in every centre. */
static void test_every_norm_of_a_centre_is_checked(void)
{
    size_t size;
    uint8_t *bytes = copy_golden(PACK_FRONTS, &size);
    const struct pack_fields fields = read_all_fields(bytes);
    uint8_t *records = bytes + section_offset(&fields, 14) + CENTRES_6;
    for (size_t c = 0; c < 5; c++)
        for (int change = -1; change <= 1; change++) {
            pml_pack pack;
            const uint32_t right = load_le32(records + 12 * c);
            store_le32(records + 12 * c, right + (uint32_t)change);
            seal_pack(bytes, size);
            TEST_ASSERT_EQUAL(change == 0 ? PML_OK : PML_ERROR_PACK, pml_pack_open(&pack, bytes, size, NULL, NULL));
            store_le32(records + 12 * c, right);
        }
    free(bytes);
}

/* ---- front files ---- */

static void assert_refused(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size + 1); /* a read beyond it is seen by the sanitiser */
    pml_front front;
    memset(&front, 0x5A, sizeof front);
    memcpy(exact, bytes, size);
    exact = realloc(exact, size > 0 ? size : 1);
    TEST_ASSERT_EQUAL(PML_ERROR_FRONT, pml_front_open(&front, exact, size));
    TEST_ASSERT_TRUE(is_zero(&front, sizeof front));
    free(exact);
}

static void test_files_open_and_are_the_fronts_of_the_packs(void)
{
    for (size_t i = 0; i < GOLDEN_FRONT_FILE_COUNT; i++) {
        const struct golden_front_file *g = golden_front_files + i;
        const pml_pack pack = open_golden(g->pack);
        pml_front file, packed;
        TEST_ASSERT_EQUAL(PML_OK, pml_front_open(&file, g->bytes, g->size));
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_front(&pack, g->modality, &packed));
        TEST_ASSERT_TRUE(file.kind == packed.kind && file.root == packed.root && file.inputs == packed.inputs &&
                         file.outputs == packed.outputs && file.centres == packed.centres &&
                         file.body_size == packed.body_size);
        TEST_ASSERT_EQUAL_MEMORY(packed.seed, file.seed, 32);
        if (file.body_size > 0)
            TEST_ASSERT_EQUAL_MEMORY(packed.body, file.body, file.body_size);
    }
}

/* As it is, and with size and hash made right for what is left. */
static void test_every_cut_is_refused(void)
{
    for (size_t i = 0; i < GOLDEN_FRONT_FILE_COUNT; i++) {
        const struct golden_front_file *g = golden_front_files + i;
        uint8_t *bytes = malloc(g->size + 1);
        memcpy(bytes, g->bytes, g->size);
        bytes[g->size] = 0;
        for (size_t size = 0; size <= g->size + 1; size++) {
            if (size == g->size)
                continue;
            memcpy(bytes, g->bytes, FRONT_HEADER);
            assert_refused(bytes, size);
            if (size < FRONT_HEADER)
                continue;
            store_le64(bytes + AT_SIZE, size);
            pml_front_seal(bytes, size);
            assert_refused(bytes, size);
        }
        free(bytes);
    }
}

static void test_every_changed_bit_is_refused(void)
{
    for (size_t i = 0; i < GOLDEN_FRONT_FILE_COUNT; i++) {
        const struct golden_front_file *g = golden_front_files + i;
        uint8_t *bytes = malloc(g->size);
        memcpy(bytes, g->bytes, g->size);
        for (size_t bit = 0; bit < 8 * g->size; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_refused(bytes, g->size);
            if (bit / 8 < 8 || (bit / 8 >= 40 && bit / 8 < FRONT_HEADER - 32)) { /* of the head, the seed may be any */
                pml_front front;
                pml_front_seal(bytes, g->size);
                const bool root = bit == 8 * (AT_RECORD + 2); /* with and without roots: both are sound */
                const bool inputs =
                    bytes[AT_RECORD] == PML_FRONT_SIGNS && bit / 8 >= AT_RECORD + 4 && bit / 8 < AT_RECORD + 8;
                const bool outputs =
                    bytes[AT_RECORD] == PML_FRONT_SIGNS && bit / 8 >= AT_OUTPUTS && bit / 8 < AT_OUTPUTS + 4;
                const bool kind = bit / 8 == AT_RECORD;
                if (!root && !inputs && !outputs && !kind)
                    assert_refused(bytes, g->size);
                else if (root)
                    TEST_ASSERT_EQUAL(PML_OK, pml_front_open(&front, bytes, g->size));
                memcpy(bytes, g->bytes, g->size);
            } else {
                bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            }
        }
        free(bytes);
    }
}

static void test_files_with_other_heads_are_refused(void)
{
    static const struct edit edits[] = {
        {0, 4, 2, 1},           {0, 6, 2, 0},  {0, 6, 2, 2},     {0, 48, 4, 0},   {0, 48, 4, 4097},
        {0, 48, 4, UINT32_MAX}, {0, 52, 4, 1}, {0, 63, 1, 1},    {0, 80, 1, 'a'}, {0, 64, 2, 0},
        {0, 64, 2, 5},          {0, 68, 4, 0}, {0, 68, 4, 4097},
    };
    const struct golden_front_file *g = golden_front_files + 4; /* a matrix */
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        uint8_t *bytes = malloc(g->size);
        memcpy(bytes, g->bytes, g->size);
        store_le(bytes + edits[i].offset, edits[i].width, edits[i].value);
        pml_front_seal(bytes, g->size);
        assert_refused(bytes, g->size);
        free(bytes);
    }
    pml_front front;
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_front_open(&front, NULL, 200));
    TEST_ASSERT_EQUAL(PML_ERROR_ARGUMENT, pml_front_open(NULL, g->bytes, g->size));
}

/* Files of version 0.1 that are kept: what they say does not change. */
static void test_kept_files_open(void)
{
    static const struct {
        const char *name;
        pml_front_kind kind;
        uint32_t inputs, centres;
    } kept[] = {{"as-is", PML_FRONT_NONE, 13, 0},
                {"signs", PML_FRONT_SIGNS, 31, 0},
                {"image", PML_FRONT_MATRIX, 9, 0},
                {"text", PML_FRONT_KERNELS, 7, 5}};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        uint8_t bytes[1024];
        char path[1024];
        pml_front front;
        snprintf(path, sizeof path, "%s/compat/0.3/%s.pmfr", PML_TESTS_DIR, kept[i].name);
        FILE *file = fopen(path, "rb");
        TEST_ASSERT_NOT_NULL_MESSAGE(file, path);
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_front_open(&front, bytes, size), path);
        TEST_ASSERT_EQUAL(kept[i].kind, front.kind);
        TEST_ASSERT_EQUAL_UINT32(kept[i].inputs, front.inputs);
        TEST_ASSERT_EQUAL_UINT32(kept[i].centres, front.centres);
        TEST_ASSERT_TRUE(front.outputs == 13 && !front.root);
    }
}

/* ---- the most that sums can reach ---- */

enum { MOST = 4096 };

/* All values at their largest, so that every sum is; with every kernel set. UBSan would see an overflow. */
static void map_largest(struct front_writer *w, int64_t first)
{
    const struct kernel_sets sets = kernel_sets_of_cpu();
    const pml_front front = finish_front(w);
    int64_t *scratch = malloc(pml_front_scratch(&front));
    float *features = malloc(MOST * sizeof *features);
    for (size_t k = 0; k < sets.count; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            int8_t row[2];
            for (size_t i = 0; i < MOST; i++)
                features[i] = (float)sign;
            TEST_ASSERT_EQUAL(PML_OK, pml_front_map(&front, sets.of[k], features, MOST, scratch, row));
            TEST_ASSERT_EQUAL_INT64(sign < 0 && front.kind == PML_FRONT_MATRIX ? ((int64_t)1 << 51) - first : first,
                                    scratch[0]);
            TEST_ASSERT_TRUE(scratch[0] < (int64_t)1 << 55 && scratch[0] > -((int64_t)1 << 55));
        }
    free(features);
    free(scratch);
    free(w->bytes);
}

static void test_the_largest_sums_are_exact(void)
{
    int8_t *full = malloc(MOST);
    memset(full, 127, MOST);
    struct front_writer w = start_front(PML_FRONT_MATRIX, 2, MOST, 0, false);
    set_matrix_row(&w, 0, (int64_t)1 << 50, 32, full);
    set_matrix_row(&w, 1, -((int64_t)1 << 50), 32, full);
    const int64_t norm = pml_inverse_norm(full, MOST);
    map_largest(&w, ((int64_t)1 << 50) + (int64_t)127 * 127 * MOST * 32 * norm);
    w = start_front(PML_FRONT_KERNELS, 2, MOST, MOST, false);
    set_offset(&w, 0, (int64_t)1 << 53);
    set_offset(&w, 1, -((int64_t)1 << 53));
    for (size_t c = 0; c < MOST; c++)
        set_centre(&w, c, 1, 255, full, (const int8_t[]){127, -127});
    struct front_writer copy = w;
    copy.bytes = malloc(w.size);
    memcpy(copy.bytes, w.bytes, w.size);
    pml_front front = finish_front(&copy);
    int64_t *scratch = malloc(pml_front_scratch(&front));
    float *features = malloc(MOST * sizeof *features);
    int8_t row[2];
    for (size_t i = 0; i < MOST; i++)
        features[i] = 1.0f;
    TEST_ASSERT_EQUAL(PML_OK, pml_front_map(&front, NULL, features, MOST, scratch, row));
    TEST_ASSERT_TRUE(scratch[0] <= ((int64_t)1 << 53) + (int64_t)MOST * 255 * 127 * (1 << 24));
    TEST_ASSERT_TRUE(scratch[0] >= ((int64_t)1 << 53) + (int64_t)MOST * 255 * 127 * ((1 << 24) - 2));
    TEST_ASSERT_EQUAL_INT64(-scratch[0], scratch[1]);
    TEST_ASSERT_EQUAL_INT8(127, row[0]);
    TEST_ASSERT_EQUAL_INT8(-127, row[1]);
    free(features);
    free(scratch);
    free(copy.bytes);
    free(w.bytes);
    free(full);
}

#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_FRONT
    RUN_TEST(test_every_rule_of_a_front_is_checked);
    RUN_TEST(test_every_norm_of_a_centre_is_checked);
    RUN_TEST(test_files_open_and_are_the_fronts_of_the_packs);
    RUN_TEST(test_every_cut_is_refused);
    RUN_TEST(test_every_changed_bit_is_refused);
    RUN_TEST(test_files_with_other_heads_are_refused);
    RUN_TEST(test_kept_files_open);
    RUN_TEST(test_the_largest_sums_are_exact);
#endif
    return UNITY_END();
}
