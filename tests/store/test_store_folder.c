/* SPDX-License-Identifier: Apache-2.0
 * Folders that are not what was written: refused when opened, or failing when read, but never wrong. */
#define _XOPEN_SOURCE 700
#include "store_support.h"

void setUp(void)
{
    kind = FOLDER;
    make_stores();
}

void tearDown(void)
{
    remove_stores();
}

static char pointer_path[] = "a/gallery/ab02030405060708090a0b0c0d0e0f10";

static void test_pointers_that_we_did_not_write(void)
{
    size_t size, count = 0;
    struct pml_pointer pointer;
    make_store("a");
    uint8_t *good = file_bytes(pointer_path, &size);
    TEST_ASSERT_EQUAL(0, memcmp(good, "{\"pack\": \"ab02030405060708090a0b0c0d0e0f10\", \"version\": \"", 57));
    TEST_ASSERT_EQUAL(0, memcmp(good + size - 3, "\"}\n", 3));
    struct pml_store *reader = open_reader("a");
    uint8_t changed[600];
    for (size_t at = 0; at < size; at++) { /* every byte; digits of names alone may be others */
        memcpy(changed, good, size);
        changed[at] ^= 1;
        put_file(pointer_path, changed, size);
        const pml_outcome outcome = pml_store_pointer(reader, pack_id, &pointer);
        const bool digit = (at >= 57 && at < 57 + 64) || (at >= size - 3 - 64 && at < size - 3);
        TEST_ASSERT_TRUE(outcome == PML_DAMAGED || (outcome == PML_DONE && digit));
    }
    for (size_t kept = 0; kept < size; kept++) {
        put_file(pointer_path, good, kept);
        TEST_ASSERT_EQUAL(PML_DAMAGED, pml_store_pointer(reader, pack_id, &pointer));
    }
    memcpy(changed, good, size);
    changed[size] = ' ';
    put_file(pointer_path, changed, size + 1);
    TEST_ASSERT_EQUAL(PML_DAMAGED, pml_store_pointer(reader, pack_id, &pointer));
    uint8_t *large = draw_blob(1, 100000);
    put_file(pointer_path, large, 100000);
    TEST_ASSERT_EQUAL(PML_DAMAGED, pml_store_pointer(reader, pack_id, &pointer));
    TEST_ASSERT_EQUAL(PML_DAMAGED, pml_store_packs(reader, pass_pack, &count));
    put_file(pointer_path, good, size);
    put_file("a/gallery/index.html", good, size); /* files of others are passed over */
    put_file("a/part/index.html", good, size);
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_packs(reader, pass_pack, &count));
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_names(reader, PML_PARTS, pass_name, &count));
    TEST_ASSERT_EQUAL_UINT64(1 + GENERATIONS * (LISTED + 1), count);
    close_store(reader);
    free(large);
    free(good);
}

