/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages, in the order the data takes. Each is one file; none calls another; only the conductors call them: query.c,
 * pipeline.c with pipeline_response.c, pipeline_gaussian.c and pipeline_crowd.c, crowd.c, ranking.c, guess.c, looks.c
 * and sketch_public.c.
 *
 *     features ─► quantise ─► front ─► slots ─┬─► prototypes ────────────────────► response ─┬─► release ─► bytes
 *                                             └─► neighbours ─► weights ─► update ─► gaussian ─┘
 *     features ─► quantise ─► front ─► sketch, or coordinates ─► answer, answer_rank ─► matches
 *     features ─► quantise ─► front ─► head ─► guesses          looks ─► quantise ─► look ─► features
 *     once per client:  label_row ─► certificate ─► calibrate ─► centres on the grid
 *
 * "Secret" marks what must not decide a branch or an address.
 */
#ifndef PML_STAGES_H
#define PML_STAGES_H

#include "base/kernels.h"
#include "base/random.h"
#include "pack/pack.h"

/* quantise.c: (secret) int8 values of (secret) features, which may come in pieces. First the kernels' `quantise_top` takes
 * the largest of all pieces, from 0 on; `scale` returns a mask, set when the features are valid; then `quantise_values`
 * makes the int8 values of each piece, zeros when they are not valid; `default` makes the first of all 127 then: the
 * public default is the first unit vector. `root`: roots are taken. */
uint64_t pml_quantise_scale(uint32_t top, struct scale *scale);
void pml_quantise_default(uint64_t valid, int8_t *first);

/* All of it, for features in one piece. */
static inline uint64_t pml_quantise_row(const float *features, size_t count, int8_t *out,
                                        const struct pml_kernels *kernels)
{
    struct scale scale;
    const uint64_t valid = pml_quantise_scale(PML_KERNEL(kernels, quantise_top)(features, count, 0), &scale);
    PML_KERNEL(kernels, quantise_values)(&scale, valid, false, features, count, out);
    pml_quantise_default(valid, out);
    return valid;
}

/* front.c (SPEC 5.18): sums of a (secret) quantised row, one per output. `signs_begin` and `signs_add` take the row in
 * pieces; `row` makes them from a whole row, for a matrix and for kernels. `emit` makes int8 values of the sums,
 * or zeros where the mask `valid` is not set; it returns the mask, not set either when all sums are zero. */
void pml_front_signs_begin(const pml_front *front, pml_random *signs, int64_t *sums);
void pml_front_signs_add(const pml_front *front, pml_random *signs, const int8_t *values, size_t count, int64_t *sums);
void pml_front_row(const pml_front *front, const struct pml_kernels *kernels, const int8_t *row, int64_t *sums);
uint64_t pml_front_emit(const pml_front *front, const int64_t *sums, uint64_t valid, int8_t *out);

/* sketch.c, coordinates.c (SPEC 5.13): what candidates are compared with, of a (secret) row: the pack's plain sketch, a
 * value per byte of it, or coordinates, one per direction of coded sketches. */
void pml_sketch_plain(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, int8_t *out);
void pml_coordinates(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, int16_t *out);

/* head.c (SPEC 5.19): pml_head_guess of privatemail_public.h, of a (secret) row. */

/* look.c (SPEC 5.20): squares of the (secret) values of a look, then their sums, a piece at a time, with the look's inverse
 * norm, 2^shift times too large; at last the features of the mean. The mask says whether any of them is not zero. */
uint64_t pml_look_squares(const int8_t *values, size_t count);
void pml_look_add(const int8_t *values, size_t count, uint32_t inverse, unsigned shift, int32_t *sums);
uint64_t pml_look_mean(const int32_t *sums, size_t count, float *features);

/* slots.c: slot of a (secret) label; *known is a mask, and the slot is 0 where it is not set. */
uint32_t pml_slots_find(const pml_pack *pack, int32_t label, uint64_t *known);

/* prototypes.c: cell of the prototype of (secret) `slot` nearest to a (secret) row; the prototypes of all slots
 * are read. */
uint32_t pml_prototypes_cell(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, uint32_t slot);

/* neighbours.c: the nearest anchors, best first, as keys that hold score and index. */
void pml_neighbours_find(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, uint64_t *keys);

static inline int64_t neighbour_score(uint64_t key)
{
    return (int64_t)(key >> 20) - ((int64_t)1 << 43);
}

static inline uint32_t neighbour_index(uint64_t key)
{
    return 0xFFFFF ^ (uint32_t)(key & 0xFFFFF);
}

/* weights.c (SPEC 5.5). `score` is ⟨q,a⟩·r_a, `inverse` is r_q. */
/*@ terminates \true;
    assigns \nothing;
    ensures 1 <= \result <= 65536; */
uint32_t pml_weights_floor(uint32_t lambda);
/*@ requires 1 <= floor <= 65536;
    terminates \true;
    assigns \nothing;
    ensures floor <= \result <= 65536; */
