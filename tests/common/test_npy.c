/* SPDX-License-Identifier: Apache-2.0
 * Arrays in files: what is read, what is refused and in which words. */
#define _POSIX_C_SOURCE 200809L
#include "server/server_support.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

void setUp(void)
{
    make_folder();
}

void tearDown(void)
{
    remove_folder();
}

/* Writes magic, version, dictionary (padded to `pad`) and values. */
static void put_array(unsigned version, const char *dictionary, size_t pad, const void *values, size_t size)
{
    uint8_t bytes[1024] = "\x93NUMPY";
    size_t text = strlen(dictionary), length = text > pad ? text : pad, start = version > 1 ? 12 : 10;
    TEST_ASSERT_TRUE(start + length + size <= sizeof bytes);
    bytes[6] = (uint8_t)version;
    bytes[8] = (uint8_t)length;
    bytes[9] = (uint8_t)(length >> 8);
    memset(bytes + start, ' ', length);
    memcpy(bytes + start, dictionary, text);
    memcpy(bytes + start + length, values, size);
    put_file("a.npy", bytes, start + length + size);
}

static const float six[6] = {1, -2, 3, 4, 5.5f, -6};

static void test_features_of_all_versions_are_read(void)
{
    static const char *const dictionaries[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n",
        "{\"shape\": (2L, 3L), \"fortran_order\":False,\"descr\":\"<f4\"}",
        " { 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' , } ",
    };
    for (unsigned version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof dictionaries / sizeof *dictionaries; i++) {
            struct pml_features features;
            put_array(version, dictionaries[i], 70 + i, six, sizeof six);
            TEST_ASSERT_EQUAL_MESSAGE(0, pml_features_read(in_folder("a.npy"), &features, &said), said.text);
            TEST_ASSERT_EQUAL_UINT64(2, features.rows);
            TEST_ASSERT_EQUAL_UINT64(3, features.columns);
            TEST_ASSERT_EQUAL_MEMORY(six, features.values, sizeof six);
            pml_features_free(&features);
            TEST_ASSERT_NULL(features.values);
        }
}

static void refuse_features(const char *part)
{
    struct pml_features features = {(float *)1, 1, 1};
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_features_read(in_folder("a.npy"), &features, &said));
    TEST_ASSERT_NULL(features.values);
    assert_said(part);
    assert_said("a.npy: ");
}

static void test_features_of_other_shapes_and_types_are_refused(void)
{
    static const struct {
        const char *dictionary, *part;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), }", "float32"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (2, 6), }", "float32"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", "float32"},
        {"{'descr': [('x', '<f4'), ('y', '<f4')], 'fortran_order': False, 'shape': (3,), }", "structure"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", "little-endian"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "Fortran"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", "1 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", "3 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "0 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", "empty"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0), }", "empty"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1000001), }", "1000000"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }", "truncated"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627775, 4096), }", "truncated"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }", "longer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_array(1, cases[i].dictionary, 118, six, sizeof six);
        refuse_features(cases[i].part);
    }
}

static void test_damaged_headers_are_refused(void)
{
    static const char *const dictionaries[] = {
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6), }",
        "{'descr': '', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': 'a very long name of a type', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2, 3)",
        "{'descr': [('x', '<f4')",
    };
    for (size_t i = 0; i < sizeof dictionaries / sizeof *dictionaries; i++) {
        put_array(1, dictionaries[i], 0, six, sizeof six);
        refuse_features("header");
    }
}

static void test_what_is_no_array_is_refused(void)
{
    refuse_features("cannot be opened");
    put_file("a.npy", "", 0);
    refuse_features("not a .npy file");
    put_file("a.npy", "\x93NUMPX\x01\0\x02\0{}", 12);
    refuse_features("not a .npy file");
    put_file("a.npy", "\x93NUMPY\x04\0\x02\0{}", 12);
    refuse_features("version 4");
    put_file("a.npy", "\x93NUMPY\x02\0\x02\0\0", 11);
    refuse_features("header");
    put_file("a.npy", "\x93NUMPY\x01\0\xFF\xFF{}", 12);
    refuse_features("header");
    put_file("a.npy", "\x93NUMPY\x02\0\xFF\xFF\xFF\xFF{}", 14);
    refuse_features("header");
    TEST_ASSERT_EQUAL(0, unlink(in_folder("a.npy")));
    TEST_ASSERT_EQUAL(0, mkdir(in_folder("a.npy"), 0700));
    refuse_features("not a file");
    TEST_ASSERT_EQUAL(0, rmdir(in_folder("a.npy")));
    TEST_ASSERT_EQUAL(0, mkfifo(in_folder("a.npy"), 0600));
    refuse_features("not a file");
}

