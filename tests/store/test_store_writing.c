/* SPDX-License-Identifier: Apache-2.0
 * Writing stores: one writer at a time, and neither its death nor a full disk harms what a pointer leads to. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700
#include "store_support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

void setUp(void)
{
    make_stores();
}

void tearDown(void)
{
    remove_stores();
}

/* ---- one writer ---- */

static void refuse_second(void)
{
    refuse_open("a", PML_STORE_WRITE, PML_REFUSED, "another privatemail index is writing");
}

static void test_a_second_writer_is_refused(void)
{
    struct pml_store *writer = open_writer("a");
    refuse_second();
    TEST_ASSERT_TRUE(run_apart(refuse_second, false)); /* and so is one of another process */
    close_store(open_reader("a"));                     /* readers are not */
    close_store(writer);
    close_store(open_writer("a"));
}

/* What was put without a pointer is in nobody's way. */
static void test_what_was_not_switched_to(void)
{
    struct manifest manifest;
    struct pml_pointer pointer;
    for (uint64_t generation = 1; generation <= 3; generation++) {
        struct pml_store *writer = open_writer("a");
        put_generation(writer, generation, &manifest, &pointer);
        if (generation != 2)
            switch_to(writer, &pointer);
        close_store(writer);
        struct pml_store *reader = open_reader("a");
        TEST_ASSERT_EQUAL_UINT64(generation == 2 ? 1 : generation, read_generation(reader));
        close_store(reader);
    }
}

/* Lets everybody into the folder, and read a store of SQLite and what is beside it: they are made for their owner. */
static void let_others_read(void)
{
    static const char *const files[] = {"a", "a-wal", "a-shm"};
    struct stat found;
    TEST_ASSERT_EQUAL(0, chmod(test_folder, 0755));
    for (size_t i = 0; i < 3 && kind == SQLITE; i++) {
        if (stat(in_folder(files[i]), &found) != 0)
            continue;
        TEST_ASSERT_EQUAL_HEX(0600, found.st_mode & 0777);
        TEST_ASSERT_EQUAL(0, chmod(in_folder(files[i]), 0644));
    }
}

/* ---- killed at any moment ---- */

static void read_without_permission(void)
{
    struct pml_store *reader = open_reader("a");
    struct pml_pointer pointer;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(reader, pack_id, &pointer));
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(reader, PML_PARTS, &pointer.version));
    if (kind == FOLDER) /* what is private is for the owner */
        TEST_ASSERT_EQUAL(PML_UNAVAILABLE, get_blob(reader, PML_PRIVATE, &pointer.record));
    close_store(reader);
}

/* Writes generation after generation, says when one is there, and takes away those before. Never returns. */
static void write_on(uint64_t generation, int told)
{
    struct manifest manifest, before = {0};
    struct pml_pointer pointer, old = {0};
    struct pml_store *writer = open_writer("a");
    for (;; generation++) {
        put_generation(writer, generation, &manifest, &pointer);
        switch_to(writer, &pointer);
        if (write(told, &generation, sizeof generation) != (ssize_t)sizeof generation)
            _exit(1);
        if (before.generation > 0 && (pml_store_remove(writer, PML_PARTS, before.names, LISTED, &said) != PML_DONE ||
                                      pml_store_remove(writer, PML_PARTS, &old.version, 1, &said) != PML_DONE))
            _exit(1);
        before = manifest, old = pointer;
    }
}

static pid_t start_writer(uint64_t generation, const int told[2])
{
    fflush(NULL);
    const pid_t child = fork();
    if (child != 0)
        return child;
    close(told[0]);
    if (TEST_PROTECT())
        write_on(generation, told[1]);
    _exit(1);
}

static void rest(uint64_t microseconds)
{
    const struct timespec moment = {.tv_nsec = (long)(1000 * microseconds)};
    nanosleep(&moment, NULL);
}

