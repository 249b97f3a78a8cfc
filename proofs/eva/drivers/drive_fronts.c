/* SPDX-License-Identifier: Apache-2.0
 * Fronts and heads: files of arbitrary bytes, then queries of any features through a front of each kind, and guesses. What
 * a front is made of is arbitrary, but for the ranges that pml_front_sound has found it in.
 * eva: quick
 * eva: sources front_public.c guess.c query.c query_front.c pack/pack_front.c pack/pack_head.c pack/pack.c
 * eva: sources pack/pack_check.c pack/pack_sketch.c stages/front.c stages/head.c stages/quantise.c stages/slots.c
 * eva: sources base/wipe.c base/random.c base/exact.c base/exponential.c base/kernels_portable.c
 * eva: stubs stubs_hash.c stubs_random.c
 * eva: options -eva-slevel 40 -eva-widening-delay 20 -eva-auto-loop-unroll 40
 * eva: options -eva-split-return-function pml_front_open:0 */
#include "core/base/kernels.h"
#include "core/pack/front.h"
#include "view.h"

enum { INPUTS = 4, CENTRES = 2, LABELS = 3, OUTPUTS = FEATURES };
static float features[INPUTS];
static uint8_t seed[32];

static void any_read(void *context, size_t first, size_t count, float *out)
{
    (void)context;
    (void)first;
    make_any(out, count * sizeof *out);
}

/* ---- files ---- */

static void open(uint8_t *file, size_t size, uint8_t kind, uint8_t centres, bool head)
{
    static const uint8_t magic[8] = {'P', 'M', 'F', 'R', 0, 0, 1, 0};
    pml_front front;
    make_any(file, size);
    (void)pml_front_open(MAYBE(&front), MAYBE(file), any_size(PML_FRONT_FILE_HEADER - 1));
    memcpy(file, magic, 8);
    file[6] = head ? 2 : 1;
    memset(file + 40, 0, PML_FRONT_FILE_HEADER - 40 - 32);
    file[40] = (uint8_t)size;
    file[48] = OUTPUTS;
    file[52] = head;
    file[64] = kind;
    file[66] = (uint8_t)any_bool();
    file[68] = INPUTS;
    file[72] = centres;
    (void)pml_front_open(&front, file, size);
    pml_front_seal(MAYBE(file), size);
}

static void files(void)
{
    static uint8_t matrix[PML_FRONT_FILE_HEADER + OUTPUTS * (12 + INPUTS)];
    static uint8_t kernels[PML_FRONT_FILE_HEADER + 8 * OUTPUTS + CENTRES * (12 + INPUTS + OUTPUTS)];
    static uint8_t head[PML_FRONT_FILE_HEADER + OUTPUTS * (16 + INPUTS)];
    open(matrix, sizeof matrix, PML_FRONT_MATRIX, 0, false);
    open(kernels, sizeof kernels, PML_FRONT_KERNELS, CENTRES, false);
    open(head, sizeof head, PML_FRONT_MATRIX, 0, true);
}

/* ---- queries ---- */

/* Offsets of at most 2^48 in size, and gains from 1 to 32, a number of `stride` bytes per output. */
static void sound_outputs(uint8_t *body, unsigned count, unsigned stride)
{
    //@ loop unroll 8;
    for (unsigned i = 0; i < count; i++) {
        body[stride * i + 6] = body[stride * i + 7] = 0;
        if (stride == 12) {
            body[stride * i + 8] = (uint8_t)Frama_C_interval(1, 32);
            body[stride * i + 9] = body[stride * i + 10] = body[stride * i + 11] = 0;
        }
    }
}

static void map(const pml_front *front, int64_t *scratch)
{
    static int8_t row[OUTPUTS];
    ANY(features);
    (void)pml_front_scratch(MAYBE(front));
    (void)pml_front_map(MAYBE(front), MAYBE(&pml_kernels_portable), MAYBE(features), any_size(INPUTS), MAYBE(scratch),
                        MAYBE(row));
}

