/* SPDX-License-Identifier: Apache-2.0
 * Stage: certified sensitivity (SPEC 5.7; PRIVACY.md, theorems 1 to 3b). In: the pack's codes. Out: Δ, the centres of
 * the slots' boxes or balls, a bound of every row. All in exact integers, every division rounded outward. Takes nothing
 * of this from the pack, so a hostile pack cannot weaken it. */
#include "base/exact.h"
#include "stages.h"

#define DIRECTIONS 64u

/* round(4096·cos(πi/64)), i = 0 … 32 */
static const int16_t cosine[33] = {4096, 4091, 4076, 4052, 4017, 3973, 3920, 3857, 3784, 3703, 3612,
                                   3513, 3406, 3290, 3166, 3035, 2896, 2751, 2598, 2440, 2276, 2106,
                                   1931, 1751, 1567, 1380, 1189, 995,  799,  601,  401,  201,  0};

/* Direction `index` of SPEC 5.7 into v; returns the coordinate when it is an axis, else −1. */
static int direction(uint32_t k, uint32_t index, int32_t *v)
{
    if (k != 2) {
        for (uint32_t i = 0; i < k; i++)
            v[i] = i == index ? 4096 : 0;
        return (int)index;
    }
    v[0] = index <= 32 ? cosine[index] : -cosine[64 - index];
    v[1] = index <= 32 ? cosine[32 - index] : cosine[index - 32];
    return index % 32 == 0 ? (int)(index / 32) : -1;
}

static void insert_largest(int64_t *list, size_t *held, size_t room, int64_t value)
{
    if (*held == room) {
        if (value <= list[room - 1])
            return;
        --*held;
    }
    size_t at = (*held)++;
    for (; at > 0 && list[at - 1] < value; at--)
        list[at] = list[at - 1];
    list[at] = value;
}

/* The K largest ⟨Q_j, v⟩ and the K largest ⟨Q_j, −v⟩ */
static void project(const pml_pack *pack, const int32_t *v, int64_t *up, int64_t *down)
{
    const uint8_t *codes = pack->section[PML_SECTION_ANCHOR_CODES];
    size_t ups = 0, downs = 0;
    for (size_t j = 0; j < pack->anchors; j++) {
        int64_t product = 0;
        for (size_t i = 0; i < pack->dimensions; i++)
            product += (int64_t)pack_code(codes, j * pack->dimensions + i) * v[i];
        insert_largest(up, &ups, pack->neighbours, product);
        insert_largest(down, &downs, pack->neighbours, -product);
    }
}

