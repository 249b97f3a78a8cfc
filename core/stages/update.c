/* SPDX-License-Identifier: Apache-2.0
 * Stage: the one embedding update (SPEC 5.9; the paper's equation 4 for a private row). In: neighbours and weights.
 * Out: the row on the grid. Exact integers and one rounding; p = w/D itself is never formed. */
#include "base/exact.h"
#include "stages.h"

/*@ // a·b for a ≥ 0, by a name: the provers find the lemmas by it
    logic integer product(integer a, integer b) = a <= 0 ? 0 : a * b;
    lemma product_is: \forall integer a, b; 0 <= a ==> product(a, b) == a * b;
    lemma product_weight: \forall integer w, c; 0 <= w <= 65536 && -0x8000 <= c <= 0x7FFF ==>
      -0x80000000 <= product(w, c) <= 0x80000000;
    lemma product_degree: \forall integer d, c; 0 <= d <= 0x400000 && -0x8000 <= c <= 0x7FFF ==>
      -0x2000000000 <= product(d, c) <= 0x2000000000;
    lemma product_label: \forall integer a, u; 0 <= a <= 1024 && -0x4000000000 <= u <= 0x4000000000 ==>
      -0x1000000000000 <= product(a, u) <= 0x1000000000000;
    lemma product_grid: \forall integer d, g; 1 <= d <= 0x400000 && 1 <= g <= 0x40000 ==>
      d <= product(d, g) <= 0x10000000000;
    lemma product_divisor: \forall integer d, g; 1 <= d <= 0x80000000 && 1 <= g <= 0x40000 ==>
      1 <= product(d, g) <= 0x2000000000000;
    lemma product_section: \forall integer n, k; 0 <= n <= PML_ANCHORS_MAX && 0 <= k <= PML_DIMENSIONS_MAX ==>
      0 <= product(n, k) <= 0x1000000;
    lemma nearest_below: \forall integer q, a, b; 0 < b && a <= 0x100000 * b && nearest(q, a, b) ==> q <= 0x100000;
    lemma product_least: \forall integer a, b; 1 <= a && 0 <= b ==> b <= product(a, b);
    lemma nearest_above: \forall integer q, a, b; 0 < b && -0x100000 * b <= a && nearest(q, a, b) ==>
      product(-0x100000 - q, b) < b && -0x100000 <= q; */

/*@ // coordinate i of a row of codes
    logic integer code_in(uint8_t *codes, integer index, integer k, integer i) = code_at(codes, product(index, k) + i);
    // Two sums, defined step by step. The provers would unfold a recursive definition for ever, and
    // an equation for `next` too.
    axiomatic sums {
      // D of SPEC 5.9: the sum of the first n weights
      logic integer total(uint32_t *weights, integer n) reads weights[0 .. n - 1];
      axiom total_none: \forall uint32_t *weights; total(weights, 0) == 0;
      axiom total_next: \forall uint32_t *weights, integer n, next; 0 <= n && n < next <= n + 1 ==>
        total(weights, next) == total(weights, n) + weights[n];
      // Σ_j w_j·anchorcode_j over the first n neighbours, coordinate i of k
      logic integer pull(uint8_t *codes, uint32_t *indices, uint32_t *weights, integer k, integer i, integer n)
        reads codes[..], indices[0 .. n - 1], weights[0 .. n - 1];
      axiom pull_none: \forall uint8_t *codes, uint32_t *indices, *weights, integer k, i;
        pull(codes, indices, weights, k, i, 0) == 0;
      axiom pull_next: \forall uint8_t *codes, uint32_t *indices, *weights, integer k, i, n, next;
        0 <= n && n < next <= n + 1 ==> pull(codes, indices, weights, k, i, next) ==
          pull(codes, indices, weights, k, i, n) + product(weights[n], code_in(codes, indices[n], k, i));
    }
    logic uint8_t *codes_of(pml_pack *pack, integer section) = pack->section[section];
    logic integer degree_of(pml_pack *pack, uint32_t *weights) = total(weights, pack->neighbours);
    // num of SPEC 5.9
    logic integer numerator(pml_pack *pack, integer slot, int64_t *label_row, uint32_t *indices, uint32_t *weights,
                            integer i) =
      256 * (product(degree_of(pack, weights),
                     code_in(codes_of(pack, PML_SECTION_SLOT_CODES), slot, pack->dimensions, i)) +
             pull(codes_of(pack, PML_SECTION_ANCHOR_CODES), indices, weights, pack->dimensions, i, pack->neighbours)) +
      product(pack->alpha, label_row[i]); */

