/* SPDX-License-Identifier: Apache-2.0
 * Places queries as a server places releases, but without noise. It makes no release. */
#include "evaluate_noiseless.h"

#include "server/gallery/places.h"

#include <stdlib.h>

struct noiseless {
    const struct evaluate_bench *bench;
    struct pml_embedding *first, *all; /* one step, as on the device; all iterations */
    float *rows;                       /* of the queries: k numbers each */
    uint32_t *slots;
    uint32_t nearest;
    double *shares;
};

/* Which share of a query's true neighbours is among the items that are nearest to a place. */
static pml_outcome count_nearest(const struct noiseless *noiseless, size_t query, const double *place)
{
    const struct evaluate_data *data = noiseless->bench->data;
    struct pml_near *near = NULL;
    size_t count = 0, found = 0;
    const pml_outcome outcome =
        pml_places_nearest(pml_service_places(noiseless->bench->service, noiseless->slots[query]), place,
                           noiseless->nearest, &near, &count);
    for (size_t at = 0; at < count && outcome == PML_DONE; at++)
        for (size_t i = 0; i < data->top; i++)
            found += data->nearest[query * data->top + i] == near[at].item;
    noiseless->shares[query] = (double)found / (double)data->top;
    free(near);
    return outcome;
}

/* A pml_piece_fn. */
static pml_outcome place_query(void *context, size_t query)
{
    struct noiseless *noiseless = context;
    const pml_pack_info *info = &noiseless->bench->pack.info;
    const size_t slots = info->slots, k = info->dimensions, slot = noiseless->slots[query];
    float *released = calloc(slots * k, sizeof *released);
    double *places = malloc(slots * k * sizeof *places);
    pml_outcome outcome = released && places ? PML_DONE : PML_NO_MEMORY;
    for (size_t c = 0; c < k && outcome == PML_DONE; c++)
        released[slot * k + c] = noiseless->rows[query * k + c];
    if (outcome == PML_DONE) {
        pml_embedding_place(noiseless->all, released, places);
        outcome = count_nearest(noiseless, query, places + slot * k);
    }
    free(released);
    free(places);
    return outcome;
}

static pml_outcome find_slots(struct noiseless *noiseless)
{
    const struct evaluate_data *data = noiseless->bench->data;
    for (size_t i = 0; i < data->queries.rows.count; i++)
        if (pml_pack_slot(&noiseless->bench->pack.pack, data->classes ? data->classes[i] : 0, &noiseless->slots[i]) !=
            PML_OK)
            return PML_REFUSED;
    return PML_DONE;
}

pml_outcome evaluate_noiseless(const struct evaluate_bench *bench, uint32_t nearest, double *shares,
                               struct pml_message *message)
{
    const struct pml_rows *queries = &bench->data->queries.rows;
    const unsigned threads = (unsigned)bench->options->threads;
    const pml_pack *pack = &bench->pack.pack;
    struct noiseless noiseless = {.bench = bench, .nearest = nearest, .shares = shares};
    noiseless.rows = malloc(queries->count * bench->pack.info.dimensions * sizeof *noiseless.rows);
    noiseless.slots = malloc(queries->count * sizeof *noiseless.slots);
    pml_outcome outcome = noiseless.rows && noiseless.slots ? find_slots(&noiseless) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_embedding_make(&noiseless.first, pack, 0, threads, NULL, message);
    if (outcome == PML_DONE)
        outcome =
            pml_embedding_make(&noiseless.all, pack, (unsigned)bench->options->iterations, threads, NULL, message);
    if (outcome == PML_DONE)
        outcome = pml_embedding_items(noiseless.first, queries, noiseless.slots, threads, noiseless.rows);
    if (outcome == PML_DONE)
        outcome = pml_parallel(threads, queries->count, place_query, &noiseless, NULL);
    pml_embedding_free(noiseless.first);
    pml_embedding_free(noiseless.all);
    free(noiseless.rows);
    free(noiseless.slots);
    return outcome;
}
