/* SPDX-License-Identifier: Apache-2.0
 * In: rows and prototypes. Out: prototypes that are weighted means of rows. Never makes one of fewer different rows with
 * full weight than the pack promises. All sums are of integers, so threads do not matter. */
#include "soft_prototypes.h"
#include "common/rows/nearest.h"
#include "thin_clusters.h"

#include <stdlib.h>
#include <string.h>

enum { NEAREST = 8, FULL = 4096 }; /* prototypes that a row counts for; its weight for the nearest */

struct nearby {
    uint32_t prototype, weight; /* weight 0: none */
};

struct softening {
    const struct pml_rows *rows;
    struct pml_rows before; /* the prototypes as they were */
    struct nearby *nearby;  /* NEAREST of each row */
    size_t *starts;         /* rows of prototype p: members[starts[p]] … members[starts[p+1] − 1] */
    uint32_t *members, *weights;
    size_t public_count, least;
    int8_t *prototypes;
};

/* ---- the prototypes of one row ---- */

static void weigh_row(const struct softening *softening, size_t row, int32_t *dots)
{
    const struct pml_rows *rows = softening->rows, *before = &softening->before;
    struct nearby *nearby = softening->nearby + row * NEAREST;
    int64_t scores[NEAREST];
    uint32_t indices[NEAREST];
    const struct pml_nearest nearest = {scores, indices, NEAREST};
    uint64_t first = 0;
    pml_nearest_clear(&nearest);
    pml_dots(rows->values + row * rows->columns, before->values, rows->columns, before->count, dots);
    for (uint32_t p = 0; p < before->count; p++)
        pml_nearest_offer(&nearest, dots[p] * (int64_t)before->inverse[p], p);
    for (unsigned i = 0; i < NEAREST && scores[i] > INT64_MIN; i++) {
        const uint64_t distance = pml_rows_distance(scores[i], rows->inverse[row]);
        first = i == 0 ? distance : first;
        const uint64_t ratio = (first << 16) / distance, second = ratio * ratio >> 16;
        nearby[i] = (struct nearby){indices[i], (uint32_t)(second * ratio / ((1ull << 32) / FULL))};
    }
}

static pml_outcome weigh_piece(void *context, size_t piece)
{
    const struct softening *softening = context;
    const size_t first = piece * PML_TILE, end = first + PML_TILE;
    int32_t *dots = malloc(softening->before.count * sizeof *dots);
    if (!dots)
        return PML_NO_MEMORY;
    for (size_t row = first; row < end && row < softening->rows->count; row++)
        weigh_row(softening, row, dots);
    free(dots);
    return PML_DONE;
}

/* ---- the rows of one prototype ---- */

static void group(struct softening *softening)
{
    const size_t entries = softening->rows->count * NEAREST, count = softening->before.count;
    size_t *starts = softening->starts;
    for (size_t i = 0; i < entries; i++)
        starts[softening->nearby[i].prototype + 1] += softening->nearby[i].weight > 0;
    for (size_t p = 0; p < count; p++)
        starts[p + 1] += starts[p];
    for (size_t i = 0; i < entries; i++)
        if (softening->nearby[i].weight > 0) {
            const size_t at = starts[softening->nearby[i].prototype]++;
            softening->members[at] = (uint32_t)(i / NEAREST);
            softening->weights[at] = softening->nearby[i].weight;
        }
    memmove(starts + 1, starts, count * sizeof *starts); /* each start has moved to the end of its prototype */
    starts[0] = 0;
}

static pml_outcome move_prototype(void *context, size_t prototype)
{
    const struct softening *softening = context;
    const struct pml_rows *rows = softening->rows;
    const size_t first = softening->starts[prototype], count = softening->starts[prototype + 1] - first;
    const uint32_t *members = softening->members + first, *weights = softening->weights + first;
    uint32_t *full = malloc((count + 1) * sizeof *full);
    size_t full_count = 0, guarded = 0;
    if (!full)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        guarded += members[i] >= softening->public_count;
    for (size_t i = 0; i < count; i++)
        if (weights[i] == FULL && (guarded == 0 || members[i] >= softening->public_count))
            full[full_count++] = members[i];
    pml_outcome outcome = PML_DONE;
    if (full_count > 0 && pml_rows_different(rows, full, full_count, softening->least) >= softening->least)
        outcome = pml_rows_mean(rows, members, weights, count, softening->prototypes + prototype * rows->columns);
    free(full);
    return outcome == PML_NO_MEMORY ? outcome : PML_DONE; /* without a direction it stays as it is */
}

/* ---- all of them ---- */

pml_outcome pml_prototypes_soften(const struct pml_rows *rows, size_t public_count, size_t least, unsigned threads,
                                  int8_t *prototypes, size_t count)
{
    const size_t entries = rows->count * NEAREST;
    struct softening softening = {.rows = rows, .public_count = public_count, .least = least, .prototypes = prototypes};
    softening.nearby = calloc(entries, sizeof *softening.nearby);
    softening.starts = calloc(count + 1, sizeof *softening.starts);
    softening.members = malloc(entries * sizeof *softening.members);
    softening.weights = malloc(entries * sizeof *softening.weights);
    pml_outcome outcome = softening.nearby && softening.starts && softening.members && softening.weights
                              ? pml_rows_allocate(&softening.before, count, rows->columns)
                              : PML_NO_MEMORY;
    if (outcome == PML_DONE) {
        memcpy(softening.before.values, prototypes, count * rows->columns);
        for (size_t p = 0; p < count; p++)
            pml_rows_measure(&softening.before, p);
        outcome = pml_parallel(threads, (rows->count + PML_TILE - 1) / PML_TILE, weigh_piece, &softening, NULL);
    }
    if (outcome == PML_DONE) {
        group(&softening);
        outcome = pml_parallel(threads, count, move_prototype, &softening, NULL);
    }
    pml_rows_free(&softening.before);
    free(softening.nearby);
    free(softening.starts);
    free(softening.members);
    free(softening.weights);
    return outcome;
}
