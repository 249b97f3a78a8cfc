/* SPDX-License-Identifier: Apache-2.0
 * Stage: the cell of the nearest prototype (SPEC 5.4). In: a secret row and slot. Out: a secret cell. Reads every
 * prototype once, in order, and keeps the best one's cell by masks: time and addresses depend on the pack only. */
#include "exact.h"
#include "stages.h"

uint32_t pml_prototypes_cell(const struct pack_view *pack, const struct pml_kernels *kernels, const int8_t *row,
                             uint32_t slot, uint32_t first, uint32_t last)
{
    const int8_t *rows = (const int8_t *)pack->section[PML_SECTION_PROTOTYPES];
    const uint8_t *norms = pack->section[PML_SECTION_PROTOTYPE_NORMS];
    const uint8_t *cells = pack->section[PML_SECTION_PROTOTYPE_CELLS];
    const size_t end = (size_t)last * pack->M;
    int32_t dots[PML_KERNEL_ROWS];
    int64_t best = -((int64_t)1 << 62);
    uint32_t cell = 0, current = first, index = 0;
    for (size_t at = (size_t)first * pack->M; at < end; at += PML_KERNEL_ROWS) {
        size_t count = end - at < PML_KERNEL_ROWS ? end - at : PML_KERNEL_ROWS;
        kernels->dots_s8(row, rows + at * pack->d, pack->d, count, dots);
        for (size_t i = 0; i < count; i++) {
            int64_t score = multiply_signed(dots[i], pack_u32(norms, at + i));
            uint64_t better = mask_less(best, score) & mask_equal(current, slot);
            best = (int64_t)select64(better, (uint64_t)score, (uint64_t)best);
            cell = select32(better, load_le16(cells + 2 * (at + i)), cell);
            if (++index == pack->M)
                index = 0, current++;
        }
    }
    pml_wipe(dots, sizeof dots);
    return cell;
}

int pml_nearest_cell(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, uint32_t slot,
                     uint32_t *cell)
{
    if (!pack || !row || !cell || slot >= pack_view(pack)->G)
        return PML_ERROR_ARGUMENT;
    if (!pack_view(pack)->section[PML_SECTION_PROTOTYPES])
        return PML_ERROR_SECTION;
    *cell = pml_prototypes_cell(pack_view(pack), kernels ? kernels : &pml_kernels_portable, row, slot, slot, slot + 1);
    return PML_OK;
}
