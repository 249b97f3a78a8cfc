/* SPDX-License-Identifier: Apache-2.0
 * Stores: how they are written, and that work goes on after a crash as if nothing had been. */
#define _XOPEN_SOURCE 700
#include "store_support.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>

void setUp(void)
{
    make_stores();
}

void tearDown(void)
{
    remove_stores();
}

static void assert_no_store(const char *name)
{
    struct pml_store *store;
    TEST_ASSERT_TRUE(pml_store_open(&store, uri_of(name), NULL, &said) != 0);
    TEST_ASSERT_NULL(store);
}

/* ---- writing ---- */

static void test_stores_are_replaced_only_when_asked(void)
{
    struct pml_store_writer *writer;
    uint64_t done;
    make_store("a");
    TEST_ASSERT_EQUAL(PML_REFUSED,
                      pml_store_begin(&writer, uri_of("a"), &gallery_info, gallery_source, false, &done, &said));
    assert_said("add --force to replace it");
    writer = begin_store("a", true, 0);
    add_items(writer, 0, GALLERY);
    struct pml_store *store = open_store("a"); /* the old one is there until the new one is complete */
    finish_store(writer);
    struct pml_fragment expected = expected_cell(2, 1), old = {0};
    TEST_ASSERT_EQUAL(PML_DONE, read_cell(store, 2, 1, &old)); /* and for its readers longer */
    TEST_ASSERT_TRUE(same_fragment(&expected, &old));
    pml_store_close(store);
    pml_bytes_free(&expected.bytes);
    pml_bytes_free(&old.bytes);
    pml_store_close(open_store("a"));
    writer = begin_store("a", true, 0);
    add_items(writer, 0, GALLERY);
    finish_store(writer); /* nobody reads the two before */
    assert_stores("a", 1);
}

static void test_only_stores_are_replaced(void)
{
    struct pml_store_writer *writer;
    struct stat found;
    uint64_t done;
    make_store("a");
    TEST_ASSERT_EQUAL(0, chmod(in_folder("a"), 0640));
    writer = begin_store("a", true, 0);
    add_items(writer, 0, GALLERY);
    finish_store(writer);
    TEST_ASSERT_EQUAL(0, stat(in_folder("a"), &found));
    TEST_ASSERT_EQUAL_HEX(0640, found.st_mode & 0777);
    TEST_ASSERT_EQUAL_UINT64(1, empty_folder());

    static const char other[] = "something else, longer than the 72 bytes in which an application's id would be found";
    put_file("a", other, strlen(other));
    TEST_ASSERT_EQUAL(PML_REFUSED,
                      pml_store_begin(&writer, uri_of("a"), &gallery_info, gallery_source, true, &done, &said));
    assert_said("is not a store, so it is not replaced");
    TEST_ASSERT_EQUAL(0, symlink("a", in_folder("link")));
    TEST_ASSERT_EQUAL(PML_REFUSED,
                      pml_store_begin(&writer, uri_of("link"), &gallery_info, gallery_source, true, &done, &said));
    assert_said("not a plain file");
    TEST_ASSERT_EQUAL(PML_REFUSED,
                      pml_store_begin(&writer, uri_of("no/a"), &gallery_info, gallery_source, true, &done, &said));
    assert_said("make it first");
    TEST_ASSERT_EQUAL_UINT64(2, empty_folder());
}

/* A store that appears while another one is made is not replaced unasked. */
static void test_who_comes_second_does_not_replace(void)
{
    struct pml_store_writer *writer = begin_store("a", false, 0);
    add_items(writer, 0, GALLERY);
    put_file("a", "x", 1);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_finish(writer, &said));
    assert_said("exists already");
    TEST_ASSERT_EQUAL(0, unlink(in_folder("a")));
    finish_store(begin_store("a", false, GALLERY)); /* nothing is lost */
    TEST_ASSERT_EQUAL_UINT64(1, empty_folder());
}

static void test_foreign_files_are_not_built_in(void)
{
    struct pml_store_writer *writer;
    uint64_t done;
    static const char notes[] = "not a database, but longer than the 100 bytes of the head that every one of them has, "
                                "and so it is looked at";
    put_file("a.building", notes, strlen(notes));
    TEST_ASSERT_EQUAL(PML_REFUSED,
                      pml_store_begin(&writer, uri_of("a"), &gallery_info, gallery_source, true, &done, &said));
    assert_said("remove it");
    TEST_ASSERT_EQUAL_UINT64(1, empty_folder());
    TEST_ASSERT_EQUAL(0, symlink("elsewhere", in_folder("a.building")));
    TEST_ASSERT_EQUAL(PML_REFUSED,
                      pml_store_begin(&writer, uri_of("a"), &gallery_info, gallery_source, true, &done, &said));
    assert_said("is not a plain file");
    TEST_ASSERT_EQUAL_UINT64(1, empty_folder());
}

