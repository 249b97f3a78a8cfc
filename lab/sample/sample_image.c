/* SPDX-License-Identifier: Apache-2.0
 * Paints pictures. Each part of the jitter is a line of draw_look. */
#define _XOPEN_SOURCE 700 /* M_PI */
#include "sample_image.h"

#include "sample_shapes.h"

#include "common/generator.h"

#include <math.h>

#define SUBSAMPLES 4 /* a side of a pixel */

/* ---- random numbers ------------------------------------------------------------------------------------------- */

static double between(struct pml_generator *generator, double low, double high)
{
    return low + (high - low) * ((double)(pml_generator_next(generator) >> 11) / 9007199254740992.0);
}

/* Mean 0, standard deviation 1: the sum of twelve uniform numbers is near enough to normal for a picture. */
static double normal(struct pml_generator *generator)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += between(generator, 0, 1);
    return sum;
}

/* ---- one picture ---------------------------------------------------------------------------------------------- */

struct look {
    double centre_x, centre_y, scale, stretch, turn, stroke;
    double shape, background; /* shades, 0 black to 1 white */
    double slope_x, slope_y;  /* of the background's gradient */
    double noise;
};

static struct look draw_look(struct pml_generator *generator, const struct shape *shape)
{
    struct look look;
    look.centre_x = between(generator, -0.22, 0.22);
    look.centre_y = between(generator, -0.22, 0.22);
    look.scale = between(generator, 0.56, 0.92);
    look.stretch = between(generator, 0.86, 1.16);
    look.turn = (shape->turn + between(generator, -20, 20)) * M_PI / 180;
    look.stroke = between(generator, 0.75, 1.25);
    look.background = between(generator, 0.08, 0.42);
    look.shape = look.background + between(generator, 0.25, 0.54);
    double slope = between(generator, 0, 0.16), direction = between(generator, 0, 2 * M_PI);
    look.slope_x = slope * cos(direction);
    look.slope_y = slope * sin(direction);
    look.noise = between(generator, 0.01, 0.05);
    if (between(generator, 0, 1) < 0.25) { /* dark on light */
        look.background = 1 - look.background;
        look.shape = 1 - look.shape;
    }
    return look;
}

/* The share of a pixel that the shape covers. x and y: the pixel's upper left corner in the picture, −1 … 1. */
static double coverage(const struct shape *shape, const struct look *look, double x, double y, double pixel)
{
    double cosine = cos(look->turn), sine = sin(look->turn);
    int covered = 0;
    for (int i = 0; i < SUBSAMPLES * SUBSAMPLES; i++) {
        double from_x = x + pixel * (i % SUBSAMPLES + 0.5) / SUBSAMPLES - look->centre_x;
        double from_y = y - pixel * (i / SUBSAMPLES + 0.5) / SUBSAMPLES - look->centre_y;
        double own_x = (cosine * from_x + sine * from_y) / (look->scale * look->stretch);
        double own_y = (cosine * from_y - sine * from_x) / (look->scale / look->stretch);
        covered += shape->covers(own_x, own_y, shape->parameter, look->stroke);
    }
    return (double)covered / (SUBSAMPLES * SUBSAMPLES);
}

void sample_paint(uint64_t seed, unsigned class_index, unsigned number, unsigned size, uint8_t *pixels)
{
    const struct shape *shape = &sample_shapes[class_index];
    struct pml_generator generator = {seed};
    generator.state = pml_generator_next(&generator) + class_index;
    generator.state = pml_generator_next(&generator) + number;
    struct look look = draw_look(&generator, shape);
    double pixel = 2.0 / size;
    for (unsigned row = 0; row < size; row++) {
        for (unsigned column = 0; column < size; column++) {
            double x = -1 + pixel * column, y = 1 - pixel * row;
            double share = coverage(shape, &look, x, y, pixel);
            double shade = look.background + share * (look.shape - look.background);
            shade += look.slope_x * x + look.slope_y * y + look.noise * normal(&generator);
            pixels[(size_t)row * size + column] = (uint8_t)(fmin(fmax(shade, 0), 1) * 255 + 0.5);
        }
    }
}
