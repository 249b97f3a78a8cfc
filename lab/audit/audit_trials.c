/* SPDX-License-Identifier: Apache-2.0
 * In: two records. Out: their releases, made by init, arm and release with the system's entropy. Never looks at anything
 * of a client but its releases. */
#define _POSIX_C_SOURCE 200809L
#include "audit_trials.h"

#include "cli/shared/budget_file.h"

#include "common/parallel.h"

#include <privatemail_platform.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNK = 256, CROWD_CHUNK = 16 }; /* trials between two looks at the clock */

struct crew {
    struct audit_bench *bench;
    struct audit_run *run;
    atomic_uint_least64_t claimed, done;
    atomic_int status;
};

double audit_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- clients ---- */

static int persist_nothing(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

static pml_status open_worker(struct audit_bench *bench, struct audit_worker *worker)
{
    size_t size = pml_client_size(&bench->file->pack, &bench->config);
    worker->memory = malloc(size > 0 ? size : 1);
    if (!worker->memory)
        return PML_ERROR_MEMORY;
    pml_status status = pml_client_init(&worker->client, worker->memory, size, &bench->file->pack, &bench->config);
    if (status == PML_OK)
        status = pml_client_receipt(worker->client, &bench->receipt);
    if (status == PML_OK)
        status = budget_unlimited(&worker->budget, &bench->config);
    if (status == PML_OK && bench->config.crowd) {
        uint64_t seed = 0;
        status = crowd_bundle_open(&worker->bundle, worker->client);
        if (status == PML_OK && pml_platform_entropy(NULL, (uint8_t *)&seed, sizeof seed) != 0)
            status = PML_ERROR_ENTROPY;
        worker->generator = pml_generator_start(seed, 0);
    }
    if (status != PML_OK)
        return status;
    worker->release = malloc(bench->receipt.bytes);
    return worker->release ? PML_OK : PML_ERROR_MEMORY;
}

pml_status audit_bench_open(struct audit_bench *bench, const struct pack_file *file, pml_mechanism mechanism,
                            double epsilon, double delta, const pml_crowd *crowd)
{
    memset(bench, 0, sizeof *bench);
    bench->file = file;
    if (crowd)
        bench->crowd = *crowd;
    bench->config = (pml_config){.mechanism = mechanism,
                                 .epsilon = epsilon,
                                 .delta = mechanism == PML_GAUSSIAN ? delta : 0.0,
                                 .crowd = crowd ? &bench->crowd : NULL,
                                 .entropy = pml_platform_entropy,
                                 .persist = persist_nothing,
                                 .kernels = pml_platform_kernels()};
    pml_status status = PML_OK;
    for (size_t i = 0; i < AUDIT_THREADS && status == PML_OK; i++)
        status = open_worker(bench, &bench->workers[i]);
    return status;
}

void audit_bench_close(struct audit_bench *bench)
{
    for (size_t i = 0; i < AUDIT_THREADS; i++) {
        pml_client_wipe(bench->workers[i].client);
        free(bench->workers[i].memory);
        free(bench->workers[i].release);
        crowd_bundle_close(&bench->workers[i].bundle);
        pml_bytes_free(&bench->workers[i].epoch);
    }
    memset(bench, 0, sizeof *bench);
}

uint64_t audit_bench_releases(const struct audit_bench *bench)
{
    uint64_t releases = 0;
    for (size_t i = 0; i < AUDIT_THREADS; i++)
        releases += bench->workers[i].releases;
    return releases;
}

/* ---- releases ---- */

static pml_status arm_once(const struct audit_bench *bench, struct audit_worker *worker, pml_bundle kind)
{
    return bench->config.crowd ? crowd_bundle_arm(worker->client, &worker->budget, kind)
                               : pml_client_arm(worker->client, &worker->budget);
}

/* A spent budget is made anew. */
static pml_status arm(const struct audit_bench *bench, struct audit_worker *worker, pml_bundle kind)
{
    pml_status status = arm_once(bench, worker, kind);
    if (status == PML_ERROR_SPENT) {
        status = budget_unlimited(&worker->budget, &bench->config);
        if (status == PML_OK)
            status = arm_once(bench, worker, kind);
    }
    return status;
}

static pml_status make_release(const struct audit_bench *bench, struct audit_worker *worker,
                               const struct audit_record *record)
{
    const pml_query query = {record->features, bench->file->info.features, record->label};
    pml_status status = arm(bench, worker, PML_BUNDLE_QUERY);
    if (status == PML_OK)
        status = pml_client_release(worker->client, &query, worker->release, bench->receipt.bytes);
    worker->releases += status == PML_OK;
    return status;
}

/* One client hands over its bundle: that of a query, or an idle one. */
static pml_status add_bundle(const struct audit_bench *bench, struct audit_worker *worker, const pml_query *query)
{
    struct crowd_bundle *bundle = &worker->bundle;
    pml_status status = arm(bench, worker, query ? PML_BUNDLE_QUERY : PML_BUNDLE_IDLE);
    if (status == PML_OK)
        status = crowd_bundle_make(bundle, worker->client, query);
    if (status == PML_OK && pml_bytes_append(&worker->epoch, bundle->bytes, bundle->count * bundle->length) != PML_DONE)
        status = PML_ERROR_MEMORY;
    worker->releases += bundle->count;
    return status;
}

/* What the relay does: any order of the messages is equally likely. */
static void mix(struct audit_worker *worker, size_t length)
{
    uint8_t *bytes = worker->epoch.bytes, kept[PML_ID_SIZE * 4];
    for (size_t left = worker->epoch.size / length; left > 1; left--) {
        const size_t other = (size_t)pml_generator_below(&worker->generator, left);
        memcpy(kept, bytes + other * length, length);
        memmove(bytes + other * length, bytes + (left - 1) * length, length);
        memcpy(bytes + (left - 1) * length, kept, length);
    }
}

/* An epoch: one client has the record, all others are idle. The adversary could subtract what others ask for, so this is
 * what it would be left with. */
static pml_status make_epoch(const struct audit_bench *bench, struct audit_worker *worker,
                             const struct audit_record *record)
{
    const pml_query query = {record->features, bench->file->info.features, record->label};
    worker->epoch.size = 0;
    pml_status status = add_bundle(bench, worker, &query);
    for (uint64_t other = 1; other < bench->crowd.clients && status == PML_OK; other++)
        status = add_bundle(bench, worker, NULL);
    if (status == PML_OK)
        mix(worker, bench->receipt.bytes);
    return status;
}

static pml_status work_chunk(struct crew *crew, unsigned index, uint64_t trials)
{
    struct audit_worker *worker = &crew->bench->workers[index];
    const struct audit_run *run = crew->run;
    pml_status status = PML_OK;
    for (uint64_t i = 0; i < 2 * trials && status == PML_OK; i++) {
        const unsigned side = (unsigned)(i & 1);
        const struct audit_record *record = &run->pair->sides[side];
        const bool crowd = crew->bench->config.crowd != NULL;
        status = crowd ? make_epoch(crew->bench, worker, record) : make_release(crew->bench, worker, record);
        if (status == PML_OK)
            status = run->sink(run->context, index, side, crowd ? worker->epoch.bytes : worker->release,
                               crowd ? worker->epoch.size : crew->bench->receipt.bytes);
    }
    return status;
}

/* A pml_piece_fn: one worker takes chunks until none is left. Both sides of a chunk are always finished, and only
 * the clock decides when to stop, never the counts. */
static pml_outcome work(void *context, size_t index)
{
    struct crew *crew = context;
    uint64_t trials = crew->run->trials, first, chunk = crew->bench->config.crowd ? CROWD_CHUNK : CHUNK;
    while (audit_clock() < crew->run->deadline && (first = atomic_fetch_add(&crew->claimed, chunk)) < trials) {
        uint64_t count = trials - first < chunk ? trials - first : chunk;
        pml_status status = work_chunk(crew, (unsigned)index, count);
        if (status != PML_OK) {
            atomic_store(&crew->status, status);
            return PML_REFUSED;
        }
        uint64_t done = atomic_fetch_add(&crew->done, count) + count;
        if (index == 0 && crew->run->stage)
            progress_show(NULL, crew->run->stage, (double)done / (double)trials);
    }
    return PML_DONE;
}

pml_status audit_bench_run(struct audit_bench *bench, struct audit_run *run)
{
    struct crew crew = {.bench = bench, .run = run};
    atomic_init(&crew.claimed, 0);
    atomic_init(&crew.done, 0);
    atomic_init(&crew.status, PML_OK);
    pml_parallel(AUDIT_THREADS, AUDIT_THREADS, work, &crew, NULL);
    run->done = atomic_load(&crew.done);
    return (pml_status)atomic_load(&crew.status);
}
