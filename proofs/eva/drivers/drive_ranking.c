/* SPDX-License-Identifier: Apache-2.0
 * Rankings and sketches: a query of any features against plain and coded sketches, in memory of exactly the size that the
 * header's macro gives. Of the answer only the first byte comes here: the driver `answer` has the parser.
 * eva: quick
 * eva: defines -DPML_WITH_FRONT=0
 * eva: sources ranking.c query.c sketch_public.c base/wipe.c base/exact.c base/kernels_portable.c
 * eva: sources stages/answer.c stages/answer_rank.c stages/quantise.c stages/slots.c stages/sketch.c stages/coordinates.c
 * eva: stubs stubs_hash.c
 * eva: options -eva-slevel 40 -eva-auto-loop-unroll 40 -eva-split-return-function pml_ranking_begin:0 */
#include "core/base/kernels.h"
#include "view.h"

enum { KEPT = 3 };
static float features[FEATURES];
static pml_match matches[KEPT];
static uint8_t answer[4];

static void rank(uint8_t *memory, size_t size, bool substitute, const struct pml_kernels *kernels)
{
    pml_query query = {.count = FEATURES, .label = (int32_t)any_u32(), .features = features};
    pml_ranking_config config = {.matches = matches,
                                 .capacity = KEPT,
                                 .scope = any_bool() ? PML_OWN_SLOT : PML_ALL_SLOTS,
                                 .crowd = any_bool(),
                                 .substitute = substitute,
                                 .kernels = kernels};
    pml_answer_summary summary;
    pml_ranking *ranking;
    ANY(features);
    ANY(answer);
    (void)pml_pack_slot(MAYBE(&view), query.label, MAYBE(&query.modality));
    query.modality = 0;
    (void)pml_ranking_begin(MAYBE(&ranking), MAYBE((void *)memory), any_size(size - 1), MAYBE(&view), MAYBE(&query),
                            MAYBE(&config));
    if (pml_ranking_begin(&ranking, memory, size, &view, &query, &config) != PML_OK)
        return;
    (void)pml_ranking_feed(MAYBE(ranking), MAYBE(answer), 0);
    (void)pml_ranking_feed(ranking, answer, 1);
    if (any_bool())
        pml_ranking_wipe(MAYBE(ranking));
    (void)pml_ranking_finish(MAYBE(ranking), MAYBE(&summary));
    (void)pml_ranking_finish(ranking, &summary);
    (void)pml_ranking_feed(ranking, answer, 1);
}

static void sketches(int8_t *sketch, int8_t *decoded)
{
    static int8_t row[FEATURES];
    for (int i = 0; i < FEATURES; i++) /* a quantised row */
        row[i] = (int8_t)Frama_C_interval(-127, 127);
    (void)pml_sketch(MAYBE(&view), MAYBE(&pml_kernels_portable), MAYBE(row), MAYBE(sketch));
    (void)pml_sketch_row(MAYBE(&view), MAYBE(sketch), MAYBE(decoded));
}

static void plain(void)
{
    static uint8_t memory[PML_RANKING_MEMORY(FEATURES, SKETCH, 0)];
    static int8_t sketch[SKETCH], decoded[SKETCH];
    SECTION(SKETCH, SKETCH * FEATURES);
    view.sketch = SKETCH;
    rank(memory, sizeof memory, false, NULL);
    rank(memory, sizeof memory, true, &pml_kernels_portable);
    sketches(sketch, decoded);
}

static void coded(void)
{
    static uint8_t memory[PML_RANKING_MEMORY(FEATURES, CODED_SKETCH, DIRECTIONS)];
    static int8_t sketch[CODED_SKETCH], decoded[DIRECTIONS];
    view_coded();
    rank(memory, sizeof memory, false, NULL);
    rank(memory, sizeof memory, true, &pml_kernels_portable);
    sketches(sketch, decoded);
}

int main(void)
{
    eva_offset = 7; /* the last byte of the memory is used */
    view_start(SLOTS);
    SECTION(CLASSES, 8 * CLASSES);
    view.classes = CLASSES;
    view.slot_kind = PML_SLOTS_GROUP;
    plain();
    coded();
    return 0;
}
