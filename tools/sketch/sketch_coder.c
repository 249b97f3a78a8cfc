/* SPDX-License-Identifier: Apache-2.0
 * Principal directions of the rows, bits for each by its variance, and levels for each number of bits. */
#include "sketch_coder.h"
#include "principal.h"
#include "quantiser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNIT 8192.0   /* length of a row, in the units of middles and widths */
#define SAMPLE 65536u /* numbers that the levels of a depth are made from, at most */
#define DIRECTIONS_PER_BYTE 4u
#define DIRECTIONS_LEAST 128u

struct coding {
    const struct pml_rows *rows;
    const struct pml_moments *moments; /* their sample */
    size_t wanted, sample;             /* directions, rows */
    int8_t *directions;                /* wanted × columns */
    double *inverse;                   /* 1 / length of each */
    double *coordinates;               /* sample × wanted */
    double *means, *deviations;        /* of each direction */
    uint32_t *order;                   /* of the directions, those that get most bits first */
};

/* ---- coordinates of a sample ---- */

static void round_direction(const struct pml_directions *directions, size_t index, int8_t *out)
{
    double largest = 0.0;
    for (size_t j = 0; j < directions->size; j++) {
        const double size = fabs(*pml_direction(directions, index, j));
        largest = size > largest ? size : largest;
    }
    for (size_t j = 0; j < directions->size; j++)
        out[j] = (int8_t)floor(*pml_direction(directions, index, j) * (127.0 / largest) + 0.5);
}

static void take_directions(struct coding *coding, const struct pml_directions *directions)
{
    const size_t columns = coding->rows->columns;
    for (size_t i = 0; i < coding->wanted; i++) {
        int8_t *row = coding->directions + i * columns;
        round_direction(directions, i, row);
        coding->inverse[i] = 1.0 / sqrt((double)pml_dot(row, row, columns));
    }
}

/* A pml_piece_fn: the coordinates of one row of the sample. */
static pml_outcome measure_row(void *context, size_t index)
{
    const struct coding *coding = context;
    const size_t row = coding->moments->indices[index], columns = coding->rows->columns;
    const double inverse = 1.0 / sqrt((double)coding->rows->squared[row]);
    double *out = coding->coordinates + index * coding->wanted;
    int32_t dots[PML_TILE];
    for (size_t first = 0; first < coding->wanted; first += PML_TILE) {
        const size_t count = coding->wanted - first < PML_TILE ? coding->wanted - first : PML_TILE;
        pml_dots(coding->rows->values + row * columns, coding->directions + first * columns, columns, count, dots);
        for (size_t i = 0; i < count; i++)
            out[first + i] = dots[i] * inverse * coding->inverse[first + i];
    }
    return PML_DONE;
}

/* A pml_piece_fn: mean and deviation along one direction. */
static pml_outcome measure_direction(void *context, size_t index)
{
    struct coding *coding = context;
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < coding->sample; i++)
        sum += coding->coordinates[i * coding->wanted + index];
    const double mean = sum / (double)coding->sample;
    for (size_t i = 0; i < coding->sample; i++) {
        const double distance = coding->coordinates[i * coding->wanted + index] - mean;
        squares += distance * distance;
    }
    coding->means[index] = mean;
    coding->deviations[index] = sqrt(squares / (double)coding->sample);
    return PML_DONE;
}

/* ---- bits ---- */

/* What an error along a direction costs: its variance, weighted by the deviation. Along a direction with a large one a
 * query is further from its candidates, and an error counts by that distance (docs/DESIGN.md). */
static double weight_of(const struct coding *coding, size_t index)
{
    return index < coding->wanted ? coding->deviations[index] * coding->deviations[index] * coding->deviations[index]
                                  : 0.0;
}

static void sort_directions(struct coding *coding)
{
    for (size_t i = 0; i < coding->wanted; i++) {
        size_t at = i;
        for (; at > 0 && weight_of(coding, coding->order[at - 1]) < weight_of(coding, i); at--)
            coding->order[at] = coding->order[at - 1];
        coding->order[at] = (uint32_t)i;
    }
}

/* Gives every byte to the block whose error it lessens most. The error that b bits leave of a variance is that of the best
 * quantiser of a normal variable. Blocks are ordered by weight, so bits do not ascend. */
