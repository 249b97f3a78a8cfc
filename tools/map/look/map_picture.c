/* SPDX-License-Identifier: Apache-2.0
 * Maps as SVG. A point is a line of no length with round ends: ten bytes instead of forty. */
#include "map_picture.h"
#include "tools/map/map_graph.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- colours ---- */

/* Twelve that differ in lightness as well as in hue. */
static const uint8_t palette[][3] = {{0, 114, 178}, {230, 159, 0},  {0, 158, 115},  {204, 121, 167},
                                     {213, 94, 0},  {86, 180, 233}, {117, 70, 20},  {120, 120, 120},
                                     {180, 30, 60}, {90, 60, 160},  {150, 190, 40}, {20, 60, 80}};
enum { PALETTE = sizeof palette / sizeof *palette };

#define GREY 205.0 /* of a shade of nothing */

/* Hues that go round by the golden angle, in three lightnesses. */
static void spin_colour(size_t group, uint8_t rgb[3])
{
    static const double lights[] = {0.42, 0.62, 0.30};
    const double hue = fmod((double)group * 0.61803398875, 1.0) * 6.0, light = lights[group % 3], chroma = 0.6;
    for (int part = 0; part < 3; part++) {
        const double turned = fmod(hue + 6.0 - 2.0 * part, 6.0), from_peak = fabs(turned > 3.0 ? turned - 6.0 : turned);
        const double share = from_peak < 1.0 ? 1.0 : from_peak > 2.0 ? 0.0 : 2.0 - from_peak;
        const double value = light + chroma * (share - 0.5) * (1.0 - fabs(2.0 * light - 1.0)) * 1.5;
        rgb[part] = (uint8_t)(fmin(fmax(value, 0.0), 1.0) * 255.0);
    }
}

void pml_map_colour(size_t group, uint8_t rgb[3])
{
    if (group >= PALETTE) {
        spin_colour(group, rgb);
        return;
    }
    for (int part = 0; part < 3; part++)
        rgb[part] = palette[group][part];
}

unsigned pml_map_shade_step(const struct pml_map_picture *picture, size_t row)
{
    const float shade = picture->shades ? picture->shades[row] : 1.0f;
    return shade >= 1.0f ? PML_MAP_SHADES : shade > 0.0f ? (unsigned)(shade * (float)PML_MAP_SHADES + 0.5f) : 0;
}

void pml_map_shaded(size_t group, unsigned step, uint8_t rgb[3])
{
    const double share = (double)step / PML_MAP_SHADES;
    pml_map_colour(group, rgb);
    for (int part = 0; part < 3; part++)
        rgb[part] = (uint8_t)(GREY + share * (rgb[part] - GREY) + 0.5);
}

double pml_map_swell(const struct pml_map_picture *picture, unsigned step)
{
    return picture->shades ? 1.0 + 1.2 * (double)step / PML_MAP_SHADES : 1.0;
}

/* ---- frame ---- */

/* One coordinate of all places, from least to most. One loop for all four bounds makes gcc 12 for aarch64 fail. */
static void find_bounds(const struct pml_map_picture *picture, size_t coordinate, double *least, double *most)
{
    *least = INFINITY;
    *most = -INFINITY;
    for (size_t i = 0; i < picture->rows; i++) {
        const double place = (double)picture->places[2 * i + coordinate];
        *least = place < *least ? place : *least;
        *most = place > *most ? place : *most;
    }
}

struct pml_map_frame pml_map_frame(const struct pml_map_picture *picture)
{
    double left, right, low, top;
    find_bounds(picture, 0, &left, &right);
    find_bounds(picture, 1, &low, &top);
    const double side = fmax(right - left, top - low), scale = side > 0.0 ? PML_MAP_SIDE / side : 0.0;
    const double radius = 120.0 / sqrt((double)picture->rows + 1.0);
    struct pml_map_frame frame = {.scale = scale, .radius = fmin(fmax(radius, 1.0), 6.0)};
    /* In the middle of the square. */
    frame.left = (left + right) / 2.0 - (scale > 0.0 ? PML_MAP_SIDE / 2.0 / scale : 0.0);
    frame.top = (low + top) / 2.0 + (scale > 0.0 ? PML_MAP_SIDE / 2.0 / scale : 0.0);
    return frame;
}

/* ---- SVG ---- */