static void test_items_that_do_not_fit_are_refused(void)
{
    struct drawn drawn;
    struct pml_store_writer *writer = begin_store("a", false, 0);
    for (int fault = 0; fault < 9; fault++) {
        draw_item(5, &drawn);
        struct pml_store_item item = drawn.item;
        switch (fault) {
        case 0:
            item.candidate.item = (uint64_t)INT64_MAX + 1;
            break;
        case 1:
            item.candidate.sketch_size--;
            break;
        case 2:
            item.candidate.payload_size = PML_PAYLOAD_MAX + 1;
            break;
        case 3:
            item.slot = PML_SLOTS_MAX;
            break;
        case 4:
            item.cells = NULL;
            break;
        case 8:
            item.cell_count = 1;
            break;
        case 5:
            item.place = NULL;
            break;
        case 6:
            drawn.place[2] = NAN;
            break;
        default:
            drawn.place[0] = -INFINITY;
            break;
        }
        TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_add(writer, &item, &said));
        assert_said("does not fit the store");
    }
    add_items(writer, 0, 10);
    draw_item(7, &drawn);
    int status = pml_store_add(writer, &drawn.item, &said);
    TEST_ASSERT_EQUAL(PML_REFUSED, status == 0 ? pml_store_checkpoint(writer, &said) : status);
    assert_said("appears twice");
    pml_store_abandon(writer);
}

/* An answer has room for 2^20 candidates of a slot; a store that would need more is not made. */
static void test_a_cell_can_be_too_large(void)
{
    if (SANITISED || getenv("PML_TEST_QUICK"))
        TEST_IGNORE_MESSAGE("a million items take too long here");
    struct pml_store_info info = {.items = PML_CANDIDATES_MAX + 1, .sketch = 8, .cells_per_item = 1};
    struct pml_store_writer *writer;
    const int8_t sketch[8] = {1};
    const uint32_t cell = 3;
    uint64_t done;
    TEST_ASSERT_EQUAL(0, pml_store_begin(&writer, uri_of("a"), &info, gallery_source, false, &done, &said));
    for (uint64_t i = 0; i < info.items; i++) {
        struct pml_store_item item = {
            .cells = &cell, .cell_count = 1, .candidate = {.item = i, .sketch = sketch, .sketch_size = 8}};
        TEST_ASSERT_EQUAL(0, pml_store_add(writer, &item, &said));
    }
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_finish(writer, &said));
    assert_said("use a pack with more cells");
    assert_no_store("a");
}

/* ---- going on ---- */

static void test_going_on_gives_the_same_bytes(void)
{
    make_store("whole");
    struct pml_store_writer *writer = begin_store("parts", false, 0);
    pml_store_abandon(writer);
    writer = begin_store("parts", false, 0);
    add_items(writer, 0, 700);
    TEST_ASSERT_EQUAL(0, pml_store_checkpoint(writer, &said));
    add_items(writer, 700, 900); /* lost: no checkpoint */
    pml_store_abandon(writer);
    writer = begin_store("parts", false, 700);
    add_items(writer, 700, 701);
    TEST_ASSERT_EQUAL(0, pml_store_checkpoint(writer, &said));
    TEST_ASSERT_EQUAL(0, pml_store_checkpoint(writer, &said));
    pml_store_abandon(writer);
    writer = begin_store("parts", false, 701);
    add_items(writer, 701, GALLERY);
    finish_store(writer);
    assert_same_store("whole", "parts");
    assert_stores("parts", 2);
}

static void test_too_few_or_too_many_items_are_no_store(void)
{
    struct drawn drawn;
    struct pml_store_writer *writer = begin_store("a", false, 0);
    add_items(writer, 0, GALLERY - 1);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_finish(writer, &said));
    writer = begin_store("a", false, 0); /* a failed finish keeps checkpoints only */
    add_items(writer, 0, GALLERY);
    draw_item(0, &drawn);
    drawn.item.candidate.item = 1;
    TEST_ASSERT_EQUAL(0, pml_store_add(writer, &drawn.item, &said));
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_store_finish(writer, &said));
    assert_no_store("a");
}

