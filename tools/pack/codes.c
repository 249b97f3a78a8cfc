/* SPDX-License-Identifier: Apache-2.0
 * In: a seed, the slots of the anchors, the cells of a slot. Out: codes, the same on every platform.
 * Never looks at a feature. */
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

/* ---- places ---- */

/* A sunflower's spiral fills the disk evenly. The angle is turned by multiplication: sin and cos of a C library differ
 * between platforms. */
static void place_on_disk(int16_t *places, size_t slots)
{
    const double turn_cosine = -0.73736887807831990, turn_sine = 0.67549029426152364; /* of π(3 − √5) */
    double x = 1.0, y = 0.0;
    for (size_t i = 0; i < slots; i++) {
        double radius = RADIUS * sqrt(((double)i + 0.5) / (double)slots);
        places[2 * i] = round_code(radius * x);
        places[2 * i + 1] = round_code(radius * y);
        double turned = x * turn_cosine - y * turn_sine;
        y = x * turn_sine + y * turn_cosine;
        x = turned;
    }
}

static void place_on_line(int16_t *places, size_t slots)
{
    for (size_t i = 0; i < slots; i++)
        places[i] = round_code(RADIUS * ((2.0 * (double)i + 1.0) / (double)slots - 1.0));
}

static void draw_direction(struct pml_generator *generator, unsigned dimensions, int16_t *place)
{
    int32_t direction[PML_DIMENSIONS_MAX];
    int64_t squares = 0;
    while (squares == 0)
        for (unsigned i = 0; i < dimensions; i++) {
            direction[i] = pml_generator_normal(generator, RANDOM_DEVIATION);
            squares += (int64_t)direction[i] * direction[i];
        }
    for (unsigned i = 0; i < dimensions; i++)
        place[i] = round_code(RADIUS * direction[i] / sqrt((double)squares));
}

/* Squared distance of a place to the nearest of those before it. */
static int64_t room_around(const int16_t *places, size_t count, unsigned dimensions, const int16_t *place)
{
    int64_t nearest = INT64_MAX;
    for (size_t j = 0; j < count; j++) {
        int64_t squares = 0;
        for (unsigned i = 0; i < dimensions; i++) {
            int64_t difference = places[j * dimensions + i] - place[i];
            squares += difference * difference;
        }
        nearest = squares < nearest ? squares : nearest;
    }
    return nearest;
}

/* Of a few random directions each slot takes the one farthest from all before it. */
static void place_on_sphere(int16_t *places, size_t slots, unsigned dimensions, struct pml_generator *generator)
{
    for (size_t s = 0; s < slots; s++) {
        int64_t most = -1;
        for (int candidate = 0; candidate < CANDIDATES; candidate++) {
            int16_t place[PML_DIMENSIONS_MAX];
            draw_direction(generator, dimensions, place);
            int64_t room = room_around(places, s, dimensions, place);
            if (room > most) {
                most = room;
                memcpy(places + s * dimensions, place, dimensions * sizeof *place);
            }
        }
    }
}

/* ---- codes ---- */

static void draw_class_codes(struct pml_code_book *book, uint64_t seed, const uint32_t *starts, size_t slots)
{
    struct pml_generator places = pml_generator_start(seed, PML_STREAM_PLACES);
    struct pml_generator jitter = pml_generator_start(seed, PML_STREAM_ANCHORS);
    const unsigned k = book->dimensions;
    if (k == 1)
        place_on_line(book->slots, slots);
    else if (k == 2)
        place_on_disk(book->slots, slots);
    else
        place_on_sphere(book->slots, slots, k, &places);
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

int pml_codes_draw(struct pml_code_book *book, enum pml_codes kind, uint64_t seed, const uint32_t *starts, size_t slots)
{
    const unsigned k = book->dimensions;
    book->slots = malloc(slots * k * sizeof *book->slots);
    book->anchors = malloc((size_t)starts[slots] * k * sizeof *book->anchors);
    if (!book->slots || !book->anchors)
        return -1;
    if (kind == PML_CODES_CLASS) {
        draw_class_codes(book, seed, starts, slots);
    } else {
        draw_random_codes(seed, PML_STREAM_SLOTS, book->slots, slots * k);
        draw_random_codes(seed, PML_STREAM_ANCHORS, book->anchors, (size_t)starts[slots] * k);
    }
    return 0;
}

/* ⌊sum / count + ½⌋ */
static int16_t round_mean(int64_t sum, int64_t count)
{
    int64_t numerator = 2 * sum + count, denominator = 2 * count;
    int64_t quotient = numerator / denominator;
    return clamp_code(quotient - (numerator % denominator < 0));
}

int pml_codes_average(struct pml_code_book *book, size_t slot, const uint32_t *starts, const uint32_t *cells,
                      size_t cell_count, size_t used)
{
    const unsigned k = book->dimensions;
    const size_t first = starts[slot], count = starts[slot + 1] - first;
    int64_t *sums = calloc(used * k, sizeof *sums), *members = calloc(used, sizeof *members);
    int status = sums && members ? 0 : -1;
    for (size_t j = 0; status == 0 && j < count; j++) {
        members[cells[j]]++;
        for (unsigned i = 0; i < k; i++)
            sums[cells[j] * k + i] += book->anchors[(first + j) * k + i];
    }
    for (size_t c = 0; status == 0 && c < cell_count; c++)
        for (unsigned i = 0; i < k; i++) {
            size_t cell = c % used;
            book->cells[(slot * cell_count + c) * k + i] =
                members[cell] > 0 ? round_mean(sums[cell * k + i], members[cell]) : book->slots[slot * k + i];
        }
    free(sums);
    free(members);
    return status;
}