static void share_bytes(const struct coding *coding, size_t bytes, unsigned *bits, size_t blocks)
{
    static const double left[PML_CODER_BITS + 1] = {1.0,      0.3634,   0.1175,   0.03454,
                                                    0.009497, 0.002499, 0.000642, 0.000163};
    double weights[PML_DIRECTIONS_MAX / PML_CODER_BLOCK];
    for (size_t i = 0; i < blocks; i++) {
        weights[i] = 0.0;
        bits[i] = 0;
        for (size_t j = i * PML_CODER_BLOCK; j < (i + 1) * PML_CODER_BLOCK && j < coding->wanted; j++)
            weights[i] += weight_of(coding, coding->order[j]);
    }
    for (size_t byte = 0; byte < bytes; byte++) {
        size_t best = blocks;
        double most = 0.0;
        for (size_t i = 0; i < blocks; i++) {
            const double gain = bits[i] < PML_CODER_BITS ? weights[i] * (left[bits[i]] - left[bits[i] + 1]) : 0.0;
            if (gain > most) {
                most = gain;
                best = i;
            }
        }
        if (best == blocks && byte > 0)
            return; /* nothing else varies */
        bits[best == blocks ? 0 : best]++;
    }
}

/* ---- levels ---- */

struct depth {
    double *sample, *sums;
    double levels[1u << PML_CODER_BITS], largest;
};

/* The levels of the directions `first` … `end` − 1 in the order, as deviations from their means. */
static void find_levels(const struct coding *coding, struct depth *depth, size_t first, size_t end, unsigned bits)
{
    const size_t all = (end - first) * coding->sample, step = (all + SAMPLE - 1) / SAMPLE;
    size_t size = 0, number = 0;
    for (size_t i = 0; i < coding->sample; i++)
        for (size_t j = first; j < end && j < coding->wanted; j++, number++) {
            const size_t direction = coding->order[j];
            if (number % step != 0 || !(coding->deviations[direction] > 0.0))
                continue;
            depth->sample[size++] = (coding->coordinates[i * coding->wanted + direction] - coding->means[direction]) /
                                    coding->deviations[direction];
        }
    pml_quantiser_levels(depth->sample, size, depth->sums, depth->levels, (size_t)1 << bits);
    depth->largest = 0.0;
    for (size_t i = 0; i < (size_t)1 << bits; i++)
        depth->largest = fabs(depth->levels[i]) > depth->largest ? fabs(depth->levels[i]) : depth->largest;
}

static void put_levels(const struct depth *depth, unsigned bits, int8_t *out)
{
    for (size_t i = 0; i < (size_t)1 << bits; i++)
        out[i] = depth->largest > 0.0 ? (int8_t)floor(depth->levels[i] * (127.0 / depth->largest) + 0.5) : 0;
}

/* One direction of the code; those beyond the rows' own repeat the first and have no width. */
static void put_direction(const struct coding *coding, struct pml_sketch_coder *coder, size_t index, double largest)
{
    const size_t columns = coding->rows->columns;
    const bool own = index < coding->wanted;
    const size_t direction = coding->order[own ? index : 0];
    memcpy(coder->rows + index * columns, coding->directions + direction * columns, columns);
    if (!own)
        return;
    const double middle = floor(coding->means[direction] * UNIT + 0.5),
                 width = floor(coding->deviations[direction] * largest * (UNIT * 128.0 / 127.0) + 0.5),
                 room = 32767.0 - fabs(middle);
    coder->middles[index] = (int16_t)middle;
    coder->widths[index] = (int16_t)(width < room ? width : room);
}

/* A pack's sums have limits (SPEC 1), which only rows with strange tails exceed: their tails are cut. */
static void keep_limits(struct pml_sketch_coder *coder)
{
    for (;;) {
        uint64_t sum = 0, squares = 0;
        for (size_t i = 0; i < coder->directions; i++) {
            const uint64_t most = (uint64_t)(abs(coder->middles[i]) + coder->widths[i]);
            sum += most;
            squares += most * most;
        }
        if (sum < (uint64_t)1 << 19 && squares < (uint64_t)1 << 32)
            return;
        for (size_t i = 0; i < coder->directions; i++)
            coder->widths[i] = (int16_t)(coder->widths[i] - coder->widths[i] / 8 - (coder->widths[i] > 0));
    }
}

