/* SPDX-License-Identifier: Apache-2.0
 * Mechanism: randomized response over cells (SPEC 5.11; PRIVACY.md, theorem 7). In: random words before the
 * query, then the secret slot and cell. Out: a symbol per slot. No branch or address depends on a secret. */
#include "base/elementary.h"
#include "stages.h"

/* Of the coin that keeps a symbol, b of theorem 7; at most those of two words. Fewer in tests/law. */
#ifndef PML_COIN_BITS
#define PML_COIN_BITS 40
#endif

uint64_t pml_response_keep(double epsilon, uint32_t cells)
{
    /* Among more cells than a slot may have, a smaller ε would be lost in the rounding below (theorem 7). */
    if (!epsilon_in_range(epsilon, PML_EPSILON_MAX) || cells < 2 || cells > PML_CROWD_CELLS_MAX ||
        (cells > PML_CELLS_MAX && epsilon < PML_CROWD_FLOOR_MIN))
        return 0;
    double odds = pml_exp(epsilon);
    const double scale = (double)((uint64_t)1 << PML_COIN_BITS);
    return (uint64_t)(scale * (odds / (odds + (cells - 1))) - 0x1p-7); /* error of the product < 2^-7: never above */
}

uint32_t pml_response_draw(pml_random *random, uint64_t keep, uint32_t cells, uint32_t slots, uint16_t *others)
{
    uint64_t low = pml_random_word(random), high = pml_random_word(random);
    uint32_t other = 1 + pml_random_below(random, cells - 1);
    uint64_t coin = (low | high << PML_WORD_BITS) >> (2 * PML_WORD_BITS - PML_COIN_BITS);
    uint64_t kept = mask_less((int64_t)coin, (int64_t)keep);
    //@ assert kept == (coin < keep ? UINT64_MAX : 0);
    /*@ loop assigns c, *random, others[0 .. slots - 1];
        loop invariant c <= slots && usable(random);
        loop variant slots - c; */
    for (uint32_t c = 0; c < slots; c++)
        others[c] = (uint16_t)pml_random_below(random, cells);
    //@ assert 1 <= other < cells;
    return other & ~(uint32_t)kept;
}

void pml_response_emit(const uint16_t *others, uint32_t cells, uint32_t slots, uint32_t slot, uint32_t cell,
                       uint32_t shift, uint8_t *body)
{
    unsigned bits = symbol_bits(cells);
    uint32_t moved = cell + shift;
    moved -= cells & ~(uint32_t)mask_less(moved, cells);
    //@ assert moved == (cell + shift) % cells;
    memset(body, 0, symbols_size(slots, bits));
    /*@ loop assigns c, body[0 .. slots * 2 - 1];
        loop invariant c <= slots;
        loop variant slots - c; */
    for (uint32_t c = 0; c < slots; c++) {
        uint32_t symbol = select32(mask_equal(c, slot), moved, others[c]);
        //@ assert symbol == symbol_of(others, cells, slot, cell + shift, c);
        /*@ loop assigns b, body[0 .. slots * 2 - 1];
            loop invariant b <= bits;
            loop variant bits - b; */
        for (unsigned b = 0; b < bits; b++) {
            size_t at = (size_t)c * bits + b;
            body[at / 8] = (uint8_t)(body[at / 8] | (symbol >> b & 1) << at % 8);
        }
    }
}