uint32_t pml_weights_of(int64_t score, uint32_t inverse, uint32_t lambda, uint32_t floor);
/*@ terminates \true;
    assigns \nothing;
    ensures \result <= 65536; */
uint32_t pml_weights_label(uint32_t distance, uint32_t lambda);

/* label_row.c: U_s of every slot, a value per slot and dimension. `weight_of` gives l for a distance of labels. */
void pml_label_rows(const pml_pack *pack, uint32_t (*weight_of)(uint32_t, uint32_t), int64_t *rows);

/* certificate.c (SPEC 5.7). `label_rows`: a value per slot and dimension. `centres`: as many numerators over 16384,
 * may be NULL. `scratch`: two values per neighbour. */
pml_status pml_certificate_of(const pml_pack *pack, uint32_t floor, const int64_t *label_rows, int64_t *centres,
                              int64_t *scratch, pml_certificate *certificate);

/* update.c (SPEC 5.9): the private row on the grid, a value per dimension. */
void pml_update_row(const pml_pack *pack, uint32_t slot, const int64_t *label_row, const uint32_t *indices,
                    const uint32_t *weights, uint32_t grid, int32_t *row);

/* response.c (SPEC 5.11) */
/*@ requires usable(random) && \valid(others + (0 .. slots - 1)) && \separated(random, others + (0 .. slots - 1));
    requires 2 <= cells <= PML_CROWD_CELLS_MAX && keep <= 0x10000000000;
    terminates draws_end;
    assigns *random, others[0 .. slots - 1];
    ensures \result < cells;
    ensures cells <= PML_CELLS_MAX ==> \forall integer s; 0 <= s < slots ==> others[s] < cells; */
uint32_t pml_response_draw(pml_random *random, uint64_t keep, uint32_t cells, uint32_t slots, uint16_t *others);

/* The (secret) cell that is sent for this one. */
/*@ requires cell < cells <= PML_CROWD_CELLS_MAX && shift < cells;
    terminates \true;
    assigns \nothing;
    ensures \result == (cell + shift) % cells; */
static inline uint32_t moved_by(uint32_t cell, uint32_t shift, uint32_t cells)
{
    uint32_t moved = cell + shift;
    moved -= cells & ~(uint32_t)mask_less(moved, cells);
    //@ assert moved == (cell + shift < cells ? cell + shift : cell + shift - cells);
    return moved;
}

/*@ logic integer symbol_of(uint16_t *others, integer cells, integer slot, integer moved, integer c) =
      c == slot ? moved % cells : others[c];
    logic integer bits_of(integer cells) =
      cells <= 2 ? 1 : cells <= 4 ? 2 : cells <= 8 ? 3 : cells <= 16 ? 4 : cells <= 32 ? 5 : cells <= 64 ? 6 :
      cells <= 128 ? 7 : cells <= 256 ? 8 : cells <= 512 ? 9 : cells <= 1024 ? 10 : cells <= 2048 ? 11 :
      cells <= 4096 ? 12 : cells <= 8192 ? 13 : cells <= 16384 ? 14 : cells <= 32768 ? 15 : cells <= 65536 ? 16 :
      cells <= 131072 ? 17 : cells <= 262144 ? 18 : cells <= 524288 ? 19 : 20;
    logic integer start(integer c, integer bits) = c <= 0 ? 0 : c * bits;
    logic integer bytes_of(integer slots, integer bits) = (start(slots, bits) + 7) / 8;
    logic integer bit_of(integer v, integer n) = (v >> n) & 1;
    // bit `at` of a string of bytes (SPEC 2)
    logic integer bit_at(uint8_t *bytes, integer at) = bit_of(bytes[at / 8], at % 8);
    // bit b of symbol c
    logic integer symbol_bit(uint8_t *bytes, integer bits, integer c, integer b) = bit_at(bytes, start(c, bits) + b);
    lemma symbols_before: \forall integer c, bits; 0 <= bits ==> 0 <= start(c, bits);
    lemma symbols_between: \forall integer s, c, bits; 0 <= s < c ==>
      start(c, bits) == start(s, bits) + bits + start(c - s - 1, bits);
    lemma symbols_apart: \forall integer s, c, bits; 0 <= s < c && 0 <= bits ==>
      start(s, bits) + bits <= start(c, bits);
    lemma symbols_adjoin: \forall integer c, bits; 0 <= c ==> start(c + 1, bits) == start(c, bits) + bits;
    lemma symbols_few: \forall integer c, bits; 0 <= c <= PML_SLOTS_MAX && 0 <= bits <= 32 ==>
      0 <= start(c, bits) <= 32768; */

