/* SPDX-License-Identifier: Apache-2.0
 * Orders the rows of a gallery by slot and item number, and finds their neighbours. The result does not depend on the
 * order of the rows, nor on a pack. */
#include "common/rows/knn.h"
#include "index_lists_parts.h"

#include <stdlib.h>

struct origin {
    uint32_t slot, row;
    uint64_t item;
};

static int by_slot_and_item(const void *left, const void *right)
{
    const struct origin *a = left, *b = right;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

/* Fills origins in the order of slots and items, and the number of rows of every slot. */
static pml_outcome order(struct pml_lists_gallery *gallery, const struct pml_lists_source *source)
{
    struct origin *origins = malloc(source->rows * sizeof *origins);
    if (!origins)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < source->rows; i++) {
        origins[i] = (struct origin){source->slots[i], (uint32_t)i, source->items[i]};
        gallery->slots[source->slots[i]].rows.count++;
    }
    qsort(origins, source->rows, sizeof *origins, by_slot_and_item);
    for (size_t i = 0; i < source->rows; i++)
        gallery->origins[i] = origins[i].row;
    free(origins);
    return PML_DONE;
}

struct gathering {
    struct pml_lists_gallery *gallery;
    const struct pml_lists_source *source;
    size_t *bad; /* first bad row of each piece, or the number of rows */
};

static pml_outcome gather_piece(void *context, size_t piece)
{
    const struct gathering *job = context;
    struct pml_rows *rows = &job->gallery->rows;
    const size_t first = piece * PML_LISTS_PIECE,
                 end = first + PML_LISTS_PIECE < rows->count ? first + PML_LISTS_PIECE : rows->count;
    job->bad[piece] = rows->count;
    for (size_t i = first; i < end; i++) {
        const size_t origin = job->gallery->origins[i];
        if (pml_quantise(job->source->features + origin * rows->columns, rows->columns,
                         rows->values + i * rows->columns) == PML_OK)
            pml_rows_measure(rows, i);
        else if (origin < job->bad[piece])
            job->bad[piece] = origin;
    }
    return PML_DONE;
}

static pml_outcome gather(struct pml_lists_gallery *gallery, const struct pml_lists_source *source, size_t *bad)
{
    const size_t pieces = (source->rows + PML_LISTS_PIECE - 1) / PML_LISTS_PIECE;
    struct gathering job = {gallery, source, malloc((pieces > 0 ? pieces : 1) * sizeof *job.bad)};
    if (!job.bad)
        return PML_NO_MEMORY;
    pml_outcome outcome = pml_parallel(source->threads, pieces, gather_piece, &job, NULL);
    *bad = source->rows;
    for (size_t i = 0; outcome == PML_DONE && i < pieces; i++)
        *bad = job.bad[i] < *bad ? job.bad[i] : *bad;
    free(job.bad);
    return outcome != PML_DONE ? PML_NO_MEMORY : *bad < source->rows ? PML_REFUSED : PML_DONE;
}

/* Exactly, in the slots that are not too large for it. */
static pml_outcome find_neighbours(struct pml_lists_gallery *gallery, const struct pml_lists_source *source)
{
    const size_t exact = source->exact > 0 ? source->exact : PML_LISTS_EXACT,
                 looked_at = source->looked_at > 0 ? source->looked_at : PML_LISTS_LOOKED_AT;
    uint32_t *at = gallery->neighbours;
    size_t first = 0;
    pml_outcome outcome = PML_DONE;
    for (size_t s = 0; s < gallery->slot_count && outcome == PML_DONE; s++) {
        struct pml_lists_slot *slot = &gallery->slots[s];
        const size_t count = slot->rows.count;
        const struct pml_progress *progress = gallery->slot_count == 1 ? source->progress : NULL;
        slot->rows = pml_rows_slice(&gallery->rows, first, count);
        slot->reach = count > PML_LISTS_NEIGHBOURS ? PML_LISTS_NEIGHBOURS : count > 0 ? (unsigned)count - 1 : 0;
        slot->neighbours = at;
        if (slot->reach > 0)
            outcome = count <= exact
                          ? pml_knn(&slot->rows, slot->reach, source->threads, progress, at)
                          : pml_lists_near(&slot->rows, slot->reach, looked_at, source->threads, progress, at);
        at += count * slot->reach;
        first += count;
        pml_progress_tell(source->progress, (double)first / (double)source->rows);
    }
    return outcome;
}

pml_outcome pml_lists_gallery_make(struct pml_lists_gallery **gallery, const struct pml_lists_source *source,
                                   size_t *bad)
{
    struct pml_lists_gallery *made = calloc(1, sizeof *made);
    *gallery = NULL;
    if (!made)
        return PML_NO_MEMORY;
    made->slot_count = source->slot_count;
    made->slots = calloc(source->slot_count, sizeof *made->slots);
    made->origins = malloc(source->rows * sizeof *made->origins);
    made->neighbours = malloc(source->rows * PML_LISTS_NEIGHBOURS * sizeof *made->neighbours);
    pml_outcome outcome = made->slots && made->origins && made->neighbours ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_rows_allocate(&made->rows, source->rows, source->columns);
    if (outcome == PML_DONE)
        outcome = order(made, source);
    if (outcome == PML_DONE)
        outcome = gather(made, source, bad);
    if (outcome == PML_DONE)
        outcome = find_neighbours(made, source);
    if (outcome == PML_DONE)
        *gallery = made;
    else
        pml_lists_gallery_free(made);
    return outcome;
}

void pml_lists_gallery_free(struct pml_lists_gallery *gallery)
{
    if (!gallery)
        return;
    pml_rows_free(&gallery->rows);
    free(gallery->origins);
    free(gallery->neighbours);
    free(gallery->slots);
    free(gallery);
}
