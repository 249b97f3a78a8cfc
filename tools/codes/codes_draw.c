/* SPDX-License-Identifier: Apache-2.0
 * Draws codes from a seed, the same on every platform. It looks at no feature. */
#include "codes_parts.h"
#include "common/generator.h"

#include <math.h>
#include <string.h>

#define RANDOM_DEVIATION 8000
#define JITTER_DEVIATION 1500
#define CANDIDATES 16

/* ---- positions of the slots ---- */

/* A sunflower's spiral fills the disk evenly. The angle is turned by multiplication: sin and cos of a C library differ
 * between platforms. */
static void spread_on_disk(int16_t *positions, size_t slots)
{
    const double turn_cosine = -0.73736887807831990, turn_sine = 0.67549029426152364; /* of π(3 − √5) */
    double x = 1.0, y = 0.0;
    for (size_t i = 0; i < slots; i++) {
        double radius = PML_CODES_RADIUS * sqrt(((double)i + 0.5) / (double)slots);
        positions[2 * i] = pml_codes_round(radius * x);
        positions[2 * i + 1] = pml_codes_round(radius * y);
        double turned = x * turn_cosine - y * turn_sine;
        y = x * turn_sine + y * turn_cosine;
        x = turned;
    }
}

static void spread_on_line(int16_t *positions, size_t slots)
{
    for (size_t i = 0; i < slots; i++)
        positions[i] = pml_codes_round(PML_CODES_RADIUS * ((2.0 * (double)i + 1.0) / (double)slots - 1.0));
}

static void draw_direction(struct pml_generator *generator, unsigned dimensions, int16_t *position)
{
    int32_t direction[PML_DIMENSIONS_MAX];
    int64_t squares = 0;
    while (squares == 0)
        for (unsigned i = 0; i < dimensions; i++) {
            direction[i] = pml_generator_normal(generator, RANDOM_DEVIATION);
            squares += (int64_t)direction[i] * direction[i];
        }
    for (unsigned i = 0; i < dimensions; i++)
        position[i] = pml_codes_round(PML_CODES_RADIUS * direction[i] / sqrt((double)squares));
}

/* Squared distance of a position to the nearest of those before it. */
static int64_t room_around(const int16_t *positions, size_t count, unsigned dimensions, const int16_t *position)
{
    int64_t nearest = INT64_MAX;
    for (size_t j = 0; j < count; j++) {
        int64_t squares = 0;
        for (unsigned i = 0; i < dimensions; i++) {
            int64_t difference = positions[j * dimensions + i] - position[i];
            squares += difference * difference;
        }
        nearest = squares < nearest ? squares : nearest;
    }
    return nearest;
}

/* Of a few random directions each slot takes the one farthest from all before it. */
static void spread_on_sphere(int16_t *positions, size_t slots, unsigned dimensions, struct pml_generator *generator)
{
    for (size_t s = 0; s < slots; s++) {
        int64_t most = -1;
        for (int candidate = 0; candidate < CANDIDATES; candidate++) {
            int16_t position[PML_DIMENSIONS_MAX];
            draw_direction(generator, dimensions, position);
            int64_t room = room_around(positions, s, dimensions, position);
            if (room > most) {
                most = room;
                memcpy(positions + s * dimensions, position, dimensions * sizeof *position);
            }
        }
    }
}

/* ---- codes ---- */

static void draw_class_codes(struct pml_code_book *book, uint64_t seed, const uint32_t *starts, size_t slots)
{
    struct pml_generator positions = pml_generator_start(seed, PML_STREAM_POSITIONS);
    struct pml_generator jitter = pml_generator_start(seed, PML_STREAM_ANCHORS);
    const unsigned k = book->dimensions;
    if (k == 1)
        spread_on_line(book->slots, slots);
    else if (k == 2)
        spread_on_disk(book->slots, slots);
    else
        spread_on_sphere(book->slots, slots, k, &positions);
    for (size_t s = 0; s < slots; s++)
        for (size_t j = starts[s]; j < starts[s + 1]; j++)
            for (unsigned i = 0; i < k; i++)
                book->anchors[j * k + i] =
                    pml_codes_round(book->slots[s * k + i] + pml_generator_normal(&jitter, JITTER_DEVIATION));
}

static void draw_random_codes(uint64_t seed, uint64_t stream, int16_t *codes, size_t count)
{
    struct pml_generator generator = pml_generator_start(seed, stream);
    for (size_t i = 0; i < count; i++)
        codes[i] = pml_codes_round(pml_generator_normal(&generator, RANDOM_DEVIATION));
}

void pml_codes_draw(struct pml_code_book *book, enum pml_codes kind, const struct pml_code_source *source)
{
    const size_t slots = source->slots, k = book->dimensions;
    if (kind == PML_CODES_CLASS) {
        draw_class_codes(book, source->seed, source->starts, slots);
    } else {
        draw_random_codes(source->seed, PML_STREAM_SLOTS, book->slots, slots * k);
        draw_random_codes(source->seed, PML_STREAM_ANCHORS, book->anchors, (size_t)source->starts[slots] * k);
    }
}
