/* SPDX-License-Identifier: Apache-2.0
 * Pictures of maps. */
#ifndef PML_MAP_PICTURE_H
#define PML_MAP_PICTURE_H

#include "common/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pml_map_picture {
    const float *places; /* 2 per row */
    size_t rows;
    const uint32_t *colours; /* per row a number below `groups`; NULL: all have one colour */
    const float *shades;     /* per row 0 (grey) to 1 (its colour in full); NULL: all in full */
    size_t groups;
    const int32_t *names; /* of the groups, for the legend */
    const char *title;    /* what the groups are, for the legend: "class" */
};

/* Red, green and blue of a group: the first twelve can be told apart by people who see few colours. */
void pml_map_colour(size_t group, uint8_t rgb[3]);

/* Both append a whole file. Return PML_DONE, PML_NO_MEMORY, or PML_REFUSED with a message: this build writes no PNG. */
pml_outcome pml_map_svg(const struct pml_map_picture *picture, struct pml_bytes *out);
pml_outcome pml_map_png(const struct pml_map_picture *picture, struct pml_bytes *out, struct pml_message *message);

/* ---- what both share ---- */

#define PML_MAP_SIDE 800.0   /* of the square with the points */
#define PML_MAP_BORDER 20.0  /* around it */
#define PML_MAP_LEGEND 120.0 /* to its right, when there are groups */
#define PML_MAP_LEGEND_MOST 28u
#define PML_MAP_LINE 26.0 /* height of a line of the legend */
#define PML_MAP_SHADES 8u /* steps of shades that are told apart */

/* How places become points of the picture. */
struct pml_map_frame {
    double left, top, scale; /* x = (place − left)·scale; y = (top − place)·scale */
    double radius;           /* of a point */
};
struct pml_map_frame pml_map_frame(const struct pml_map_picture *picture);

/* The step of a row's shade, 0 … PML_MAP_SHADES, and the colour that a group has in it. */
unsigned pml_map_shade_step(const struct pml_map_picture *picture, size_t row);
void pml_map_shaded(size_t group, unsigned step, uint8_t rgb[3]);

#endif
