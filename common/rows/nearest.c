/* SPDX-License-Identifier: Apache-2.0
 * In: scores of rows. Out: the list of the best.
 * Never depends on the order of the offers: no two ranks are equal. */
#include "nearest.h"

void pml_nearest_clear(const struct pml_nearest *nearest)
{
    for (unsigned i = 0; i < nearest->length; i++) {
        nearest->scores[i] = INT64_MIN;
        nearest->indices[i] = UINT32_MAX;
    }
}

static bool ranks_before(int64_t score, uint32_t index, const struct pml_nearest *nearest, unsigned place)
{
    return score != nearest->scores[place] ? score > nearest->scores[place] : index < nearest->indices[place];
}

void pml_nearest_insert(const struct pml_nearest *nearest, int64_t score, uint32_t index)
{
    unsigned at = nearest->length - 1;
    if (!ranks_before(score, index, nearest, at))
        return;
    for (; at > 0 && ranks_before(score, index, nearest, at - 1); at--) {
        nearest->scores[at] = nearest->scores[at - 1];
        nearest->indices[at] = nearest->indices[at - 1];
    }
    nearest->scores[at] = score;
    nearest->indices[at] = index;
}
