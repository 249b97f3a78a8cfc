/* SPDX-License-Identifier: Apache-2.0
 * A client of response: a pack with three slots, and all calls in any order, with any query and budget.
 * eva: sources client.c query.c query_front.c pipeline.c pipeline_response.c pipeline_gaussian.c pipeline_crowd.c
 * eva: sources base/wipe.c base/random.c base/exact.c base/elementary.c base/kernels_portable.c
 * eva: sources pack/pack.c pack/pack_check.c pack/pack_sketch.c pack/pack_front.c pack/pack_head.c
 * eva: sources stages/quantise.c stages/slots.c stages/prototypes.c stages/release.c stages/response.c
 * eva: sources privacy/budget.c privacy/normal.c
 * eva: stubs stubs_hash.c stubs_random.c
 * eva: options -eva-slevel 60 -eva-auto-loop-unroll 600 -eva-no-alloc-returns-null */
#include "client_calls.h"

int main(void)
{
    static const struct shape shape = {.minor = 2,
                                       .sections = RESPONSE_SECTIONS | HAS(CLASSES) | HAS(MODEL) | HAS(SLOT_CODES) |
                                                   HAS(CELL_CODES),
                                       .features = 5,
                                       .slots = 3,
                                       .slot_kind = PML_SLOTS_GROUP,
                                       .classes = 4,
                                       .cells = 3,
                                       .prototypes = 4,
                                       .dimensions = 2};
    pml_config config = any_config(PML_RESPONSE);
    pml_pack pack;
    uint8_t *bytes;
    if (shape_open(&shape, &pack, &bytes)) {
        //@ assert pack.slots == 3;
        const size_t size = pml_client_size(&pack, &config);
        //@ assert size == PML_RESPONSE_MEMORY(5, 3);
        eva_offset = 7;
        use_client(&pack, &config, malloc(size), size, 5);
        eva_offset = 0;
        use_client(&pack, &config, malloc(size), size, 5);
    }
    return 0;
}
