/* SPDX-License-Identifier: Apache-2.0
 * The content of packs whose sections are placed: every check, over arbitrary bytes, from its own contract: counts of one
 * small shape, and sections of exactly the size that these counts give. Then everything that reads a pack.
 * eva: quick
 * eva: sources pack/pack.c pack/pack_check.c pack/pack_front.c pack/pack_head.c pack/pack_sketch.c base/exact.c
 * eva: sources base/kernels_portable.c
 * eva: stubs stubs_hash.c
 * eva: options -eva-slevel 60 -eva-auto-loop-unroll 130 */
#include "core/pack/front.h"
#include "view.h"

enum { LABELS = 3, INPUTS = 4, CENTRES = 2 };

static void check(void)
{
    const pml_status status = pml_pack_check_content(&view);
    (void)status;
}

static void read(void)
{
    static int16_t code[DIMENSIONS];
    static uint32_t list[NEIGHBOURS], norms[PROTOTYPES], cells[PROTOTYPES];
    const int8_t *rows;
    pml_pack_info info;
    uint32_t slot;
    int32_t label;
    (void)pml_pack_model(MAYBE(&view));
    (void)pml_pack_describe(MAYBE(&view), MAYBE(&info));
    (void)pml_pack_anchor(MAYBE(&view), any_size(SIZE_MAX));
    (void)pml_pack_prototype(MAYBE(&view), any_size(SIZE_MAX), any_size(SIZE_MAX));
    (void)pml_pack_prototypes(MAYBE(&view), any_size(SLOTS), MAYBE(&rows), MAYBE(norms), MAYBE(cells));
    (void)pml_pack_anchor_code(MAYBE(&view), any_size(SIZE_MAX), MAYBE(code));
    (void)pml_pack_slot_code(MAYBE(&view), any_size(SIZE_MAX), MAYBE(code));
    (void)pml_pack_list(MAYBE(&view), any_size(SIZE_MAX), MAYBE(list));
    (void)pml_pack_class(MAYBE(&view), any_size(SIZE_MAX), MAYBE(&label), MAYBE(&slot));
}

/* The slot of an anchor, where sections are as starts_sound has found them: ascending, and the last is the number of
 * anchors. */
static void anchor_slots(void)
{
    uint8_t *starts = (uint8_t *)view.section[PML_SECTION_ANCHOR_STARTS];
    uint32_t slot;
    memset(starts, 0, 4 * (SLOTS + 1));
    starts[4] = (uint8_t)Frama_C_interval(1, ANCHORS - 2);
    starts[8] = (uint8_t)Frama_C_interval(2, ANCHORS - 1);
    starts[12] = ANCHORS;
    (void)pml_pack_anchor_slot(MAYBE(&view), any_size(SIZE_MAX), MAYBE(&slot));
}

/* A record of any bits, and one whose counts are right, with its body. */
static void front(pml_front_kind kind, uint32_t centres, const uint8_t *body)
{
    static uint8_t record[PML_FRONT_RECORD];
    pml_front read;
    ANY(record);
    (void)pml_front_record(record, FEATURES, NULL, &read);
    ANY(record);
    memset(record, 0, 16);
    record[0] = (uint8_t)kind;
    record[2] = (uint8_t)any_bool();
    record[4] = INPUTS;
    record[8] = (uint8_t)centres;
    if (pml_front_record(record, FEATURES, body, &read))
        (void)pml_front_sound(&read);
}

static void fronts(void)
{
    static uint8_t matrix[FEATURES * (12 + INPUTS)];
    static uint8_t kernels[8 * FEATURES + CENTRES * (12 + INPUTS + FEATURES)];
    ANY(matrix);
    ANY(kernels);
    front(PML_FRONT_MATRIX, 0, matrix);
    front(PML_FRONT_KERNELS, CENTRES, kernels);
    front(PML_FRONT_SIGNS, 0, NULL);
}

static void heads(void)
{
    pml_front head;
    uint64_t size;
    SECTION(HEAD_SIZE, PML_HEAD_SIZE_SIZE);
    (void)pml_head_measure(&view, &size);
    SECTION(HEAD, LABELS * (16 + FEATURES));
    view.labels = LABELS;
    (void)pml_pack_head(MAYBE(&view), MAYBE(&head));
    (void)pml_head_sound(&view);
}

int main(void)
{
    view_start(SLOTS);
    check();
    SECTION(CLASSES, 8 * CLASSES);
    view.classes = CLASSES;
    view.slot_kind = (uint16_t)Frama_C_interval(PML_SLOTS_CLASS, PML_SLOTS_GROUP);
    view_prototypes();
    view_anchors();
    view_codes();
    SECTION(LISTS, 4 * ANCHORS * NEIGHBOURS);
    SECTION(SKETCH, SKETCH * FEATURES);
    view.sketch = SKETCH;
    SECTION(MODEL, PML_MODEL_SIZE);
    check();
    read();
    anchor_slots();
    view.section[PML_SECTION_SKETCH] = NULL;
    view_coded();
    check();
    heads();
    check();
    fronts();
    return 0;
}