static void maps(void)
{
    static uint8_t matrix[OUTPUTS * (12 + INPUTS)], kernels[8 * OUTPUTS + CENTRES * (12 + INPUTS + OUTPUTS)];
    static int64_t scratch[PML_FRONT_MEMORY(INPUTS, OUTPUTS) / 8];
    pml_front front = {.inputs = INPUTS, .outputs = OUTPUTS, .root = any_bool()};
    ANY(matrix);
    sound_outputs(matrix, OUTPUTS, 12);
    front.kind = PML_FRONT_MATRIX;
    front.body = matrix;
    front.body_size = sizeof matrix;
    front.values = (const int8_t *)matrix + 12 * OUTPUTS;
    map(&front, scratch);
    ANY(kernels);
    sound_outputs(kernels, OUTPUTS, 8);
    for (unsigned c = 0; c < CENTRES; c++) {
        uint8_t *centre = kernels + 8 * OUTPUTS + 12 * c;
        centre[3] = (uint8_t)Frama_C_interval(0, 0x3F);
        centre[9] = centre[10] = centre[11] = 0; /* an amplitude below 256 */
    }
    front.kind = PML_FRONT_KERNELS;
    front.centres = CENTRES;
    front.body = kernels;
    front.body_size = sizeof kernels;
    front.values = (const int8_t *)kernels + 8 * OUTPUTS + 12 * CENTRES;
    map(&front, scratch);
    front.kind = PML_FRONT_SIGNS;
    front.centres = 0;
    front.seed = seed;
    map(&front, scratch);
    front.kind = PML_FRONT_NONE;
    front.outputs = INPUTS;
    map(&front, scratch);
}

/* ---- guesses ---- */

static void guesses(void)
{
    static uint8_t memory[PML_GUESS_MEMORY(FEATURES)], head[LABELS * (16 + FEATURES)];
    static pml_guess found[LABELS];
    static float own[FEATURES];
    pml_query query = {.count = FEATURES, .label = 0, .features = own};
    view_start(SLOTS);
    ANY(own);
    ANY(head);
    sound_outputs(head, LABELS, 12);
    view.section[PML_SECTION_HEAD] = head;
    view.labels = LABELS;
    (void)pml_guess_size(MAYBE(&view));
    (void)pml_pack_guess(MAYBE(&view), MAYBE(&pml_kernels_portable), MAYBE(&query), MAYBE((void *)memory),
                         any_size(sizeof memory), MAYBE(found), any_size(LABELS));
    query.features = NULL;
    query.read = any_read;
    (void)pml_pack_guess(&view, NULL, &query, memory, sizeof memory, found, LABELS);
}

/* The same where the query goes through the pack's front, a matrix, in memory of exactly the size that the macros give. */
static void mapped_guesses(void)
{
    static uint8_t memory[PML_GUESS_MEMORY(FEATURES) + PML_FRONT_MEMORY(INPUTS, FEATURES)];
    static uint8_t records[PML_FRONTS_SIZE], body[FEATURES * (12 + INPUTS)];
    static pml_guess found[LABELS];
    pml_query query = {.count = INPUTS, .label = 0};
    ANY(body);
    sound_outputs(body, FEATURES, 12);
    records[0] = PML_FRONT_MATRIX;
    records[2] = (uint8_t)any_bool();
    records[4] = INPUTS;
    view.section[PML_SECTION_FRONTS] = records;
    view.section[PML_SECTION_FRONT_BODIES] = body;
    view.modalities = 1;
    view.inputs = INPUTS;
    const bool fits = pml_guess_size(&view) == sizeof memory;
    //@ assert fits == 1;
    ANY(features);
    query.features = features;
    (void)pml_pack_guess(&view, NULL, &query, memory, sizeof memory, found, LABELS);
    query.features = NULL;
    query.read = any_read;
    (void)pml_pack_guess(&view, &pml_kernels_portable, &query, memory, sizeof memory, found, LABELS);
    query.modality = any_u32();
    (void)pml_pack_guess(&view, NULL, &query, memory, sizeof memory, found, LABELS);
}

int main(void)
{
    eva_offset = 7; /* the last byte of the memory is used */
    ANY(seed);
    files();
    maps();
    guesses();
    mapped_guesses();
    return 0;
}
