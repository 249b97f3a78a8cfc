/* SPDX-License-Identifier: Apache-2.0
 * Places queries as a server places releases, but without noise. It makes no release. */
#include "evaluate_noiseless.h"

#include "server/index/index_build.h"

#include <stdlib.h>

struct noiseless {
    const struct evaluate_bench *bench;
    struct pml_embedding *first, *all; /* one step, as on the device; all iterations */
    float *rows;                       /* of the queries: k numbers each */
    uint32_t *slots;
    uint32_t nearest;
    double *shares;
};

struct count {
    const struct evaluate_data *data;
    size_t query, found;
};

/* A pml_take_fn. */
static pml_outcome count_nearest(void *context, size_t index, const struct pml_fragment *candidates)
{
    struct count *count = context;
    const size_t top = count->data->top;
    struct pml_candidate candidate;
    (void)index;
    for (size_t offset = 0; offset < candidates->bytes.size;) {
        if (!pml_candidate_read(candidates->bytes.bytes, candidates->bytes.size, &offset, &candidate))
            return PML_DAMAGED;
        for (size_t i = 0; i < top; i++)
            count->found += count->data->nearest[count->query * top + i] == candidate.item;
    }
    return PML_DONE;
}

/* A pml_piece_fn. */
static pml_outcome place_query(void *context, size_t query)
{
    struct noiseless *noiseless = context;
    const pml_pack_info *info = &noiseless->bench->pack.info;
    const size_t slots = info->slots, k = info->dimensions, slot = noiseless->slots[query];
    float *released = calloc(slots * k, sizeof *released);
    double *places = malloc(slots * k * sizeof *places);
    struct count count = {noiseless->bench->data, query, 0};
    pml_outcome outcome = released && places ? PML_DONE : PML_NO_MEMORY;
    for (size_t c = 0; c < k && outcome == PML_DONE; c++)
        released[slot * k + c] = noiseless->rows[query * k + c];
    if (outcome == PML_DONE) {
        pml_embedding_place(noiseless->all, released, places);
        const struct pml_point point = {(uint32_t)slot, places + slot * k};
        outcome = pml_store_nearest(noiseless->bench->store, &point, 1, noiseless->nearest, count_nearest, &count);
        noiseless->shares[query] = (double)count.found / (double)noiseless->bench->data->top;
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
