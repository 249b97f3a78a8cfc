/* SPDX-License-Identifier: Apache-2.0
 * Parts of a gallery: every item in the right cells, with its sketch, its place and its payload; pages and lengths as the
 * manifest says; payloads that do not fit into memory at once. */
#define _XOPEN_SOURCE 700
#include "server/embedding/embedding.h"
#include "server/gallery/answer_list.h"
#include "server/gallery/places.h"
#include "server/index/gallery_items.h"
#include "server/lists/index_own.h"
#include "server/index/index_parts.h"
#include "server/store/store.h"
#include "stages/stages.h"
#include "tools/builder_support.h"

#include <math.h>

enum { ROWS = 3500, COLUMNS = 12, CLASSES = 3 };

static struct input gallery_input;
static struct built built;
static uint64_t numbers[ROWS];
static uint32_t slots[ROWS];
static uint16_t payload_sizes[ROWS];
static struct pml_rows rows;
static struct pml_items items;
static size_t payloads_read;

void setUp(void)
{
}

void tearDown(void)
{
}

/* Two bytes, none for every fifth. Rows ascend, or begin again. */
static pml_outcome payload_of(void *context, size_t row, const uint8_t **bytes, struct pml_message *message)
{
    static uint8_t room[2];
    size_t *last = context;
    (void)message;
    TEST_ASSERT_TRUE(row % 5 != 0 && row != *last);
    *last = row;
    payloads_read++;
    room[0] = (uint8_t)row;
    room[1] = (uint8_t)(row >> 8);
    *bytes = room;
    return PML_DONE;
}

struct made {
    struct pml_store *store;
    struct pml_manifest manifest;
    struct pml_parts_report report;
};

static struct made make(uint32_t cells_per_item, size_t held, unsigned threads)
{
    struct made made = {0};
    struct pml_cell_lists lists;
    size_t last = 0;
    payloads_read = 0;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_memory_open(&made.store));
    TEST_ASSERT_EQUAL(PML_DONE, pml_lists_own(&lists, &built.pack, &rows, slots, cells_per_item, threads));
    const struct pml_parts_source source = {.pack = &built.pack,
                                            .count = ROWS,
                                            .items = numbers,
                                            .labels = gallery_input.labels.values,
                                            .slots = slots,
                                            .sketches = items.sketches,
                                            .payload_sizes = payload_sizes,
                                            .payload = payload_of,
                                            .payload_context = &last,
                                            .lists = &lists,
                                            .places = items.places,
                                            .iterations = 2,
                                            .held = held,
                                            .threads = threads};
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_parts_make(made.store, &source, &made.manifest, &made.report, &said),
                              said.text);
    pml_lists_free(&lists);
    return made;
}

static void free_made(struct made *made)
{
    pml_store_close(made->store);
    pml_manifest_free(&made->manifest);
}

static pml_outcome append(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    (void)index;
    return pml_bytes_append(context, bytes, size);
}

static struct pml_bytes read_part(struct pml_store *store, const struct pml_name *name)
{
    struct pml_bytes bytes = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_get(store, PML_PARTS, name, 1, append, &bytes));
    return bytes;
}

/* By definition: how many cells of the slot have a prototype that comes before all of this one's (SPEC 5.3). */
static uint32_t rank_of(const int8_t *row, uint32_t slot, uint32_t cell)
{
    int64_t best[16];
    uint32_t first[16], rank = 0, norms[16], cells[16];
    const int8_t *prototypes;
    TEST_ASSERT_TRUE(built.info.prototypes <= 16);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_prototypes(&built.pack, slot, &prototypes, norms, cells));
    for (uint32_t i = 0; i < 16; i++)
        best[i] = INT64_MIN;
    for (uint32_t i = 0; i < built.info.prototypes; i++) {
        int64_t dot = 0;
        for (size_t c = 0; c < COLUMNS; c++)
            dot += row[c] * prototypes[i * COLUMNS + c];
        const int64_t score = dot * norms[i];
        if (score > best[cells[i]])
            best[cells[i]] = score, first[cells[i]] = i;
    }
    for (uint32_t i = 0; i < built.info.cells; i++)
        rank += best[i] > best[cell] || (best[i] == best[cell] && best[i] > INT64_MIN && first[i] < first[cell]);
    return rank;
}

