/* SPDX-License-Identifier: Apache-2.0
 * The stages of the Gaussian, each from its own contract: label rows, certificate and calibration of a pack with three slots
 * of two and of three dimensions and arbitrary codes, then neighbours, weights and the row of an update. The anchors'
 * starts are one choice that starts_sound allows.
 * eva: defines -DPML_WITH_FRONT=0
 * eva: sources pipeline_gaussian.c base/wipe.c base/elementary.c base/exact.c base/exponential.c base/random.c
 * eva: sources base/kernels_portable.c privacy/normal.c privacy/ceiling.c stages/quantise.c stages/neighbours.c
 * eva: sources stages/weights.c stages/label_row.c stages/certificate.c stages/calibrate.c stages/update.c
 * eva: sources stages/gaussian.c
 * eva: stubs stubs_hash.c stubs_random.c
 * eva: options -eva-slevel 30 -eva-widening-delay 20 -eva-auto-loop-unroll 70 */
#include "core/stages/stages.h"
#include "view.h"

enum { THREE = 3 };

static void certify(size_t dimensions)
{
    static int64_t scratch[SLOTS * THREE + 2 * NEIGHBOURS];
    pml_certificate certificate;
    const size_t count = SLOTS * dimensions + 2 * NEIGHBOURS;
    (void)pml_pack_certify(MAYBE(&view), MAYBE(scratch), any_size(count - 1), MAYBE(&certificate));
    (void)pml_pack_certify(&view, scratch + SLOTS * THREE + 2 * NEIGHBOURS - count, count, &certificate);
}

static void calibrate(void)
{
    pml_certificate certificate;
    pml_calibration calibration;
    ANY(certificate);
    (void)pml_pack_calibrate(MAYBE(&view), MAYBE(&certificate), any_double(), any_double(), any_u32(),
                             MAYBE(&calibration));
}

static void update(void)
{
    static uint64_t keys[NEIGHBOURS];
    static int64_t label_row[DIMENSIONS];
    static uint32_t indices[NEIGHBOURS], weights[NEIGHBOURS];
    static int32_t updated[DIMENSIONS];
    static int8_t row[FEATURES];
    for (int i = 0; i < FEATURES; i++) /* a quantised row */
        row[i] = (int8_t)Frama_C_interval(-127, 127);
    pml_neighbours_find(&view, &pml_kernels_portable, row, keys);
    const uint32_t floor = pml_weights_floor(any_u32());
    (void)pml_weights_label((uint32_t)any_size(PML_SLOTS_MAX - 1), any_u32());
    for (int j = 0; j < NEIGHBOURS; j++) {
        (void)neighbour_index(keys[j]);
        (void)pml_weights_of(neighbour_score(keys[j]), any_u32(), any_u32(), floor);
        indices[j] = (uint32_t)any_size(ANCHORS - 1);
        weights[j] = Frama_C_unsigned_int_interval(1, 65536);
    }
    for (int i = 0; i < DIMENSIONS; i++) /* neighbours times a weight times two codes */
        label_row[i] = Frama_C_long_long_interval(-((int64_t)1 << 34), (int64_t)1 << 34);
    pml_update_row(&view, (uint32_t)any_size(SLOTS - 1), label_row, indices, weights,
                   Frama_C_unsigned_int_interval(1, 1u << 28), updated);
}

static void privacy(void)
{
    (void)pml_gaussian_ratio(any_double(), any_double());
    (void)pml_gaussian_mu(any_double(), any_double());
}

int main(void)
{
    view_start(SLOTS);
    view_anchors();
    view_starts();
    view.lambda = Frama_C_unsigned_int_interval(1, UINT32_MAX);
    view.alpha = (uint16_t)Frama_C_interval(0, 1024);
    certify(DIMENSIONS);
    calibrate();
    update();
    privacy();
    SECTION(ANCHOR_CODES, 2 * ANCHORS * THREE);
    SECTION(SLOT_CODES, 2 * SLOTS * THREE);
    view.dimensions = THREE;
    certify(THREE);
    return 0;
}
