/* SPDX-License-Identifier: Apache-2.0
 * Whole files or none, also when the disk is full. */
#define _GNU_SOURCE /* mount */
#include "common/files.h"
#include "common/leftovers.h"
#include "common/system.h"
#include "server/server_support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/mount.h>
#endif

void setUp(void)
{
    make_folder();
}

void tearDown(void)
{
    remove_folder();
}

static void assert_content(const char *name, const char *text)
{
    uint8_t *bytes;
    size_t size;
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_file_read(in_folder(name), 1000, &bytes, &size, &said), said.text);
    TEST_ASSERT_EQUAL_UINT64(strlen(text), size);
    TEST_ASSERT_EQUAL_MEMORY(text, bytes, size);
    free(bytes);
}

static void test_a_file_is_written_replaced_and_read(void)
{
    TEST_ASSERT_EQUAL(PML_DONE, pml_file_write(in_folder("a"), "first", 5, 0, &said));
    assert_content("a", "first");
    TEST_ASSERT_EQUAL(PML_DONE, pml_file_write(in_folder("a"), "second", 6, 0, &said));
    assert_content("a", "second");
    TEST_ASSERT_EQUAL_UINT64(1, empty_folder());
}

static void test_an_exclusive_write_keeps_what_is_there(void)
{
    TEST_ASSERT_EQUAL(PML_DONE, pml_file_write(in_folder("a"), "first", 5, 1, &said));
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_file_write(in_folder("a"), "second", 6, 1, &said));
    assert_said("exists already");
    assert_content("a", "first");
    TEST_ASSERT_EQUAL_UINT64(1, empty_folder());
}

static void test_names_of_others_are_left_alone(void)
{
    char foreign[64];
    snprintf(foreign, sizeof foreign, "a.tmp-%ld", (long)getpid());
    put_file(foreign, "half", 4);
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_file_write(in_folder("a"), "whole", 5, 1, &said), said.text);
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_file_try(in_folder("a"), 100, &said), said.text);
    assert_content("a", "whole");
    assert_content(foreign, "half");
    TEST_ASSERT_EQUAL_UINT64(2, empty_folder());
    char *first = pml_file_beside("a"), *second = pml_file_beside("a");
    TEST_ASSERT_TRUE(first && second && strcmp(first, second) != 0);
    free(first);
    free(second);
}

static unsigned permissions(const char *name)
{
    struct stat found;
    TEST_ASSERT_EQUAL(0, stat(in_folder(name), &found));
    return found.st_mode & 0777;
}

static void test_permissions_do_not_widen(void)
{
    mode_t mask = umask(022);
    TEST_ASSERT_EQUAL(PML_DONE, pml_file_write(in_folder("a"), "x", 1, 0, &said));
    TEST_ASSERT_EQUAL(PML_DONE, pml_file_write(in_folder("b"), "x", 1, PML_FILE_PRIVATE, &said));
    TEST_ASSERT_EQUAL_HEX(0644, permissions("a"));
    TEST_ASSERT_EQUAL_HEX(0600, permissions("b"));
    static const mode_t modes[] = {0600, 0640, 0664, 0400, 0};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        TEST_ASSERT_EQUAL(0, chmod(in_folder("a"), modes[i]));
        TEST_ASSERT_EQUAL(PML_DONE, pml_file_write(in_folder("a"), "y", 1, i % 2 ? PML_FILE_PRIVATE : 0, &said));
        TEST_ASSERT_EQUAL_HEX(modes[i], permissions("a"));
    }
    umask(mask);
}

static void test_leftovers_go_when_asked(void)
{
    put_file("a", "x", 1);
    put_file("b", "x", 1);
    put_file("c", "x", 1);
    pml_leftover_set(PML_LEFTOVER_FILE, in_folder("a"));
    pml_leftover_set(PML_LEFTOVER_LOCK, in_folder("b"));
    pml_leftover_set(PML_LEFTOVER_LOCK, NULL);
    pml_leftovers_remove();
    TEST_ASSERT_EQUAL(PML_DONE,
                      pml_file_write(in_folder("a"), "whole", 5, 0, &said)); /* forgets its own when it is done */
    pml_leftovers_remove();
    assert_content("a", "whole");
    TEST_ASSERT_EQUAL_UINT64(3, empty_folder());
}

static void test_a_long_name_is_said(void)
{
    char name[251]; /* the name beside it is longer */
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_file_write(in_folder(name), "x", 1, 0, &said));
    assert_said("shorter name");
}

static void test_a_missing_or_closed_folder_is_said(void)
{
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_file_write(in_folder("no/such"), "x", 1, 0, &said));
    assert_said("make it first");
    TEST_ASSERT_EQUAL(0, mkdir(in_folder("sub"), 0700));
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_file_write(in_folder("sub"), "x", 1, 0, &said));
    assert_said("cannot be written");
    TEST_ASSERT_EQUAL(0, rmdir(in_folder("sub")));
    TEST_ASSERT_EQUAL_UINT64(0, empty_folder());
    /* Root may write everywhere, so it becomes somebody else for a moment. */
    const bool root = geteuid() == 0;
    TEST_ASSERT_EQUAL(0, chmod(test_folder, 0500));
    TEST_ASSERT_TRUE(!root || seteuid(65534) == 0);
    pml_outcome outcome = pml_file_write(in_folder("a"), "x", 1, 0, &said);
    TEST_ASSERT_TRUE(!root || seteuid(0) == 0);
    TEST_ASSERT_EQUAL(0, chmod(test_folder, 0700));
    TEST_ASSERT_EQUAL(PML_REFUSED, outcome);
    assert_said("you may not write there");
}

