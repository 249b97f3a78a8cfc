/* SPDX-License-Identifier: Apache-2.0
 * Stage: coordinates of a row along the directions of coded sketches (SPEC 5.13). In: a (secret) int8 row. Out: a
 * (secret) number per direction, for comparison with what sketches are decoded to. */
#include "base/exact.h"
#include "stages.h"

#define SHIFT 48 /* from 2^-60 to 2^-12 */

void pml_coordinates(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, int16_t *out)
{
    const int8_t *directions = (const int8_t *)pack->section[PML_SECTION_DIRECTIONS];
    const uint32_t inverse = pml_inverse_norm(row, pack->features);
    const uint64_t offset = (uint64_t)1 << 62; /* makes what is shifted positive */
    int32_t dots[PML_KERNEL_ROWS];
    for (size_t at = 0; at < pack->directions; at += PML_KERNEL_ROWS) {
        const size_t count = pack->directions - at < PML_KERNEL_ROWS ? pack->directions - at : PML_KERNEL_ROWS;
        kernels->dots_s8(row, directions + at * pack->features, pack->features, count, dots);
        for (size_t i = 0; i < count; i++) {
            const uint32_t norm = pack_u32(pack->section[PML_SECTION_DIRECTION_NORMS], at + i);
            const uint64_t cosine = (uint64_t)cosine_of(multiply_signed(dots[i], norm), inverse);
            out[at + i] = (int16_t)((int64_t)((cosine + offset + ((uint64_t)1 << (SHIFT - 1))) >> SHIFT) -
                                    (int64_t)(offset >> SHIFT));
        }
    }
    pml_wipe(dots, sizeof dots);
}
