/* SPDX-License-Identifier: Apache-2.0
 * A client in a crowd: all calls in any order, with any budget, query, kept message and entropy, in memory of exactly the
 * size that the header's macro gives. The policy has two own messages; its other numbers are any in their ranges.
 * eva: defines -DPML_WITH_GAUSSIAN=0 -DPML_WITH_FRONT=0
 * eva: sources client.c crowd.c query.c pipeline.c pipeline_response.c pipeline_crowd.c base/wipe.c base/random.c
 * eva: sources base/elementary.c base/exact.c base/kernels_portable.c privacy/budget.c
 * eva: sources stages/quantise.c stages/slots.c stages/prototypes.c stages/release.c stages/response.c stages/bundle.c
 * eva: sources stages/public_list.c
 * eva: stubs stubs_hash.c stubs_random.c
 * eva: options -eva-slevel 30 -eva-widening-delay 20 -eva-auto-loop-unroll 80 -eva-slevel-function use_crowd:0
 * eva: options -eva-split-return-function pml_client_init:0,pml_budget_charge:full,pml_budget_refund:full,book:full
 * eva: options -eva-split-return-function pml_release_parse:0 */
#include "client_calls.h"

enum { MESSAGE = 26, OWN = 2 };

static void use_crowd(pml_client *client, float *features, uint8_t *out)
{
    static uint8_t kept[MESSAGE];
    pml_receipt receipt;
    unsigned own;
    ANY(budget);
    while (any_bool()) {
        pml_query query = any_query(FEATURES, features);
        pml_crowd_content content = {MAYBE(&query), MAYBE(kept), any_bool() ? MESSAGE : any_size(MESSAGE)};
        ANY(kept);
        switch (Frama_C_interval(0, 6)) {
        case 0:
            (void)pml_crowd_arm(MAYBE(client), MAYBE(&budget), (pml_bundle)Frama_C_interval(0, 4));
            break;
        case 1:
            (void)pml_crowd_begin(MAYBE(client), MAYBE(&content));
            break;
        case 2:
            (void)pml_crowd_next(MAYBE(client), MAYBE(out), any_size(MESSAGE), MAYBE(&own));
            (void)pml_crowd_left(MAYBE(client));
            break;
        case 3:
            (void)pml_client_disarm(MAYBE(client), MAYBE(&budget));
            break;
        case 4:
            (void)pml_client_receipt(MAYBE(client), MAYBE(&receipt));
            break;
        case 5:
            pml_client_wipe(MAYBE(client));
            break;
        default:
            (void)pml_client_arm(client, &budget);
            (void)pml_client_release(client, &query, out, MESSAGE);
            ANY(budget);
            break;
        }
    }
}

static void run(const struct pml_kernels *kernels)
{
    static uint8_t memory[PML_CROWD_MEMORY(FEATURES)], out[MESSAGE];
    static float features[FEATURES];
    static pml_crowd policy;
    pml_client *client;
    view_start(SLOTS);
    SECTION(CLASSES, 8 * CLASSES);
    view.classes = CLASSES;
    view.slot_kind = PML_SLOTS_GROUP;
    view_prototypes();
    pml_config config = any_config(PML_RESPONSE, kernels);
    eva_offset = 7; /* the last byte of the memory is used */
    config.crowd = &policy;
    ANY(policy);
    policy.cover = any_bool();
    refuse_client(&config, memory, sizeof memory);
    config.epsilon = Frama_C_double_interval(0x1p-20, 16.0);
    policy.clusters = Frama_C_double_interval(0.0, 4.0);
    policy.relay_clusters = Frama_C_double_interval(0.0, 0x1p24);
    policy.mu = Frama_C_double_interval(0.0, 16.0);
    policy.delta0 = Frama_C_double_interval(0.0, 0x1p-10);
    policy.own = OWN;
    policy.copies = Frama_C_unsigned_int_interval(1, 64);
    if (pml_client_init(&client, memory, sizeof memory, &view, &config) == PML_OK)
        use_crowd(client, features, out);
}

int main(void)
{
    run(NULL);
    run(&pml_kernels_portable);
    return 0;
}
