/* SPDX-License-Identifier: Apache-2.0
 * Stage: the cell of the nearest prototype (SPEC 5.4). In: a secret row and slot. Out: a secret cell. Reads every
 * prototype once, in order, and keeps the best one's cell by masks: time and addresses depend on the pack only. */
#include "base/exact.h"
#include "stages.h"

uint32_t pml_prototypes_cell(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, uint32_t slot)
{
    const int8_t *rows = (const int8_t *)pack->section[PML_SECTION_PROTOTYPES];
    const uint8_t *norms = pack->section[PML_SECTION_PROTOTYPE_NORMS];
    const uint8_t *cells = pack->section[PML_SECTION_PROTOTYPE_CELLS];
    const size_t end = (size_t)pack->slots * pack->prototypes;
    int32_t dots[PML_KERNEL_ROWS];
    int64_t best = -((int64_t)1 << 62);
    uint32_t cell = 0, current = 0, index = 0;
    for (size_t at = 0; at < end; at += PML_KERNEL_ROWS) {
        size_t count = end - at < PML_KERNEL_ROWS ? end - at : PML_KERNEL_ROWS;
        kernels->dots_s8(row, rows + at * pack->features, pack->features, count, dots);
        for (size_t i = 0; i < count; i++) {
            int64_t score = multiply_signed(dots[i], pack_u32(norms, at + i));
            uint64_t better = mask_less(best, score) & mask_equal(current, slot);
            best = (int64_t)select64(better, (uint64_t)score, (uint64_t)best);
            cell = select32(better, load_le16(cells + 2 * (at + i)), cell);
            if (++index == pack->prototypes)
                index = 0, current++;
        }
    }
    pml_wipe(dots, sizeof dots);
    return cell;
}
