/* SPDX-License-Identifier: Apache-2.0
 * Stage: the one embedding update (SPEC 5.9; the paper's equation 4 for a private row). In: neighbours and weights.
 * Out: the row on the grid. Exact integers and one rounding; p = w/D itself is never formed. */
#include "base/exact.h"
#include "stages.h"

void pml_update_row(const pml_pack *pack, uint32_t slot, const int64_t *label_row, const uint32_t *indices,
                    const uint32_t *weights, uint32_t grid, int32_t *row)
{
    const uint8_t *anchor_codes = pack->section[PML_SECTION_ANCHOR_CODES];
    const uint8_t *slot_codes = pack->section[PML_SECTION_SLOT_CODES];
    int64_t degree = 0;
    for (size_t j = 0; j < pack->neighbours; j++)
        degree += weights[j];
    for (size_t i = 0; i < pack->dimensions; i++) {
        int64_t sum = pack_code(slot_codes, (size_t)slot * pack->dimensions + i) * degree;
        for (size_t j = 0; j < pack->neighbours; j++)
            sum += (int64_t)weights[j] * pack_code(anchor_codes, (size_t)indices[j] * pack->dimensions + i);
        row[i] = (int32_t)divide_round(256 * sum + pack->alpha * label_row[i], 512 * degree * grid);
    }
}
