/* SPDX-License-Identifier: Apache-2.0
 * The mechanisms themselves: response, bundles of a crowd and the exact Gaussian, over arbitrary random words and secrets.
 * Three slots, five cells, two dimensions.
 * eva: quick
 * eva: sources stages/response.c stages/bundle.c stages/gaussian.c base/random.c base/elementary.c base/wipe.c
 * eva: stubs stubs_random.c
 * eva: options -eva-slevel 5 -eva-widening-delay 20 -eva-auto-loop-unroll 80 */
#include "arbitrary.h"
#include "core/stages/bundle.h"
#include "core/stages/stages.h"

enum { SLOTS = 3, CELLS = 5, DIMENSIONS = 2 };

static pml_random words;

static void response(void)
{
    uint16_t others[SLOTS];
    uint8_t body[2]; /* nine bits */
    uint64_t keep = 0;
    //@ loop unroll 51;
    for (int part = 0; part < EPSILON_PARTS + OTHER_PARTS; part++) {
        const double epsilon = part < EPSILON_PARTS ? any_epsilon(part) : other_epsilon(part - EPSILON_PARTS);
        const uint64_t other = pml_response_keep(epsilon, any_u32());
        keep = any_bool() ? keep : other;
    }
    const uint32_t shift = pml_response_draw(&words, keep, CELLS, SLOTS, others);
    pml_response_emit(others, CELLS, SLOTS, any_u32(), any_u32(), shift, body);
}

static void bundle(void)
{
    struct bundle messages;
    unsigned own;
    pml_bundle_draw(&words, (uint32_t)any_size(1u << 31), CELLS, 1 + any_size(63), &messages);
    pml_bundle_own(&messages, PML_CROWD_OWN_MAX);
    if (messages.total > 0)
        (void)pml_bundle_pick(&words, &messages, &own);
}

static void gaussian(void)
{
    static int32_t noise[SLOTS * DIMENSIONS], row[DIMENSIONS];
    static int64_t centres[SLOTS * DIMENSIONS];
    static uint8_t body[2 * SLOTS * DIMENSIONS];
    pml_gaussian_draw(&words, Frama_C_unsigned_int_interval(8, 22), noise, SLOTS * DIMENSIONS);
    for (int i = 0; i < SLOTS * DIMENSIONS; i++) /* certificate.c: no row is 2^20 units away */
        centres[i] = Frama_C_interval(-(1 << 30), 1 << 30);
    ANY(row);
    pml_gaussian_emit(noise, centres, row, any_u32(), SLOTS, DIMENSIONS, Frama_C_unsigned_int_interval(0, 31), 1, body);
    pml_gaussian_emit(noise, centres, row, any_u32(), SLOTS, DIMENSIONS, Frama_C_unsigned_int_interval(0, 31), 2, body);
}

int main(void)
{
    uint8_t key[32];
    ANY(key);
    pml_random_start(&words, key);
    response();
    pml_random_start(&words, key);
    bundle();
    pml_random_start(&words, key);
    gaussian();
    return 0;
}
