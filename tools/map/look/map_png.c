/* SPDX-License-Identifier: Apache-2.0
 * Maps as PNG, by libpng. */
#include "map_picture.h"

#if PML_WITH_PNG
#include <png.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct canvas {
    uint8_t *pixels; /* 3 per pixel */
    unsigned wide, high;
};

/* ---- shapes ---- */

static void blend(const struct canvas *canvas, long x, long y, const uint8_t rgb[3], double share)
{
    if (x < 0 || y < 0 || x >= (long)canvas->wide || y >= (long)canvas->high || !(share > 0.0))
        return;
    uint8_t *pixel = canvas->pixels + 3 * ((size_t)y * canvas->wide + (size_t)x);
    for (int part = 0; part < 3; part++)
        pixel[part] = (uint8_t)(pixel[part] + fmin(share, 1.0) * (rgb[part] - pixel[part]) + 0.5);
}

/* A disc whose edge fades over a pixel. */
static void draw_disc(const struct canvas *canvas, double x, double y, double radius, const uint8_t rgb[3])
{
    for (long j = (long)(y - radius - 1.0); j <= (long)(y + radius + 1.0); j++)
        for (long i = (long)(x - radius - 1.0); i <= (long)(x + radius + 1.0); i++)
            blend(canvas, i, j, rgb, radius + 0.5 - hypot((double)i + 0.5 - x, (double)j + 0.5 - y));
}

/* Digits of 3 × 5 dots, row by row from the top; then the minus. */
static const uint16_t digits[] = {075557, 026227, 071747, 071717, 055711, 074717,
                                  074757, 071111, 075757, 075717, 000700};
#define DOT 3

static void draw_number(const struct canvas *canvas, long x, long y, long number)
{
    static const uint8_t ink[3] = {40, 40, 40};
    char text[24];
    snprintf(text, sizeof text, "%ld", number);
    for (const char *at = text; *at; at++, x += 4 * DOT) {
        const uint16_t shape = digits[*at == '-' ? 10 : *at - '0'];
        for (int dot = 0; dot < 15; dot++)
            for (int part = 0; part < DOT * DOT && (shape >> (14 - dot) & 1); part++)
                blend(canvas, x + dot % 3 * DOT + part % DOT, y + dot / 3 * DOT + part / DOT, ink, 1.0);
    }
}

/* ---- picture ---- */

static void draw_points(const struct pml_map_picture *picture, const struct canvas *canvas)
{
    const struct pml_map_frame frame = pml_map_frame(picture);
    for (unsigned step = 0; step <= PML_MAP_SHADES; step++)
        for (size_t i = 0; i < picture->rows; i++) {
            uint8_t rgb[3];
            if (pml_map_shade_step(picture, i) != step)
                continue;
            pml_map_shaded(picture->colours ? picture->colours[i] : 0, step, rgb);
            draw_disc(canvas, ((double)picture->places[2 * i] - frame.left) * frame.scale + PML_MAP_BORDER,
                      (frame.top - (double)picture->places[2 * i + 1]) * frame.scale + PML_MAP_BORDER, frame.radius,
                      rgb);
        }
}

static void draw_legend(const struct pml_map_picture *picture, const struct canvas *canvas)
{
    const double x = PML_MAP_SIDE + 2.0 * PML_MAP_BORDER;
    for (size_t g = 0; picture->colours && g < picture->groups && g < PML_MAP_LEGEND_MOST; g++) {
        const double y = PML_MAP_BORDER + PML_MAP_LINE * ((double)g + 0.5);
        uint8_t rgb[3];
        pml_map_colour(g, rgb);
        draw_disc(canvas, x + 6.0, y, 6.0, rgb);
        draw_number(canvas, (long)x + 20, (long)y - 7, (long)picture->names[g]);
    }
}

static pml_outcome encode(const struct canvas *canvas, struct pml_bytes *out)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = canvas->wide, .height = canvas->high, .format = PNG_FORMAT_RGB};
    png_alloc_size_t size = 0;
    if (!png_image_write_get_memory_size(image, size, 0, canvas->pixels, (png_int_32)(3 * canvas->wide), NULL) ||
        pml_bytes_reserve(out, size) != PML_DONE ||
        !png_image_write_to_memory(&image, out->bytes + out->size, &size, 0, canvas->pixels,
                                   (png_int_32)(3 * canvas->wide), NULL))
        return PML_NO_MEMORY; /* nothing else can fail here */
    out->size += size;
    return PML_DONE;
}

pml_outcome pml_map_png(const struct pml_map_picture *picture, struct pml_bytes *out, struct pml_message *message)
{
    const double side = PML_MAP_SIDE + 2.0 * PML_MAP_BORDER;
    struct canvas canvas = {.wide = (unsigned)(side + (picture->colours ? PML_MAP_LEGEND : 0.0)),
                            .high = (unsigned)side};
    (void)message;
    canvas.pixels = malloc((size_t)3 * canvas.wide * canvas.high);
    if (!canvas.pixels)
        return PML_NO_MEMORY;
    memset(canvas.pixels, 255, (size_t)3 * canvas.wide * canvas.high);
    draw_points(picture, &canvas);
    draw_legend(picture, &canvas);
    pml_outcome outcome = encode(&canvas, out);
    free(canvas.pixels);
    return outcome;
}

#else

pml_outcome pml_map_png(const struct pml_map_picture *picture, struct pml_bytes *out, struct pml_message *message)
{
    (void)picture, (void)out;
    return pml_say(message, "this build writes no PNG. Name --out with the ending .svg.");
}

#endif