/* Sizes in bytes would wrap where addresses have 32 bits. The file has a hole, and no array of its size is made. */
static void test_what_has_more_bytes_than_addresses_is_no_memory(void)
{
#if SIZE_MAX == UINT32_MAX
    struct pml_labels labels;
    struct pml_features features;
    put_array(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1073741825,), }", 118, "", 0);
    TEST_ASSERT_EQUAL(0, truncate(in_folder("a.npy"), 128 + 1073741825LL));
    TEST_ASSERT_EQUAL(PML_NO_MEMORY, pml_labels_read(in_folder("a.npy"), &labels, &said));
    put_array(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1048577, 1024), }", 118, "", 0);
    TEST_ASSERT_EQUAL(0, truncate(in_folder("a.npy"), 128 + 1048577LL * 1024 * 4));
    TEST_ASSERT_EQUAL(PML_NO_MEMORY, pml_features_read(in_folder("a.npy"), &features, &said));
#else
    TEST_IGNORE_MESSAGE("addresses have 64 bits");
#endif
}

static void test_every_truncation_is_refused(void)
{
    TEST_ASSERT_EQUAL(PML_DONE, pml_features_write(in_folder("whole.npy"), six, 2, 3, &said));
    uint8_t bytes[256];
    FILE *file = fopen(in_folder("whole.npy"), "rb");
    TEST_ASSERT_NOT_NULL(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    TEST_ASSERT_EQUAL_UINT64(128 + sizeof six, size);
    for (size_t length = 0; length < size; length++) {
        put_file("a.npy", bytes, length);
        refuse_features("");
    }
    bytes[size] = 0;
    put_file("a.npy", bytes, size + 1);
    refuse_features("1 bytes longer");
}

static void test_rows_that_are_no_vectors_are_named(void)
{
    static const char dictionary[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }";
    static const struct {
        float values[6];
        const char *part;
    } cases[] = {
        {{1, 2, 3, NAN, 0, 0}, "row 1 (counting from 0) holds NaN"},
        {{1, 2, 3, 4, -INFINITY, 0}, "row 2 (counting from 0) holds NaN or an infinite value"},
        {{0, -0.0f, 3, NAN, 0, 0}, "row 0 (counting from 0) is all zero"},
        {{0, 1e-45f, 3, 1, -0.0f, 0}, "row 2 (counting from 0) is all zero"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_array(1, dictionary, 118, cases[i].values, sizeof cases[i].values);
        refuse_features(cases[i].part);
    }
}

/* Variances are per row or per feature, and may be zero. */
static void test_variances_are_read(void)
{
    static const float zeros[6] = {0, 0, 0, 1, 2.5f, 0};
    static const char *const shapes[] = {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }",
                                         "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"};
    struct pml_features read;
    for (size_t i = 0; i < 2; i++) {
        put_array(1, shapes[i], 70, zeros, sizeof zeros);
        TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_variances_read(in_folder("a.npy"), &read, &said), said.text);
        TEST_ASSERT_EQUAL_UINT64(i == 0 ? 6 : 2, read.rows);
        TEST_ASSERT_EQUAL_UINT64(i == 0 ? 1 : 3, read.columns);
        TEST_ASSERT_EQUAL_MEMORY(zeros, read.values, sizeof zeros);
        pml_features_free(&read);
    }
    for (size_t i = 0; i < 2; i++) {
        const float bad[6] = {0, 1, 2, 3, i == 0 ? -0.5f : NAN, 1};
        put_array(1, shapes[i], 70, bad, sizeof bad);
        TEST_ASSERT_EQUAL(PML_REFUSED, pml_variances_read(in_folder("a.npy"), &read, &said));
        TEST_ASSERT_NULL(read.values);
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said.text, i == 0 ? "row 4 " : "row 1 "), said.text);
    }
    put_array(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", 70, zeros, sizeof zeros);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_variances_read(in_folder("a.npy"), &read, &said));
}

