/* SPDX-License-Identifier: Apache-2.0
 * What common/system.h promises, on whatever system this runs: it uses no other call of one. */
#include "common/files.h"
#include "common/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

static char folder_path[200];
static int folder;

/* A path in the folder of the test, which stays until the next call but one. */
static const char *in_folder(const char *name)
{
    static char paths[2][400];
    static unsigned turn;
    char *path = paths[turn++ % 2];
    snprintf(path, sizeof paths[0], "%s/%s", folder_path, name);
    return path;
}

void setUp(void)
{
    snprintf(folder_path, sizeof folder_path, "test_system.%012llx", (unsigned long long)(pml_system_seed() >> 16));
    TEST_ASSERT_EQUAL(0, pml_system_make_folder(PML_HERE, folder_path, false));
    TEST_ASSERT_EQUAL(0, pml_system_open_folder(PML_HERE, folder_path, false, &folder));
}

void tearDown(void)
{
    struct pml_found found;
    pml_system_close(folder);
    pml_system_remove_folder(folder_path);
    TEST_ASSERT_EQUAL(ENOENT, pml_system_look(PML_HERE, folder_path, false, &found));
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    int file;
    TEST_ASSERT_EQUAL(0, pml_system_create(folder, name, false, NULL, &file));
    TEST_ASSERT_EQUAL(0, pml_system_write(file, bytes, size));
    TEST_ASSERT_EQUAL(0, pml_system_flush(file));
    TEST_ASSERT_EQUAL(0, pml_system_close(file));
}

static void expect_file(const char *name, const void *bytes, size_t size)
{
    char found[64];
    size_t got;
    int file;
    TEST_ASSERT_EQUAL(0, pml_system_open(folder, name, false, &file));
    TEST_ASSERT_EQUAL(0, pml_system_read(file, found, sizeof found, &got));
    TEST_ASSERT_EQUAL(0, pml_system_close(file));
    TEST_ASSERT_EQUAL(size, got);
    TEST_ASSERT_EQUAL_MEMORY(bytes, found, size);
}

/* ---- tests ---- */

/* Streams of text would change these on Windows, or end there. */
static void test_bytes_stay_what_they_are(void)
{
    static const char bytes[] = "a\nb\r\nc\x1a"
                                "d\0e\n";
    write_file("bytes", bytes, sizeof bytes);
    expect_file("bytes", bytes, sizeof bytes);
}

static void test_names_are_utf_8(void)
{
    static const char name[] = "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x93\xb7";
    struct pml_found found;
    write_file(name, "x", 1);
    TEST_ASSERT_EQUAL(0, pml_system_look(PML_HERE, in_folder(name), false, &found));
    TEST_ASSERT_EQUAL(PML_KIND_FILE, found.kind);
    TEST_ASSERT_EQUAL(1, found.size);
    TEST_ASSERT_EQUAL_STRING(name, pml_system_last_name(in_folder(name)));
}

/* Two names of a file that is not there yet would have two locks. */
static void test_what_is_dropped_from_names_is_refused(void)
{
    static const char *const names[] = {"there.", "there ", "there. .", "..."};
    struct pml_message said = {""};
    struct pml_found found;
    int file;
    write_file("there", "x", 1);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const int error = pml_system_create(PML_HERE, in_folder(names[i]), false, NULL, &file);
        TEST_ASSERT_EQUAL(pml_system_spells_names_in_many_ways ? EINVAL : 0, error);
        TEST_ASSERT_EQUAL(error == 0 ? PML_DONE : PML_REFUSED, pml_file_try(in_folder(names[i]), 1, &said));
        if (error == 0)
            pml_system_close(file);
        TEST_ASSERT_EQUAL(error, pml_system_look(PML_HERE, in_folder(names[i]), false, &found));
    }
    TEST_ASSERT_EQUAL(0, pml_system_look(PML_HERE, in_folder("."), false, &found));
    TEST_ASSERT_EQUAL(0, pml_system_look(PML_HERE, in_folder(".."), false, &found));
}

