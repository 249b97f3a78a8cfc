/* SPDX-License-Identifier: Apache-2.0
 * All pieces are done once; the outcome of a piece that fails is the outcome of the whole. */
#include "common/parallel.h"
#include "support/support.h"

#include <stdatomic.h>

enum { PIECES = 1000 };

struct pieces {
    atomic_uint runs[PIECES];
    size_t bad; /* the piece that fails */
};

void setUp(void)
{
}

void tearDown(void)
{
}

static pml_outcome run_piece(void *context, size_t index)
{
    struct pieces *pieces = context;
    atomic_fetch_add(&pieces->runs[index], 1);
    return index == pieces->bad ? PML_DAMAGED : PML_DONE;
}

static void test_every_piece_runs_once(void)
{
    for (unsigned threads = 0; threads <= 4; threads++) {
        struct pieces pieces = {.bad = PIECES};
        TEST_ASSERT_EQUAL(PML_DONE, pml_parallel(threads, PIECES, run_piece, &pieces, NULL));
        for (size_t i = 0; i < PIECES; i++)
            TEST_ASSERT_EQUAL(1, atomic_load(&pieces.runs[i]));
    }
}

static void test_the_outcome_of_a_piece_is_returned(void)
{
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct pieces pieces = {.bad = 3};
        TEST_ASSERT_EQUAL(PML_DAMAGED, pml_parallel(threads, PIECES, run_piece, &pieces, NULL));
        TEST_ASSERT_EQUAL(1, atomic_load(&pieces.runs[3]));
        TEST_ASSERT_TRUE(threads > 1 || atomic_load(&pieces.runs[4]) == 0);
    }
}

static void remember(void *context, const char *stage, double done)
{
    TEST_ASSERT_EQUAL_STRING("stage", stage);
    *(double *)context = done;
}

static void test_progress_reaches_the_end(void)
{
    struct pieces pieces = {.bad = PIECES};
    double last = 0.0;
    const struct pml_progress progress = {remember, &last, "stage"};
    TEST_ASSERT_EQUAL(PML_DONE, pml_parallel(1, PIECES, run_piece, &pieces, &progress));
    TEST_ASSERT_TRUE(last == 1.0);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_piece_runs_once);
    RUN_TEST(test_the_outcome_of_a_piece_is_returned);
    RUN_TEST(test_progress_reaches_the_end);
    return UNITY_END();
}
