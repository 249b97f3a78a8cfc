/* SPDX-License-Identifier: Apache-2.0
 * Indexing: every item in the right cells, with its sketch, its place and its payload, wherever the work began. */
#define _XOPEN_SOURCE 700
#include "server/index/index_build.h"
#include "stages/stages.h"
#include "store_reading.h"
#include "tools/builder_support.h"

#include <math.h>

enum { ROWS = 2 * PML_INDEX_BATCH + 500, COLUMNS = 12, CLASSES = 3 };

static struct input gallery_input;
static struct built built;
static uint64_t numbers[ROWS];
static uint32_t slots[ROWS];
static struct pml_rows rows;

void setUp(void)
{
    make_folder();
}

void tearDown(void)
{
    remove_folder();
}

/* Two bytes, none for every fifth. */
static pml_outcome payload_of(void *context, size_t row, const uint8_t **bytes, size_t *size,
                              struct pml_message *message)
{
    uint8_t *room = context;
    (void)message;
    room[0] = (uint8_t)row;
    room[1] = (uint8_t)(row >> 8);
    *bytes = room;
    *size = row % 5 == 0 ? 0 : 2;
    return PML_DONE;
}

static pml_outcome fail_in_second_batch(void *context, size_t row, const uint8_t **bytes, size_t *size,
                                        struct pml_message *message)
{
    if (row != PML_INDEX_BATCH + 100)
        return payload_of(context, row, bytes, size, message);
    snprintf(message->text, sizeof message->text, "this one is gone.");
    return PML_UNAVAILABLE;
}

static struct pml_gallery make_gallery(uint8_t room[2])
{
    return (struct pml_gallery){&rows, numbers, gallery_input.labels.values, slots, payload_of, room, NULL};
}

static const char *uri_of(const char *name)
{
    static char uri[600];
    snprintf(uri, sizeof uri, "sqlite:%s", in_folder(name));
    return uri;
}

static struct pml_store_info describe(uint64_t items, uint32_t cells)
{
    const struct pml_index_choice choice = {.cells_per_item = cells, .iterations = 2};
    return pml_index_describe(&built.info, items, &choice);
}

static struct pml_embedding *make_embedding(void)
{
    struct pml_embedding *embedding;
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_embedding_make(&embedding, &built.pack, 2, 2, NULL, &said), said.text);
    return embedding;
}

/* `interrupt`: fails in the second batch, then goes on behind the first. */
static void index_all(const char *name, const struct pml_embedding *embedding, const struct pml_store_info *info,
                      bool interrupt, unsigned threads)
{
    static const uint8_t source[32] = "indexing";
    uint8_t room[2];
    struct pml_gallery gallery = make_gallery(room);
    struct pml_store_writer *writer;
    uint64_t done;
    if (interrupt) {
        gallery.payload = fail_in_second_batch;
        TEST_ASSERT_EQUAL(0, pml_store_begin(&writer, uri_of(name), info, source, false, &done, &said));
        TEST_ASSERT_EQUAL(PML_UNAVAILABLE,
                          pml_index_fill(writer, info, &built.pack, embedding, &gallery, done, threads, NULL, &said));
        assert_said("this one is gone");
        pml_store_abandon(writer);
        gallery.payload = payload_of;
    }
    TEST_ASSERT_EQUAL(0, pml_store_begin(&writer, uri_of(name), info, source, false, &done, &said));
    TEST_ASSERT_EQUAL_UINT64(interrupt ? PML_INDEX_BATCH : 0, done);
    TEST_ASSERT_EQUAL_MESSAGE(
        0, pml_index_fill(writer, info, &built.pack, embedding, &gallery, done, threads, NULL, &said), said.text);
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_finish(writer, &said), said.text);
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
    struct pml_store *store;
    struct pml_store_info info = describe(ROWS, count);
    struct pml_embedding *embedding = make_embedding();
    const char *name = count == 1 ? "one" : "two";
    index_all(name, embedding, &info, false, 2);
    pml_embedding_free(embedding);
    memset(seen, 0, sizeof seen);
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_open(&store, uri_of(name), NULL, &said), said.text);
    for (uint32_t slot = 0; slot < built.info.slots; slot++) {
        for (uint32_t cell = 0; cell < built.info.cells; cell++) {
            struct pml_fragment found = {0};
            struct pml_candidate candidate;
            TEST_ASSERT_EQUAL(0, read_cell(store, slot, cell, &found));
            for (size_t offset = 0; offset < found.bytes.size;) {
                TEST_ASSERT_TRUE(pml_candidate_read(found.bytes.bytes, found.bytes.size, &offset, &candidate));
                seen[check_candidate(&candidate, slot, cell, count)]++;
            }
            pml_bytes_free(&found.bytes);
        }
    }
    for (size_t i = 0; i < ROWS; i++)
        TEST_ASSERT_EQUAL_UINT8(count, seen[i]);
    pml_store_close(store);
}

