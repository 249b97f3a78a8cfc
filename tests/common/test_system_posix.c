/* SPDX-License-Identifier: Apache-2.0
 * What common/system.h promises and test_system.c cannot make on every system: links, pipes, permissions, locks of several
 * processes, and a file that takes the place of one that is read. */
#define _XOPEN_SOURCE 700
#include "common/system.h"
#include "server/server_support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int folder;

void setUp(void)
{
    make_folder();
    TEST_ASSERT_EQUAL(0, pml_system_open_folder(PML_HERE, test_folder, false, &folder));
}

void tearDown(void)
{
    pml_system_close(folder);
    pml_system_remove_folder(test_folder);
}

static enum pml_kind kind_of(const char *name, bool follow)
{
    struct pml_found found;
    TEST_ASSERT_EQUAL(0, pml_system_look(folder, name, follow, &found));
    return found.kind;
}

static void test_links_are_followed_only_when_asked(void)
{
    struct pml_found found;
    int file;
    put_file("file", "x", 1);
    TEST_ASSERT_EQUAL(0, mkdirat(folder, "inner", 0700));
    TEST_ASSERT_EQUAL(0, symlinkat("file", folder, "to file"));
    TEST_ASSERT_EQUAL(0, symlinkat("inner", folder, "to inner"));
    TEST_ASSERT_EQUAL(0, symlinkat("absent", folder, "to nothing"));
    TEST_ASSERT_EQUAL(PML_KIND_LINK, kind_of("to file", false));
    TEST_ASSERT_EQUAL(PML_KIND_FILE, kind_of("to file", true));
    TEST_ASSERT_EQUAL(PML_KIND_FOLDER, kind_of("to inner", true));
    TEST_ASSERT_EQUAL(PML_KIND_LINK, kind_of("to nothing", false));
    TEST_ASSERT_EQUAL(ENOENT, pml_system_look(folder, "to nothing", true, &found));
    TEST_ASSERT_TRUE(pml_system_exists(in_folder("to file")));
    TEST_ASSERT_FALSE(pml_system_exists(in_folder("to nothing")));
    TEST_ASSERT_EQUAL(ELOOP, pml_system_open(folder, "to file", false, &file));
    TEST_ASSERT_EQUAL(0, pml_system_open(folder, "to file", true, &file));
    pml_system_close(file);
    const int error = pml_system_open_folder(folder, "to inner", false, &file);
    TEST_ASSERT_TRUE(error == ELOOP || error == ENOTDIR);
    TEST_ASSERT_EQUAL(0, pml_system_open_folder(folder, "to inner", true, &file));
    pml_system_close(file);
}

static void test_nothing_is_made_through_a_link(void)
{
    int file;
    TEST_ASSERT_EQUAL(0, symlinkat("fresh", folder, "link"));
    TEST_ASSERT_EQUAL(EEXIST, pml_system_create(folder, "link", false, NULL, &file));
    TEST_ASSERT_EQUAL(ELOOP, pml_system_open_lock(folder, "link", &file));
    TEST_ASSERT_FALSE(pml_system_exists(in_folder("fresh")));
}

static void test_a_folder_goes_without_what_its_links_lead_to(void)
{
    TEST_ASSERT_EQUAL(0, mkdirat(folder, "kept", 0700));
    put_file("kept/file", "x", 1);
    TEST_ASSERT_EQUAL(0, mkdirat(folder, "gone", 0700));
    TEST_ASSERT_EQUAL(0, symlinkat("../kept", folder, "gone/link"));
    pml_system_remove_folder(in_folder("gone"));
    TEST_ASSERT_FALSE(pml_system_exists(in_folder("gone")));
    TEST_ASSERT_TRUE(pml_system_exists(in_folder("kept/file")));
}

static void test_a_folder_does_not_take_the_place_of_a_link_or_a_file(void)
{
    char from[512];
    TEST_ASSERT_EQUAL(0, mkdirat(folder, "from", 0700));
    TEST_ASSERT_EQUAL(0, mkdirat(folder, "to", 0700));
    TEST_ASSERT_EQUAL(0, symlinkat("to", folder, "link"));
    put_file("file", "x", 1);
    snprintf(from, sizeof from, "%s", in_folder("from"));
    TEST_ASSERT_NOT_EQUAL(0, pml_system_move_folder(from, in_folder("link")));
    TEST_ASSERT_NOT_EQUAL(0, pml_system_move_folder(from, in_folder("file")));
    TEST_ASSERT_EQUAL(PML_KIND_LINK, kind_of("link", false));
    TEST_ASSERT_EQUAL(PML_KIND_FILE, kind_of("file", false));
}

/* It would wait for somebody who writes into it. */
static void test_a_pipe_does_not_make_us_wait(void)
{
    struct pml_found found;
    int file;
    TEST_ASSERT_EQUAL(0, mkfifoat(folder, "pipe", 0600));
    TEST_ASSERT_EQUAL(0, pml_system_open(folder, "pipe", false, &file));
    TEST_ASSERT_EQUAL(0, pml_system_look_open(file, &found));
    TEST_ASSERT_EQUAL(PML_KIND_OTHER, found.kind);
    pml_system_close(file);
}

static unsigned made_with(bool hidden, const char *like)
{
    struct stat found;
    int file;
    TEST_ASSERT_EQUAL(0, pml_system_create(folder, "made", hidden, like, &file));
    TEST_ASSERT_EQUAL(0, fstat(file, &found));
    pml_system_close(file);
    TEST_ASSERT_EQUAL(0, pml_system_remove(folder, "made"));
    return found.st_mode & 0777;
}

static void do_nothing(void)
{
}