static void test_labels_of_all_widths_are_read(void)
{
    static const struct {
        const char *type;
        uint8_t bytes[16];
        size_t size;
        int32_t expected[2];
    } cases[] = {
        {"|i1", {0x80, 0x7F}, 2, {-128, 127}},
        {"|u1", {0x80, 0xFF}, 2, {128, 255}},
        {"<i2", {0x00, 0x80, 0xFE, 0xFF}, 4, {-32768, -2}},
        {"<u2", {0x00, 0x80, 0xFE, 0xFF}, 4, {32768, 65534}},
        {"<i4", {0x00, 0x00, 0x00, 0x80, 0xFF, 0xFF, 0xFF, 0x7F}, 8, {INT32_MIN, INT32_MAX}},
        {"<u4", {0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0x7F}, 8, {0, INT32_MAX}},
        {"<i8", {0, 0, 0, 0x80, 255, 255, 255, 255, 7}, 16, {INT32_MIN, 7}},
        {"<u8", {255, 255, 255, 0x7F, 0, 0, 0, 0, 9}, 16, {INT32_MAX, 9}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dictionary[80];
        struct pml_labels labels;
        snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }",
                 cases[i].type);
        put_array(1, dictionary, 118, cases[i].bytes, cases[i].size);
        TEST_ASSERT_EQUAL_MESSAGE(0, pml_labels_read(in_folder("a.npy"), &labels, &said), said.text);
        TEST_ASSERT_EQUAL_UINT64(2, labels.rows);
        TEST_ASSERT_EQUAL_INT32_ARRAY(cases[i].expected, labels.values, 2);
        pml_labels_free(&labels);
    }
}

static void test_other_labels_are_refused(void)
{
    static const struct {
        const char *type, *shape;
        uint8_t bytes[16];
        size_t size;
        const char *part;
    } cases[] = {
        {"|b1", "(2,)", {0, 1}, 2, "integers"},
        {"<f4", "(2,)", {0}, 8, "integers"},
        {"<i3", "(2,)", {0}, 6, "integers"},
        {"<U1", "(2,)", {0}, 8, "integers"},
        {">i4", "(2,)", {0}, 8, "little-endian"},
        {"<i4", "(2, 1)", {0}, 8, "ravel"},
        {"<i4", "(0,)", {0}, 0, "empty"},
        {"<i4", "(3,)", {0}, 8, "truncated"},
        {"<i4", "(1,)", {0}, 8, "longer"},
        {"<u4", "(2,)", {0, 0, 0, 0, 0, 0, 0, 0x80}, 8, "label of row 1 (counting from 0) does not fit"},
        {"<i8", "(2,)", {255, 255, 255, 0x7F, 255, 255, 255, 255}, 16, "label of row 0 (counting from 0) does not fit"},
        {"<i8", "(2,)", {0, 0, 0, 0, 0, 0, 0, 0x80}, 16, "label of row 0"},
        {"<u8", "(2,)", {255, 255, 255, 255, 255, 255, 255, 255}, 16, "label of row 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dictionary[80];
        struct pml_labels labels;
        snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", cases[i].type,
                 cases[i].shape);
        put_array(1, dictionary, 118, cases[i].bytes, cases[i].size);
        TEST_ASSERT_EQUAL(PML_REFUSED, pml_labels_read(in_folder("a.npy"), &labels, &said));
        TEST_ASSERT_NULL(labels.values);
        assert_said(cases[i].part);
    }
}

