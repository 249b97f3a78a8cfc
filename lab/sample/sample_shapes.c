/* SPDX-License-Identifier: Apache-2.0
 * Families of shapes: does a shape cover a point? */
#define _XOPEN_SOURCE 700 /* M_PI */
#include "sample_shapes.h"

#include <math.h>

#define REACH 0.88 /* how far shapes extend from their centre */

/* The angle from the nearest of `count` evenly spaced rays, the first of which points up. */
static double angle_from_ray(double x, double y, double count)
{
    double sector = 2 * M_PI / count;
    double angle = atan2(x, y);
    return fabs(angle - sector * floor(angle / sector + 0.5));
}

/* ---- round ---------------------------------------------------------------------------------------------------- */

/* parameter: half the opening of a missing slice on the right, in degrees. */
static bool disc(double x, double y, double parameter, double stroke)
{
    (void)stroke;
    return hypot(x, y) < REACH && fabs(atan2(y, x)) >= parameter * M_PI / 180;
}

static bool ring(double x, double y, double parameter, double stroke)
{
    double radius = hypot(x, y);
    return radius < REACH && radius > REACH - 0.27 * stroke && fabs(atan2(y, x)) >= parameter * M_PI / 180;
}

/* parameter: rings around the middle, which is covered. */
static bool target(double x, double y, double parameter, double stroke)
{
    double step = REACH / (2 * parameter + 1);
    return hypot(x, y) < REACH && fmod(hypot(x, y) + 2 * step * (1 - stroke) / 4, 2 * step) < step * stroke;
}

static bool ellipse(double x, double y, double parameter, double stroke)
{
    (void)stroke;
    return hypot(x, y / parameter) < REACH;
}

/* parameter: how far the disc that is cut out lies to the right. */
static bool crescent(double x, double y, double parameter, double stroke)
{
    (void)stroke;
    return hypot(x, y) < REACH && hypot(x - parameter, y) > 0.78;
}

/* parameter: arms; negative for those that turn the other way. */
static bool spiral(double x, double y, double parameter, double stroke)
{
    double arms = fabs(parameter), radius = hypot(x, y);
    double turns = atan2(parameter > 0 ? y : -y, x) / (2 * M_PI) * arms - radius * 2.1;
    return radius < REACH && turns - floor(turns) < 0.5 * stroke;
}

static bool pinwheel(double x, double y, double parameter, double stroke)
{
    return hypot(x, y) < REACH && angle_from_ray(x, y, parameter) < M_PI / (2 * parameter) * stroke;
}

/* parameter: petals. */
static bool flower(double x, double y, double parameter, double stroke)
{
    (void)stroke;
    return hypot(x, y) < REACH * (0.62 + 0.38 * cos(parameter * atan2(x, y)));
}

static bool heart(double x, double y, double parameter, double stroke)
{
    (void)parameter;
    (void)stroke;
    double u = x * 1.35, v = y * 1.35 + 0.12;
    double bulge = u * u + v * v - 1;
    return bulge * bulge * bulge < u * u * v * v * v;
}

/* ---- straight ------------------------------------------------------------------------------------------------- */

/* parameter: corners; negative for the frame only. */
static bool polygon(double x, double y, double parameter, double stroke)
{
    double corners = fabs(parameter);
    double apothem = 0.95 * cos(M_PI / corners);
    double height = hypot(x, y) * cos(M_PI / corners - angle_from_ray(x, y, corners));
    return height < apothem && (parameter > 0 || height > apothem - 0.2 * stroke);
}

static bool star(double x, double y, double parameter, double stroke)
{
    (void)stroke;
    double half = M_PI / parameter, inner = 0.42;
    double angle = angle_from_ray(x, y, parameter), radius = hypot(x, y);
    /* Inside of the line from the tip (1, 0) to the notch (inner, half), both polar. */
    double notch_x = inner * cos(half), notch_y = inner * sin(half);
    double point_x = radius * cos(angle) - 1, point_y = radius * sin(angle);
    return point_x * notch_y - point_y * (notch_x - 1) < 0;
}

/* parameter: where the horizontal beam crosses the vertical one. */
static bool cross(double x, double y, double parameter, double stroke)
{
    double half = 0.2 * stroke;
    return (fabs(x) < half && fabs(y) < REACH) || (fabs(y - parameter) < half && fabs(x) < REACH);
}

static bool corner(double x, double y, double parameter, double stroke)
{
    (void)parameter;
    double width = 0.4 * stroke;
    return fmax(fabs(x), fabs(y)) < 0.72 && (x < width - 0.72 || y < width - 0.72);
}