static void test_writers_that_are_killed(void)
{
    enum { ROUNDS = 100 };
    uint64_t state = 4, last = 0;
    (void)uri_of("a");
    for (size_t round = 0; round < ROUNDS || (last <= ROUNDS / 10 && round < 20 * ROUNDS); round++) { /* a slow disk */
        int told[2], status;
        uint64_t said_last = last, number;
        TEST_ASSERT_EQUAL(0, pipe(told));
        const pid_t child = start_writer(last + 1, told);
        close(told[1]);
        rest(500 + draw_below(&state, 60000));
        TEST_ASSERT_EQUAL(0, kill(child, SIGKILL));
        TEST_ASSERT_EQUAL(child, waitpid(child, &status, 0));
        TEST_ASSERT_TRUE(WIFSIGNALED(status)); /* it did not fail before */
        while (read(told[0], &number, sizeof number) == (ssize_t)sizeof number)
            said_last = number;
        close(told[0]);
        struct pml_store *reader = NULL;
        const pml_outcome outcome = pml_store_open(&reader, uri_of("a"), PML_STORE_READ, &said);
        if (outcome == PML_ABSENT) { /* killed before there was anything */
            TEST_ASSERT_EQUAL_UINT64(0, said_last);
            continue;
        }
        TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, outcome, said.text);
        const uint64_t found = read_generation(reader);
        TEST_ASSERT_TRUE(found >= said_last && found <= said_last + 1);
        last = found;
        close_store(reader);
    }
    TEST_ASSERT_TRUE(last > ROUNDS / 10);
    let_others_read();
    TEST_ASSERT_TRUE(kind == POSTGRES || run_apart(read_without_permission, true)); /* whatever the last one left */
    if (kind == FOLDER) { /* the next writer removes what they left */
        static char path[700];
        close_store(open_writer("a"));
        snprintf(path, sizeof path, "%s/new", in_folder("a"));
        TEST_ASSERT_EQUAL(0, rmdir(path));
    }
}

/* ---- full disks ---- */

/* Puts until it fails; the pointer stays, and nothing more is written by this writer. */
static void fill(struct pml_store *writer, const char *reason)
{
    struct pml_name name;
    struct pml_pointer pointer = {0};
    pml_outcome outcome = PML_DONE;
    for (uint64_t i = 0; i < 100 && outcome == PML_DONE; i++) {
        uint8_t *bytes = draw_blob(1000 + i, 1 << 20);
        outcome = pml_store_put(writer, PML_PARTS, bytes, 1 << 20, &name, &said);
        free(bytes);
        pointer.version = name;
        if (outcome == PML_DONE && i % 4 == 3)
            outcome = pml_store_switch(writer, (const uint8_t[PML_ID_SIZE]){1}, &pointer, &said);
    }
    TEST_ASSERT_TRUE(outcome != PML_DONE);
    assert_said("cannot be written");
    assert_said(reason);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_put(writer, PML_PARTS, "x", 1, &name, &said));
    assert_said("an earlier write to the store failed");
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_switch(writer, pack_id, &pointer, &said));
}

static void begin_first(const char *name)
{
    struct manifest manifest;
    struct pml_pointer pointer;
    struct pml_store *writer = open_writer(name);
    put_generation(writer, 1, &manifest, &pointer);
    switch_to(writer, &pointer);
    close_store(writer);
}

static void continue_after(const char *name)
{
    struct manifest manifest;
    struct pml_pointer pointer;
    struct pml_store *reader = open_reader(name);
    TEST_ASSERT_EQUAL_UINT64(1, read_generation(reader));
    struct pml_store *writer = open_writer(name);
    put_generation(writer, 2, &manifest, &pointer);
    switch_to(writer, &pointer);
    TEST_ASSERT_EQUAL_UINT64(2, read_generation(reader));
    close_store(writer);
    close_store(reader);
}

static void test_files_that_may_not_grow(void)
{
    struct rlimit before, small;
    if (kind == POSTGRES)
        return;
    begin_first("a");
    struct pml_store *writer = open_writer("a");
    TEST_ASSERT_EQUAL(0, getrlimit(RLIMIT_FSIZE, &before));
    small = before;
    small.rlim_cur = kind == SQLITE ? 3 << 20 : 1 << 19;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    TEST_ASSERT_EQUAL(0, setrlimit(RLIMIT_FSIZE, &small));
    fill(writer, "too large for this file system or your limits");
    TEST_ASSERT_EQUAL(0, setrlimit(RLIMIT_FSIZE, &before));
    signal(SIGXFSZ, handler);
    close_store(writer);
    continue_after("a");
}

/* A file system of its own, small enough to be filled. */
static int mount_disk(const char *disk, const char *size, bool again)
{
#if defined(__linux__)
    return mount("tmpfs", disk, "tmpfs", again ? MS_REMOUNT : 0, size);
#else
    (void)disk, (void)size, (void)again;
    return -1;
#endif
}

static int unmount_disk(const char *disk)
{
#if defined(__linux__)
    return umount(disk);
#else
    (void)disk;
    return -1;
#endif
}

static void test_full_disks(void)
{
    char disk[600];
    if (kind == POSTGRES)
        return;
    snprintf(disk, sizeof disk, "%s", in_folder("disk"));
    TEST_ASSERT_EQUAL(0, mkdir(disk, 0755));
    if (mount_disk(disk, "size=8m", false) != 0)
        TEST_IGNORE_MESSAGE("no file system can be mounted here");
    begin_first("disk/a");
    struct pml_store *writer = open_writer("disk/a");
    fill(writer, "free some space");
    close_store(writer);
    struct pml_store *reader = open_reader("disk/a"); /* the disk is still full */
    TEST_ASSERT_EQUAL_UINT64(1, read_generation(reader));
    close_store(reader);
    TEST_ASSERT_EQUAL(0, mount_disk(disk, "size=32m", true));
    continue_after("disk/a");
    TEST_ASSERT_EQUAL(0, unmount_disk(disk));
}

