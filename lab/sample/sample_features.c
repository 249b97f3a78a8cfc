/* SPDX-License-Identifier: Apache-2.0
 * Histograms of oriented gradients on 4 × 4 cells, each normalised with its neighbours, then the cells' brightness. 144 + 16
 * features. */
#define _XOPEN_SOURCE 700 /* M_PI */
#include "sample_features.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define CELLS SAMPLE_CELLS
#define DIRECTIONS SAMPLE_DIRECTIONS

typedef double histograms[CELLS][CELLS][DIRECTIONS];

static double pixel_at(const uint8_t *pixels, unsigned size, long row, long column)
{
    long last = (long)size - 1;
    row = row < 0 ? 0 : row > last ? last : row;
    column = column < 0 ? 0 : column > last ? last : column;
    return pixels[row * (long)size + column] / 255.0;
}

/* Shares `amount` between the two bins around `place` (bin i's middle is i + 0.5). */
struct split {
    int bin[2];
    double share[2];
};

static struct split split_between(double place)
{
    double lower = floor(place - 0.5);
    double upper_share = place - 0.5 - lower;
    return (struct split){{(int)lower, (int)lower + 1}, {1 - upper_share, upper_share}};
}

/* Spread over neighbouring cells and directions, so that a small shift changes features a little only. */
static void add_gradient(histograms cells, double row, double column, double direction, double strength)
{
    struct split rows = split_between(row), columns = split_between(column), directions = split_between(direction);
    for (int i = 0; i < 8; i++) {
        int r = i & 1, c = i >> 1 & 1, d = i >> 2;
        if (rows.bin[r] < 0 || rows.bin[r] >= CELLS || columns.bin[c] < 0 || columns.bin[c] >= CELLS)
            continue;
        int bin = (directions.bin[d] + DIRECTIONS) % DIRECTIONS; /* half a turn is the same direction */
        cells[rows.bin[r]][columns.bin[c]][bin] += strength * rows.share[r] * columns.share[c] * directions.share[d];
    }
}

static void collect(const uint8_t *pixels, unsigned size, histograms cells, double brightness[CELLS][CELLS])
{
    for (unsigned row = 0; row < size; row++) {
        for (unsigned column = 0; column < size; column++) {
            long r = (long)row, c = (long)column;
            double across = pixel_at(pixels, size, r, c + 1) - pixel_at(pixels, size, r, c - 1);
            double down = pixel_at(pixels, size, r + 1, c) - pixel_at(pixels, size, r - 1, c);
            double angle = atan2(down, across);
            double direction = (angle < 0 ? angle + M_PI : angle) * DIRECTIONS / M_PI;
            double place_row = (row + 0.5) * CELLS / size, place_column = (column + 0.5) * CELLS / size;
            add_gradient(cells, place_row, place_column, direction, hypot(across, down));
            brightness[(int)place_row][(int)place_column] += pixel_at(pixels, size, r, c) / ((double)size * size);
        }
    }
}

/* The energy of a cell and the ones around it, which it is measured against. */
static double energy_around(histograms cells, int row, int column)
{
    double energy = 0;
    for (int r = row > 0 ? row - 1 : 0; r <= row + 1 && r < CELLS; r++)
        for (int c = column > 0 ? column - 1 : 0; c <= column + 1 && c < CELLS; c++)
            for (int d = 0; d < DIRECTIONS; d++)
                energy += cells[r][c][d] * cells[r][c][d];
    return energy;
}

/* Mean 0 and length 1, times `weight`: light on dark and a little brighter is then much the same. */
static void standardise(const double *values, int count, double weight, float *out)
{
    double mean = 0, squares = 1e-9;
    for (int i = 0; i < count; i++)
        mean += values[i] / count;
    for (int i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    for (int i = 0; i < count; i++)
        out[i] = (float)(weight * (values[i] - mean) / sqrt(squares));
}

void sample_features(const uint8_t *pixels, unsigned size, float features[SAMPLE_FEATURES])
{
    histograms cells;
    double brightness[CELLS][CELLS], gradients[CELLS * CELLS * DIRECTIONS], grid[CELLS * CELLS];
    memset(cells, 0, sizeof cells);
    memset(brightness, 0, sizeof brightness);
    collect(pixels, size, cells, brightness);
    size_t next = 0;
    for (int row = 0; row < CELLS; row++) {
        for (int column = 0; column < CELLS; column++) {
            double energy = sqrt(energy_around(cells, row, column)) + 0.1;
            for (int d = 0; d < DIRECTIONS; d++)
                gradients[next++] = fmin(cells[row][column][d] / energy, 0.4);
            grid[row * CELLS + column] = brightness[row][column];
        }
    }
    standardise(gradients, CELLS * CELLS * DIRECTIONS, 1.0, features);
    standardise(grid, CELLS * CELLS, 0.4, features + CELLS * CELLS * DIRECTIONS);
    features[0] += 1e-6f; /* a picture without any edge would be all zero */
}