/* parameter: bars, with gaps as wide as they are between them. */
static bool bars(double x, double y, double parameter, double stroke)
{
    double period = 1.5 / (parameter - 0.5);
    return fabs(x) < 0.75 && fabs(y) < 0.75 && fmod(x + 0.75, period) < 0.5 * period * stroke;
}

static bool checker(double x, double y, double parameter, double stroke)
{
    (void)stroke;
    double field = 1.5 / parameter;
    return fabs(x) < 0.75 && fabs(y) < 0.75 && fmod(floor((x + 0.75) / field) + floor((y + 0.75) / field), 2) < 0.5;
}

/* parameter: where the head begins; the tip points up. */
static bool arrow(double x, double y, double parameter, double stroke)
{
    bool shaft = fabs(x) < 0.17 * stroke && y > -0.92 && y <= parameter;
    bool head = y > parameter && y < 0.92 && fabs(x) < 0.68 * (0.92 - y) / (0.92 - parameter);
    return shaft || head;
}

static bool chevron(double x, double y, double parameter, double stroke)
{
    double place = y + 0.75 * fabs(x);
    return fabs(x) < 0.8 && place < parameter + 0.36 * stroke && place > parameter - 0.24 * stroke;
}

/* parameter: half waves. */
static bool wave(double x, double y, double parameter, double stroke)
{
    return fabs(x) < REACH && fabs(y - 0.42 * sin(parameter * M_PI * x / REACH)) < 0.2 * stroke;
}

/* parameter: half the width of the waist. */
static bool hourglass(double x, double y, double parameter, double stroke)
{
    return fabs(y) < 0.82 && fabs(x) < parameter * stroke + 0.75 * fabs(y);
}

const struct shape sample_shapes[SAMPLE_CLASSES_MAX] = {
    {"disc", disc, 0, 0},
    {"ring", ring, 0, 0},
    {"square", polygon, 4, 45},
    {"triangle", polygon, 3, 0},
    {"star", star, 5, 0},
    {"cross", cross, 0, 0},
    {"bars", bars, 3, 0},
    {"checker", checker, 3, 0},
    {"crescent", crescent, 0.42, 0},
    {"ellipse", ellipse, 0.5, 30},
    {"arrow", arrow, 0.1, 0},
    {"spiral", spiral, 1, 0},
    {"heart", heart, 0, 0},
    {"hourglass", hourglass, 0.08, 0},
    {"pinwheel", pinwheel, 3, 0},
    {"wave", wave, 1, 0},
    {"half disc", disc, 90, 0},
    {"open ring", ring, 50, 0},
    {"diamond", polygon, 4, 0},
    {"triangle down", polygon, 3, 180},
    {"star of four", star, 4, 0},
    {"diagonal cross", cross, 0, 45},
    {"level bars", bars, 3, 90},
    {"chessboard", checker, 4, 0},
    {"crescent left", crescent, 0.42, 180},
    {"ellipse down", ellipse, 0.5, -30},
    {"arrow right", arrow, 0.1, -90},
    {"spiral of two", spiral, 2, 0},
    {"heart upside down", heart, 0, 180},
    {"bow tie", hourglass, 0.08, 90},
    {"pinwheel of four", pinwheel, 4, 0},
    {"standing wave", wave, 1, 90},
    {"slice", disc, 125, 0},
    {"target", target, 1, 0},
    {"square frame", polygon, -4, 45},
    {"triangle frame", polygon, -3, 0},
    {"star of six", star, 6, 0},
    {"letter T", cross, 0.66, 0},
    {"rising bars", bars, 3, -45},
    {"four fields", checker, 2, 0},
    {"crescent up", crescent, 0.42, 90},
    {"needle", ellipse, 0.25, 90},
    {"arrow down", arrow, 0.1, 180},
    {"spiral back", spiral, -1, 0},
    {"flower", flower, 5, 0},
    {"chevron", chevron, 0.3, 0},
    {"corner", corner, 0, 0},
    {"zigzag", wave, 2, 0},
    {"open mouth", disc, 40, 0},
    {"open ring left", ring, 50, 180},
    {"hexagon", polygon, 6, 0},
    {"diamond frame", polygon, -4, 0},
    {"sun", star, 9, 0},
    {"letter T upside down", cross, -0.66, 0},
    {"falling bars", bars, 3, 45},
    {"tilted chessboard", checker, 4, 45},
    {"crescent down", crescent, 0.42, -90},
    {"level needle", ellipse, 0.25, 0},
    {"arrow left", arrow, 0.1, 90},
    {"spiral of three", spiral, 3, 0},
    {"clover", flower, 3, 0},
    {"chevron down", chevron, 0.3, 180},
    {"corner above", corner, 0, 180},
    {"standing zigzag", wave, 2, 90},
};
