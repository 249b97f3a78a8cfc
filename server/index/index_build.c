/* SPDX-License-Identifier: Apache-2.0
 * In: features, slots, payloads. Out: items of a store, in the order of the rows.
 * Never lets an item depend on its batch: a store that was resumed is the same as one that was not. */
#include "index_build.h"
#include "common/message.h"

#include <stdlib.h>
#include <string.h>

#define PIECE 64u /* items that a thread takes at once */

struct batch {
    const struct pml_store_info *info;
    const pml_pack *pack;
    pml_pack_info shape;
    uint32_t *inverse;     /* of all prototypes */
    uint32_t *cell_of;     /* of all prototypes */
    struct pml_rows rows;  /* of the batch */
    const uint32_t *slots; /* likewise */
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
 * when there are two cells an item. */
static void rank_cells(const struct batch *batch, size_t index)
{
    const uint32_t count = batch->info->cells_per_item, slot = batch->slots[index];
    const int8_t *row = batch->rows.values + index * batch->rows.columns;
    int64_t best[2] = {INT64_MIN, INT64_MIN};
    uint32_t cells[2] = {0, 0};
    const uint32_t *cell_of = batch->cell_of + (size_t)slot * batch->shape.prototypes;
    for (uint32_t j = 0; j < batch->shape.prototypes; j++) {
        const int8_t *prototype = pml_pack_prototype(batch->pack, slot, j);
        const int64_t inverse = batch->inverse[(size_t)slot * batch->shape.prototypes + j];
        const int64_t score = pml_dot(row, prototype, batch->rows.columns) * inverse;
        if (score > best[0]) {
            if (cell_of[j] != cells[0])
                best[1] = best[0], cells[1] = cells[0];
            best[0] = score, cells[0] = cell_of[j];
        } else if (score > best[1] && cell_of[j] != cells[0]) {
            best[1] = score, cells[1] = cell_of[j];
        }
    }
    if (best[1] == INT64_MIN) /* all prototypes are in one cell: any other will do */
        cells[1] = cells[0] == 0;
    memcpy(batch->cells + index * count, cells, count * sizeof *cells);
}

static int describe_piece(void *context, size_t piece)
{
    const struct batch *batch = context;
    const size_t first = piece * PIECE, end = first + PIECE < batch->rows.count ? first + PIECE : batch->rows.count;
    for (size_t i = first; i < end; i++) {
        if (batch->info->cells_per_item > 0)
            rank_cells(batch, i);
        if (pml_sketch(batch->pack, pml_rows_kernels(), batch->rows.values + i * batch->rows.columns,
                       batch->sketches + i * batch->info->sketch) != PML_OK)
            return -1;
    }
    return 0;
}

/* ---- one batch ---- */

static int describe(struct batch *batch, const struct pml_gallery *gallery, const struct pml_embedding *frames,
                    size_t first, unsigned threads, struct pml_message *message)
{
    const struct pml_features *features = gallery->features;
    size_t bad;
    batch->slots = gallery->slots + first;
    if (pml_rows_quantise(&batch->rows, features->values + first * features->columns, threads, NULL, &bad) != 0)
        return pml_say_memory(message);
    if (bad < batch->rows.count)
        return pml_say(message, "row %zu is not finite or all zero: make the features anew.", first + bad);
    const size_t pieces = (batch->rows.count + PIECE - 1) / PIECE;
    if (pml_parallel(threads, pieces, describe_piece, batch, NULL) != 0)
        return pml_say(message, "the pack has no sketches: build it anew with privatemail pack.");
    if (frames && pml_embedding_items(frames, &batch->rows, batch->slots, threads, batch->places) != 0)
        return pml_say_memory(message);
    return 0;
}

/* Which cells list a row. */
static void take_cells(const struct batch *batch, const struct pml_gallery *gallery, size_t first, size_t index,
                       struct pml_store_item *item)
{
    const struct pml_cell_lists *lists = gallery->lists;
    item->cell_count = batch->info->cells_per_item;
    item->cells = batch->cells + index * item->cell_count;
    if (pml_store_lists(batch->info) == PML_LISTS_SHARE) {
        item->cells = lists->cells + lists->starts[first + index];
        item->cell_count = (uint32_t)(lists->starts[first + index + 1] - lists->starts[first + index]);
    }
}

static int add(struct pml_store_writer *writer, const struct batch *batch, const struct pml_gallery *gallery,
               size_t first, struct pml_message *message)
{
    const struct pml_store_info *info = batch->info;
    int status = 0;
    for (size_t i = 0; i < batch->rows.count && status == 0; i++) {
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
            status = gallery->payload(gallery->payload_context, first + i, &item.candidate.payload,
                                      &item.candidate.payload_size, message);
        if (status == 0)
            status = pml_store_add(writer, &item, message);
    }
    return status == 0 ? pml_store_checkpoint(writer, message) : status;
}

/* ---- all of them ---- */

static int allocate(struct batch *batch)
{
    const struct pml_store_info *info = batch->info;
    const size_t prototypes = (size_t)batch->shape.slots * batch->shape.prototypes;
    batch->inverse = malloc((prototypes > 0 ? prototypes : 1) * sizeof *batch->inverse);
    batch->cell_of = malloc((prototypes > 0 ? prototypes : 1) * sizeof *batch->cell_of);
    batch->cells = malloc(PML_INDEX_BATCH * 2 * sizeof *batch->cells);
    batch->sketches = malloc(PML_INDEX_BATCH * PML_SKETCH_MAX);
    batch->places = malloc(PML_INDEX_BATCH * PML_DIMENSIONS_MAX * sizeof *batch->places);
    if (pml_rows_allocate(&batch->rows, PML_INDEX_BATCH, batch->shape.features) != 0 || !batch->inverse ||
        !batch->cell_of || !batch->cells || !batch->sketches || !batch->places)
        return -1;
    for (size_t i = 0; i < prototypes && info->cells_per_item > 0; i++) {
        const size_t slot = i / batch->shape.prototypes, index = i % batch->shape.prototypes;
        batch->inverse[i] = pml_inverse_norm(pml_pack_prototype(batch->pack, slot, index), batch->shape.features);
        if (pml_pack_prototype_cell(batch->pack, slot, index, &batch->cell_of[i]) != PML_OK)
            return -1;
    }
    return 0;
}

int pml_index_fill(struct pml_store_writer *writer, const struct pml_store_info *info, const pml_pack *pack,
                   const struct pml_embedding *frames, const struct pml_gallery *gallery, uint64_t done,
                   unsigned threads, const struct pml_progress *progress, struct pml_message *message)
{
    struct batch batch = {.info = info, .pack = pack};
    const size_t count = gallery->features->rows;
    threads = pml_parallel_threads(threads);
    int status = pml_pack_describe(pack, &batch.shape) == PML_OK && allocate(&batch) == 0 ? 0 : pml_say_memory(message);
    for (size_t first = (size_t)done; first < count && status == 0; first += PML_INDEX_BATCH) {
        batch.rows.count = count - first < PML_INDEX_BATCH ? count - first : PML_INDEX_BATCH;
        status = describe(&batch, gallery, frames, first, threads, message);
        if (status == 0)
            status = add(writer, &batch, gallery, first, message);
        pml_progress_tell(progress, (double)(first + batch.rows.count) / (double)count);
    }
    pml_rows_free(&batch.rows);
    free(batch.inverse);
    free(batch.cell_of);
    free(batch.cells);
    free(batch.sketches);
    free(batch.places);
    return status;
}
