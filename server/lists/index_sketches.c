/* SPDX-License-Identifier: Apache-2.0
 * Sketches of many items. An item's sketch is chosen among nine, and pml_sketch finds every code of each by trials. Here a
 * table tells the value and the code of each coordinate that a direction tells apart, and many items pass by while it stays
 * in the first cache. */
#include "index_sketches.h"
#include "core/base/exact.h"
#include "core/base/sketch_code.h"
#include "core/pack/pack.h"

#include <stdlib.h>

#define PIECE 256u          /* items that a thread takes at once */
#define TRIALS 9            /* factors of t/32 */
#define FARTHEST (36 * 512) /* no coordinate in 2^-14 is larger, by any factor */
#define OFFSET (1 << 20)    /* makes what is shifted positive, and does not change the rest */

/* From `low` up to `high` coordinates have their own entries; those below and above are like these. */
struct direction {
    uint32_t norm;
    int32_t low, high;
    int16_t *values;
    uint8_t *codes;
};

struct pml_sketches {
    const pml_pack *pack;
    size_t directions;
    struct direction *list;
};

/* ---- tables ---- */

static int32_t limited(int32_t coordinate)
{
    return coordinate < -FARTHEST ? -FARTHEST : coordinate > FARTHEST ? FARTHEST : coordinate;
}

/* Entry by entry, with the edges that a coordinate has passed (SPEC 5.13). */
static pml_outcome fill_direction(struct direction *direction, int32_t middle, int32_t width, const int8_t *levels,
                                  unsigned bits)
{
    const uint32_t last = (1u << bits) - 1;
    int32_t edges[1u << PML_SKETCH_BITS_MAX]; /* edges[c] is between the values of c and c + 1 */
    for (uint32_t c = 0; c < last; c++)
        edges[c] = sketch_value(middle, width, levels[c]) + sketch_value(middle, width, levels[c + 1]);
    direction->low = limited(edges[0] - 1);
    direction->high = limited(edges[last - 1]);
    const size_t count = (size_t)(direction->high - direction->low) + 1;
    direction->values = malloc(count * sizeof *direction->values);
    direction->codes = malloc(count);
    if (!direction->values || !direction->codes)
        return PML_NO_MEMORY;
    uint32_t code = 0;
    for (size_t i = 0; i < count; i++) {
        while (code < last && direction->low + (int32_t)i >= edges[code])
            code++;
        direction->values[i] = (int16_t)sketch_value(middle, width, levels[code]);
        direction->codes[i] = (uint8_t)code;
    }
    return PML_DONE;
}

static pml_outcome fill_tables(struct pml_sketches *sketches)
{
    const pml_pack *pack = sketches->pack;
    const uint8_t *code = pack->section[PML_SECTION_SKETCH_CODE], *ranges = pack->section[PML_SECTION_DIRECTION_RANGES];
    size_t at = 0;
    for (unsigned bits = PML_SKETCH_BITS_MAX; bits > 0 && sketches->directions > 0; bits--)
        for (uint32_t left = PML_SKETCH_BLOCK * sketch_blocks(code, bits); left > 0; left--, at++) {
            sketches->list[at].norm = pack_u32(pack->section[PML_SECTION_DIRECTION_NORMS], at);
            if (fill_direction(&sketches->list[at], pack_code(ranges, at), pack_code(ranges, pack->directions + at),
                               sketch_levels(code, bits), bits) != PML_DONE)
                return PML_NO_MEMORY;
        }
    return PML_DONE;
}

pml_outcome pml_sketches_open(struct pml_sketches **sketches, const pml_pack *pack)
{
    struct pml_sketches *made = calloc(1, sizeof *made);
    *sketches = NULL;
    if (!made)
        return PML_NO_MEMORY;
    made->pack = pack;
    made->directions = pack->directions;
    made->list = calloc(made->directions + 1, sizeof *made->list);
    const pml_outcome outcome = made->list ? fill_tables(made) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        *sketches = made;
    else
        pml_sketches_close(made);
    return outcome;
}

void pml_sketches_close(struct pml_sketches *sketches)
{
    if (!sketches)
        return;
    for (size_t i = 0; sketches->list && i < sketches->directions; i++) {
        free(sketches->list[i].values);
        free(sketches->list[i].codes);
    }
    free(sketches->list);
    free(sketches);
}

/* ---- a piece ---- */

/* dot and squares of one trial of SPEC 5.13 */
struct trial {
    int32_t dot;
    uint32_t squares;
};

struct piece {
    const struct pml_sketches *sketches;
    const struct pml_rows *rows;
    size_t first, count;
    int16_t *fine; /* coordinates in 2^-14: PIECE of each direction */
    struct trial trials[PIECE][TRIALS];
    int32_t chosen[PIECE]; /* factors */
};

/* 32, 31, 33, 30, 34 … */
static int32_t factor_of(int32_t trial)
{
    return 32 + (trial % 2 ? -(trial + 1) / 2 : trial / 2);
}

