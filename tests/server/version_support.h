/* SPDX-License-Identifier: Apache-2.0
 * A pack and galleries drawn for it, in stores; releases, and what must come for them. Define _XOPEN_SOURCE first. */
#ifndef TEST_VERSION_SUPPORT_H
#define TEST_VERSION_SUPPORT_H

#include "server/index/index_parts.h"
#include "server/service/follow.h"
#include "server/store/store.h"
#include "tools/builder_support.h"

#include <math.h>

enum { CLASSES = 3, ITEMS = 90, CELLS = 4, NEAREST = 7, RELEASE_MAX = 64, ITERATIONS = 2 };

/* Which items a gallery has, and what is wrong with it. */
struct recipe {
    size_t first, count; /* indices of items */
    bool no_cells, no_places, foreign, deeper, mismeasured, swapped, resized;
};

static const struct recipe usual = {.first = 0, .count = ITEMS};

static bool coded; /* sketches are */
static struct input input;
static struct built built;
static struct pml_store *store;

static inline void make_pack(void)
{
    input = make_input(60, 8, CLASSES);
    input.options.cells = CELLS;
    input.options.sketch = 8;
    input.options.plain_sketches = !coded;
    built = build(&input);
}

static inline void free_pack(void)
{
    free(built.bytes);
    free_input(&input);
}

/* ---- items ---- */

struct drawn {
    uint32_t slot, cell;
    float place[2];
    int8_t sketch[PML_SKETCH_MAX];
    uint8_t payload[20];
    struct pml_candidate candidate;
};

static inline void draw_item(size_t index, struct drawn *drawn)
{
    uint64_t state = 31 * index + 7;
    memset(drawn, 0, sizeof *drawn);
    drawn->slot = (uint32_t)(index % CLASSES);
    drawn->cell = (uint32_t)draw_below(&state, CELLS);
    for (size_t i = 0; i < 2; i++)
        drawn->place[i] = (float)draw_between(&state, -3000, 3000);
    for (size_t i = 0; i < sizeof drawn->sketch; i++)
        drawn->sketch[i] = (int8_t)draw_between(&state, -127, 127);
    for (size_t i = 0; i < sizeof drawn->payload; i++)
        drawn->payload[i] = (uint8_t)draw64(&state);
    drawn->candidate = (struct pml_candidate){5 * index + 3,     (int32_t)index - 40, drawn->sketch,
                                              built.info.sketch, drawn->payload,      index % 20};
}

/* ---- versions ---- */

static inline pml_outcome give_payload(void *context, size_t row, const uint8_t **bytes, struct pml_message *message)
{
    static struct drawn drawn;
    (void)message;
    draw_item(((const struct recipe *)context)->first + row, &drawn);
    *bytes = drawn.payload;
    return PML_DONE;
}

/* Puts all parts and the manifest; answers the version's name. */
static inline struct pml_name put_version(const struct recipe *recipe)
{
    const size_t count = recipe->count, sketch = built.info.sketch;
    uint64_t *items = malloc(count * sizeof *items);
    int32_t *labels = malloc(count * sizeof *labels);
    uint32_t *slots = malloc(count * sizeof *slots), *cells = malloc(count * sizeof *cells);
    size_t *starts = malloc((count + 1) * sizeof *starts);
    int8_t *sketches = malloc(count * sketch);
    uint16_t *sizes = malloc(count * sizeof *sizes);
    float *places = malloc(2 * count * sizeof *places);
    struct recipe copy = *recipe;
    for (size_t i = 0; i < count; i++) {
        struct drawn drawn;
        draw_item(recipe->first + i, &drawn);
        items[i] = drawn.candidate.item;
        labels[i] = drawn.candidate.label;
        slots[i] = drawn.slot;
        cells[i] = drawn.cell;
        starts[i] = i;
        starts[i + 1] = i + 1;
        memcpy(sketches + i * sketch, drawn.sketch, sketch);
        sizes[i] = (uint16_t)drawn.candidate.payload_size;
        memcpy(places + 2 * i, drawn.place, sizeof drawn.place);
    }
    const struct pml_cell_lists lists = {starts, cells};
    const struct pml_parts_source source = {.pack = &built.pack,
                                            .count = count,
                                            .items = items,
                                            .labels = labels,
                                            .slots = slots,
                                            .sketches = sketches,
                                            .payload_sizes = sizes,
                                            .payload = give_payload,
                                            .payload_context = &copy,
                                            .lists = recipe->no_cells ? NULL : &lists,
                                            .places = recipe->no_places ? NULL : places,
                                            .iterations = ITERATIONS,
                                            .threads = 1};
    struct pml_manifest manifest;
    struct pml_parts_report report;
    struct pml_bytes bytes = {0};
    struct pml_name name;
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_parts_make(store, &source, &manifest, &report, &said), said.text);
    manifest.pack[0] ^= recipe->foreign;
    manifest.dimensions += recipe->deeper;
    manifest.longest += recipe->mismeasured;
    if (recipe->swapped)
        manifest.places[0] = manifest.places[1];
    if (recipe->resized)
        for (size_t i = 0; i < (size_t)CLASSES * CELLS; i++)
            manifest.parts[i].size = UINT16_MAX;
    if (recipe->resized)
        manifest.longest = pml_manifest_constant(&built.info, manifest.items, UINT16_MAX);
    TEST_ASSERT_EQUAL(PML_DONE, pml_manifest_write(&manifest, &bytes));
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_put(store, PML_PARTS, bytes.bytes, bytes.size, &name, &said));
    pml_manifest_free(&manifest);
    pml_bytes_free(&bytes);
    void *all[] = {items, labels, slots, cells, starts, sketches, sizes, places};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    return name;
}

