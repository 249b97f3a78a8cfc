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

/* How far a symbol that is not kept moves: uniform on 1 … cells−1. */
/*@ requires usable(random) && 2 <= cells;
    terminates draws_end;
    assigns *random;
    ensures usable(random) && random->used > 0 && 1 <= \result < cells;
    ensures fair: last_word(random) < 0x100000000 - 0x100000000 % (cells - 1);
    ensures uniform: \result == 1 + last_word(random) % (cells - 1); */
static inline uint32_t another(pml_random *random, uint32_t cells)
{
    return 1 + pml_random_below(random, cells - 1);
}

uint32_t pml_response_draw(pml_random *random, uint64_t keep, uint32_t cells, uint32_t slots, uint16_t *others)
{
    uint64_t low = pml_random_word(random);
    //@ assert first_word: low == last_word(random) && later(random, \at(words(random), Pre), 1);
    uint64_t high = pml_random_word(random);
    //@ assert second_word: high == last_word(random) && later(random, \at(words(random), Pre), 2);
    uint32_t other = another(random, cells);
    uint64_t coin = (low | high << PML_WORD_BITS) >> (2 * PML_WORD_BITS - PML_COIN_BITS);
    //@ assert both_words: coin == (low + 0x100000000 * high) / 0x1000000;
    uint64_t kept = mask_less((int64_t)coin, (int64_t)keep);
    //@ assert kept == (coin < keep ? UINT64_MAX : 0);
    /*@ loop assigns c, *random, others[0 .. slots - 1];
        loop invariant c <= slots && usable(random);
        loop invariant cells <= PML_CELLS_MAX ==> \forall integer s; 0 <= s < c ==> others[s] < cells;
        loop variant slots - c; */
    for (uint32_t c = 0; c < slots; c++) {
        others[c] = (uint16_t)pml_random_below(random, cells);
        //@ assert drawn: cells <= PML_CELLS_MAX ==> others[c] == last_word(random) % cells;
    }
    const uint32_t shift = other & ~(uint32_t)kept;
    //@ assert shift == (coin < keep ? 0 : other) && coin < 0x10000000000;
    return shift;
}

/*@ requires bit <= 1 && n < 8;
    terminates \true;
    assigns \nothing;
    ensures \forall integer k; 0 <= k < 8 ==> bit_of(\result, k) == (k == n && bit == 1 ? 1 : bit_of(byte, k)); */
static inline uint8_t with_bit(uint8_t byte, uint32_t bit, unsigned n)
{
    //@ assert bit << n == 0 || bit << n == 1 << n;
    return (uint8_t)(byte | bit << n);
}

/* Writes the bits of a symbol from bit `at` of the body on, where all are 0. */
/*@ requires 1 <= bits <= 16 && at <= 0x100000 && \valid(body + (at / 8 .. (at + bits - 1) / 8));
    requires \forall integer k; at <= k < at + bits ==> bit_at(body, k) == 0;
    terminates \true;
    assigns body[at / 8 .. (at + bits - 1) / 8];
    ensures \forall integer b; 0 <= b < bits ==> bit_at(body, at + b) == bit_of(symbol, b);
    ensures \forall integer k; 0 <= k < at || at + bits <= k ==> bit_at(body, k) == \old(bit_at(body, k)); */
static inline void put_symbol(uint32_t symbol, unsigned bits, size_t at, uint8_t *body)
{
    /*@ loop assigns b, body[at / 8 .. (at + bits - 1) / 8];
        loop invariant b <= bits;
        loop invariant \forall integer k; 0 <= k < b ==> bit_at(body, at + k) == bit_of(symbol, k);
        loop invariant \forall integer k; 0 <= k < at || at + b <= k ==> bit_at(body, k) == \at(bit_at(body, k), Pre);
        loop variant bits - b; */
    for (unsigned b = 0; b < bits; b++) {
        //@ assert bit_at(body, at + b) == 0;
        body[(at + b) / 8] = with_bit(body[(at + b) / 8], symbol >> b & 1, (at + b) % 8);
        //@ assert bit_at(body, at + b) == bit_of(symbol, b);
    }
}

void pml_response_emit(const uint16_t *others, uint32_t cells, uint32_t slots, uint32_t slot, uint32_t cell,
                       uint32_t shift, uint8_t *body)
{
    const unsigned bits = symbol_bits(cells);
    const uint32_t moved = moved_by(cell, shift, cells);
    memset(body, 0, symbols_size(slots, bits));
    size_t at = 0;
    /*@ loop assigns c, at, body[0 .. bytes_of(slots, bits) - 1];
        loop invariant c <= slots && at == start(c, bits);
        loop invariant \forall integer s, b; 0 <= s < c && 0 <= b < bits ==>
          symbol_bit(body, bits, s, b) == bit_of(symbol_of(others, cells, slot, cell + shift, s), b);
        loop invariant \forall integer k; at <= k < 8 * bytes_of(slots, bits) ==> bit_at(body, k) == 0;
        loop variant slots - c; */
    for (uint32_t c = 0; c < slots; c++) {
        uint32_t symbol = select32(mask_equal(c, slot), moved, others[c]);
        //@ assert symbol == symbol_of(others, cells, slot, cell + shift, c);
        //@ assert at + bits == start(c + 1, bits) <= start(slots, bits) <= 8 * bytes_of(slots, bits);
        //@ assert \forall integer s; 0 <= s < c ==> 0 <= start(s, bits) <= at - bits;
        put_symbol(symbol, bits, at, body);
        /*@ assert \forall integer s, b; 0 <= s < c && 0 <= b < bits ==>
              symbol_bit(body, bits, s, b) == bit_of(symbol_of(others, cells, slot, cell + shift, s), b); */
        /*@ assert \forall integer b; 0 <= b < bits ==>
              symbol_bit(body, bits, c, b) == bit_of(symbol_of(others, cells, slot, cell + shift, c), b); */
        at += bits;
    }
}
