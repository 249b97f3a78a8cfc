/* SPDX-License-Identifier: Apache-2.0
 * In: two records. Out: their releases, made by init, arm and release with the system's entropy. Never looks at anything
 * of a client but its releases. */
#include "audit_trials.h"

#include "cli/shared/budget_file.h"

#include "common/clock.h"
#include "common/parallel.h"
#include "server/mixing/relay_order.h"

#include <privatemail_platform.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256, CROWD_CHUNK = 16 }; /* trials between two looks at the clock */

struct crew {
    struct audit_bench *bench;
    struct audit_run *run;
    atomic_uint_least64_t claimed, done;
    atomic_int status;
};

/* ---- clients ---- */

static int persist_nothing(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

static pml_status open_client(const struct audit_bench *bench, const pml_config *config, struct audit_client *client)
{
    const size_t size = pml_client_size(&bench->file->pack, config);
    client->memory = malloc(size > 0 ? size : 1);
    if (!client->memory)
        return PML_ERROR_MEMORY;
    pml_status status = pml_client_init(&client->client, client->memory, size, &bench->file->pack, config);
    if (status == PML_OK)
        status = budget_unlimited(&client->budget, config);
    if (status == PML_OK && config->crowd)
        status = crowd_bundle_open(&client->bundle, client->client);
    return status;
}

static void close_client(struct audit_client *client)
{
    pml_client_wipe(client->client);
    free(client->memory);
    crowd_bundle_close(&client->bundle);
}

static pml_status open_worker(struct audit_bench *bench, struct audit_worker *worker)
{
    pml_status status = open_client(bench, &bench->config, &worker->asker);
    if (status == PML_OK)
        status = pml_client_receipt(worker->asker.client, &bench->receipt);
    if (status == PML_OK && bench->config.crowd) {
        status = open_client(bench, &bench->config, &worker->idle);
        relay_release_begin(&worker->fake, &bench->file->info);
        if (status == PML_OK && worker->fake.size != bench->receipt.bytes)
            status = PML_ERROR_CROWD; /* its length would tell a fake from a client's message */
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
    bench->idle_bundles = bench->crowd.clients > 0 ? bench->crowd.clients - 1 : 0;
    bench->law =
        (struct relay_law){bench->crowd.relay_clusters, bench->crowd.copies, file->info.slots * file->info.cells};
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
        close_client(&bench->workers[i].asker);
        close_client(&bench->workers[i].idle);
        free(bench->workers[i].release);
        pml_bytes_free(&bench->workers[i].sent);
        pml_bytes_free(&bench->workers[i].epoch);
        pml_bytes_free(&bench->workers[i].order);
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

static pml_status arm_once(const struct audit_bench *bench, struct audit_client *client, pml_bundle kind)
{
    return bench->config.crowd ? crowd_bundle_arm(client->client, &client->budget, kind)
                               : pml_client_arm(client->client, &client->budget);
}

/* A spent budget is made anew. */
static pml_status arm(const struct audit_bench *bench, struct audit_client *client, pml_bundle kind)
{
    pml_status status = arm_once(bench, client, kind);
    if (status == PML_ERROR_SPENT) {
        status = budget_unlimited(&client->budget, &bench->config);
        if (status == PML_OK)
            status = arm_once(bench, client, kind);
    }
    return status;
}

static pml_status make_release(const struct audit_bench *bench, struct audit_worker *worker,
                               const struct audit_record *record)
{
    const pml_query query = {.features = record->features,
                             .count = bench->file->front.inputs,
                             .label = record->label,
                             .modality = bench->file->modality};
    pml_status status = arm(bench, &worker->asker, PML_BUNDLE_QUERY);
    if (status == PML_OK)
        status = pml_client_release(worker->asker.client, &query, worker->release, bench->receipt.bytes);
    worker->releases += status == PML_OK;
    return status;
}

/* One client hands over its bundle: that of a query, or an idle one. */
static pml_status add_bundle(const struct audit_bench *bench, struct audit_worker *worker, struct audit_client *client,
                             const pml_query *query)
{
    struct crowd_bundle *bundle = &client->bundle;
    pml_status status = arm(bench, client, query ? PML_BUNDLE_QUERY : PML_BUNDLE_IDLE);
    if (status == PML_OK)
        status = crowd_bundle_make(bundle, client->client, &(pml_crowd_content){.query = query});
    if (status == PML_OK && pml_bytes_append(&worker->sent, bundle->bytes, bundle->count * bundle->length) != PML_DONE)
        status = PML_ERROR_MEMORY;
    worker->releases += bundle->count;
    return status;
}

/* A relay_cluster_fn. */
static pml_outcome add_cluster(void *context, uint32_t symbol, uint32_t copies)
{
    struct audit_worker *worker = context;
    pml_outcome outcome = PML_DONE;
    relay_release_symbol(&worker->fake, symbol);
    worker->releases += copies;
    for (; copies > 0 && outcome == PML_DONE; copies--)
        outcome = pml_bytes_append(&worker->sent, worker->fake.bytes, worker->fake.size);
    return outcome;
}

static pml_status status_of(pml_outcome outcome)
{
    return outcome == PML_DONE        ? PML_OK
           : outcome == PML_NO_MEMORY ? PML_ERROR_MEMORY
           : outcome == PML_REFUSED   ? PML_ERROR_MECHANISM
                                      : PML_ERROR_ENTROPY;
}

/* What the relay draws, if it does. */
static pml_status add_noise(const struct audit_bench *bench, struct audit_worker *worker)
{
    uint8_t key[32];
    if (bench->law.clusters <= 0.0)
        return PML_OK;
    if (pml_platform_entropy(NULL, key, sizeof key) != 0)
        return PML_ERROR_ENTROPY;
    return status_of(relay_clusters_draw(&bench->law, key, add_cluster, worker));
}

/* The messages in the relay's order. */
static pml_status mix(struct audit_worker *worker, size_t length)
{
    const size_t count = worker->sent.size / length;
    worker->epoch.size = worker->order.size = 0;
    pml_outcome outcome = pml_bytes_reserve(&worker->order, (count + 1) * sizeof(uint32_t));
    if (outcome == PML_DONE)
        outcome = pml_bytes_reserve(&worker->epoch, worker->sent.size);
    uint32_t *order = (uint32_t *)(void *)worker->order.bytes;
    if (outcome == PML_DONE)
        outcome = relay_order(order, (uint32_t)count, pml_platform_entropy, NULL);
    for (size_t i = 0; i < count && outcome == PML_DONE; i++)
        outcome = pml_bytes_append(&worker->epoch, worker->sent.bytes + order[i] * length, length);
    return status_of(outcome);
}

/* An epoch: one client has the record, all others are idle, and the relay adds its clusters. The adversary could subtract
 * what others ask for, so this is what it would be left with. */
static pml_status make_epoch(const struct audit_bench *bench, struct audit_worker *worker,
                             const struct audit_record *record)
{
    const pml_query query = {.features = record->features,
                             .count = bench->file->front.inputs,
                             .label = record->label,
                             .modality = bench->file->modality};
    worker->sent.size = 0;
    pml_status status = add_bundle(bench, worker, &worker->asker, &query);
    for (uint64_t other = 0; other < bench->idle_bundles && status == PML_OK; other++)
        status = add_bundle(bench, worker, &worker->idle, NULL);
    if (status == PML_OK)
        status = add_noise(bench, worker);
    return status == PML_OK ? mix(worker, bench->receipt.bytes) : status;
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
    while (pml_clock_now() < crew->run->deadline && (first = atomic_fetch_add(&crew->claimed, chunk)) < trials) {
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
