/* SPDX-License-Identifier: Apache-2.0
 * The stages as functions of a shared object, for bench/peers.py alone. In: made-up rows or public data sets, as floats.
 * Out: neighbours, bytes of releases. Never part of what is installed: it hands out what a device keeps to itself. */
#include "client.h"
#include "common/rows/knn.h"
#include "harness.h"
#include "kernel_choice.h"
#include "privatemail_platform.h"
#include "stages/stages.h"
#include "synthetic.h"

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

struct peer {
    struct pml_rows rows;
    struct synthetic_pack pack;
    struct synthetic_client client;
    const struct pml_kernels *kernels;
    int mechanism;
    unsigned neighbours;
};

EXPORT const char *peer_best_kernel(void);
EXPORT int peer_limit(const char *kernel);
EXPORT struct peer *peer_open(const float *features, size_t rows, size_t columns, int mechanism, unsigned neighbours,
                              size_t slots, unsigned cells, const char *kernel);
EXPORT void peer_close(struct peer *peer);
EXPORT void peer_scan(struct peer *peer, const float *queries, size_t count, uint32_t *neighbours);
EXPORT void peer_rows(const struct peer *peer, int8_t *values, uint32_t *inverse);
EXPORT void peer_graph(const struct peer *peer, uint32_t *lists);
EXPORT size_t peer_release(struct peer *peer, const float *features, size_t repeats);
EXPORT void peer_deviates(uint32_t shift, int32_t *out, size_t count);

const char *peer_best_kernel(void)
{
    return kernel_named(NULL)->name;
}

/* What the pack builder takes, for the life of the process. Answers 0 when the CPU runs it. */
int peer_limit(const char *kernel)
{
    const struct pml_kernels *named = kernel_named(kernel);
    if (named)
        kernel_limit(named);
    return named ? 0 : -1;
}

struct peer *peer_open(const float *features, size_t rows, size_t columns, int mechanism, unsigned neighbours,
                       size_t slots, unsigned cells, const char *kernel)
{
    struct peer *peer = bench_allocate(sizeof *peer);
    size_t bad;
    *peer = (struct peer){.mechanism = mechanism, .neighbours = neighbours, .kernels = kernel_named(kernel)};
    if (!peer->kernels)
        bench_stop("this CPU does not run that kernel.");
    if (pml_rows_allocate(&peer->rows, rows, columns) != 0 ||
        pml_rows_quantise(&peer->rows, features, 1, NULL, &bad) != 0 || bad < rows)
        bench_stop("rows cannot be quantised.");
    synthetic_pack(&peer->pack, &peer->rows, mechanism, neighbours, slots, cells);
    synthetic_client(&peer->client, &peer->pack.pack, mechanism, peer->kernels);
    return peer;
}

void peer_close(struct peer *peer)
{
    synthetic_client_free(&peer->client);
    synthetic_pack_free(&peer->pack);
    pml_rows_free(&peer->rows);
    free(peer);
}

/* Gaussian only: from floats to the K nearest anchors, `count` queries one after the other. */
void peer_scan(struct peer *peer, const float *queries, size_t count, uint32_t *neighbours)
{
    const pml_pack *view = &peer->pack.pack;
    int8_t row[PML_FEATURES_MAX];
    uint64_t keys[PML_NEIGHBOURS_MAX];
    for (size_t i = 0; i < count; i++) {
        pml_quantise_row(queries + i * view->features, view->features, row, peer->kernels);
        pml_neighbours_find(view, peer->kernels, row, keys);
        for (unsigned j = 0; j < peer->neighbours; j++)
            *neighbours++ = neighbour_index(keys[j]);
    }
}

void peer_rows(const struct peer *peer, int8_t *values, uint32_t *inverse)
{
    memcpy(values, peer->rows.values, peer->rows.count * peer->rows.columns);
    memcpy(inverse, peer->rows.inverse, peer->rows.count * sizeof *inverse);
}

void peer_graph(const struct peer *peer, uint32_t *lists)
{
    if (pml_knn(&peer->rows, peer->neighbours, 1, NULL, lists) != 0)
        bench_stop("out of memory for the graph.");
}

/* Whole releases: arm with the system's entropy, release. */
size_t peer_release(struct peer *peer, const float *features, size_t repeats)
{
    size_t size = 0;
    for (size_t i = 0; i < repeats; i++)
        size = synthetic_release(&peer->client, features, peer->rows.columns, 0);
    return size;
}

void peer_deviates(uint32_t shift, int32_t *out, size_t count)
{
    uint8_t key[32];
    pml_random random;
    if (pml_platform_entropy(NULL, key, sizeof key) != 0)
        bench_stop("the system has no entropy.");
    pml_random_start(&random, key);
    pml_gaussian_draw(&random, shift, out, count);
    pml_wipe(&random, sizeof random);
    pml_wipe(key, sizeof key);
}