static void test_what_exists_is_not_made(void)
{
    int file;
    write_file("there", "old", 3);
    TEST_ASSERT_EQUAL(EEXIST, pml_system_create(folder, "there", false, NULL, &file));
    TEST_ASSERT_EQUAL(EEXIST, pml_system_make_folder(folder, "there", false));
    TEST_ASSERT_NOT_EQUAL(0, pml_system_open_folder(folder, "there", false, &file));
    TEST_ASSERT_EQUAL(ENOENT, pml_system_open(folder, "absent", false, &file));
    TEST_ASSERT_EQUAL(ENOENT, pml_system_remove(folder, "absent"));
    TEST_ASSERT_EQUAL(ENOENT, pml_system_create(PML_HERE, in_folder("absent/file"), false, NULL, &file));
    expect_file("there", "old", 3);
}

/* Who reads a file while it is removed reads it to its end. */
static void test_renaming_replaces(void)
{
    char found[8];
    size_t got;
    int reader, inner;
    write_file("file", "old", 3);
    write_file("fresh", "new", 3);
    TEST_ASSERT_EQUAL(0, pml_system_make_folder(folder, "inner", true));
    TEST_ASSERT_EQUAL(0, pml_system_open_folder(folder, "inner", false, &inner));
    TEST_ASSERT_EQUAL(0, pml_system_rename(folder, "fresh", folder, "file"));
    expect_file("file", "new", 3);
    TEST_ASSERT_EQUAL(0, pml_system_rename(folder, "file", inner, "file"));
    TEST_ASSERT_FALSE(pml_system_exists(in_folder("file")));
    TEST_ASSERT_EQUAL(0, pml_system_open(inner, "file", false, &reader));
    TEST_ASSERT_EQUAL(0, pml_system_remove(inner, "file"));
    TEST_ASSERT_EQUAL(0, pml_system_read(reader, found, sizeof found, &got));
    TEST_ASSERT_EQUAL(3, got);
    TEST_ASSERT_EQUAL_MEMORY("new", found, 3);
    pml_system_close(reader);
    pml_system_close(inner);
}

static void test_commits(void)
{
    char from[400];
    write_file("first", "1", 1);
    write_file("second", "2", 1);
    snprintf(from, sizeof from, "%s", in_folder("second"));
    TEST_ASSERT_EQUAL(EEXIST, pml_system_commit(from, in_folder("first"), true));
    expect_file("first", "1", 1);
    expect_file("second", "2", 1);
    TEST_ASSERT_EQUAL(0, pml_system_commit(from, in_folder("first"), false));
    expect_file("first", "2", 1);
    TEST_ASSERT_EQUAL(0, pml_system_commit(in_folder("first"), in_folder("third"), true));
    expect_file("third", "2", 1);
    TEST_ASSERT_FALSE(pml_system_exists(from));
    TEST_ASSERT_EQUAL(0, pml_system_make_folder(folder, "folder", false));
    TEST_ASSERT_NOT_EQUAL(0, pml_system_commit(in_folder("third"), in_folder("folder"), false));
    expect_file("third", "2", 1);
}

static void test_one_has_the_lock(void)
{
    int first, second;
    TEST_ASSERT_EQUAL(0, pml_system_open_lock(folder, "lock", &first));
    TEST_ASSERT_EQUAL(0, pml_system_open_lock(folder, "lock", &second));
    TEST_ASSERT_EQUAL(0, pml_system_lock(first, PML_LOCK_OF_FILE, false));
    TEST_ASSERT_EQUAL(EWOULDBLOCK, pml_system_lock(second, PML_LOCK_OF_FILE, false));
    pml_system_close(first);
    TEST_ASSERT_EQUAL(0, pml_system_lock(second, PML_LOCK_OF_FILE, true));
    TEST_ASSERT_EQUAL(0, pml_system_remove(folder, "lock")); /* while it is held */
    pml_system_close(second);
}

static void test_files_are_told_apart(void)
{
    struct pml_found first, second, opened;
    int file;
    write_file("first", "1", 1);
    write_file("second", "2", 1);
    TEST_ASSERT_EQUAL(0, pml_system_look(folder, "first", false, &first));
    TEST_ASSERT_EQUAL(0, pml_system_look(PML_HERE, in_folder("second"), true, &second));
    TEST_ASSERT_EQUAL(0, pml_system_open(folder, "first", false, &file));
    TEST_ASSERT_EQUAL(0, pml_system_look_open(file, &opened));
    pml_system_close(file);
    TEST_ASSERT_TRUE(pml_found_same(&first, &opened));
    TEST_ASSERT_FALSE(pml_found_same(&first, &second));
    TEST_ASSERT_EQUAL(1, first.names);
    TEST_ASSERT_TRUE(first.changed_seconds > 1600000000); /* 2020 */
    TEST_ASSERT_EQUAL(0, pml_system_look(PML_HERE, folder_path, false, &opened));
    TEST_ASSERT_EQUAL(PML_KIND_FOLDER, opened.kind);
    char *left = pml_system_real_path(folder_path), *right = pml_system_real_path(in_folder("."));
    TEST_ASSERT_NOT_NULL(left);
    TEST_ASSERT_EQUAL_STRING(left, right);
    TEST_ASSERT_TRUE(pml_system_is_absolute(left));
    TEST_ASSERT_EQUAL(0, pml_system_may_write(left));
    free(left);
    free(right);
}