static void test_cells_hold_the_nearest(void)
{
    check_cells(1);
    check_cells(2);
}

/* The nearest to an item's place is that item, or one with the same place and a smaller number. */
static void test_places_are_those_of_the_embedding(void)
{
    struct pml_store *store;
    struct pml_store_info info = describe(ROWS, 1);
    struct pml_embedding *embedding = make_embedding();
    static float places[ROWS * 2];
    index_all("a", embedding, &info, false, 2);
    TEST_ASSERT_EQUAL(2, built.info.dimensions);
    TEST_ASSERT_EQUAL(0, pml_embedding_items(embedding, &rows, slots, 2, places));
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_store_open(&store, uri_of("a"), NULL, &said), said.text);
    for (size_t i = 0; i < ROWS; i += 97) {
        struct pml_fragment found = {0};
        struct pml_candidate candidate;
        size_t offset = 0;
        const double place[2] = {(double)places[2 * i], (double)places[2 * i + 1]};
        TEST_ASSERT_EQUAL(0, read_nearest(store, slots[i], place, 1, &found));
        TEST_ASSERT_TRUE(pml_candidate_read(found.bytes.bytes, found.bytes.size, &offset, &candidate));
        const size_t index = (size_t)(candidate.item - 17) / 3;
        TEST_ASSERT_TRUE(index <= i && slots[index] == slots[i]);
        TEST_ASSERT_EQUAL_MEMORY(places + 2 * i, places + 2 * index, 2 * sizeof *places);
        pml_bytes_free(&found.bytes);
    }
    pml_store_close(store);
    pml_embedding_free(embedding);
}

static void test_neither_threads_nor_interruptions_change_a_byte(void)
{
    struct pml_store_info info = describe(ROWS, 2);
    struct pml_embedding *embedding = make_embedding();
    index_all("a", embedding, &info, false, 1);
    index_all("b", embedding, &info, false, 3);
    index_all("c", embedding, &info, true, 2);
    pml_embedding_free(embedding);
    for (const char *name = "b"; name; name = name[0] == 'b' ? "c" : NULL) {
        FILE *left = fopen(in_folder("a"), "rb"), *right = fopen(in_folder(name), "rb");
        TEST_ASSERT_TRUE(left && right);
        int byte;
        do {
            byte = fgetc(left);
            TEST_ASSERT_EQUAL(byte, fgetc(right));
        } while (byte != EOF);
        fclose(left);
        fclose(right);
    }
}

static void test_what_a_store_has_follows_from_the_pack(void)
{
    pml_pack_info pack = built.info;
    struct pml_index_choice choice = {.cells_per_item = 2, .iterations = 7};
    struct pml_store_info info = pml_index_describe(&pack, 9, &choice);
    TEST_ASSERT_EQUAL_MEMORY(pack.id, info.pack, PML_ID_SIZE);
    TEST_ASSERT_TRUE(info.items == 9 && info.sketch == pack.sketch && info.dimensions == pack.dimensions);
    TEST_ASSERT_TRUE(info.cells_per_item == 2 && info.share == 0 && info.iterations == 7);
    TEST_ASSERT_EQUAL(PML_LISTS_OWN, pml_store_cell_lists(&info));
    choice.share = 50000;
    info = pml_index_describe(&pack, 9, &choice);
    TEST_ASSERT_TRUE(info.cells_per_item == 0 && info.share == 50000);
    TEST_ASSERT_EQUAL(PML_LISTS_SHARE, pml_store_cell_lists(&info));
    pack.anchors = 0;
    info = pml_index_describe(&pack, 9, &choice);
    TEST_ASSERT_TRUE(info.dimensions == 0 && info.iterations == 0 && info.share == 50000);
    pack.cells = 0;
    info = pml_index_describe(&pack, 9, &choice);
    TEST_ASSERT_EQUAL(PML_LISTS_NONE, pml_store_cell_lists(&info));
    choice.share = 0;
    TEST_ASSERT_EQUAL(0, pml_index_describe(&pack, 9, &choice).cells_per_item);
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
    UNITY_BEGIN();
    RUN_TEST(test_cells_hold_the_nearest);
    RUN_TEST(test_places_are_those_of_the_embedding);
    RUN_TEST(test_neither_threads_nor_interruptions_change_a_byte);
    RUN_TEST(test_what_a_store_has_follows_from_the_pack);
    free_input(&public_input);
    free_input(&gallery_input);
    pml_rows_free(&rows);
    free(built.bytes);
    return UNITY_END();
}