/* Checks one candidate of a cell; answers its row. */
static size_t check_candidate(const struct pml_candidate *candidate, uint32_t slot, uint32_t cell, uint32_t count)
{
    int8_t row[COLUMNS], sketch[PML_SKETCH_MAX];
    const size_t index = (size_t)(candidate->item - 17) / 3;
    TEST_ASSERT_TRUE(index < ROWS && numbers[index] == candidate->item && slots[index] == slot);
    TEST_ASSERT_EQUAL_INT32(gallery_input.labels.values[index], candidate->label);
    TEST_ASSERT_EQUAL(PML_OK, pml_quantise(gallery_input.features.values + index * COLUMNS, COLUMNS, row));
    TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&built.pack, NULL, row, sketch));
    TEST_ASSERT_EQUAL_UINT64(built.info.sketch, candidate->sketch_size);
    TEST_ASSERT_EQUAL_MEMORY(sketch, candidate->sketch, candidate->sketch_size);
    TEST_ASSERT_EQUAL_UINT64(index % 5 == 0 ? 0 : 2, candidate->payload_size);
    TEST_ASSERT_TRUE(candidate->payload_size == 0 ||
                     (candidate->payload[0] == (uint8_t)index && candidate->payload[1] == (uint8_t)(index >> 8)));
    uint32_t first, rank = rank_of(row, slot, cell);
    first = pml_prototypes_cell(&built.pack, &pml_kernels_portable, row, slot);
    TEST_ASSERT_TRUE(rank < count && (rank == 0) == (first == cell));
    return index;
}

static void check_cells(uint32_t count)
{
    static uint8_t seen[ROWS];
    struct made made = make(count, 0, 2);
    uint64_t longest = 0;
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < (size_t)built.info.slots * built.info.cells; i++) {
        const struct pml_entry *entry = &made.manifest.parts[i];
        struct pml_bytes bytes = read_part(made.store, &entry->name);
        struct pml_list list;
        struct pml_candidate candidate;
        TEST_ASSERT_EQUAL_UINT64(entry->size, bytes.size);
        longest = bytes.size > longest ? bytes.size : longest;
        TEST_ASSERT_TRUE(pml_list_open(&list, &built.info, bytes.bytes, bytes.size, 0));
        TEST_ASSERT_EQUAL_UINT64(i / built.info.cells, list.slot);
        while (pml_list_next(&list, &candidate))
            seen[check_candidate(&candidate, list.slot, (uint32_t)(i % built.info.cells), count)]++;
        TEST_ASSERT_TRUE(list.left == 0 && list.offset == bytes.size);
        pml_bytes_free(&bytes);
    }
    for (size_t i = 0; i < ROWS; i++)
        TEST_ASSERT_EQUAL_UINT8(count, seen[i]);
    TEST_ASSERT_EQUAL_UINT64(pml_manifest_constant(&built.info, ROWS, longest), made.manifest.longest);
    TEST_ASSERT_TRUE(pml_manifest_fits(&made.manifest, &built.info) && made.manifest.items == ROWS);
    TEST_ASSERT_EQUAL_UINT64(ROWS - (ROWS + 4) / 5, payloads_read);
    free_made(&made);
}

static void test_cells_hold_the_nearest(void)
{
    check_cells(1);
    check_cells(2);
}

/* All items of a slot, once, with the places of the embedding, in pages that begin where SPEC 8.2 says. */
static void test_places_and_pages(void)
{
    struct made made = make(1, 0, 2);
    size_t all = 0;
    for (uint32_t s = 0; s < built.info.slots; s++) {
        struct pml_bytes bytes = read_part(made.store, &made.manifest.places[s].name);
        struct pml_places places = {0};
        size_t at = 0;
        TEST_ASSERT_EQUAL_UINT64(made.manifest.places[s].size, bytes.size);
        TEST_ASSERT_EQUAL(PML_DONE, pml_places_read(bytes.bytes, bytes.size, &places, NULL));
        TEST_ASSERT_TRUE(places.slot == s && places.iterations == 2 && places.dimensions == built.info.dimensions);
        for (size_t p = 0; p < places.page_count; p++) {
            struct pml_bytes page = read_part(made.store, &places.pages[p].name);
            struct pml_list list;
            struct pml_candidate candidate;
            TEST_ASSERT_TRUE(pml_list_open(&list, &built.info, page.bytes, page.size, 0) && list.slot == s);
            TEST_ASSERT_EQUAL_UINT64(places.pages[p].first, places.items[at]);
            for (size_t i = 0; i < list.count; i++, at++) {
                const size_t row = (size_t)(places.items[at] - 17) / 3;
                TEST_ASSERT_TRUE(pml_list_next(&list, &candidate));
                TEST_ASSERT_EQUAL_UINT64(places.items[at], candidate.item);
                TEST_ASSERT_EQUAL_UINT64(payload_sizes[row], candidate.payload_size);
                TEST_ASSERT_EQUAL_UINT64(payload_sizes[row], places.payloads[at]);
                TEST_ASSERT_EQUAL(i == 0, pml_page_begins(candidate.item, i));
                TEST_ASSERT_EQUAL_MEMORY(items.places + row * places.dimensions, places.values + at * places.dimensions,
                                         places.dimensions * sizeof(float));
            }
            pml_bytes_free(&page);
        }
        TEST_ASSERT_EQUAL_UINT64(places.count, at);
        all += at;
        pml_places_free(&places);
        pml_bytes_free(&bytes);
    }
    TEST_ASSERT_EQUAL_UINT64(ROWS, all);
    free_made(&made);
}

