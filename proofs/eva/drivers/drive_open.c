/* SPDX-License-Identifier: Apache-2.0
 * Opening packs: the header has the counts of one of three shapes, every other byte is arbitrary, and the bytes are in an
 * object of exactly the pack's size. Together the three shapes have every section.
 * eva: quick
 * eva: sources pack/pack.c pack/pack_check.c pack/pack_front.c pack/pack_head.c pack/pack_sketch.c base/exact.c
 * eva: sources base/kernels_portable.c base/wipe.c stages/quantise.c
 * eva: stubs stubs_hash.c
 * eva: options -eva-slevel 60 -eva-auto-loop-unroll 140
 * eva: options -eva-split-return-function pml_pack_open_with:0,pml_pack_open:0,pml_pack_check_header:0,place_sections:0 */
#include "shape.h"

static void modalities(const pml_pack *pack)
{
    static char name[PML_MODALITY_NAME_MAX + 1];
    pml_modality modality;
    uint32_t index;
    pml_front front;
    ANY(name);
    name[PML_MODALITY_NAME_MAX] = 0;
    (void)pml_pack_modality(MAYBE(pack), any_size(SIZE_MAX), MAYBE(&modality));
    (void)pml_pack_find_modality(MAYBE(pack), MAYBE(name), MAYBE(&index));
    (void)pml_pack_front(MAYBE(pack), any_size(SIZE_MAX), MAYBE(&front));
}

static void open(const struct shape *shape, uint8_t *bytes, uint32_t size)
{
    pml_pack pack;
    const bool agree = shape_place(shape, PML_SECTION_COUNT) == size;
    //@ assert agree == 1;
    if (shape_open(shape, &pack, bytes, size) == PML_OK)
        modalities(&pack);
    (void)pml_pack_open(MAYBE(&pack), MAYBE(bytes), size - 1, NULL, NULL);
}

#define OPEN(shape, size)                                                                                              \
    do {                                                                                                               \
        static uint8_t bytes[size];                                                                                    \
        open(&(shape), bytes, size);                                                                                   \
    } while (0)

static const struct shape response = {.minor = 4,
                                      .sections = RESPONSE_SECTIONS | HAS(CLASSES) | HAS(MODEL) | HAS(SLOT_CODES) |
                                                  HAS(CELL_CODES) | HEAD_SECTIONS,
                                      .features = 5,
                                      .slots = 3,
                                      .slot_kind = PML_SLOTS_GROUP,
                                      .classes = 4,
                                      .cells = 3,
                                      .prototypes = 4,
                                      .dimensions = 2,
                                      .labels = 3};

static const struct shape gaussian = {.minor = 3,
                                      .sections =
                                          GAUSSIAN_SECTIONS | HAS(CLASSES) | HAS(LISTS) | HAS(SKETCH) | FRONT_SECTIONS,
                                      .features = 5,
                                      .slots = 3,
                                      .slot_kind = PML_SLOTS_CLASS,
                                      .classes = 3,
                                      .anchors = 6,
                                      .neighbours = 2,
                                      .dimensions = 2,
                                      .alpha = 256,
                                      .sketch = 8,
                                      .front = PML_FRONT_KERNELS,
                                      .inputs = 4,
                                      .centres = 2};

static const struct shape coded = {.minor = 5,
                                   .sections = RESPONSE_SECTIONS | CODED_SECTIONS,
                                   .features = 5,
                                   .slots = 1,
                                   .cells = 2,
                                   .prototypes = 4,
                                   .sketch = 6,
                                   .blocks = {[2] = 1, [4] = 1}};

int main(void)
{
    static uint8_t sealed[100];
    OPEN(response, 495);
    OPEN(gaussian, 946);
    OPEN(coded, 640);
    ANY(sealed);
    pml_pack_seal(MAYBE(sealed), any_size(sizeof sealed));
    return 0;
}
