/* SPDX-License-Identifier: Apache-2.0
 * The 64 shapes a sample is drawn from: a family (a test whether a point is covered), its parameter, and a turn. */
#ifndef CLI_SAMPLE_SHAPES_H
#define CLI_SAMPLE_SHAPES_H

#include <stdbool.h>

#define SAMPLE_CLASSES_MAX 64

/* x to the right, y up; a shape lies within the unit disc. Families drawn with lines multiply their width by stroke. */
typedef bool (*shape_family)(double x, double y, double parameter, double stroke);

struct shape {
    const char *name;
    shape_family covers;
    double parameter;
    double turn; /* degrees, against the clock */
};

/* In an order that keeps the first few as different as possible. */
extern const struct shape sample_shapes[SAMPLE_CLASSES_MAX];

#endif