static inline void point_at(const struct pml_name *version)
{
    const struct pml_pointer pointer = {.version = *version};
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_switch(store, built.info.id, &pointer, &said));
}

static inline struct pml_name make_version(const struct recipe *recipe)
{
    const struct pml_name name = put_version(recipe);
    point_at(&name);
    return name;
}

static inline void make_store(const struct recipe *recipe)
{
    pml_store_close(store);
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_memory_open(&store));
    make_version(recipe);
}

/* ---- releases, written by hand from SPEC 2 ---- */

static inline size_t write_head(uint8_t *out, int mechanism)
{
    const uint8_t head[] = {mechanism == PML_GAUSSIAN ? 0xA5 : 0xA4, 0, 1, 1, 0x50}, tail[] = {2, (uint8_t)mechanism};
    memcpy(out, head, sizeof head);
    memcpy(out + sizeof head, built.info.id, PML_ID_SIZE);
    memcpy(out + sizeof head + PML_ID_SIZE, tail, sizeof tail);
    return sizeof head + PML_ID_SIZE + sizeof tail;
}

/* Three symbols of two bits. */
static inline size_t write_response(uint8_t *out, uint8_t symbols)
{
    size_t size = write_head(out, PML_RESPONSE);
    const uint8_t body[] = {4, 0x41, symbols};
    memcpy(out + size, body, sizeof body);
    return size + sizeof body;
}

/* One of twelve symbols, of four bits: slot · CELLS + cell. */
static inline size_t write_crowd(uint8_t *out, uint8_t symbol)
{
    size_t size = write_head(out, PML_CROWD);
    const uint8_t body[] = {4, 0x41, symbol};
    memcpy(out + size, body, sizeof body);
    return size + sizeof body;
}

/* Three rows of two values, in steps of 100. */
static inline size_t write_gaussian(uint8_t *out, uint64_t *state)
{
    size_t size = write_head(out, PML_GAUSSIAN);
    const uint8_t step[] = {3, 0x44, 0, 0, 0, 100, 4, 0x46};
    memcpy(out + size, step, sizeof step);
    size += sizeof step;
    for (size_t i = 0; i < 6; i++)
        out[size++] = (uint8_t)draw64(state);
    return size;
}

/* ---- what must come ---- */

struct ranked {
    double rank;
    struct drawn drawn;
};

static inline int by_rank(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->rank < b->rank || a->rank > b->rank)
        return a->rank < b->rank ? -1 : 1;
    const uint64_t first = a->drawn.candidate.item, second = b->drawn.candidate.item;
    return first < second ? -1 : first > second;
}

/* Appends a slot: of the items that `rank` gives a number, at most `most`, the smallest first. */
static inline void append_expected(struct pml_bytes *answer, const struct recipe *recipe, uint32_t slot, size_t most,
                                   double (*rank)(const struct drawn *, const void *), const void *context)
{
    static struct ranked found[ITEMS + 1];
    struct pml_candidate candidates[ITEMS];
    size_t count = 0;
    for (size_t i = recipe->first; i < recipe->first + recipe->count; i++) {
        draw_item(i, &found[count].drawn);
        found[count].rank = rank(&found[count].drawn, context);
        count += found[count].drawn.slot == slot && !isnan(found[count].rank);
    }
    qsort(found, count, sizeof *found, by_rank);
    count = count < most ? count : most;
    for (size_t i = 0; i < count; i++) {
        candidates[i] = found[i].drawn.candidate;
        candidates[i].sketch = found[i].drawn.sketch; /* the sort has moved them */
        candidates[i].payload = found[i].drawn.payload;
    }
    TEST_ASSERT_EQUAL(0, pml_answer_write_list(answer, &built.info, slot, candidates, count));
}

static inline struct pml_bytes begin_expected(const struct recipe *recipe, uint32_t slots)
{
    struct pml_bytes answer = {0};
    TEST_ASSERT_EQUAL(0, pml_answer_write_header(&answer, &built.info, slots, recipe->count));
    return answer;
}

static inline double in_cell(const struct drawn *drawn, const void *cell)
{
    return drawn->cell == *(const uint32_t *)cell ? 0.0 : (double)NAN;
}

static inline struct pml_bytes expected_response(const struct recipe *recipe, unsigned symbols)
{
    struct pml_bytes expected = begin_expected(recipe, CLASSES);
    for (uint32_t slot = 0; slot < CLASSES; slot++) {
        const uint32_t cell = symbols >> 2 * slot & 3;
        append_expected(&expected, recipe, slot, ITEMS, in_cell, &cell);
    }
    return expected;
}

static inline double squared_distance(const struct drawn *drawn, const void *place)
{
    const double *to = place;
    double first = (double)drawn->place[0] - to[0], second = (double)drawn->place[1] - to[1];
    return first * first + second * second;
}

static inline struct pml_bytes expected_gaussian(const struct recipe *recipe, const double *places)
{
    struct pml_bytes expected = begin_expected(recipe, CLASSES);
    for (uint32_t slot = 0; slot < CLASSES; slot++)
        append_expected(&expected, recipe, slot, NEAREST, squared_distance, places + 2 * slot);
    return expected;
}

/* Whether the parts are these bytes. */
static inline bool parts_are(const struct pml_parts *parts, const struct pml_bytes *expected)
{
    size_t at = 0;
    for (size_t i = 0; i < parts->count; i++) {
        const struct pml_part *part = parts->parts[i];
        if (part->size > expected->size - at || memcmp(expected->bytes + at, part->bytes, part->size) != 0)
            return false;
        at += part->size;
    }
    return at == expected->size && at == parts->size;
}

#endif
