/* SPDX-License-Identifier: Apache-2.0
 * Stage: the nearest prototype (SPEC 5.4). In: a secret row and slot. Out: a secret index. Reads every prototype once,
 * in order, and keeps the best by masks: time and addresses depend on the pack only. */
#include "exact.h"
#include "stages.h"

uint32_t pml_prototypes_nearest(const struct pack_view *pack, const struct pml_kernels *kernels, const int8_t *row,
                                uint32_t slot, uint32_t first, uint32_t last)
{
    const int8_t *rows = (const int8_t *)pack->section[PML_SECTION_PROTOTYPES];
    const uint8_t *norms = pack->section[PML_SECTION_PROTOTYPE_NORMS];
    const size_t end = (size_t)last * pack->m;
    int32_t dots[PML_KERNEL_ROWS];
    int64_t best = -((int64_t)1 << 62);
    uint32_t nearest = 0, current = first, index = 0;
    for (size_t at = (size_t)first * pack->m; at < end; at += PML_KERNEL_ROWS) {
        size_t count = end - at < PML_KERNEL_ROWS ? end - at : PML_KERNEL_ROWS;
        kernels->dots_s8(row, rows + at * pack->d, pack->d, count, dots);
        for (size_t i = 0; i < count; i++) {
            int64_t score = multiply_signed(dots[i], pack_u32(norms, at + i));
            uint64_t better = mask_less(best, score) & mask_equal(current, slot);
            best = (int64_t)select64(better, (uint64_t)score, (uint64_t)best);
            nearest = select32(better, index, nearest);
            if (++index == pack->m)
                index = 0, current++;
        }
    }
    pml_wipe(dots, sizeof dots);
    return nearest;
}

int pml_nearest_prototype(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, uint32_t slot,
                          uint32_t *index)
{
    if (!pack || !row || !index || slot >= pack_view(pack)->G)
        return PML_ERROR_ARGUMENT;
    if (!pack_view(pack)->section[PML_SECTION_PROTOTYPES])
        return PML_ERROR_SECTION;
    *index =
        pml_prototypes_nearest(pack_view(pack), kernels ? kernels : &pml_kernels_portable, row, slot, slot, slot + 1);
    return PML_OK;
}