/*@ requires 2 <= cells <= PML_CELLS_MAX && slots <= PML_SLOTS_MAX && slot < slots && cell < cells && shift < cells;
    requires \valid_read(others + (0 .. slots - 1)) && \valid(body + (0 .. bytes_of(slots, bits_of(cells)) - 1));
    requires \separated(others + (0 .. slots - 1), body + (0 .. bytes_of(slots, bits_of(cells)) - 1));
    terminates \true;
    assigns body[0 .. bytes_of(slots, bits_of(cells)) - 1];
    ensures places: \forall integer c, b; 0 <= c < slots && 0 <= b < bits_of(cells) ==>
      symbol_bit(body, bits_of(cells), c, b) == bit_of(symbol_of(others, cells, slot, cell + shift, c), b);
    ensures unused: \forall integer at; start(slots, bits_of(cells)) <= at < 8 * bytes_of(slots, bits_of(cells)) ==>
      bit_at(body, at) == 0; */
void pml_response_emit(const uint16_t *others, uint32_t cells, uint32_t slots, uint32_t slot, uint32_t cell,
                       uint32_t shift, uint8_t *body);

/* public_list.c (SPEC 5.15): `count` (secret) symbols, the first is `symbol`. `row` is scratch, a value per feature, and
 * holds something secret afterwards. */
void pml_public_list(const pml_pack *pack, const struct pml_kernels *kernels, uint32_t symbol, int8_t *row,
                     uint32_t *list, uint32_t count);

/* gaussian.c (SPEC 5.12) */
void pml_gaussian_draw(pml_random *random, uint32_t shift, int32_t *noise, size_t count);
void pml_gaussian_emit(const int32_t *noise, const int64_t *centres, const int32_t *row, uint32_t slot, uint32_t slots,
                       uint32_t dimensions, uint32_t coarsen, unsigned value_bytes, uint8_t *body);

/*@ // a head by its own words (SPEC 2): what stands before the body's own length, and that length
    logic integer fields_of(integer mechanism) = mechanism == PML_GAUSSIAN ? 30 : 24;
    logic integer length_of(integer size) = size < 24 ? 1 : size < 256 ? 2 : 3;
    predicate says_length(uint8_t *at, integer size) =
      size < 24 ? at[0] == 0x40 + size
      : size < 256 ? at[0] == 0x58 && at[1] == size
      : at[0] == 0x59 && 0x100 * at[1] + at[2] == size;
    predicate says_fields(uint8_t *out, integer mechanism, integer step) =
      out[0] == (mechanism == PML_GAUSSIAN ? 0xA5 : 0xA4) && out[1] == 0 && out[2] == 1 && out[3] == 1 &&
      out[4] == 0x50 && out[21] == 2 && out[22] == mechanism &&
      (mechanism == PML_GAUSSIAN ? out[23] == 3 && out[24] == 0x44 && be32(out + 25) == step && out[29] == 4
                                 : out[23] == 4); */

/* release.c (SPEC 2): length of a release, and everything of it but the body. */
size_t pml_release_length(size_t body_size, pml_mechanism mechanism);
/*@ requires \valid(out + (0 .. fields_of(mechanism) + length_of(body_size) - 1)) && \valid_read(id + (0 .. 15));
    requires \separated(out + (0 .. fields_of(mechanism) + length_of(body_size) - 1), id + (0 .. 15));
    requires body_size < 65536 && PML_RESPONSE <= mechanism <= PML_CROWD;
    terminates \true;
    assigns out[0 .. fields_of(mechanism) + length_of(body_size) - 1];
    ensures \result == out + fields_of(mechanism) + length_of(body_size);
    ensures fields: says_fields(out, mechanism, step);
    ensures id: \forall integer k; 0 <= k < 16 ==> out[5 + k] == id[k];
    ensures length: says_length(out + fields_of(mechanism), body_size); */
uint8_t *pml_release_head(uint8_t *out, const uint8_t *id, pml_mechanism mechanism, uint32_t step, size_t body_size);

/* Bits of a symbol. */
/*@ requires 2 <= cells <= PML_CROWD_CELLS_MAX;
    terminates \true;
    assigns \nothing;
    ensures 1 <= \result <= 20 && (cells <= PML_CELLS_MAX ==> \result <= 16);
    ensures cells <= 1 << \result && 1 << (\result - 1) < cells && \result == bits_of(cells); */
static inline unsigned symbol_bits(uint32_t cells)
{
    unsigned bits = 1;
    /*@ loop assigns bits;
        loop invariant 1 <= bits <= 20 && 1 << (bits - 1) < cells && (cells <= PML_CELLS_MAX ==> bits <= 16);
        loop variant 20 - bits; */
    while ((uint32_t)1 << bits < cells)
        bits++;
    return bits;
}

/* Bytes of a body of symbols. */
/*@ requires slots <= PML_SLOTS_MAX && bits <= 32;
    terminates \true;
    assigns \nothing;
    ensures \result == bytes_of(slots, bits); */
static inline size_t symbols_size(size_t slots, unsigned bits)
{
    return (slots * bits + 7) / 8;
}

/* No released coordinate is larger. */
static inline uint32_t value_limit(unsigned value_bytes)
{
    return value_bytes == 1 ? 127 : 32767;
}

#endif