/* ---- permissions ---- */

static void write_without_permission(void)
{
    refuse_open("a", PML_STORE_WRITE, PML_REFUSED, "change its permissions");
    refuse_open("new", PML_STORE_WRITE, PML_REFUSED, "you may not write there");
}

static void refuse_copy(void)
{
    refuse_open("b", PML_STORE_READ, PML_REFUSED, "with a b-wal beside it those of its folder");
}

/* Those who may not write can read, also without any log that SQLite could use, and see what changes. */
static void test_permissions(void)
{
    struct manifest manifest;
    struct pml_pointer pointer;
    if (kind == POSTGRES)
        return;
    begin_first("a");
    let_others_read();
    TEST_ASSERT_TRUE(run_apart(write_without_permission, true));
    TEST_ASSERT_TRUE(run_apart(read_without_permission, true));
    struct pml_store *writer = open_writer("a");
    put_generation(writer, 2, &manifest, &pointer);
    switch_to(writer, &pointer);
    TEST_ASSERT_TRUE(run_apart(read_without_permission, true)); /* a writer is at work */
    if (kind == SQLITE) {                                       /* a copy whose log nobody has brought in */
        char command[1200];
        struct stat found;
        TEST_ASSERT_EQUAL(0, stat(in_folder("a-wal"), &found)); /* has the permissions that the store has now */
        TEST_ASSERT_EQUAL_HEX(0644, found.st_mode & 0777);
        TEST_ASSERT_EQUAL(0, stat(in_folder("a.lock"), &found));
        TEST_ASSERT_EQUAL_HEX(0600, found.st_mode & 0777);
        snprintf(command, sizeof command, "cd '%s' && cp a b && cp a-wal b-wal && chmod 644 b b-wal", test_folder);
        TEST_ASSERT_EQUAL(0, system(command));
        TEST_ASSERT_TRUE(run_apart(refuse_copy, true));
    }
    close_store(writer);
    refuse_open("no/a", PML_STORE_WRITE, PML_REFUSED, "the folder does not exist");
}

/* A reader that cannot write sees what another writes, although it must tell SQLite that nobody does. */
static int ready[2], go[2];

static void read_twice(void)
{
    struct pml_store *reader = open_reader("a");
    struct pml_pointer first, second;
    char byte = 1;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(reader, pack_id, &first));
    TEST_ASSERT_EQUAL(1, write(ready[1], &byte, 1));
    TEST_ASSERT_EQUAL(1, read(go[0], &byte, 1));
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(reader, pack_id, &second));
    TEST_ASSERT_FALSE(pml_name_same(&first.version, &second.version));
    TEST_ASSERT_EQUAL(PML_DONE, get_blob(reader, PML_PARTS, &second.version));
    close_store(reader);
}

static void test_readers_who_may_not_write_see_changes(void)
{
    struct manifest manifest;
    struct pml_pointer pointer;
    int status;
    char byte = 1;
    if (kind == POSTGRES)
        return;
    begin_first("a");
    let_others_read();
    TEST_ASSERT_TRUE(pipe(ready) == 0 && pipe(go) == 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        _exit(run_apart(read_twice, true) ? 0 : 1);
    TEST_ASSERT_EQUAL(1, read(ready[0], &byte, 1));
    struct pml_store *writer = open_writer("a");
    put_generation(writer, 2, &manifest, &pointer);
    switch_to(writer, &pointer);
    close_store(writer);
    TEST_ASSERT_EQUAL(1, write(go[1], &byte, 1));
    TEST_ASSERT_EQUAL(child, waitpid(child, &status, 0));
    TEST_ASSERT_EQUAL(0, status);
    for (size_t i = 0; i < 2; i++)
        close(ready[i]), close(go[i]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_KINDS(test_a_second_writer_is_refused, FOLDER);
    RUN_KINDS(test_what_was_not_switched_to, FOLDER);
    RUN_KINDS(test_writers_that_are_killed, FOLDER);
    RUN_KINDS(test_files_that_may_not_grow, FOLDER);
    RUN_KINDS(test_full_disks, FOLDER);
    RUN_KINDS(test_permissions, FOLDER);
    RUN_KINDS(test_readers_who_may_not_write_see_changes, FOLDER);
    return UNITY_END();
}
