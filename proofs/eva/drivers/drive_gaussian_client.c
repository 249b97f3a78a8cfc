/* SPDX-License-Identifier: Apache-2.0
 * A client of the Gaussian around its stages: all calls in any order, with any configuration, budget, query and entropy, in
 * memory of exactly the size that the header's macro gives. The pack has four slots of two dimensions, three neighbours and
 * any labels. What the stages make is any that their headers allow.
 * eva: quick
 * eva: defines -DPML_WITH_CROWD=0 -DPML_WITH_RESPONSE=0 -DPML_WITH_FRONT=0
 * eva: sources client.c query.c pipeline.c pipeline_gaussian.c base/wipe.c base/random.c base/exact.c
 * eva: sources base/elementary.c base/kernels_portable.c privacy/budget.c
 * eva: sources stages/quantise.c stages/slots.c stages/release.c
 * eva: stubs stubs_hash.c stubs_random.c stubs_gaussian.c
 * eva: options -eva-slevel 20 -eva-widening-delay 20 -eva-auto-loop-unroll 60 -eva-slevel-function use_client:0
 * eva: options -eva-split-return-function pml_client_init:0,pml_budget_charge:full,pml_budget_refund:full,book:full
 * eva: options -eva-split-return-function pml_certificate_of:0,certify:0,pml_pack_calibrate:0,pml_prepare_gaussian:0
 * eva: options -eva-split-return-function pml_pipeline_prepare:0,pml_query_read:0,pml_query_check:0 */
#include "client_calls.h"

/* A power of two: Eva sees of masks only which bits they can leave. */
enum { FOUR = 4, THREE = 3 };

/* SPEC 2: 31 bytes and the body. */
#define RELEASE(value_bytes) (31 + FOUR * DIMENSIONS * (value_bytes))

static void labels(void)
{
    uint8_t *classes = (uint8_t *)view.section[PML_SECTION_CLASSES];
    for (int i = 0; i < CLASSES; i++) { /* classes_sound */
        classes[8 * i + 4] = (uint8_t)any_size(FOUR - 1);
        classes[8 * i + 5] = 0;
    }
}

/* `out` has exactly the bytes of a release with that many bytes per value. */
static void run(unsigned value_bytes, uint8_t *out, size_t bytes)
{
    static uint8_t memory[PML_GAUSSIAN_MEMORY(FEATURES, FOUR, THREE, DIMENSIONS)];
    static float features[FEATURES];
    pml_client *client;
    view_start(FOUR);
    SECTION(CLASSES, 8 * CLASSES);
    labels();
    SECTION(ANCHORS, ANCHORS * FEATURES);
    view.classes = CLASSES;
    view.slot_kind = PML_SLOTS_GROUP;
    view.anchors = ANCHORS;
    view.neighbours = THREE;
    view.dimensions = DIMENSIONS;
    view.lambda = Frama_C_unsigned_int_interval(1, UINT32_MAX);
    view.alpha = (uint16_t)Frama_C_interval(0, 1024);
    pml_config config = any_config(PML_GAUSSIAN, any_bool() ? &pml_kernels_portable : NULL);
    eva_offset = 7; /* the last byte of the memory is used */
    refuse_client(&config, memory, sizeof memory);
    config.value_bytes = value_bytes;
    const bool fits = pml_client_size(&view, &config) == sizeof memory;
    //@ assert fits == 1;
    if (pml_client_init(&client, memory, sizeof memory, &view, &config) != PML_OK)
        return;
    const bool agree = pml_client_release_size(client) == bytes;
    //@ assert agree == 1;
    use_client(client, features, FEATURES, out, bytes);
}

int main(void)
{
    static uint8_t narrow[RELEASE(1)], wide[RELEASE(2)];
    run(0, narrow, sizeof narrow); /* 0 means 1 */
    run(1, narrow, sizeof narrow);
    run(2, wide, sizeof wide);
    return 0;
}