/* As `measure` of core/sketch_public.c. */
static void measure(const struct piece *piece)
{
    const struct pml_sketches *sketches = piece->sketches;
    const struct pml_rows *rows = piece->rows;
    const int8_t *directions = (const int8_t *)sketches->pack->section[PML_SECTION_DIRECTIONS];
    const uint64_t offset = (uint64_t)1 << 62; /* makes what is shifted positive */
    int32_t dots[PML_TILE * PML_TILE];
    for (size_t own = 0; own < piece->count; own += PML_TILE)
        for (size_t at = 0; at < sketches->directions; at += PML_TILE) {
            const size_t own_count = piece->count - own < PML_TILE ? piece->count - own : PML_TILE,
                         count = sketches->directions - at < PML_TILE ? sketches->directions - at : PML_TILE;
            pml_tile_dots(rows->values + (piece->first + own) * rows->columns, own_count,
                          directions + at * rows->columns, count, rows->columns, dots);
            for (size_t i = 0; i < count; i++)
                for (size_t r = 0; r < own_count; r++) {
                    const int64_t cosine = dots[r * PML_TILE + i] * (int64_t)sketches->list[at + i].norm *
                                           (int64_t)rows->inverse[piece->first + own + r];
                    piece->fine[(at + i) * PIECE + own + r] =
                        (int16_t)((int32_t)(((uint64_t)cosine + offset) >> 46) - (1 << 16));
                }
        }
}

/* The place of a coordinate times factor/32, rounded down, in the tables. */
static size_t place_of(const struct direction *direction, int32_t fine, int32_t factor)
{
    const int32_t scaled = (int32_t)((uint32_t)(fine * factor + OFFSET) >> 5) - OFFSET / 32;
    const int32_t limit = scaled < direction->low ? direction->low : scaled;
    return (size_t)((limit > direction->high ? direction->high : limit) - direction->low);
}

/* Adds one direction to the trials of all rows. */
static void try_direction(struct piece *piece, const struct direction *direction, const int16_t *fine)
{
    for (size_t r = 0; r < piece->count; r++) {
        const int32_t query = (int32_t)((uint32_t)(fine[r] + 2 + OFFSET) >> 2) - OFFSET / 4;
        for (int32_t t = 0; t < TRIALS; t++) {
            const int32_t value = direction->values[place_of(direction, fine[r], 28 + t)];
            piece->trials[r][t].dot += query * value;
            piece->trials[r][t].squares += (uint32_t)(value * value);
        }
    }
}

/* The first of the best trials, in the order of factor_of. */
static int32_t best_factor(const struct trial *trials)
{
    int64_t best = INT64_MIN;
    int32_t chosen = 32;
    for (int32_t i = 0; i < TRIALS; i++) {
        const struct trial *trial = &trials[factor_of(i) - 28];
        const int64_t score = multiply_signed(trial->dot, pml_inverse_sqrt(trial->squares));
        if (score <= best)
            continue;
        best = score;
        chosen = factor_of(i);
    }
    return chosen;
}

/* Eight directions of `bits` bits each, of all rows. `out`: their bytes in the first sketch. */
static void write_block(const struct piece *piece, size_t at, unsigned bits, uint8_t *out)
{
    for (size_t r = 0; r < piece->count; r++, out += piece->sketches->pack->sketch) {
        uint64_t codes = 0;
        for (unsigned i = 0; i < PML_SKETCH_BLOCK; i++) {
            const struct direction *direction = &piece->sketches->list[at + i];
            const int32_t fine = piece->fine[(at + i) * PIECE + r];
            codes |= (uint64_t)direction->codes[place_of(direction, fine, piece->chosen[r])] << (i * bits);
        }
        for (unsigned i = 0; i < bits; i++)
            out[i] = (uint8_t)(codes >> 8 * i);
    }
}

static void write_piece(const struct piece *piece, uint8_t *out)
{
    const uint8_t *code = piece->sketches->pack->section[PML_SECTION_SKETCH_CODE];
    size_t at = 0;
    for (unsigned bits = PML_SKETCH_BITS_MAX; bits > 0; bits--)
        for (uint32_t block = 0; block < sketch_blocks(code, bits); block++, at += PML_SKETCH_BLOCK, out += bits)
            write_block(piece, at, bits, out);
}

/* ---- all of them ---- */

struct making {
    const struct pml_sketches *sketches;
    const struct pml_rows *rows;
    int8_t *out;
};

static pml_outcome make_plain(const struct making *making, size_t first, size_t end)
{
    const pml_pack *pack = making->sketches->pack;
    for (size_t i = first; i < end; i++)
        if (pml_sketch(pack, pml_rows_kernels(), making->rows->values + i * making->rows->columns,
                       making->out + i * pack->sketch) != PML_OK)
            return PML_REFUSED;
    return PML_DONE;
}

static pml_outcome make_piece(void *context, size_t number)
{
    const struct making *making = context;
    const struct pml_sketches *sketches = making->sketches;
    const size_t first = number * PIECE, left = making->rows->count - first, count = left < PIECE ? left : PIECE;
    if (sketches->directions == 0)
        return make_plain(making, first, first + count);
    struct piece *piece = calloc(1, sizeof *piece);
    int16_t *fine = malloc(sketches->directions * PIECE * sizeof *fine);
    const pml_outcome outcome = piece && fine ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        piece->sketches = sketches;
        piece->rows = making->rows;
        piece->first = first;
        piece->count = count;
        piece->fine = fine;
        measure(piece);
        for (size_t i = 0; i < sketches->directions; i++)
            try_direction(piece, &sketches->list[i], fine + i * PIECE);
        for (size_t r = 0; r < count; r++)
            piece->chosen[r] = best_factor(piece->trials[r]);
        write_piece(piece, (uint8_t *)making->out + first * sketches->pack->sketch);
    }
    free(piece);
    free(fine);
    return outcome;
}

pml_outcome pml_sketches_make(const struct pml_sketches *sketches, const struct pml_rows *rows, unsigned threads,
                              const struct pml_progress *progress, int8_t *out)
{
    struct making making = {sketches, rows, out};
    return pml_parallel(threads, (rows->count + PIECE - 1) / PIECE, make_piece, &making, progress);
}