static void print(struct pml_bytes *out, pml_outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void print(struct pml_bytes *out, pml_outcome *outcome, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (*outcome == PML_DONE && length > 0)
        *outcome = pml_bytes_append(out, text, (size_t)length);
}

static size_t lone_group(const struct pml_map_picture *picture)
{
    return picture->shades ? PML_MAP_GLOW : 0;
}

static void draw_points(const struct pml_map_picture *picture, struct pml_bytes *out, pml_outcome *outcome)
{
    const struct pml_map_frame frame = pml_map_frame(picture);
    const size_t colours = picture->colours ? picture->groups : 1, kinds = colours * (PML_MAP_SHADES + 1);
    uint32_t *kind = malloc(picture->rows * sizeof *kind), *members = malloc(picture->rows * sizeof *members);
    size_t *starts = malloc((kinds + 2) * sizeof *starts);
    if (!kind || !members || !starts)
        *outcome = PML_NO_MEMORY;
    /* Grey points first, so that they hide none that matters. */
    for (size_t i = 0; *outcome == PML_DONE && i < picture->rows; i++)
        kind[i] = (uint32_t)(pml_map_shade_step(picture, i) * colours + (picture->colours ? picture->colours[i] : 0));
    if (*outcome == PML_DONE)
        pml_map_members(kind, picture->rows, kinds, members, starts);
    for (size_t k = 0; *outcome == PML_DONE && k < kinds; k++) {
        uint8_t rgb[3];
        if (starts[k] == starts[k + 1])
            continue;
        const unsigned step = (unsigned)(k / colours);
        pml_map_shaded(picture->colours ? k % colours : lone_group(picture), step, rgb);
        print(out, outcome, "<path stroke=\"#%02x%02x%02x\"", rgb[0], rgb[1], rgb[2]);
        if (picture->shades && step > 0)
            print(out, outcome, " stroke-width=\"%.1f\"", 2.0 * frame.radius * pml_map_swell(picture, step));
        print(out, outcome, " d=\"");
        for (size_t i = starts[k]; i < starts[k + 1]; i++) {
            const float *place = picture->places + 2 * (size_t)members[i];
            print(out, outcome, "M%.1f %.1fh0", ((double)place[0] - frame.left) * frame.scale + PML_MAP_BORDER,
                  (frame.top - (double)place[1]) * frame.scale + PML_MAP_BORDER);
        }
        print(out, outcome, "\"/>\n");
    }
    free(kind);
    free(members);
    free(starts);
}

static void draw_legend(const struct pml_map_picture *picture, struct pml_bytes *out, pml_outcome *outcome)
{
    const double x = PML_MAP_SIDE + 2.0 * PML_MAP_BORDER;
    const size_t shown = picture->groups < PML_MAP_LEGEND_MOST ? picture->groups : PML_MAP_LEGEND_MOST;
    print(out, outcome, "<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n", x, PML_MAP_BORDER + 16.0,
          picture->title);
    for (size_t g = 0; g < shown; g++) {
        const double y = PML_MAP_BORDER + PML_MAP_LINE * (double)(g + 1) + 16.0;
        uint8_t rgb[3];
        pml_map_colour(g, rgb);
        print(out, outcome, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"6\" fill=\"#%02x%02x%02x\"/>", x + 6.0, y - 5.0,
              rgb[0], rgb[1], rgb[2]);
        print(out, outcome, "<text x=\"%.0f\" y=\"%.0f\">%ld</text>\n", x + 20.0, y, (long)picture->names[g]);
    }
    if (shown < picture->groups)
        print(out, outcome, "<text x=\"%.0f\" y=\"%.0f\">%zu more</text>\n", x,
              PML_MAP_BORDER + PML_MAP_LINE * (double)(shown + 1) + 16.0, picture->groups - shown);
}

pml_outcome pml_map_svg(const struct pml_map_picture *picture, struct pml_bytes *out)
{
    const double side = PML_MAP_SIDE + 2.0 * PML_MAP_BORDER;
    pml_outcome outcome = PML_DONE;
    print(out, &outcome,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
          "font-size=\"16\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
          "<g fill=\"none\" stroke-linecap=\"round\" stroke-width=\"%.1f\">\n",
          side + (picture->colours ? PML_MAP_LEGEND : 0.0), side, 2.0 * pml_map_frame(picture).radius);
    draw_points(picture, out, &outcome);
    print(out, &outcome, "</g>\n");
    if (picture->colours)
        draw_legend(picture, out, &outcome);
    print(out, &outcome, "</svg>\n");
    return outcome;
}