static void test_neither_threads_nor_memory_change_a_byte(void)
{
    struct made made = make(2, 0, 1);
    const size_t once = payloads_read;
    const size_t held[] = {1, 20000, 100000};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        struct made other = make(2, held[i], 1 + (unsigned)i);
        TEST_ASSERT_TRUE(payloads_read > once);
        TEST_ASSERT_EQUAL_UINT64(made.manifest.longest, other.manifest.longest);
        TEST_ASSERT_EQUAL_MEMORY(made.manifest.parts, other.manifest.parts,
                                 pml_manifest_entries(&made.manifest) * sizeof *made.manifest.parts);
        TEST_ASSERT_EQUAL_UINT64(made.report.added, other.report.added);
        free_made(&other);
    }
    free_made(&made);
}

/* Cells that list nothing have a part too. */
static void test_empty_lists_and_no_lists(void)
{
    const size_t cells = (size_t)built.info.slots * built.info.cells;
    struct pml_store *store;
    struct pml_manifest manifest;
    struct pml_parts_report report;
    size_t starts[2] = {0, 1};
    uint32_t cell = 2;
    struct pml_cell_lists lists = {starts, &cell};
    struct pml_parts_source source = {
        .pack = &built.pack, .count = 1, .items = numbers, .slots = slots, .sketches = items.sketches, .lists = &lists};
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_memory_open(&store));
    TEST_ASSERT_EQUAL(PML_DONE, pml_parts_make(store, &source, &manifest, &report, &said));
    TEST_ASSERT_TRUE(report.cells == cells && report.empty == cells - 1);
    TEST_ASSERT_EQUAL_UINT64(built.info.slots + 1, report.added); /* an empty list per slot, and one that is not */
    for (size_t i = 0; i < cells; i++) {
        struct pml_bytes bytes = read_part(store, &manifest.parts[i].name);
        struct pml_list list;
        TEST_ASSERT_TRUE(pml_list_open(&list, &built.info, bytes.bytes, bytes.size, 0));
        TEST_ASSERT_EQUAL_UINT32(i == (size_t)slots[0] * built.info.cells + 2, list.count);
        pml_bytes_free(&bytes);
    }
    pml_manifest_free(&manifest);
    source.lists = NULL;
    TEST_ASSERT_EQUAL(PML_DONE, pml_parts_make(store, &source, &manifest, &report, &said));
    TEST_ASSERT_TRUE(manifest.cells == 0 && manifest.longest == 0 && report.parts == 0 && isnan(report.median));
    pml_manifest_free(&manifest);
    pml_store_close(store);
}

/* Sketches and places of all rows. */
static bool describe(void)
{
    const struct pml_newcomers newcomers = {
        .rows = &rows, .items = numbers, .labels = gallery_input.labels.values, .slots = slots};
    const struct pml_items nobody = {0};
    struct pml_succession succession;
    struct pml_embedding *embedding = NULL;
    const bool done =
        pml_embedding_make(&embedding, &built.pack, 2, 2, NULL, &said) == PML_DONE &&
        pml_succession_make(&succession, &nobody, &newcomers, NULL, 0, &said) == PML_DONE &&
        pml_items_follow(&items, &nobody, &succession, &newcomers, &built.pack, embedding, 2, &said) == PML_DONE;
    pml_embedding_free(embedding);
    pml_succession_free(&succession);
    return done;
}

int main(void)
{
    struct input public_input = make_input(300, COLUMNS, CLASSES);
    for (size_t i = 15; i < 300;
         i += CLASSES) /* five rows in the first class: of its seven prototypes some are equal */
        memcpy(public_input.features.values + i * COLUMNS, public_input.features.values + i % 15 * COLUMNS,
               COLUMNS * sizeof(float));
    public_input.options.cells = 7;
    public_input.options.sketch = 16;
    built = build(&public_input);
    if (built.report.repeated == 0)
        return 1;
    gallery_input = make_input(ROWS, COLUMNS, CLASSES);
    for (size_t i = 0; i < ROWS; i++) {
        numbers[i] = 17 + 3 * (uint64_t)i;
        payload_sizes[i] = i % 5 == 0 ? 0 : 2;
        if (pml_pack_slot(&built.pack, gallery_input.labels.values[i], &slots[i]) != PML_OK)
            return 1;
        if (i % 4 == 1) /* equal rows: everything about them ties */
            memcpy(gallery_input.features.values + i * COLUMNS, gallery_input.features.values + (i - 1) * COLUMNS,
                   COLUMNS * sizeof(float));
    }
    size_t bad;
    if (pml_rows_allocate(&rows, ROWS, COLUMNS) != PML_DONE ||
        pml_rows_quantise(&rows, gallery_input.features.values, 2, NULL, &bad) != PML_DONE || bad < ROWS)
        return 1;
    if (!describe())
        return 1;
    UNITY_BEGIN();
    RUN_TEST(test_cells_hold_the_nearest);
    RUN_TEST(test_places_and_pages);
    RUN_TEST(test_neither_threads_nor_memory_change_a_byte);
    RUN_TEST(test_empty_lists_and_no_lists);
    free_input(&public_input);
    free_input(&gallery_input);
    pml_rows_free(&rows);
    pml_items_free(&items);
    free(built.bytes);
    return UNITY_END();
}
