/* SPDX-License-Identifier: Apache-2.0
 * The core, flat. Memory of clients and rankings is allocated here. It is wiped before it is freed: that of clients
 * here, because a fork may leave one in the middle of a call, and that of rankings by the core. */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

struct pmlpy_pack {
    pml_pack view;
};

struct pmlpy_client {
    pml_client *core; /* NULL when it was forgotten: the core refuses that */
    pmlpy_persist_fn persist;
    pmlpy_entropy_fn entropy;
    const char *caller; /* the thread whose callback runs, or NULL */
    pml_crowd crowd;
    size_t size;
    unsigned char memory[];
};

/* Its address tells a thread from the others, also in the child of a fork. */
static _Thread_local char this_thread;

const char *pmlpy_version(void)
{
    return pml_version();
}

const char *pmlpy_status_text(int status)
{
    return pml_status_text(status);
}

double pmlpy_recall_ceiling(double epsilon, double share)
{
    return pml_recall_ceiling(epsilon, share);
}

double pmlpy_epsilon_for(double probability, double share)
{
    return pml_epsilon_for(probability, share);
}

/* ---- pack ---- */

int pmlpy_pack_open(pmlpy_pack **pack, const void *bytes, size_t size, const uint8_t *pinned, const char *model)
{
    *pack = malloc(sizeof **pack);
    if (!*pack)
        return PML_ERROR_MEMORY;
    const pml_status status = pml_pack_open_with(&(*pack)->view, bytes, size, pinned, model, pml_platform_kernels());
    if (status != PML_OK) {
        free(*pack);
        *pack = NULL;
    }
    return status;
}

void pmlpy_pack_free(pmlpy_pack *pack)
{
    free(pack);
}

int pmlpy_pack_describe(const pmlpy_pack *pack, uint8_t id[PML_ID_SIZE], uint32_t numbers[PMLPY_PACK_NUMBERS])
{
    pml_pack_info info;
    const pml_status status = pml_pack_describe(&pack->view, &info);
    const uint32_t all[PMLPY_PACK_NUMBERS] = {
        info.features,   info.slots,   (uint32_t)info.slot_kind, info.cells,      info.prototypes,
        info.classes,    info.anchors, info.neighbours,          info.dimensions, info.sketch,
        info.directions, info.labels,  info.modalities};
    memcpy(id, info.id, PML_ID_SIZE);
    memcpy(numbers, all, sizeof all);
    return status;
}

const char *pmlpy_pack_model(const pmlpy_pack *pack)
{
    return pml_pack_model(&pack->view);
}

int pmlpy_pack_modality(const pmlpy_pack *pack, size_t index, const char **name, uint32_t *features)
{
    pml_modality modality = {0};
    const pml_status status = pml_pack_modality(&pack->view, index, &modality);
    *name = modality.name;
    *features = modality.features;
    return status;
}

int pmlpy_release_rows(const pmlpy_pack *pack, const void *release, size_t size, float *rows, size_t capacity)
{
    return pml_release_rows(&pack->view, release, size, rows, capacity);
}

/* ---- budget ---- */

int pmlpy_budget_create(uint8_t budget[PML_BUDGET_SIZE], const uint8_t owner[16], const double caps[6])
{
    const pml_budget_caps allowed = {.epsilon_response = caps[0],
                                     .epsilon_gaussian = caps[1],
                                     .delta = caps[2],
                                     .epsilon_floor = caps[3],
                                     .epsilon_crowd = caps[4],
                                     .delta_crowd = caps[5]};
    return pml_budget_create((pml_budget *)budget, owner, &allowed);
}

int pmlpy_budget_restore(uint8_t budget[PML_BUDGET_SIZE], const uint8_t owner[16], const void *bytes, size_t size)
{
    return pml_budget_restore((pml_budget *)budget, owner, bytes, size);
}