static void test_links_and_other_things(void)
{
    char digits[PML_NAME_DIGITS + 1], path[200], elsewhere[700];
    const struct pml_name name = pml_name_of("x", 1);
    struct pml_pointer pointer;
    make_store("a");
    put_file("x", "x", 1);
    struct pml_store *reader = open_reader("a");
    pml_name_write(&name, digits);
    snprintf(path, sizeof path, "a/part/%s", digits);
    snprintf(elsewhere, sizeof elsewhere, "%s", in_folder("x"));
    TEST_ASSERT_EQUAL(0, symlink(elsewhere, in_folder(path))); /* although the bytes would fit */
    TEST_ASSERT_EQUAL(PML_DAMAGED, get_blob(reader, PML_PARTS, &name));
    struct pml_store *writer = open_writer("a"); /* a writer puts a file in its place */
    struct pml_name put;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_put(writer, PML_PARTS, "x", 1, &put, &said));
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(writer, PML_PARTS, &name));
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(reader, PML_PARTS, &name));
    close_store(writer);
    TEST_ASSERT_EQUAL(0, unlink(in_folder(path)));
    TEST_ASSERT_EQUAL(0, mkfifo(in_folder(path), 0644)); /* nobody waits for it */
    TEST_ASSERT_EQUAL(PML_DAMAGED, get_blob(reader, PML_PARTS, &name));
    TEST_ASSERT_EQUAL(0, unlink(in_folder(path)));
    TEST_ASSERT_EQUAL(0, mkdir(in_folder(path), 0755));
    TEST_ASSERT_EQUAL(PML_DAMAGED, get_blob(reader, PML_PARTS, &name));
    TEST_ASSERT_EQUAL(0, rmdir(in_folder(path)));
    put_file(path, "", 0);
    TEST_ASSERT_EQUAL(0, truncate(in_folder(path), (off_t)PML_BLOB_MAX + 1)); /* nobody reads it */
    TEST_ASSERT_EQUAL(PML_DAMAGED, get_blob(reader, PML_PARTS, &name));
    TEST_ASSERT_EQUAL(0, unlink(in_folder(pointer_path)));
    TEST_ASSERT_EQUAL(0, symlink("/dev/zero", in_folder(pointer_path)));
    TEST_ASSERT_EQUAL(PML_DAMAGED, pml_store_pointer(reader, pack_id, &pointer));
    snprintf(elsewhere, sizeof elsewhere, "%s", in_folder("a/part"));
    TEST_ASSERT_EQUAL(0, rename(elsewhere, in_folder("part")));
    TEST_ASSERT_EQUAL(0, symlink("../part", in_folder("a/part")));
    TEST_ASSERT_EQUAL(PML_DAMAGED, get_blob(reader, PML_PARTS, &name));
    close_store(reader);
}

/* A file is written again when it differs, and only then. */
static void test_files_that_are_not_whole(void)
{
    char digits[PML_NAME_DIGITS + 1], path[200];
    struct stat before, after;
    uint8_t *longer = draw_blob(1, 101);
    struct pml_store *writer = open_writer("a");
    const struct pml_name name = put_blob(writer, PML_PARTS, 1, 100);
    pml_name_write(&name, digits);
    snprintf(path, sizeof path, "a/part/%s", digits);
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(writer, PML_PARTS, &name));
    TEST_ASSERT_EQUAL(0, stat(in_folder(path), &before));
    put_blob(writer, PML_PARTS, 1, 100);
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(writer, PML_PARTS, &name));
    TEST_ASSERT_EQUAL(0, stat(in_folder(path), &after));
    TEST_ASSERT_TRUE(before.st_ino == after.st_ino);
    for (size_t size = 0; size <= 101; size += size < 99 ? 99 : 2) {
        put_file(path, longer, size);
        put_blob(writer, PML_PARTS, 1, 100);
        TEST_ASSERT_EQUAL(PML_DONE, get_blob(writer, PML_PARTS, &name));
    }
    put_blob(writer, PML_PARTS, 2, 100); /* nothing leads there: it goes with its writer */
    close_store(writer);
    TEST_ASSERT_EQUAL(0, rmdir(in_folder("a/new")));
    free(longer);
}

static void test_folders_of_others(void)
{
    TEST_ASSERT_EQUAL(0, mkdir(in_folder("a"), 0755));
    refuse_open("a", PML_STORE_READ, PML_ABSENT, "is not a store");
    put_file("a/notes", "x", 1);
    refuse_open("a", PML_STORE_WRITE, PML_REFUSED, "is not a store, and not empty");
    TEST_ASSERT_EQUAL(0, unlink(in_folder("a/notes")));
    TEST_ASSERT_EQUAL(0, mkdir(in_folder("a/new"), 0755)); /* a writer was killed while it made the folders */
    put_file("a/new/file", "x", 1);
    make_store("a");
    put_file("a/index.html", "x", 1); /* a store may have other files too */
    make_store("a");
    put_file("b", "x", 1);
    refuse_open("b", PML_STORE_READ, PML_REFUSED, "is not a store");
    refuse_open("b", PML_STORE_WRITE, PML_REFUSED, "b");
    struct stat found;
    TEST_ASSERT_EQUAL(0, stat(in_folder("a/private"), &found));
    TEST_ASSERT_EQUAL_HEX(0700, found.st_mode & 0777);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_pointers_that_we_did_not_write);
    RUN_TEST(test_links_and_other_things);
    RUN_TEST(test_files_that_are_not_whole);
    RUN_TEST(test_folders_of_others);
    return UNITY_END();
}
