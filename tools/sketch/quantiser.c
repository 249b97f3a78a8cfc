/* SPDX-License-Identifier: Apache-2.0
 * Lloyd's iteration on a sorted sample: a level is the mean of what is nearest to it. */
#include "quantiser.h"

#include <stdlib.h>

#define ROUNDS 64
#define STRETCHES 1024u /* of the sample, for the first levels */

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The cube root by Newton's rule: that of a C library differs between platforms. */
static double cube_root(double value)
{
    double root = value > 1.0 ? value : 1.0;
    for (int i = 0; i < 128 && value > 0.0; i++)
        root = (2.0 * root + value / (root * root)) / 3.0;
    return value > 0.0 ? root : 0.0;
}

/* The first levels are as dense as the cube root of the sample's density, which is best for many levels. A stretch between
 * two quantiles of width w has density 1/w, so w^(2/3) is its share of the levels. */
static void place_first(const double *sample, size_t size, double *levels, size_t count)
{
    const size_t stretches = size < STRETCHES ? size : STRETCHES;
    double shares[STRETCHES], all = 0.0, before = 0.0;
    for (size_t i = 0; i < stretches; i++) {
        const double width = sample[(i + 1) * size / stretches - (i + 1 == stretches)] - sample[i * size / stretches];
        shares[i] = cube_root(width * width);
        all += shares[i];
    }
    size_t stretch = 0;
    for (size_t level = 0; level < count; level++) {
        const double wanted = all * ((double)level + 0.5) / (double)count;
        while (stretch + 1 < stretches && before + shares[stretch] < wanted)
            before += shares[stretch++];
        const double low = sample[stretch * size / stretches],
                     high = sample[(stretch + 1) * size / stretches - (stretch + 1 == stretches)];
        levels[level] = shares[stretch] > 0.0 ? low + (high - low) * ((wanted - before) / shares[stretch]) : low;
    }
}

/* How many numbers of the sample, from `from` on counted, are below the edge. */
static size_t below(const double *sample, size_t from, size_t size, double edge)
{
    size_t low = from, high = size;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sample[middle] < edge)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pml_quantiser_levels(double *sample, size_t size, double *sums, double *levels, size_t count)
{
    for (size_t level = 0; level < count; level++)
        levels[level] = 0.0;
    if (size == 0)
        return;
    qsort(sample, size, sizeof *sample, ascending);
    sums[0] = 0.0;
    for (size_t i = 0; i < size; i++)
        sums[i + 1] = sums[i] + sample[i];
    place_first(sample, size, levels, count);
    for (int round = 0; round < ROUNDS; round++) {
        size_t first = 0;
        for (size_t level = 0; level < count; level++) {
            const size_t end =
                level + 1 == count ? size : below(sample, first, size, 0.5 * (levels[level] + levels[level + 1]));
            if (end > first)
                levels[level] = (sums[end] - sums[first]) / (double)(end - first);
            first = end;
        }
    }
}
