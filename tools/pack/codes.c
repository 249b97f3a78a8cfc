/* SPDX-License-Identifier: Apache-2.0
 * Draws codes from a seed, the same on every platform. It looks at no feature. */
#include "codes.h"
#include "common/generator.h"
#include "privatemail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CODE_MAX 32767
#define RANDOM_DEVIATION 8000
#define JITTER_DEVIATION 1500
#define RADIUS 24000.0
#define CANDIDATES 16

static int16_t clamp_code(int64_t code)
{
    return (int16_t)(code > CODE_MAX ? CODE_MAX : code < -CODE_MAX ? -CODE_MAX : code);
}

static int16_t round_code(double code)
{
    return clamp_code((int64_t)floor(code + 0.5));
}

/* ---- positions of the slots ---- */

/* A sunflower's spiral fills the disk evenly. The angle is turned by multiplication: sin and cos of a C library differ
 * between platforms. */
static void spread_on_disk(int16_t *positions, size_t slots)
{
    const double turn_cosine = -0.73736887807831990, turn_sine = 0.67549029426152364; /* of π(3 − √5) */
    double x = 1.0, y = 0.0;
    for (size_t i = 0; i < slots; i++) {
        double radius = RADIUS * sqrt(((double)i + 0.5) / (double)slots);
        positions[2 * i] = round_code(radius * x);
        positions[2 * i + 1] = round_code(radius * y);
        double turned = x * turn_cosine - y * turn_sine;
        y = x * turn_sine + y * turn_cosine;
        x = turned;
    }
}

static void spread_on_line(int16_t *positions, size_t slots)
{
    for (size_t i = 0; i < slots; i++)
        positions[i] = round_code(RADIUS * ((2.0 * (double)i + 1.0) / (double)slots - 1.0));
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
        position[i] = round_code(RADIUS * direction[i] / sqrt((double)squares));
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
                    clamp_code(book->slots[s * k + i] + pml_generator_normal(&jitter, JITTER_DEVIATION));
}

static void draw_random_codes(uint64_t seed, uint64_t stream, int16_t *codes, size_t count)
{
    struct pml_generator generator = pml_generator_start(seed, stream);
    for (size_t i = 0; i < count; i++)
        codes[i] = clamp_code(pml_generator_normal(&generator, RANDOM_DEVIATION));
}

pml_outcome pml_codes_draw(struct pml_code_book *book, enum pml_codes kind, uint64_t seed, const uint32_t *starts,
                           size_t slots)
{
    const unsigned k = book->dimensions;
    book->slots = malloc(slots * k * sizeof *book->slots);
    book->anchors = malloc((size_t)starts[slots] * k * sizeof *book->anchors);
    if (!book->slots || !book->anchors)
        return PML_NO_MEMORY;
    if (kind == PML_CODES_CLASS) {
        draw_class_codes(book, seed, starts, slots);
    } else {
        draw_random_codes(seed, PML_STREAM_SLOTS, book->slots, slots * k);
        draw_random_codes(seed, PML_STREAM_ANCHORS, book->anchors, (size_t)starts[slots] * k);
    }
    return PML_DONE;
}

/* ⌊sum / count + ½⌋ */
static int16_t round_mean(int64_t sum, int64_t count)
{
    int64_t numerator = 2 * sum + count, denominator = 2 * count;
    int64_t quotient = numerator / denominator;
    return clamp_code(quotient - (numerator % denominator < 0));
}

pml_outcome pml_codes_average(struct pml_code_book *book, size_t slot, const uint32_t *starts, const uint32_t *cells,
                              size_t cell_count, size_t used)
{
    const unsigned k = book->dimensions;
    const size_t first = starts[slot], count = starts[slot + 1] - first;
    int64_t *sums = calloc(used * k, sizeof *sums), *members = calloc(used, sizeof *members);
    pml_outcome outcome = sums && members ? PML_DONE : PML_NO_MEMORY;
    for (size_t j = 0; outcome == PML_DONE && j < count; j++) {
        members[cells[j]]++;
        for (unsigned i = 0; i < k; i++)
            sums[cells[j] * k + i] += book->anchors[(first + j) * k + i];
    }
    for (size_t c = 0; outcome == PML_DONE && c < cell_count; c++)
        for (unsigned i = 0; i < k; i++) {
            size_t cell = c % used;
            book->cells[(slot * cell_count + c) * k + i] =
                members[cell] > 0 ? round_mean(sums[cell * k + i], members[cell]) : book->slots[slot * k + i];
        }
    free(sums);
    free(members);
    return outcome;
}
