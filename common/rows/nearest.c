/* SPDX-License-Identifier: Apache-2.0
 * The list of the best rows. It does not depend on the order of the offers, because no two rows rank equal. */
#include "nearest.h"

void pml_nearest_clear(const struct pml_nearest *nearest)
{
    for (unsigned i = 0; i < nearest->length; i++) {
        nearest->scores[i] = INT64_MIN;
        nearest->indices[i] = UINT32_MAX;
    }
}

static bool ranks_before(int64_t score, uint32_t index, const struct pml_nearest *nearest, unsigned at)
{
    return score != nearest->scores[at] ? score > nearest->scores[at] : index < nearest->indices[at];
}

static bool real_ranks_before(double score, uint32_t index, const struct pml_best *best, unsigned at)
{
    return score > best->scores[at] || (score == best->scores[at] && index < best->indices[at]);
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

void pml_best_offer(struct pml_best *best, double score, uint32_t index)
{
    unsigned at = best->held;
    if (best->held < best->length)
        best->held++;
    else if (!real_ranks_before(score, index, best, --at))
        return;
    for (; at > 0 && real_ranks_before(score, index, best, at - 1); at--) {
        best->scores[at] = best->scores[at - 1];
        best->indices[at] = best->indices[at - 1];
    }
    best->scores[at] = score;
    best->indices[at] = index;
}

int32_t pml_nearest_majority(const int32_t *labels, const uint32_t *nearest, size_t count)
{
    size_t best = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t j = 0; j < count; j++)
            same += labels[nearest[i]] == labels[nearest[j]];
        if (same > most) {
            most = same;
            best = i;
        }
    }
    return labels[nearest[best]];
}