static void test_marks_of_any_type(void)
{
    static const struct {
        const char *type;
        uint8_t bytes[16];
        size_t size;
    } cases[] = {
        {"|b1", {1, 0}, 2},
        {"|i1", {1, 0}, 2},
        {"<u2", {1, 0, 0, 0}, 4},
        {"<i8", {1}, 16},
        {"<f4", {0, 0, 0x80, 0x3F}, 8},
    };
    static const uint8_t expected[2] = {1, 0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dictionary[80];
        struct pml_marks marks;
        snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 2), }",
                 cases[i].type);
        put_array(1, dictionary, 118, cases[i].bytes, cases[i].size);
        TEST_ASSERT_EQUAL_MESSAGE(0, pml_marks_read(in_folder("a.npy"), &marks, &said), said.text);
        TEST_ASSERT_TRUE(marks.rows == 1 && marks.columns == 2);
        TEST_ASSERT_EQUAL_MEMORY(expected, marks.values, 2);
        pml_marks_free(&marks);
    }
}

static void test_other_marks_are_refused(void)
{
    static const struct {
        const char *type, *shape;
        uint8_t bytes[16];
        size_t size;
        const char *part;
    } cases[] = {
        {"|u1", "(2, 1)", {1, 2}, 2, "row 1 (counting from 0)"},
        {"|b1", "(2, 1)", {2, 0}, 2, "row 0"},
        {"|i1", "(2, 1)", {0, 0xFF}, 2, "row 1"},
        {"<f4", "(2, 1)", {0, 0, 0, 0x3F}, 8, "row 0"},
        {"<f4", "(2, 1)", {0, 0, 0xC0, 0x7F}, 8, "row 0"},
        {"<f8", "(1, 1)", {0}, 8, "booleans"},
        {"|u1", "(2,)", {0}, 2, "dimensions"},
        {"|u1", "(0, 2)", {0}, 0, "needs a row"},
        {"|u1", "(1, 4097)", {0}, 2, "4096"},
        {"|u1", "(2, 2)", {0}, 3, "truncated"},
        {"|u1", "(1, 1)", {0}, 2, "longer"},
        {">i2", "(1, 1)", {0}, 2, "little-endian"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dictionary[80];
        struct pml_marks marks;
        snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", cases[i].type,
                 cases[i].shape);
        put_array(1, dictionary, 118, cases[i].bytes, cases[i].size);
        TEST_ASSERT_EQUAL(PML_REFUSED, pml_marks_read(in_folder("a.npy"), &marks, &said));
        TEST_ASSERT_NULL(marks.values);
        assert_said(cases[i].part);
    }
}

static void test_what_is_written_is_read(void)
{
    static const int32_t numbers[3] = {-5, 0, INT32_MAX};
    struct pml_features features;
    struct pml_labels labels;
    TEST_ASSERT_EQUAL(PML_DONE, pml_features_write(in_folder("f.npy"), six, 3, 2, &said));
    TEST_ASSERT_EQUAL(PML_DONE, pml_features_read(in_folder("f.npy"), &features, &said));
    TEST_ASSERT_EQUAL_UINT64(3, features.rows);
    TEST_ASSERT_EQUAL_MEMORY(six, features.values, sizeof six);
    TEST_ASSERT_EQUAL(PML_DONE, pml_labels_write(in_folder("l.npy"), numbers, 3, &said));
    TEST_ASSERT_EQUAL(PML_DONE, pml_labels_read(in_folder("l.npy"), &labels, &said));
    TEST_ASSERT_EQUAL_INT32_ARRAY(numbers, labels.values, 3);
    pml_features_free(&features);
    pml_labels_free(&labels);
    TEST_ASSERT_EQUAL_UINT64(2, empty_folder());
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_features_of_all_versions_are_read);
    RUN_TEST(test_features_of_other_shapes_and_types_are_refused);
    RUN_TEST(test_damaged_headers_are_refused);
    RUN_TEST(test_what_is_no_array_is_refused);
    RUN_TEST(test_what_has_more_bytes_than_addresses_is_no_memory);
    RUN_TEST(test_every_truncation_is_refused);
    RUN_TEST(test_rows_that_are_no_vectors_are_named);
    RUN_TEST(test_variances_are_read);
    RUN_TEST(test_labels_of_all_widths_are_read);
    RUN_TEST(test_other_labels_are_refused);
    RUN_TEST(test_marks_of_any_type);
    RUN_TEST(test_other_marks_are_refused);
    RUN_TEST(test_what_is_written_is_read);
    return UNITY_END();
}
