/* SPDX-License-Identifier: Apache-2.0
 * Stage: the plain sketch (SPEC 5.13), the pack's projection of a row. In: a (secret) int8 row. Out: a (secret) shorter int8
 * row. Projects twice, first for the largest value: L sums would be too much for a small stack. */
#include "base/exact.h"
#include "stages.h"

void pml_sketch_plain(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, int8_t *out)
{
    const int8_t *matrix = (const int8_t *)pack->section[PML_SECTION_SKETCH];
    int32_t dots[PML_KERNEL_ROWS];
    uint64_t max = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t at = 0; at < pack->sketch; at += PML_KERNEL_ROWS) {
            size_t count = pack->sketch - at < PML_KERNEL_ROWS ? pack->sketch - at : PML_KERNEL_ROWS;
            kernels->dots_s8(row, matrix + at * pack->features, pack->features, count, dots);
            for (size_t i = 0; i < count; i++) {
                uint64_t negative = mask_less(dots[i], 0), size = negate32(negative, (uint32_t)dots[i]);
                if (pass == 0) {
                    max = select64(mask_less((int64_t)max, (int64_t)size), size, max);
                    continue;
                }
                out[at + i] = (int8_t)(int32_t)negate32(negative, pml_scale_127(size, max));
            }
        }
        max |= 1 & ~mask_nonzero(max); /* all zero: any divisor does */
    }
    pml_wipe(dots, sizeof dots);
}
