/* SPDX-License-Identifier: Apache-2.0
 * A client of response: all calls in any order, with any configuration (ε in its range), budget, query and entropy, in
 * memory of exactly the size that the header's macro gives. The pack has three slots, and any rows, norms and cells.
 * eva: quick
 * eva: defines -DPML_WITH_GAUSSIAN=0 -DPML_WITH_CROWD=0 -DPML_WITH_FRONT=0
 * eva: sources client.c query.c pipeline.c pipeline_response.c base/wipe.c base/random.c base/exact.c
 * eva: sources base/elementary.c base/kernels_portable.c
 * eva: sources stages/quantise.c stages/slots.c stages/prototypes.c stages/release.c stages/response.c
 * eva: sources privacy/budget.c
 * eva: stubs stubs_hash.c stubs_random.c
 * eva: options -eva-slevel 30 -eva-widening-delay 20 -eva-auto-loop-unroll 60 -eva-slevel-function use_client:0
 * eva: options -eva-split-return-function pml_client_init:0,pml_budget_charge:full,pml_budget_refund:full,book:full */
#include "client_calls.h"

static void run(const struct pml_kernels *kernels)
{
    static uint8_t memory[PML_RESPONSE_MEMORY(FEATURES, SLOTS)], out[26];
    static float features[FEATURES];
    pml_client *client;
    view_start(SLOTS);
    SECTION(CLASSES, 8 * CLASSES);
    view.classes = CLASSES;
    view.slot_kind = PML_SLOTS_GROUP;
    view_prototypes();
    pml_config config = any_config(PML_RESPONSE, kernels);
    eva_offset = 7; /* the last byte of the memory is used */
    refuse_client(&config, memory, sizeof memory);
    config.epsilon = Frama_C_double_interval(0x1p-20, 16.0);
    if (pml_client_init(&client, memory, sizeof memory, &view, &config) == PML_OK)
        use_client(client, features, FEATURES, out, sizeof out);
}

int main(void)
{
    run(NULL);
    run(&pml_kernels_portable);
    return 0;
}