/*@ requires \valid_read(pack);
    // counts_agree and slots_agree of pack_check.c
    requires 1 <= pack->neighbours <= PML_NEIGHBOURS_MAX && pack->dimensions <= PML_DIMENSIONS_MAX;
    requires pack->anchors <= PML_ANCHORS_MAX && slot < pack->slots <= PML_SLOTS_MAX && pack->alpha <= 1024;
    // place_sections of pack_check.c
    requires \forall integer i; 0 <= i < pack->dimensions ==>
      \let at = 2 * (product(slot, pack->dimensions) + i);
      \valid_read(codes_of(pack, PML_SECTION_SLOT_CODES) + (at .. at + 1));
    requires \forall integer j, i; 0 <= j < pack->neighbours && 0 <= i < pack->dimensions ==>
      \let at = 2 * (product(indices[j], pack->dimensions) + i);
      \valid_read(codes_of(pack, PML_SECTION_ANCHOR_CODES) + (at .. at + 1));
    requires \valid_read(indices + (0 .. pack->neighbours - 1)) && \valid_read(weights + (0 .. pack->neighbours - 1));
    requires \valid_read(label_row + (0 .. pack->dimensions - 1)) && \valid(row + (0 .. pack->dimensions - 1));
    // neighbours.c: its keys hold indices of anchors
    requires \forall integer j; 0 <= j < pack->neighbours ==> indices[j] < pack->anchors;
    // SPEC 5.5: the contracts of pml_weights_floor and pml_weights_of
    requires \forall integer j; 0 <= j < pack->neighbours ==> 1 <= weights[j] <= 65536;
    // SPEC 5.6: at most K·2^16·(2^16 − 2), because no code is −2^15 (codes_sound of pack_check.c)
    requires \forall integer i; 0 <= i < pack->dimensions ==> -0x4000000000 <= label_row[i] <= 0x4000000000;
    // SPEC 5.8: g ≤ ⌈2^20/7⌉, because Δ < 2^20 and 2^s ≥ 8·r·root with root > 1 (calibrate.c)
    requires 1 <= grid <= 0x40000;
    // SPEC 5.7: no row is larger than R < 2^20, or certificate.c refuses the pack
    requires certified: \forall integer i; 0 <= i < pack->dimensions ==>
      -0x20000000 * degree_of(pack, weights) <= numerator(pack, slot, label_row, indices, weights, i) <=
       0x20000000 * degree_of(pack, weights);
    terminates \true;
    assigns row[0 .. pack->dimensions - 1];
    ensures row: \forall integer i; 0 <= i < pack->dimensions ==>
      nearest(row[i], numerator(pack, slot, label_row, indices, weights, i),
              512 * product(degree_of(pack, weights), grid));
    ensures bound: \forall integer i; 0 <= i < pack->dimensions ==> -0x100000 <= row[i] <= 0x100000; */