static pml_outcome fill(const struct coding *coding, struct pml_sketch_coder *coder)
{
    struct depth depth = {malloc(SAMPLE * sizeof *depth.sample), malloc((SAMPLE + 1) * sizeof *depth.sums), {0}, 0.0};
    coder->rows = malloc(coder->directions * coding->rows->columns);
    coder->middles = calloc(coder->directions, sizeof *coder->middles);
    coder->widths = calloc(coder->directions, sizeof *coder->widths);
    const bool room = depth.sample && depth.sums && coder->rows && coder->middles && coder->widths;
    size_t first = 0;
    for (unsigned bits = PML_CODER_BITS; room && bits > 0; bits--) {
        const size_t end = first + PML_CODER_BLOCK * coder->blocks[bits - 1];
        if (end == first)
            continue;
        find_levels(coding, &depth, first, end, bits);
        put_levels(&depth, bits, coder->levels + (((size_t)1 << bits) - 2));
        for (; first < end; first++)
            put_direction(coding, coder, first, depth.largest);
    }
    free(depth.sample);
    free(depth.sums);
    if (!room)
        return PML_NO_MEMORY;
    keep_limits(coder);
    return PML_DONE;
}

/* ---- all of it ---- */

/* The direction nearest to the mean of the rows, which is the first, is kept whatever its variance: nothing else tells how
 * long a row is. */
static void keep_mean(struct coding *coding, size_t directions)
{
    size_t at = 0;
    while (coding->order[at] != 0)
        at++;
    if (at < directions)
        return;
    coding->order[at] = coding->order[directions - 1];
    coding->order[directions - 1] = 0;
}

static pml_outcome code(struct coding *coding, struct pml_sketch_coder *coder, size_t bytes)
{
    unsigned bits[PML_DIRECTIONS_MAX / PML_CODER_BLOCK];
    const size_t blocks = (coding->wanted + PML_CODER_BLOCK - 1) / PML_CODER_BLOCK;
    sort_directions(coding);
    share_bytes(coding, bytes, bits, blocks);
    for (size_t i = 0; i < blocks && bits[i] > 0; i++) {
        coder->blocks[bits[i] - 1]++;
        coder->bytes += bits[i];
        coder->directions += PML_CODER_BLOCK;
    }
    keep_mean(coding, coder->directions);
    return fill(coding, coder);
}

static pml_outcome allocate(struct coding *coding)
{
    coding->directions = malloc(coding->wanted * coding->rows->columns);
    coding->inverse = malloc(coding->wanted * sizeof *coding->inverse);
    coding->coordinates = malloc(coding->sample * coding->wanted * sizeof *coding->coordinates);
    coding->means = malloc(coding->wanted * sizeof *coding->means);
    coding->deviations = malloc(coding->wanted * sizeof *coding->deviations);
    coding->order = malloc(coding->wanted * sizeof *coding->order);
    return coding->directions && coding->inverse && coding->coordinates && coding->means && coding->deviations &&
                   coding->order
               ? PML_DONE
               : PML_NO_MEMORY;
}

static void free_coding(struct coding *coding)
{
    free(coding->directions);
    free(coding->inverse);
    free(coding->coordinates);
    free(coding->means);
    free(coding->deviations);
    free(coding->order);
}

static size_t count_directions(size_t bytes, size_t columns)
{
    size_t most = DIRECTIONS_PER_BYTE * bytes;
    most = most > DIRECTIONS_LEAST ? most : DIRECTIONS_LEAST;
    return most < columns ? most : columns;
}

pml_outcome pml_sketch_coder_make(struct pml_sketch_coder *coder, const struct pml_rows *rows, size_t bytes,
                                  uint64_t seed, unsigned threads, const struct pml_progress *progress)
{
    struct pml_generator generator = pml_generator_start(seed, PML_STREAM_SKETCH);
    struct pml_moments *moments = calloc(1, sizeof *moments);
    struct pml_directions directions = {0};
    struct coding coding = {.rows = rows, .moments = moments, .wanted = count_directions(bytes, rows->columns)};
    *coder = (struct pml_sketch_coder){0};
    if (!moments)
        return PML_NO_MEMORY;
    pml_outcome outcome =
        pml_principal_directions(moments, &directions, rows, coding.wanted, &generator, threads, progress);
    coding.sample = moments->sample;
    if (outcome == PML_DONE)
        outcome = allocate(&coding);
    if (outcome == PML_DONE) {
        take_directions(&coding, &directions);
        outcome = pml_parallel(threads, coding.sample, measure_row, &coding, NULL);
    }
    if (outcome == PML_DONE)
        outcome = pml_parallel(threads, coding.wanted, measure_direction, &coding, NULL);
    if (outcome == PML_DONE)
        outcome = code(&coding, coder, bytes);
    free_coding(&coding);
    pml_directions_free(&directions);
    pml_moments_free(moments);
    free(moments);
    return outcome;
}

void pml_sketch_coder_free(struct pml_sketch_coder *coder)
{
    free(coder->rows);
    free(coder->middles);
    free(coder->widths);
    *coder = (struct pml_sketch_coder){0};
}