/* H: theorem 1. |numerator| < 2^61 by the limits of codes, K and alpha. */
static int64_t support(const int64_t *list, size_t K, uint32_t floor, int64_t label_term)
{
    int64_t low = 0, high = 0, best = INT64_MIN;
    for (size_t t = 0; t < K; t++)
        low += list[t];
    for (size_t t = 0; t <= K; t++) {
        int64_t numerator = 256 * (65536 * high + (int64_t)floor * low) + label_term;
        int64_t value = divide_ceil(numerator, 256 * (65536 * (int64_t)t + (int64_t)floor * (int64_t)(K - t)));
        best = value > best ? value : best;
        if (t < K)
            high += list[t], low -= list[t];
    }
    return best;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t size_of(int64_t a)
{
    return a < 0 ? -a : a;
}

/* ⌈√squares⌉, below 2^31 here */
static int64_t root_ceil(uint64_t squares)
{
    const int64_t root = pml_sqrt_floor(squares);
    return root + ((uint64_t)root * (uint64_t)root < squares);
}

/* ---- boxes ---- */

/* What one direction tells, over all slots. */
struct extent {
    int64_t width; /* max_s W_s(v) */
    int64_t bound; /* axis: max_s |row coordinate| · 8192 */
};

static struct extent extent_along(const pml_pack *pack, uint32_t floor, const int64_t *label_rows, const int32_t *v,
                                  int axis, const int64_t *up, const int64_t *down, int64_t *centres)
{
    struct extent extent = {0, 0};
    int64_t plus = 0, minus = 0;
    for (size_t s = 0; s < pack->slots; s++) {
        if (s == 0 || pack->alpha != 0) { /* without the label term all slots have one shape */
            int64_t term = 0;
            for (size_t i = 0; i < pack->dimensions; i++)
                term += label_rows[s * pack->dimensions + i] * v[i];
            term *= pack->alpha;
            plus = support(up, pack->neighbours, floor, term);
            minus = support(down, pack->neighbours, floor, -term);
        }
        extent.width = larger(extent.width, plus + minus);
        if (axis < 0)
            continue;
        size_t at = s * pack->dimensions + (size_t)axis;
        int64_t code = pack_code(pack->section[PML_SECTION_SLOT_CODES], at);
        extent.bound = larger(extent.bound, larger(size_of(4096 * code + plus), size_of(4096 * code - minus)));
        if (centres)
            centres[at] = 8192 * code + plus - minus;
    }
    return extent;
}

/* ---- balls ---- */

/* max_s ρ_s of theorem 3b, in 1/256 units: at most 2^25 + 2^49. */
static int64_t ball_diameter(const pml_pack *pack, uint32_t floor, const int64_t *label_rows)
{
    const size_t k = pack->dimensions;
    const uint8_t *codes = pack->section[PML_SECTION_ANCHOR_CODES];
    uint64_t farthest = 0, longest = 0;
    for (size_t j = 0; j < pack->anchors; j++) {
        uint64_t squares = 0;
        for (size_t i = 0; i < k; i++) {
            const int64_t code = pack_code(codes, j * k + i);
            squares += (uint64_t)(code * code);
        }
        farthest = squares > farthest ? squares : farthest;
    }
    for (size_t s = 0; s < pack->slots && pack->alpha != 0; s++) {
        uint64_t squares = 0;
        for (size_t i = 0; i < k; i++) {
            const int64_t part = divide_ceil(size_of(label_rows[s * k + i]), 65536); /* at most 2^22 */
            squares += (uint64_t)(part * part);
        }
        longest = squares > longest ? squares : longest;
    }
    const int64_t spread = (int64_t)pack->alpha * (65536 - (int64_t)floor) * root_ceil(longest); /* at most 2^50 */
    return root_ceil(65536 * farthest) + divide_ceil(spread, 2 * (int64_t)pack->neighbours * floor);
}

/* Centre of a ball, over 16384. The label row is divided first: no product exceeds 2^49 when all ρ_s < 2^28. */
static int64_t ball_centre(const pml_pack *pack, uint32_t floor, const int64_t *label_rows, size_t at)
{
    const int64_t least = (int64_t)pack->neighbours * floor, factor = (65536 + (int64_t)floor) * pack->alpha;
    const int64_t whole = divide_floor(label_rows[at], least), rest = label_rows[at] - whole * least;
    const int64_t pull = divide_round(whole * factor + rest * factor / least, 4096);
    return 8192 * (int64_t)pack_code(pack->section[PML_SECTION_SLOT_CODES], at) + pull;
}

pml_status pml_certificate_of(const pml_pack *pack, uint32_t floor, const int64_t *label_rows, int64_t *centres,
                              int64_t *scratch, pml_certificate *certificate)
{
    const int64_t limit = (int64_t)1 << 28; /* Δ in 1/256 units: below 2^20 embedding units */
    int64_t *up = scratch, *down = scratch + pack->neighbours;
    int64_t widest = 0, bound = 0;
    uint64_t squares = 0;
    uint32_t count = pack->dimensions == 2 ? DIRECTIONS : pack->dimensions;
    for (uint32_t index = 0; index < count; index++) {
        int32_t v[PML_DIMENSIONS_MAX];
        int axis = direction(pack->dimensions, index, v);
        project(pack, v, up, down);
        struct extent extent = extent_along(pack, floor, label_rows, v, axis, up, down, centres);
        bound = larger(bound, extent.bound);
        widest = larger(widest, extent.width);
        int64_t side = divide_ceil(extent.width, 32);
        if (side >= limit)
            return PML_ERROR_SENSITIVITY;
        if (axis >= 0)
            squares += (uint64_t)(side * side); /* at most 16·2^56 */
    }
    int64_t delta =
        pack->dimensions == 2 ? divide_ceil(widest * (65536 + 28), (int64_t)32 * 65536) : root_ceil(squares);
    const int64_t ball = pack->dimensions == 2 ? delta : ball_diameter(pack, floor, label_rows);
    if (ball < delta && ball < limit) {
        delta = ball;
        for (size_t at = 0; at < (size_t)pack->slots * pack->dimensions; at++) {
            const int64_t centre = ball_centre(pack, floor, label_rows, at);
            bound = larger(bound, divide_ceil(size_of(centre), 2));
            if (centres)
                centres[at] = centre;
        }
    }
    bound = divide_ceil(bound, 8192);
    if (delta == 0 || delta >= limit || bound >= (int64_t)1 << 20)
        return PML_ERROR_SENSITIVITY;
    certificate->sensitivity = (double)delta / 256.0;
    certificate->row_bound = (double)bound;
    certificate->floor_weight = floor;
    return PML_OK;
}