void pml_update_row(const pml_pack *pack, uint32_t slot, const int64_t *label_row, const uint32_t *indices,
                    const uint32_t *weights, uint32_t grid, int32_t *row)
{
    const uint8_t *anchor_codes = pack->section[PML_SECTION_ANCHOR_CODES];
    const uint8_t *slot_codes = pack->section[PML_SECTION_SLOT_CODES];
    int64_t degree = 0;
    /*@ loop assigns j, degree;
        loop invariant 0 <= j <= pack->neighbours;
        loop invariant degree_bound: j <= degree <= 65536 * j;
        loop invariant degree_sum: degree == total(weights, j);
        loop variant pack->neighbours - j; */
    for (size_t j = 0; j < pack->neighbours; j++)
        degree += weights[j];
    //@ assert degree: degree == degree_of(pack, weights) && 1 <= degree <= 0x400000;
    //@ assert grid: product(degree, grid) == degree * grid && degree <= product(degree, grid) <= 0x10000000000;
    /*@ assert divisor: \let most = (int64_t)(512 * degree); most == 512 * degree && product(most, grid) == most * grid &&
          1 <= product(most, grid) <= 0x2000000000000; */
    /*@ assert anchors: \forall integer j; 0 <= j < pack->neighbours ==>
          product(indices[j], pack->dimensions) == indices[j] * pack->dimensions &&
          0 <= product(indices[j], pack->dimensions) <= 0x1000000; */
    /*@ loop assigns i, row[0 .. pack->dimensions - 1];
        loop invariant 0 <= i <= pack->dimensions;
        loop invariant row: \forall integer n; 0 <= n < i ==>
          nearest(row[n], numerator(pack, slot, label_row, indices, weights, n), 512 * product(degree, grid));
        loop invariant bound: \forall integer n; 0 <= n < i ==> -0x100000 <= row[n] <= 0x100000;
        loop variant pack->dimensions - i; */
    for (size_t i = 0; i < pack->dimensions; i++) {
        /*@ assert first: \let at = (uint64_t)((uint64_t)(slot * pack->dimensions) + i);
              \let code = code_at(slot_codes, at); at == product(slot, pack->dimensions) + i <= 0xFFFFFFFF &&
              code == code_in(slot_codes, slot, pack->dimensions, i) && -0x8000 <= code <= 0x7FFF &&
              product(degree, code) == degree * code && -0x2000000000 <= product(degree, code) <= 0x2000000000; */
        int64_t sum = pack_code(slot_codes, (size_t)slot * pack->dimensions + i) * degree;
        /*@ loop assigns j, sum;
            loop invariant 0 <= j <= pack->neighbours;
            loop invariant sum: sum == product(degree, code_in(slot_codes, slot, pack->dimensions, i)) +
              pull(anchor_codes, indices, weights, pack->dimensions, i, j);
            loop invariant sum_bound: -0x2000000000 - 0x80000000 * j <= sum <= 0x2000000000 + 0x80000000 * j;
            loop variant pack->neighbours - j; */
        for (size_t j = 0; j < pack->neighbours; j++)
            /*@ assert readable: \let at = 2 * (product(indices[j], pack->dimensions) + i);
                  \valid_read(codes_of(pack, PML_SECTION_ANCHOR_CODES) + (at .. at + 1)); */
            /*@ assert term: \let at = (uint64_t)((uint64_t)(indices[j] * pack->dimensions) + i);
                  \let code = code_at(anchor_codes, at);
                  at == product(indices[j], pack->dimensions) + i <= 0xFFFFFFFF &&
                  code == code_in(anchor_codes, indices[j], pack->dimensions, i) && -0x8000 <= code <= 0x7FFF &&
                  product(weights[j], code) == weights[j] * code &&
                  -0x80000000 <= product(weights[j], code) <= 0x80000000; */
            sum += (int64_t)weights[j] * pack_code(anchor_codes, (size_t)indices[j] * pack->dimensions + i);
        /*@ assert label: product(pack->alpha, label_row[i]) == pack->alpha * label_row[i] &&
              -0x1000000000000 <= product(pack->alpha, label_row[i]) <= 0x1000000000000; */
        /*@ assert ideal:
              256 * sum + pack->alpha * label_row[i] == numerator(pack, slot, label_row, indices, weights, i); */
        row[i] = (int32_t)divide_round(256 * sum + pack->alpha * label_row[i], 512 * degree * grid);
    }
}
