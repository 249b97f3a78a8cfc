/* SPDX-License-Identifier: Apache-2.0
 * Bytes of answers and of whole indexes. */
#include "advise.h"

#include <math.h>
#include <privatemail.h>

/* Header and list without candidates: at most 36 and 26 bytes of CBOR (SPEC 3, 3.2). */
#define FRAME 64.0

/* A number of v bits takes at most 1 + v/7 bytes (LEB128), and the numbers in a list are the gaps between its items, which
 * add up to less than all items. The logarithm is concave, so equal gaps are the worst case. */
double advise_answer_bytes(double items, double listed, double sketch)
{
    return listed > 0.0 ? FRAME + listed * (sketch + 1.0 + log2(items / listed) / 7.0) : FRAME;
}

uint64_t advise_listed(uint64_t items, double bytes, uint64_t sketch)
{
    uint64_t least = 0, most = items < PML_CANDIDATES_MAX ? items : PML_CANDIDATES_MAX;
    while (least < most) {
        const uint64_t middle = least + (most - least + 1) / 2;
        if (advise_answer_bytes((double)items, (double)middle, (double)sketch) <= bytes)
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}