int pmlpy_budget_remaining(const uint8_t budget[PML_BUDGET_SIZE], double left[12])
{
    pml_budget_left all;
    const pml_status status = pml_budget_remaining((const pml_budget *)budget, &all);
    const double numbers[12] = {
        all.epsilon_cap,        all.epsilon_spent, all.mu2_cap,       all.mu2_spent,       all.delta,
        all.floor_cap,          all.floor_spent,   all.crowd_mu2_cap, all.crowd_mu2_spent, all.crowd_delta0_cap,
        all.crowd_delta0_spent, all.crowd_delta};
    memcpy(left, numbers, sizeof numbers);
    return status;
}

/* ---- client ---- */

static pml_crowd policy_of(const double *numbers)
{
    return (pml_crowd){.clients = (uint64_t)numbers[0],
                       .clusters = numbers[1],
                       .copies = (uint32_t)numbers[2],
                       .own = (uint32_t)numbers[3],
                       .relay_clusters = numbers[4],
                       .cover = numbers[5] > 0.0,
                       .delta0 = numbers[6],
                       .mu = numbers[7]};
}

/* When the callback forked, the child's client is forgotten: it must not go on with the parent's noise. */
static int is_done(pmlpy_client *client, int done)
{
    client->caller = NULL;
    return done == PMLPY_DONE && client->core ? 0 : -1;
}

static int stored(void *context, const uint8_t *bytes, size_t size)
{
    pmlpy_client *client = context;
    int done = 0;
    client->caller = &this_thread;
    client->persist(&done, bytes, size);
    return is_done(client, done);
}

static int drawn(void *context, uint8_t *out, size_t size)
{
    pmlpy_client *client = context;
    int done = 0;
    client->caller = &this_thread;
    client->entropy(&done, out, size);
    return is_done(client, done);
}

/* Nobody reads what is freed next, so a compiler may leave a memset out, but no volatile write. */
static void wipe(pmlpy_client *client)
{
    volatile unsigned char *memory = client->memory;
    for (size_t i = 0; i < client->size; i++)
        memory[i] = 0;
}

int pmlpy_client_new(pmlpy_client **client, const pmlpy_pack *pack, int mechanism, double epsilon, double delta,
                     unsigned value_bytes, int substitute, const double *policy, pmlpy_persist_fn persist,
                     pmlpy_entropy_fn entropy)
{
    const pml_crowd crowd = policy ? policy_of(policy) : (pml_crowd){0};
    pml_config config = {.mechanism = (pml_mechanism)mechanism,
                         .epsilon = epsilon,
                         .delta = delta,
                         .value_bytes = value_bytes,
                         .substitute = substitute != 0,
                         .entropy = entropy ? drawn : pml_platform_entropy,
                         .persist = persist ? stored : NULL,
                         .crowd = policy ? &crowd : NULL,
                         .kernels = pml_platform_kernels()};
    const size_t size = pml_client_size(&pack->view, &config);
    *client = calloc(1, sizeof **client + size);
    if (!*client)
        return PML_ERROR_MEMORY;
    **client = (pmlpy_client){.persist = persist, .entropy = entropy, .crowd = crowd, .size = size};
    config.crowd = policy ? &(*client)->crowd : NULL; /* the core looks at it while the client lives */
    config.persist_context = *client;
    config.entropy_context = entropy ? *client : NULL;
    const pml_status status = pml_client_init(&(*client)->core, (*client)->memory, size, &pack->view, &config);
    if (status != PML_OK) {
        free(*client);
        *client = NULL;
    }
    return status;
}

void pmlpy_client_free(pmlpy_client *client)
{
    if (client)
        wipe(client);
    free(client);
}

void pmlpy_client_forget(pmlpy_client *client)
{
    client->core = NULL;
    if (client->caller != &this_thread)
        wipe(client);
}

int pmlpy_client_arm(pmlpy_client *client, uint8_t budget[PML_BUDGET_SIZE])
{
    return pml_client_arm(client->core, (pml_budget *)budget);
}

int pmlpy_client_disarm(pmlpy_client *client, uint8_t budget[PML_BUDGET_SIZE])
{
    return pml_client_disarm(client->core, (pml_budget *)budget);
}

void pmlpy_client_wipe(pmlpy_client *client)
{
    pml_client_wipe(client->core);
}

