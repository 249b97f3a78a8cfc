/* SPDX-License-Identifier: Apache-2.0
 * The items nearest to points, of a PostgreSQL store (SPEC 9). PostgreSQL ranks by the square root of a sum, maybe rounded
 * otherwise than SPEC 6.5 wants, so a few items more are read and ranked again here. */
#include "server/store/places.h"
#include "store_postgres_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARE 8 /* nearest items beyond those wanted, to see that none is missing */

static pml_outcome add_point(struct pml_bytes *array, const double *place, uint32_t dimensions)
{
    char text[PML_POSTGRES_TEXT_MAX + 2] = "\"";
    pml_postgres_point_text(place, dimensions, text + 1);
    strcat(text, "\"");
    return pml_postgres_add_text(array, text);
}

/* What is asked for, and which points are not yet answered. */
struct hunt {
    struct pml_store *base;
    const struct pml_point *points;
    size_t wanted;
    size_t *open, open_count;
    pml_take_fn take;
    void *context;
};

/* The rows of a result that belong to one point. */
struct stretch {
    int first, end;
};

/* Ranks the rows by SPEC 6.5. *complete: whatever was left off is farther than the first `wanted` (SPEC 9). */
static pml_outcome rank(const struct hunt *hunt, const PGresult *result, struct stretch rows, const double *place,
                        bool all, struct pml_near *near, bool *complete)
{
    const uint32_t dimensions = hunt->base->info.dimensions;
    const size_t count = (size_t)(rows.end - rows.first);
    for (size_t i = 0; i < count; i++) {
        const int row = rows.first + (int)i;
        float value[PML_DIMENSIONS_MAX];
        int64_t item;
        if (!pml_postgres_number(result, row, 1, &item) || !pml_postgres_place(result, row, 4, dimensions, value))
            return PML_DAMAGED;
        near[i] = (struct pml_near){pml_places_distance(value, place, dimensions), (uint64_t)item, (size_t)row};
    }
    const double last = count > 0 ? near[count - 1].distance : 0.0;
    qsort(near, count, sizeof *near, pml_near_order);
    *complete =
        all || hunt->wanted == 0 || (count > hunt->wanted && near[hunt->wanted - 1].distance < last * (1.0 - 0x1p-40));
    return PML_DONE;
}

/* Hands out the nearest to one point, if these rows tell them. */
static pml_outcome take_nearest(const struct hunt *hunt, const PGresult *result, struct stretch rows, size_t index,
                                bool all, bool *complete)
{
    const size_t count = (size_t)(rows.end - rows.first);
    struct pml_near *near = malloc((count + 1) * sizeof *near);
    struct pml_fragment fragment = {0};
    pml_outcome outcome =
        near ? rank(hunt, result, rows, hunt->points[index].place, all, near, complete) : PML_NO_MEMORY;
    if (outcome == PML_DONE && *complete) {
        for (size_t i = 0; outcome == PML_DONE && i < count && i < hunt->wanted; i++)
            outcome = pml_postgres_take_candidate(hunt->base, result, (int)near[i].row, 1, &fragment);
        if (outcome == PML_DONE)
            outcome = hunt->take(hunt->context, index, &fragment);
    }
    pml_bytes_free(&fragment.bytes);
    free(near);
    return outcome;
}

/* The rows of the open points, which stand one after the other; keeps open those that are not complete. */
static pml_outcome take_open(struct hunt *hunt, const PGresult *result, size_t limit)
{
    const size_t asked = hunt->open_count;
    struct stretch rows = {0, 0};
    pml_outcome outcome = PML_DONE;
    hunt->open_count = 0;
    for (size_t i = 0; i < asked && outcome == PML_DONE; i++) {
        int64_t number;
        bool complete = false;
        rows.first = rows.end;
        while (rows.end < PQntuples(result) && pml_postgres_number(result, rows.end, 0, &number) &&
               number == (int64_t)i + 1)
            rows.end++;
        outcome = take_nearest(hunt, result, rows, hunt->open[i], (size_t)(rows.end - rows.first) < limit, &complete);
        if (!complete)
            hunt->open[hunt->open_count++] = hunt->open[i];
    }
    return outcome == PML_DONE && rows.end != PQntuples(result) ? PML_DAMAGED : outcome;
}

/* The nearest among the first `limit` rows of each open point. */
static pml_outcome try_nearest(struct hunt *hunt, size_t limit)
{
    char most[24];
    struct pml_postgres_arrays arrays = {0};
    PGresult *result = NULL;
    pml_outcome outcome = PML_DONE;
    for (size_t i = 0; i < hunt->open_count && outcome == PML_DONE; i++) {
        const struct pml_point *point = &hunt->points[hunt->open[i]];
        outcome = pml_postgres_add_number(&arrays.first, point->slot);
        if (outcome == PML_DONE)
            outcome = add_point(&arrays.second, point->place, hunt->base->info.dimensions);
    }
    if (outcome != PML_DONE) {
        pml_postgres_free_arrays(&arrays);
        return outcome;
    }
    snprintf(most, sizeof most, "%zu", limit);
    outcome = pml_postgres_ask((struct pml_postgres_store *)hunt->base, "nearest", &arrays, most, &result);
    if (outcome == PML_DONE)
        outcome = take_open(hunt, result, limit);
    PQclear(result);
    return outcome;
}

pml_outcome pml_postgres_nearest(struct pml_store *base, const struct pml_wanted *wanted, pml_take_fn take,
                                 void *context)
{
    const size_t count = wanted->count;
    struct hunt hunt = {base, wanted->points, wanted->nearest, malloc(count * sizeof *hunt.open), count, take, context};
    pml_outcome outcome = hunt.open ? PML_DONE : PML_NO_MEMORY;
    for (size_t i = 0; hunt.open && i < count; i++)
        hunt.open[i] = i;
    /* Ties at the end: with twice as many rows there are fewer, or the slot is at its end. */
    for (size_t limit = hunt.wanted + SPARE; hunt.open_count > 0 && outcome == PML_DONE; limit *= 2)
        outcome = try_nearest(&hunt, limit);
    free(hunt.open);
    return outcome;
}
