/* SPDX-License-Identifier: Apache-2.0
 * Devices that look at one answer: two labels, two feature vectors, both scopes, and one whose input is invalid. What is
 * refused must not depend on who asks. A test says what its viewers are, and how one begins to rank. */
#ifndef TEST_VIEWERS_H
#define TEST_VIEWERS_H

#include "answer_writer.h"

enum { CAPACITY = 3, VIEWERS = 4 };

struct viewers;
static pml_ranking *begin_for(struct viewers *v, unsigned viewer, pml_match *matches);

/* An answer that is refused hands out nothing. */
static void check_outcome(int status, const pml_match *matches, const pml_answer_summary *summary, size_t size)
{
    if (status == PML_OK) {
        TEST_ASSERT_EQUAL_UINT64(size, summary->bytes);
    } else {
        TEST_ASSERT_TRUE(is_zero(matches, CAPACITY * sizeof *matches));
        TEST_ASSERT_TRUE(is_zero(summary, sizeof *summary));
    }
}

/* The status that all viewers agree on. */
static int status_of(struct viewers *v, const uint8_t *bytes, size_t size)
{
    int agreed = 0;
    for (unsigned viewer = 0; viewer < VIEWERS; viewer++) {
        pml_match matches[CAPACITY];
        pml_answer_summary summary;
        int status = feed_and_finish(begin_for(v, viewer, matches), bytes, size, &summary);
        check_outcome(status, matches, &summary, size);
        if (viewer == 0)
            agreed = status;
        TEST_ASSERT_EQUAL(agreed, status);
    }
    return agreed;
}

#endif