int pmlpy_client_release(pmlpy_client *client, const float *features, size_t count, int32_t label, uint32_t modality,
                         uint8_t *out, size_t capacity)
{
    const pml_query query = {.features = features, .count = count, .label = label, .modality = modality};
    return pml_client_release(client->core, &query, out, capacity);
}

int pmlpy_client_receipt(const pmlpy_client *client, double receipt[8])
{
    pml_receipt all;
    const pml_status status = pml_client_receipt(client->core, &all);
    const double numbers[8] = {all.epsilon, all.delta, all.sensitivity,   all.sigma,
                               all.mu,      all.keep,  (double)all.bytes, (double)all.messages};
    memcpy(receipt, numbers, sizeof numbers);
    return status;
}

int pmlpy_crowd_arm(pmlpy_client *client, uint8_t budget[PML_BUDGET_SIZE], int bundle)
{
    return pml_crowd_arm(client->core, (pml_budget *)budget, (pml_bundle)bundle);
}

int pmlpy_crowd_begin(pmlpy_client *client, const float *features, size_t count, int32_t label, uint32_t modality,
                      const void *kept, size_t kept_size)
{
    const pml_query query = {.features = features, .count = count, .label = label, .modality = modality};
    const pml_crowd_content content = {features ? &query : NULL, kept, kept_size};
    return pml_crowd_begin(client->core, &content);
}

size_t pmlpy_crowd_left(const pmlpy_client *client)
{
    return pml_crowd_left(client->core);
}

int pmlpy_crowd_next(pmlpy_client *client, uint8_t *out, size_t capacity, unsigned *own)
{
    return pml_crowd_next(client->core, out, capacity, own);
}

/* ---- ranking ---- */

static pml_status rank(void *memory, size_t size, const pml_pack *pack, const pml_query *query,
                       const pml_ranking_config *config, const void *answer, size_t answer_size,
                       pml_answer_summary *summary)
{
    pml_ranking *ranking;
    pml_status status = pml_ranking_begin(&ranking, memory, size, pack, query, config);
    if (status != PML_OK)
        return status;
    status = pml_ranking_feed(ranking, answer, answer_size);
    if (status == PML_OK)
        return pml_ranking_finish(ranking, summary);
    pml_ranking_wipe(ranking);
    return status;
}

static void copy_matches(const pml_match *matches, size_t found, int64_t *out)
{
    for (size_t i = 0; i < found; i++) {
        const pml_match *match = &matches[i];
        const int64_t numbers[6] = {(int64_t)match->item,           match->label,       match->slot, match->score,
                                    (int64_t)match->payload_offset, match->payload_size};
        memcpy(out + 6 * i, numbers, sizeof numbers);
    }
}

int pmlpy_rank(const pmlpy_pack *pack, const float *features, size_t count, int32_t label, uint32_t modality,
               int all_slots, int crowd, const void *answer, size_t size, int64_t *matches, size_t limit,
               uint64_t summary[3])
{
    const pml_query query = {.features = features, .count = count, .label = label, .modality = modality};
    const size_t need = pml_ranking_size(&pack->view);
    pml_match found[PML_MATCHES_MAX];
    pml_answer_summary sums = {0};
    const pml_ranking_config config = {.matches = found,
                                       .capacity = limit,
                                       .scope = all_slots ? PML_ALL_SLOTS : PML_OWN_SLOT,
                                       .crowd = crowd != 0,
                                       .kernels = pml_platform_kernels()};
    if (need == 0)
        return PML_ERROR_SECTION;
    if (limit > PML_MATCHES_MAX)
        return PML_ERROR_ARGUMENT;
    void *memory = calloc(1, need);
    if (!memory)
        return PML_ERROR_MEMORY;
    const pml_status status = rank(memory, need, &pack->view, &query, &config, answer, size, &sums);
    free(memory);
    if (status == PML_OK)
        copy_matches(found, sums.found, matches);
    summary[0] = sums.found;
    summary[1] = sums.carried;
    summary[2] = sums.gallery;
    return status;
}