static void test_a_pipe_that_nobody_reads_is_an_error_and_ends_nothing(void)
{
    int ends[2], status;
    TEST_ASSERT_EQUAL(0, pipe(ends));
    close(ends[0]);
    const pid_t child = fork();
    if (child == 0) {
        pml_system_on_interrupt(do_nothing);
        _exit(pml_system_write(ends[1], "x", 1) == EPIPE ? 0 : 1);
    }
    close(ends[1]);
    TEST_ASSERT_EQUAL(child, waitpid(child, &status, 0));
    TEST_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Who is not root belongs to few groups: the file then has the group it has, and no permissions for it. */
static void test_the_group_is_taken_over_or_may_do_nothing(void)
{
    struct stat found;
    int file;
    put_file("like", "x", 1);
    if (geteuid() != 0)
        TEST_IGNORE_MESSAGE("only root may give a file to another group");
    TEST_ASSERT_EQUAL(0, fchownat(folder, "like", (uid_t)-1, 1234, 0));
    TEST_ASSERT_EQUAL(0, fchmodat(folder, "like", 0640, 0));
    TEST_ASSERT_EQUAL(0, pml_system_create(folder, "made", false, in_folder("like"), &file));
    TEST_ASSERT_EQUAL(0, fstat(file, &found));
    pml_system_close(file);
    TEST_ASSERT_EQUAL(1234, found.st_gid);
    TEST_ASSERT_EQUAL_HEX(0640, found.st_mode & 0777);
}

static void test_permissions(void)
{
    struct stat found;
    int lock;
    const mode_t mask = umask(022);
    put_file("like", "x", 1);
    TEST_ASSERT_EQUAL(0, symlinkat("like", folder, "link"));
    TEST_ASSERT_EQUAL(0, fchmodat(folder, "like", 0664, 0));
    TEST_ASSERT_EQUAL_HEX(0644, made_with(false, NULL));
    TEST_ASSERT_EQUAL_HEX(0600, made_with(true, NULL));
    TEST_ASSERT_EQUAL_HEX(0664, made_with(true, in_folder("like")));
    TEST_ASSERT_EQUAL_HEX(0600, made_with(true, in_folder("link"))); /* which is no plain file */
    TEST_ASSERT_EQUAL_HEX(0600, made_with(true, in_folder("absent")));
    TEST_ASSERT_EQUAL(0, pml_system_make_folder(folder, "open", false));
    TEST_ASSERT_EQUAL(0, pml_system_make_folder(folder, "hidden", true));
    TEST_ASSERT_EQUAL(0, pml_system_open_lock(folder, "lock", &lock));
    pml_system_close(lock);
    static const struct {
        const char *name;
        unsigned mode;
    } made[] = {{"open", 0755}, {"hidden", 0700}, {"lock", 0600}};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        TEST_ASSERT_EQUAL(0, fstatat(folder, made[i].name, &found, 0));
        TEST_ASSERT_EQUAL_HEX_MESSAGE(made[i].mode, found.st_mode & 0777, made[i].name);
    }
    umask(mask);
}

static void test_who_reads_a_file_that_is_replaced_reads_the_old_one(void)
{
    char bytes[8], fresh[512];
    size_t got;
    int reader;
    put_file("file", "old", 3);
    put_file("fresh", "newer", 5);
    snprintf(fresh, sizeof fresh, "%s", in_folder("fresh"));
    TEST_ASSERT_EQUAL(0, pml_system_open(folder, "file", false, &reader));
    TEST_ASSERT_EQUAL(0, pml_system_commit(fresh, in_folder("file"), false));
    TEST_ASSERT_EQUAL(0, pml_system_read(reader, bytes, 2, &got)); /* no more than was asked for */
    TEST_ASSERT_EQUAL(2, got);
    TEST_ASSERT_EQUAL(0, pml_system_read(reader, bytes + 2, sizeof bytes - 2, &got));
    TEST_ASSERT_EQUAL(1, got);
    TEST_ASSERT_EQUAL_MEMORY("old", bytes, 3);
    pml_system_close(reader);
}

/* Another process that tries to take the lock: 0 or an errno. */
static int taken_elsewhere(enum pml_lock kind)
{
    int file, status = 0;
    const pid_t child = fork();
    if (child == 0) {
        const int error = pml_system_open_lock(folder, "lock", &file);
        _exit(error != 0 ? error : pml_system_lock(file, kind, false));
    }
    TEST_ASSERT_TRUE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_another_process_finds_the_lock(void)
{
    for (enum pml_lock kind = PML_LOCK_OF_FILE; kind <= PML_LOCK_OF_PROCESS; kind++) {
        int file;
        TEST_ASSERT_EQUAL(0, pml_system_open_lock(folder, "lock", &file));
        TEST_ASSERT_EQUAL(0, taken_elsewhere(kind));
        TEST_ASSERT_EQUAL(0, pml_system_lock(file, kind, false)); /* that process has ended */
        TEST_ASSERT_EQUAL(EWOULDBLOCK, taken_elsewhere(kind));
        pml_system_close(file);
        TEST_ASSERT_EQUAL(0, taken_elsewhere(kind));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_links_are_followed_only_when_asked);
    RUN_TEST(test_nothing_is_made_through_a_link);
    RUN_TEST(test_a_folder_goes_without_what_its_links_lead_to);
    RUN_TEST(test_a_folder_does_not_take_the_place_of_a_link_or_a_file);
    RUN_TEST(test_a_pipe_does_not_make_us_wait);
    RUN_TEST(test_a_pipe_that_nobody_reads_is_an_error_and_ends_nothing);
    RUN_TEST(test_the_group_is_taken_over_or_may_do_nothing);
    RUN_TEST(test_permissions);
    RUN_TEST(test_who_reads_a_file_that_is_replaced_reads_the_old_one);
    RUN_TEST(test_another_process_finds_the_lock);
    return UNITY_END();
}
