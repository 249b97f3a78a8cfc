/* SPDX-License-Identifier: Apache-2.0
 * Validates the directions of coded sketches (SPEC 1, sections 17 to 20). In: hostile bytes. Out: counts and values in
 * their ranges, so that no sum of a comparison overflows. */
#include "base/sketch_code.h"
#include "pack.h"

bool pml_sketch_measure(pml_pack *pack)
{
    uint32_t blocks = 0, bytes = 0;
    for (unsigned bits = 1; bits <= PML_SKETCH_BITS_MAX; bits++) {
        blocks += sketch_blocks(pack->section[PML_SECTION_SKETCH_CODE], bits);
        bytes += bits * sketch_blocks(pack->section[PML_SECTION_SKETCH_CODE], bits);
    }
    pack->directions = blocks * PML_SKETCH_BLOCK;
    return bytes == pack->sketch && pack->directions <= PML_DIRECTIONS_MAX;
}

/* The levels of a depth that is used do not descend, those of others are zero. */
static bool levels_sound(const uint8_t *code, unsigned bits)
{
    const int8_t *levels = sketch_levels(code, bits);
    if (sketch_blocks(code, bits) == 0)
        return pml_all_zero((const uint8_t *)levels, (size_t)1 << bits);
    for (size_t i = 1; i < (size_t)1 << bits; i++)
        if (levels[i - 1] > levels[i])
            return false;
    return levels[0] >= -127;
}

static bool ranges_sound(const pml_pack *pack)
{
    const uint8_t *ranges = pack->section[PML_SECTION_DIRECTION_RANGES];
    uint64_t sum = 0, squares = 0;
    for (size_t i = 0; i < pack->directions; i++) {
        const int32_t middle = pack_code(ranges, i), width = pack_code(ranges, pack->directions + i);
        const int64_t most = (middle < 0 ? -middle : middle) + width;
        if (width < 0 || most > INT16_MAX)
            return false;
        sum += (uint64_t)most;
        squares += (uint64_t)(most * most);
    }
    return sum < (uint64_t)1 << 19 && squares < (uint64_t)1 << 32;
}

bool pml_sketch_code_sound(const pml_pack *pack)
{
    const uint8_t *code = pack->section[PML_SECTION_SKETCH_CODE];
    bool sound = code[14] == 0 && code[15] == 0 && pml_all_zero(code + PML_SKETCH_CODE_SIZE - 2, 2);
    for (unsigned bits = 1; bits <= PML_SKETCH_BITS_MAX; bits++)
        sound = sound && levels_sound(code, bits);
    return sound && ranges_sound(pack) &&
           pml_rows_sound(pack->section[PML_SECTION_DIRECTIONS], pack->section[PML_SECTION_DIRECTION_NORMS],
                          pack->directions, pack->features);
}
