/* SPDX-License-Identifier: Apache-2.0
 * Makes the items of a store, in the order of the rows. An item does not depend on its batch, so a store that was resumed
 * is the same as one that was not. */
#include "index_build.h"
#include "common/rows/nearest.h"
#include "index_cells.h"

#include <stdlib.h>
#include <string.h>

#define PIECE 64u /* items that a thread takes at once */

struct batch {
    const struct pml_store_info *info;
    const pml_pack *pack;
    pml_pack_info shape;
    struct pml_slot_cells *slot_cells; /* of every slot, where items are listed in their own cells */
    struct pml_rows rows;              /* of the batch, a slice of the gallery's */
    const uint32_t *slots;             /* likewise */
    uint32_t *cells;
    int8_t *sketches;
    float *places;
};

struct pml_store_info pml_index_describe(const pml_pack_info *pack, uint64_t items,
                                         const struct pml_index_choice *choice)
{
    const bool cells = pack->cells > 0;
    struct pml_store_info info = {
        .items = items,
        .sketch = pack->sketch,
        .dimensions = pack->anchors > 0 ? pack->dimensions : 0,
        .cells_per_item = cells && choice->share == 0 ? choice->cells_per_item : 0,
        .iterations = pack->anchors > 0 ? choice->iterations : 0,
        .share = cells ? choice->share : 0,
    };
    memcpy(info.pack, pack->id, sizeof info.pack);
    return info;
}

/* ---- one item ---- */

/* The cell of the first-ranked prototype of the item's slot (SPEC 5.3), and that of the first-ranked one in another cell
 * when there are two cells per item. */
static void rank_cells(const struct batch *batch, size_t index, int64_t *scores, uint32_t *prototypes)
{
    const uint32_t count = batch->info->cells_per_item;
    const struct pml_slot_cells *slot = &batch->slot_cells[batch->slots[index]];
    int64_t best[2];
    uint32_t first[2], cells[2];
    const struct pml_nearest nearest = {best, first, 2};
    pml_slot_cells_rank(slot, batch->rows.values + index * batch->rows.columns, 1, scores, prototypes);
    pml_nearest_clear(&nearest);
    for (uint32_t cell = 0; cell < slot->cell_count; cell++)
        pml_nearest_offer(&nearest, scores[cell], prototypes[cell]);
    cells[0] = slot->cells[first[0]];
    /* when all prototypes are in one cell, any other cell will do */
    cells[1] = first[1] == UINT32_MAX ? cells[0] == 0 : slot->cells[first[1]];
    memcpy(batch->cells + index * count, cells, count * sizeof *cells);
}

static pml_outcome describe_piece(void *context, size_t piece)
{
    const struct batch *batch = context;
    const size_t first = piece * PIECE, end = first + PIECE < batch->rows.count ? first + PIECE : batch->rows.count;
    int64_t *scores = malloc((batch->shape.cells + 1) * sizeof *scores);
    uint32_t *prototypes = malloc((batch->shape.cells + 1) * sizeof *prototypes);
    pml_outcome outcome = scores && prototypes ? PML_DONE : PML_NO_MEMORY;
    for (size_t i = first; i < end && outcome == PML_DONE; i++) {
        if (batch->info->cells_per_item > 0)
            rank_cells(batch, i, scores, prototypes);
        if (pml_sketch(batch->pack, pml_rows_kernels(), batch->rows.values + i * batch->rows.columns,
                       batch->sketches + i * batch->info->sketch) != PML_OK)
            outcome = PML_REFUSED;
    }
    free(scores);
    free(prototypes);
    return outcome;
}

/* ---- one batch ---- */

static pml_outcome describe(struct batch *batch, const struct pml_gallery *gallery,
                            const struct pml_embedding *embedding, size_t first, unsigned threads,
                            struct pml_message *message)
{
    batch->slots = gallery->slots + first;
    const size_t pieces = (batch->rows.count + PIECE - 1) / PIECE;
    if (batch->shape.sketch == 0)
        return pml_say(message, "the pack has no sketches: build it again with privatemail pack.");
    if (pml_parallel(threads, pieces, describe_piece, batch, NULL) != 0)
        return pml_say_memory(message);
    if (embedding && pml_embedding_items(embedding, &batch->rows, batch->slots, threads, batch->places) != 0)
        return pml_say_memory(message);
    return PML_DONE;
}