/* A write that fails halfway: the same path through the code as a full disk, and anybody may provoke it. */
static void test_a_write_that_fails_halfway_leaves_the_old_file(void)
{
    static uint8_t large[65536];
    struct rlimit before, small;
    put_file("a", "old", 3);
    TEST_ASSERT_EQUAL(0, getrlimit(RLIMIT_FSIZE, &before));
    small = before;
    small.rlim_cur = 10000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    TEST_ASSERT_EQUAL(0, setrlimit(RLIMIT_FSIZE, &small));
    pml_outcome outcome = pml_file_write(in_folder("a"), large, sizeof large, 0, &said);
    TEST_ASSERT_EQUAL(0, setrlimit(RLIMIT_FSIZE, &before));
    signal(SIGXFSZ, handler);
    TEST_ASSERT_EQUAL(PML_REFUSED, outcome);
    assert_said("too large");
    assert_content("a", "old");
    TEST_ASSERT_EQUAL_UINT64(1, empty_folder());
}

static void test_a_full_disk_leaves_the_old_file(void)
{
#if defined(__linux__)
    static uint8_t large[65536];
    if (mount("tmpfs", test_folder, "tmpfs", 0, "size=16k") != 0)
        TEST_IGNORE_MESSAGE("no right to mount a small disk");
    put_file("a", "old", 3);
    pml_outcome outcome = pml_file_write(in_folder("a"), large, sizeof large, 0, &said);
    int second = pml_file_write(in_folder("b"), large, sizeof large, 1, &said);
    uint8_t *bytes = NULL;
    size_t size;
    int old = pml_file_read(in_folder("a"), 1000, &bytes, &size, NULL);
    bool kept = old == 0 && size == 3 && memcmp(bytes, "old", 3) == 0;
    free(bytes);
    size_t files = empty_folder();
    TEST_ASSERT_EQUAL(0, umount(test_folder));
    TEST_ASSERT_EQUAL(PML_REFUSED, outcome);
    TEST_ASSERT_EQUAL(PML_REFUSED, second);
    assert_said("free some space");
    TEST_ASSERT_TRUE(kept);
    TEST_ASSERT_EQUAL_UINT64(1, files);
#else
    TEST_IGNORE_MESSAGE("only on Linux");
#endif
}

/* A pipe stands for a file whose disk has no flush: what is not on the disk must not count as written. */
static void test_what_is_no_folder_must_be_flushed(void)
{
    int ends[2];
    TEST_ASSERT_EQUAL(0, pipe(ends));
    TEST_ASSERT_EQUAL(EINVAL, pml_system_flush(ends[1]));
    close(ends[0]);
    close(ends[1]);
}

static void test_what_cannot_be_read_is_said(void)
{
    uint8_t *bytes;
    size_t size;
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_file_read(in_folder("a"), 10, &bytes, &size, &said));
    assert_said("cannot be opened");
    put_file("a", "12345678901", 11);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_file_read(in_folder("a"), 10, &bytes, &size, &said));
    assert_said("has 11 bytes, more than the 10");
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_file_read(test_folder, 10, &bytes, &size, &said));
    assert_said("is not a file");
    TEST_ASSERT_NULL(bytes);
    put_file("a", "", 0);
    TEST_ASSERT_EQUAL(PML_DONE, pml_file_read(in_folder("a"), 10, &bytes, &size, &said));
    TEST_ASSERT_EQUAL_UINT64(0, size);
    free(bytes);
}

/* What stands in a folder may have become a link or a pipe since it was looked at. */
static void test_files_of_a_folder_are_no_links(void)
{
    uint8_t *bytes;
    size_t size;
    int folder = open(test_folder, O_RDONLY | O_DIRECTORY);
    put_file("a", "12345", 5);
    TEST_ASSERT_EQUAL(PML_DONE, pml_file_read_in(folder, "a", "shown", 10, &bytes, &size, &said));
    TEST_ASSERT_EQUAL_UINT64(5, size);
    free(bytes);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_file_read_in(folder, "a", "shown", 4, &bytes, &size, &said));
    assert_said("shown: has 5 bytes");
    TEST_ASSERT_EQUAL(0, symlinkat("a", folder, "link"));
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_file_read_in(folder, "link", "shown", 10, &bytes, &size, &said));
    assert_said("shown: cannot be opened");
    TEST_ASSERT_NULL(bytes);
    TEST_ASSERT_EQUAL(0, mkfifoat(folder, "pipe", 0600));
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_file_read_in(folder, "pipe", "shown", 10, &bytes, &size, &said));
    assert_said("shown: is not a file");
    close(folder);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_file_is_written_replaced_and_read);
    RUN_TEST(test_an_exclusive_write_keeps_what_is_there);
    RUN_TEST(test_names_of_others_are_left_alone);
    RUN_TEST(test_permissions_do_not_widen);
    RUN_TEST(test_leftovers_go_when_asked);
    RUN_TEST(test_a_long_name_is_said);
    RUN_TEST(test_a_missing_or_closed_folder_is_said);
    RUN_TEST(test_a_write_that_fails_halfway_leaves_the_old_file);
    RUN_TEST(test_a_full_disk_leaves_the_old_file);
    RUN_TEST(test_what_is_no_folder_must_be_flushed);
    RUN_TEST(test_what_cannot_be_read_is_said);
    RUN_TEST(test_files_of_a_folder_are_no_links);
    return UNITY_END();
}
