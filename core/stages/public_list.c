/* SPDX-License-Identifier: Apache-2.0
 * Stage: the public list of a symbol (SPEC 5.15): the cells of its slot that are nearest to it. In: a secret symbol. Out:
 * secret symbols, all different. Reads every prototype twice and the cells of all once more, and chooses by masks: time
 * and addresses depend on the pack and the length of the list only. */
#include "base/exact.h"
#include "stages.h"

/* A cell's key: score (|score| < 2^43) above the complement of the cell. Larger is nearer, ties go to the smaller cell. A
 * cell without a prototype has 0 for the score. Key 0 is nothing: no offered cell has it. */
static uint64_t key_of(uint64_t score, uint32_t cell)
{
    return score << 16 | (0xFFFF ^ cell);
}

/* Keeps the largest keys, largest first, of every cell only its largest. What is pushed down when the offered cell stood
 * further below takes that place, and nothing is pushed further. */
static void offer(uint64_t *keys, uint32_t count, uint64_t key)
{
    uint64_t carried = key;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t larger = mask_less_unsigned(keys[i], carried), same = mask_equal(keys[i] & 0xFFFF, key & 0xFFFF);
        uint64_t below = select64(larger, keys[i], carried);
        keys[i] = select64(larger, carried, keys[i]);
        carried = below & ~same;
    }
}

/* Is the prototype one of the slot whose first one this is? Hidden, so that no loop counts from the secret place on. */
static uint64_t is_inside(const pml_pack *pack, uint32_t first, uint32_t prototype)
{
    return mask_less_unsigned(hide(prototype) - first, pack->prototypes);
}

/* Copies into a zeroed row where the mask is set. A function of its own, so that its loop knows no more of the mask. */
static PML_NOINLINE void take(int8_t *row, const int8_t *from, size_t count, uint64_t mask)
{
    for (size_t i = 0; i < count; i++)
        row[i] = (int8_t)(row[i] | (from[i] & (int8_t)mask));
}

/* The row of the slot's first prototype that belongs to the cell, or of its first one when none does. */
static void copy_prototype(const pml_pack *pack, uint32_t first, uint32_t cell, int8_t *row)
{
    const int8_t *rows = (const int8_t *)pack->section[PML_SECTION_PROTOTYPES];
    const uint8_t *cells = pack->section[PML_SECTION_PROTOTYPE_CELLS];
    const uint32_t end = (uint32_t)pack->slots * pack->prototypes;
    uint32_t index = first;
    uint64_t missing = ~(uint64_t)0;
    for (uint32_t i = 0; i < end; i++) {
        uint64_t found = missing & is_inside(pack, first, i) & mask_equal(load_le16(cells + 2 * (size_t)i), cell);
        index = select32(found, i, index);
        missing &= ~found;
    }
    memset(row, 0, pack->features);
    for (uint32_t i = 0; i < end; i++)
        take(row, rows + (size_t)i * pack->features, pack->features, mask_equal(i, index));
}

void pml_public_list(const pml_pack *pack, const struct pml_kernels *kernels, uint32_t symbol, int8_t *row,
                     uint32_t *list, uint32_t count)
{
    const int8_t *rows = (const int8_t *)pack->section[PML_SECTION_PROTOTYPES];
    const uint8_t *norms = pack->section[PML_SECTION_PROTOTYPE_NORMS];
    const uint8_t *cells = pack->section[PML_SECTION_PROTOTYPE_CELLS];
    const uint32_t end = (uint32_t)pack->slots * pack->prototypes, others = count - 1;
    uint64_t keys[PML_CROWD_OWN_MAX] = {0};
    int32_t dots[PML_KERNEL_ROWS];
    list[0] = symbol;
    if (others == 0)
        return;
    uint32_t start = 0, first = 0; /* symbol and prototype of the symbol's slot, without a division */
    for (uint32_t s = 1; s < pack->slots; s++) {
        uint64_t reached = ~mask_less_unsigned(symbol, s * pack->cells);
        start += pack->cells & (uint32_t)reached;
        first += pack->prototypes & (uint32_t)reached;
    }
    copy_prototype(pack, first, symbol - start, row);
    for (uint32_t cell = 0; cell < count; cell++)
        offer(keys, others, key_of(0, cell) & ~mask_equal(cell, symbol - start));
    for (uint32_t at = 0; at < end; at += PML_KERNEL_ROWS) {
        uint32_t rest = end - at < PML_KERNEL_ROWS ? end - at : PML_KERNEL_ROWS;
        kernels->dots_s8(row, rows + (size_t)at * pack->features, pack->features, rest, dots);
        for (uint32_t i = 0; i < rest; i++) {
            int64_t score = multiply_signed(dots[i], pack_u32(norms, at + i));
            uint32_t cell = load_le16(cells + 2 * (size_t)(at + i));
            uint64_t counts = is_inside(pack, first, at + i) & ~mask_equal(cell, symbol - start);
            offer(keys, others, key_of((uint64_t)(score + ((int64_t)1 << 43)), cell) & counts);
        }
    }
    for (uint32_t i = 0; i < others; i++)
        list[1 + i] = start + (0xFFFF ^ (uint32_t)(keys[i] & 0xFFFF));
    pml_wipe(keys, sizeof keys);
    pml_wipe(dots, sizeof dots);
}