struct seen {
    unsigned count, stop;
};

static int count_names(void *context, const char *name)
{
    struct seen *seen = context;
    TEST_ASSERT_TRUE(strcmp(name, "a") == 0 || strcmp(name, "b") == 0 || strcmp(name, "c") == 0);
    return ++seen->count == seen->stop ? 1234 : 0;
}

static void test_lists(void)
{
    struct seen all = {0, 0}, some = {0, 2};
    TEST_ASSERT_EQUAL(0, pml_system_list(folder, count_names, &all));
    TEST_ASSERT_EQUAL(0, all.count);
    write_file("a", "", 0);
    write_file("b", "", 0);
    TEST_ASSERT_EQUAL(0, pml_system_make_folder(folder, "c", false));
    TEST_ASSERT_EQUAL(0, pml_system_list(folder, count_names, &all));
    TEST_ASSERT_EQUAL(3, all.count);
    TEST_ASSERT_EQUAL(1234, pml_system_list(folder, count_names, &some));
    TEST_ASSERT_EQUAL(2, some.count);
}

static int find_the_folder(void *context, const char *name)
{
    *(bool *)context |= strcmp(name, folder_path) == 0;
    return 0;
}

static void test_the_working_folder_has_a_list(void)
{
    bool found = false;
    TEST_ASSERT_EQUAL(0, pml_system_list(PML_HERE, find_the_folder, &found));
    TEST_ASSERT_TRUE(found);
}

static void test_folders_move_to_empty_places(void)
{
    int file;
    TEST_ASSERT_EQUAL(0, pml_system_make_folder(folder, "from", false));
    TEST_ASSERT_EQUAL(0, pml_system_make_folder(folder, "to", false));
    TEST_ASSERT_EQUAL(0, pml_system_create(PML_HERE, in_folder("from/file"), true, NULL, &file));
    pml_system_close(file);
    TEST_ASSERT_EQUAL(0, pml_system_move_folder(in_folder("from"), in_folder("to")));
    TEST_ASSERT_TRUE(pml_system_exists(in_folder("to/file")));
    TEST_ASSERT_FALSE(pml_system_exists(in_folder("from")));
    TEST_ASSERT_EQUAL(0, pml_system_make_folder(folder, "from", false));
    TEST_ASSERT_NOT_EQUAL(0, pml_system_move_folder(in_folder("from"), in_folder("to")));
    TEST_ASSERT_TRUE(pml_system_exists(in_folder("to/file")));
}

static void test_memory_is_aligned(void)
{
    for (size_t size = 0; size < 300; size += 37) {
        void *memory = pml_system_allocate(64, size);
        TEST_ASSERT_NOT_NULL(memory);
        TEST_ASSERT_EQUAL(0, (uintptr_t)memory % 64);
        memset(memory, 1, size);
        pml_system_free(memory);
    }
    pml_system_free(NULL);
    TEST_ASSERT_NULL(pml_system_allocate(64, SIZE_MAX));
    TEST_ASSERT_NULL(pml_system_allocate(64, SIZE_MAX - 63));
    TEST_ASSERT_TRUE(pml_system_processors() >= 1);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_bytes_stay_what_they_are);
    RUN_TEST(test_names_are_utf_8);
    RUN_TEST(test_what_is_dropped_from_names_is_refused);
    RUN_TEST(test_what_exists_is_not_made);
    RUN_TEST(test_renaming_replaces);
    RUN_TEST(test_commits);
    RUN_TEST(test_one_has_the_lock);
    RUN_TEST(test_files_are_told_apart);
    RUN_TEST(test_lists);
    RUN_TEST(test_the_working_folder_has_a_list);
    RUN_TEST(test_folders_move_to_empty_places);
    RUN_TEST(test_memory_is_aligned);
    return UNITY_END();
}
