/* SPDX-License-Identifier: Apache-2.0
 * Stage: the K nearest anchors (SPEC 5.3). In: a secret row. Out: K keys, best first, ties by smaller index.
 * Exact: every score is an integer. Every anchor is offered to the whole list without a branch, so the time does not
 * depend on the query, whatever the order of the anchors. */
#include "base/exact.h"
#include "stages.h"

/* Score (|score| < 2^43) above the complement of the index: keys are distinct, and larger is nearer. */
static uint64_t key_of(int64_t score, size_t index)
{
    return (uint64_t)(score + ((int64_t)1 << 43)) << 20 | (0xFFFFF ^ (uint64_t)index);
}

/* The key walks through the whole list with masked swaps. */
static void offer(uint64_t *list, size_t length, uint64_t key)
{
    for (size_t i = 0; i < length; i++) {
        uint64_t held = list[i], larger = mask_less_unsigned(held, key);
        list[i] = select64(larger, key, held);
        key = select64(larger, held, key);
    }
}

void pml_neighbours_find(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, uint64_t *keys)
{
    const int8_t *rows = (const int8_t *)pack->section[PML_SECTION_ANCHORS];
    const uint8_t *norms = pack->section[PML_SECTION_ANCHOR_NORMS];
    int32_t dots[PML_KERNEL_ROWS];
#if PML_KERNELS_WIDE
    if (kernels->nearest) {
        kernels->nearest(row, rows, norms, pack->features, pack->anchors, keys, pack->neighbours);
        return;
    }
#endif
    memset(keys, 0, sizeof *keys * pack->neighbours);
    for (size_t at = 0; at < pack->anchors; at += PML_KERNEL_ROWS) {
        size_t count = pack->anchors - at < PML_KERNEL_ROWS ? pack->anchors - at : PML_KERNEL_ROWS;
        kernels->dots_s8(row, rows + at * pack->features, pack->features, count, dots);
        for (size_t i = 0; i < count; i++)
            offer(keys, pack->neighbours, key_of(multiply_signed(dots[i], pack_u32(norms, at + i)), at + i));
    }
    pml_wipe(dots, sizeof dots);
}