static void test_other_inputs_start_anew(void)
{
    struct pml_store_writer *writer;
    uint64_t done;
    make_store("whole");
    for (int change = 0; change < 6; change++) {
        struct pml_store_info info = gallery_info;
        uint8_t source[32];
        memcpy(source, gallery_source, 32);
        switch (change) {
        case 0:
            source[31] ^= 1;
            break;
        case 1:
            info.pack[0] ^= postgres() ? 0 : 1; /* there another pack is another gallery */
            source[0] ^= 1;
            break;
        case 2:
            info.items++;
            break;
        case 3:
            info.cells_per_item = 0;
            info.share = 1;
            break;
        case 4:
            info.dimensions = 2;
            break;
        default:
            info.iterations++;
            break;
        }
        TEST_ASSERT_EQUAL(0, pml_store_begin(&writer, uri_of("a"), &info, source, false, &done, &said));
        add_items(writer, 0, 100 + (size_t)change);
        TEST_ASSERT_EQUAL(0, pml_store_checkpoint(writer, &said));
        pml_store_abandon(writer);
        writer = begin_store("a", false, 0);
        assert_said("starting again");
        add_items(writer, 0, 50);
        TEST_ASSERT_EQUAL(0, pml_store_checkpoint(writer, &said));
        pml_store_abandon(writer);
    }
    writer = begin_store("a", false, 50);
    TEST_ASSERT_EQUAL_STRING("", said.text);
    add_items(writer, 50, GALLERY);
    finish_store(writer);
    assert_same_store("whole", "a");
}

/* ---- processes ---- */

/* A child that writes and is killed in the middle. `items` after the first checkpoint of 400. */
static void write_and_die(size_t more)
{
    fflush(NULL);
    pid_t child = fork();
    TEST_ASSERT_TRUE(child >= 0);
    if (child == 0) {
        struct pml_store_writer *writer;
        struct drawn drawn;
        uint64_t done;
        if (pml_store_begin(&writer, uri_of("killed"), &gallery_info, gallery_source, false, &done, NULL) != 0)
            _exit(1);
        for (size_t i = (size_t)done; i < 400 + more; i++) {
            draw_item(i, &drawn);
            if (pml_store_add(writer, &drawn.item, NULL) != 0 || (i == 399 && pml_store_checkpoint(writer, NULL) != 0))
                _exit(2);
        }
        raise(SIGKILL);
    }
    int status;
    TEST_ASSERT_EQUAL(child, waitpid(child, &status, 0));
    TEST_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_a_killed_process_loses_nothing_durable(void)
{
    make_store("whole");
    write_and_die(300);
    write_and_die(700); /* goes on with the 400, and dies again */
    struct pml_store_writer *writer = begin_store("killed", false, 400);
    add_items(writer, 400, GALLERY);
    finish_store(writer);
    assert_same_store("whole", "killed");
    assert_stores("killed", 2);
}

static void test_one_process_writes_at_a_time(void)
{
    int ready[2], leave[2];
    char byte = 0, part[64];
    TEST_ASSERT_TRUE(pipe(ready) == 0 && pipe(leave) == 0);
    fflush(NULL);
    pid_t child = fork();
    TEST_ASSERT_TRUE(child >= 0);
    if (child == 0) {
        struct pml_store_writer *writer;
        uint64_t done;
        close(leave[1]);
        int status = pml_store_begin(&writer, uri_of("a"), &gallery_info, gallery_source, false, &done, NULL);
        (void)!write(ready[1], &byte, 1);
        (void)!read(leave[0], &byte, 1);
        if (status == 0)
            pml_store_abandon(writer);
        _exit(status != 0);
    }
    TEST_ASSERT_EQUAL(1, read(ready[0], &byte, 1));
    struct pml_store_writer *writer;
    uint64_t done;
    TEST_ASSERT_EQUAL(PML_REFUSED,
                      pml_store_begin(&writer, uri_of("a"), &gallery_info, gallery_source, false, &done, &said));
    snprintf(part, sizeof part, postgres() ? "is writing it" : "(process %ld) is writing it", (long)child);
    assert_said(part);
    close(leave[1]);
    int status;
    TEST_ASSERT_EQUAL(child, waitpid(child, &status, 0));
    TEST_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pml_store_abandon(begin_store("a", false, 0));
    close(ready[0]), close(ready[1]), close(leave[0]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_stores_are_replaced_only_when_asked);
    if (!postgres()) { /* what is about files */
        RUN_TEST(test_only_stores_are_replaced);
        RUN_TEST(test_who_comes_second_does_not_replace);
        RUN_TEST(test_foreign_files_are_not_built_in);
    }
    RUN_TEST(test_items_that_do_not_fit_are_refused);
    RUN_TEST(test_a_cell_can_be_too_large);
    RUN_TEST(test_going_on_gives_the_same_bytes);
    RUN_TEST(test_too_few_or_too_many_items_are_no_store);
    RUN_TEST(test_other_inputs_start_anew);
    RUN_TEST(test_a_killed_process_loses_nothing_durable);
    RUN_TEST(test_one_process_writes_at_a_time);
    return UNITY_END();
}
