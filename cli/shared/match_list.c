/* SPDX-License-Identifier: Apache-2.0
 * Merges matches. */
#include "match_list.h"

#include <string.h>

size_t match_list_merge(pml_match *matches, size_t found, size_t capacity, const pml_match *more, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0, same = 0;
        while (same < found && matches[same].item != more[i].item)
            same++;
        while (at < found && (matches[at].score > more[i].score ||
                              (matches[at].score == more[i].score && matches[at].item < more[i].item)))
            at++;
        if (at >= capacity || same < at)
            continue; /* it is not among the best, or the same item is before it */
        const size_t last = same < found ? same : found < capacity ? found++ : capacity - 1; /* makes room */
        memmove(matches + at + 1, matches + at, (last - at) * sizeof *matches);
        matches[at] = more[i];
    }
    return found;
}