/* Which cells list a row. */
static void take_cells(const struct batch *batch, const struct pml_gallery *gallery, size_t first, size_t index,
                       struct pml_store_item *item)
{
    const struct pml_cell_lists *lists = gallery->lists;
    item->cell_count = batch->info->cells_per_item;
    item->cells = batch->cells + index * item->cell_count;
    if (pml_store_cell_lists(batch->info) == PML_LISTS_SHARE) {
        item->cells = lists->cells + lists->starts[first + index];
        item->cell_count = (uint32_t)(lists->starts[first + index + 1] - lists->starts[first + index]);
    }
}

static pml_outcome add(struct pml_store_writer *writer, const struct batch *batch, const struct pml_gallery *gallery,
                       size_t first, struct pml_message *message)
{
    const struct pml_store_info *info = batch->info;
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < batch->rows.count && outcome == PML_DONE; i++) {
        struct pml_store_item item = {
            .slot = batch->slots[i],
            .place = info->dimensions > 0 ? batch->places + i * info->dimensions : NULL,
            .candidate = {.item = gallery->items[first + i],
                          .label = gallery->labels ? gallery->labels[first + i] : 0,
                          .sketch = batch->sketches + i * info->sketch,
                          .sketch_size = info->sketch},
        };
        take_cells(batch, gallery, first, i, &item);
        if (gallery->payload)
            outcome = gallery->payload(gallery->payload_context, first + i, &item.candidate.payload,
                                       &item.candidate.payload_size, message);
        if (outcome == PML_DONE)
            outcome = pml_store_add(writer, &item, message);
    }
    return outcome == PML_DONE ? pml_store_checkpoint(writer, message) : outcome;
}

/* ---- all of them ---- */

static pml_outcome allocate(struct batch *batch)
{
    const uint32_t slots = batch->info->cells_per_item > 0 ? batch->shape.slots : 0;
    batch->slot_cells = calloc((size_t)slots + 1, sizeof *batch->slot_cells);
    batch->cells = malloc(PML_INDEX_BATCH * 2 * sizeof *batch->cells);
    batch->sketches = malloc(PML_INDEX_BATCH * PML_SKETCH_MAX);
    batch->places = malloc(PML_INDEX_BATCH * PML_DIMENSIONS_MAX * sizeof *batch->places);
    if (!batch->slot_cells || !batch->cells || !batch->sketches || !batch->places)
        return PML_NO_MEMORY;
    pml_outcome outcome = PML_DONE;
    for (uint32_t i = 0; i < slots && outcome == PML_DONE; i++)
        outcome = pml_slot_cells_read(&batch->slot_cells[i], batch->pack, i);
    return outcome;
}

static void free_batch(struct batch *batch)
{
    for (uint32_t i = 0; batch->slot_cells && batch->info->cells_per_item > 0 && i < batch->shape.slots; i++)
        pml_slot_cells_free(&batch->slot_cells[i]);
    free(batch->slot_cells);
    free(batch->cells);
    free(batch->sketches);
    free(batch->places);
}

pml_outcome pml_index_fill(struct pml_store_writer *writer, const struct pml_store_info *info, const pml_pack *pack,
                           const struct pml_embedding *embedding, const struct pml_gallery *gallery, uint64_t done,
                           unsigned threads, const struct pml_progress *progress, struct pml_message *message)
{
    struct batch batch = {.info = info, .pack = pack};
    const size_t count = gallery->rows->count;
    threads = pml_parallel_threads(threads);
    pml_outcome outcome = pml_pack_describe(pack, &batch.shape) == PML_OK && allocate(&batch) == PML_DONE
                              ? PML_DONE
                              : pml_say_memory(message);
    for (size_t first = (size_t)done; first < count && outcome == PML_DONE; first += PML_INDEX_BATCH) {
        batch.rows =
            pml_rows_slice(gallery->rows, first, count - first < PML_INDEX_BATCH ? count - first : PML_INDEX_BATCH);
        outcome = describe(&batch, gallery, embedding, first, threads, message);
        if (outcome == PML_DONE)
            outcome = add(writer, &batch, gallery, first, message);
        pml_progress_tell(progress, (double)(first + batch.rows.count) / (double)count);
    }
    free_batch(&batch);
    return outcome;
}
