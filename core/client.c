/* SPDX-License-Identifier: Apache-2.0
 * The client: memory, states, budget. In: the app's calls in any order. Out: what the order allows. All that is done to
 * data is in pipeline.c. */
#include "client.h"
#include "stages.h"

/* ---- memory ---- */

_Static_assert(sizeof(pml_client) + 7 <= PML_MEMORY_FIXED, "the fixed part holds the client at any alignment");

static bool is_built(int mechanism)
{
    return (mechanism == PML_RESPONSE && PML_WITH_RESPONSE) || (mechanism == PML_GAUSSIAN && PML_WITH_GAUSSIAN);
}

static int mechanism_of(const pml_config *config)
{
    return config->mechanism == 0 ? PML_RESPONSE : config->mechanism;
}

static bool pack_serves(const struct pack_view *pack, int mechanism)
{
    return pack->section[mechanism == PML_GAUSSIAN ? PML_SECTION_ANCHORS : PML_SECTION_PROTOTYPES] != NULL;
}

/* Hands out the memory behind the client, array by array; with `client` NULL it only measures. */
static size_t lay_out(const struct pack_view *pack, int mechanism, pml_client *client)
{
    uint8_t *base = (uint8_t *)client;
    size_t rows = (size_t)pack->G * pack->k;
    size_t at = PML_ROUND8(sizeof(pml_client));
    size_t label_rows = at, centres = at, noise = at, others = at, scratch = at;
    if (mechanism == PML_GAUSSIAN) {
        centres = label_rows + 8 * rows;
        scratch = centres + 8 * rows;
        noise = scratch + 16 * (size_t)pack->K;
        at = noise + PML_ROUND8(4 * rows);
    } else {
        at = others + PML_ROUND8(2 * (size_t)pack->G);
    }
    if (client) {
        bool gaussian = mechanism == PML_GAUSSIAN;
        client->label_rows = gaussian ? (int64_t *)(void *)(base + label_rows) : NULL;
        client->centres = gaussian ? (int64_t *)(void *)(base + centres) : NULL;
        client->scratch = gaussian ? (int64_t *)(void *)(base + scratch) : NULL;
        client->noise = gaussian ? (int32_t *)(void *)(base + noise) : NULL;
        client->others = gaussian ? NULL : (uint16_t *)(void *)(base + others);
        client->row = (int8_t *)(base + at);
    }
    return at + PML_ROUND8(pack->d) - PML_ROUND8(sizeof(pml_client)) + PML_MEMORY_FIXED;
}

size_t pml_client_size(const pml_pack *pack, const pml_config *config)
{
    if (!pack || !config || !pack_view(pack)->bytes || !is_built(mechanism_of(config)) ||
        !pack_serves(pack_view(pack), mechanism_of(config)))
        return 0;
    return lay_out(pack_view(pack), mechanism_of(config), NULL);
}

/* ---- init ---- */

static int check_config(const struct pack_view *pack, const pml_config *config)
{
    bool gaussian = mechanism_of(config) == PML_GAUSSIAN;
    if (!config->entropy || !config->persist || config->value_bytes > (gaussian ? 2u : 0u))
        return PML_ERROR_ARGUMENT;
    if (!is_built(mechanism_of(config)))
        return PML_ERROR_MECHANISM;
    if (!(config->epsilon >= PML_EPSILON_MIN && config->epsilon <= PML_EPSILON_MAX))
        return PML_ERROR_EPSILON;
    if (gaussian ? !(config->delta >= 0x1p-50 && config->delta < 1.0) : config->delta != 0.0)
        return PML_ERROR_DELTA;
    return pack_serves(pack, mechanism_of(config)) ? PML_OK : PML_ERROR_SECTION;
}

int pml_client_init(pml_client **out, void *memory, size_t size, const pml_pack *pack, const pml_config *config)
{
    if (!out)
        return PML_ERROR_ARGUMENT;
    *out = NULL;
    if (!memory || !pack || !config || !pack_view(pack)->bytes)
        return PML_ERROR_ARGUMENT;
    int status = check_config(pack_view(pack), config);
    if (status != PML_OK)
        return status;
    size_t needed = pml_client_size(pack, config);
    if (size < needed)
        return PML_ERROR_MEMORY;
    memset(memory, 0, needed);
    pml_client *client = (pml_client *)(((uintptr_t)memory + 7) & ~(uintptr_t)7);
    client->pack = pack;
    client->config = *config;
    client->config.mechanism = mechanism_of(config);
    if (client->config.mechanism == PML_GAUSSIAN && config->value_bytes == 0)
        client->config.value_bytes = 1;
    if (!config->kernels)
        client->config.kernels = &pml_kernels_portable;
    lay_out(pack_view(pack), client->config.mechanism, client);
    status = pml_pipeline_prepare(client);
    if (status != PML_OK) {
        pml_wipe(memory, needed);
        return status;
    }
    client->price = pml_budget_price(client->config.mechanism, config->epsilon, client->calibration.mu);
    *out = client;
    return PML_OK;
}

/* ---- states ---- */

/* Lets the app store `changed`, then makes it the budget. */
static int store(const pml_client *client, const pml_budget *changed, pml_budget *budget)
{
    if (client->config.persist(client->config.persist_context, changed->bytes, PML_BUDGET_SIZE) != 0)
        return PML_ERROR_PERSIST;
    *budget = *changed;
    return PML_OK;
}

int pml_client_arm(pml_client *client, pml_budget *budget)
{
    pml_budget charged;
    if (!client || !budget)
        return PML_ERROR_ARGUMENT;
    enum client_state before = client->state;
    if (before != CLIENT_IDLE && before != CLIENT_SPENT && before != CLIENT_FAILED)
        return PML_ERROR_STATE;
    int status = pml_budget_charge(budget, client->config.mechanism, client->price, &charged);
    if (status != PML_OK)
        return status;
    client->state = CLIENT_BUSY;
    status = pml_pipeline_draw(client);
    pml_wipe_stack();
    if (status == PML_OK)
        status = store(client, &charged, budget);
    if (status != PML_OK) {
        pml_pipeline_wipe_noise(client);
        client->state = before;
        return status;
    }
    memcpy(client->charged, budget->bytes, sizeof client->charged);
    client->state = CLIENT_ARMED;
    return PML_OK;
}

int pml_client_disarm(pml_client *client, pml_budget *budget)
{
    pml_budget refunded;
    if (!client || !budget)
        return PML_ERROR_ARGUMENT;
    if (client->state != CLIENT_ARMED && client->state != CLIENT_LOADED && client->state != CLIENT_FAILED)
        return PML_ERROR_STATE;
    int status = pml_budget_refund(budget, client->config.mechanism, client->price, &refunded);
    if (status != PML_OK)
        return status;
    if (memcmp(client->charged, budget->bytes, sizeof client->charged) != 0)
        return PML_ERROR_BUDGET;
    pml_pipeline_wipe_noise(client); /* before the refund is stored: paid and unusable is safe, the reverse is not */
    pml_pipeline_wipe_query(client);
    client->state = CLIENT_BUSY;
    status = store(client, &refunded, budget);
    client->state = CLIENT_IDLE; /* also when storing failed: it may have happened all the same, and once is enough */
    return status;
}

int pml_client_load(pml_client *client, const float *features, size_t count, int32_t label)
{
    if (!client)
        return PML_ERROR_ARGUMENT;
    if (client->state != CLIENT_ARMED && client->state != CLIENT_LOADED)
        return PML_ERROR_STATE;
    pml_pipeline_wipe_query(client);
    client->state = CLIENT_ARMED;
    int status = PML_ERROR_ARGUMENT;
    if (features)
        status = count == pack_view(client->pack)->d ? pml_pipeline_load(client, features, label) : PML_ERROR_DIMENSION;
    if (status == PML_OK)
        client->state = CLIENT_LOADED;
    else
        pml_pipeline_wipe_query(client);
    pml_wipe(&label, sizeof label);
    pml_wipe_stack();
    return status;
}

size_t pml_client_release_size(const pml_client *client)
{
    return client ? pml_release_length(client->body_size, client->config.mechanism) : 0;
}

int pml_client_release(pml_client *client, uint8_t *out, size_t capacity, size_t *written)
{
    if (out)
        memset(out, 0, capacity);
    if (written)
        *written = 0;
    if (!client)
        return PML_ERROR_ARGUMENT;
    if (client->state != CLIENT_ARMED && client->state != CLIENT_LOADED)
        return PML_ERROR_STATE;
    size_t size = pml_client_release_size(client);
    int status = PML_OK;
    if (!out || !written)
        status = PML_ERROR_ARGUMENT;
    else if (client->state != CLIENT_LOADED)
        status = PML_ERROR_STATE;
    else if (capacity < size)
        status = PML_ERROR_BUFFER;
    if (status == PML_OK) {
        pml_pipeline_emit(client, out);
        *written = size;
    }
    pml_pipeline_wipe_noise(client);
    pml_pipeline_wipe_query(client);
    pml_wipe_stack();
    client->state = status == PML_OK ? CLIENT_SPENT : CLIENT_FAILED;
    return status;
}

/* Ends an answer: nothing of the query stays. */
static void close_answer(pml_client *client)
{
    pml_wipe(&client->ranking, sizeof client->ranking);
    pml_wipe(&client->answer, sizeof client->answer);
}

void pml_client_wipe(pml_client *client)
{
    if (!client || client->state == CLIENT_BUSY)
        return;
    if (client->answer.open)
        pml_wipe(client->ranking.matches, client->ranking.capacity * sizeof(pml_match));
    pml_pipeline_wipe_noise(client);
    pml_pipeline_wipe_query(client);
    pml_wipe(client->row, pack_view(client->pack)->d);
    close_answer(client);
    client->state = CLIENT_IDLE;
}

int pml_client_receipt(const pml_client *client, pml_receipt *receipt)
{
    if (!receipt)
        return PML_ERROR_ARGUMENT;
    memset(receipt, 0, sizeof *receipt);
    if (!client)
        return PML_ERROR_ARGUMENT;
    receipt->mechanism = client->config.mechanism;
    receipt->epsilon = client->config.epsilon;
    receipt->delta = client->config.delta;
    receipt->sensitivity = client->certificate.sensitivity;
    receipt->sigma = client->calibration.sigma;
    receipt->mu = client->calibration.mu;
    receipt->keep = (double)client->keep * 0x1p-40;
    receipt->bytes = pml_client_release_size(client);
    return PML_OK;
}

/* ---- answer ---- */

int pml_answer_begin(pml_client *client, const float *features, size_t count, int32_t label, int scope,
                     pml_match *matches, size_t capacity)
{
    if (!client || !features || !matches || capacity == 0 || capacity > PML_MATCHES_MAX ||
        (scope != PML_OWN_SLOT && scope != PML_ALL_SLOTS))
        return PML_ERROR_ARGUMENT;
    if (client->answer.open)
        return PML_ERROR_STATE;
    memset(matches, 0, capacity * sizeof *matches);
    if (count != pack_view(client->pack)->d)
        return PML_ERROR_DIMENSION;
    client->ranking.matches = matches;
    client->ranking.capacity = capacity;
    client->ranking.all = scope == PML_ALL_SLOTS ? ~(uint64_t)0 : 0;
    int status = pml_pipeline_rank(client, features, label);
    if (status == PML_OK)
        pml_answer_start(&client->answer);
    else
        close_answer(client);
    pml_wipe(&label, sizeof label);
    pml_wipe_stack();
    return status;
}

int pml_answer_feed(pml_client *client, const void *bytes, size_t size)
{
    if (!client || (!bytes && size > 0))
        return PML_ERROR_ARGUMENT;
    if (!client->answer.open)
        return PML_ERROR_STATE;
    int status = pml_answer_parse(&client->answer, pack_view(client->pack), &client->ranking, bytes, size);
    pml_wipe_stack();
    return status;
}

int pml_answer_finish(pml_client *client, pml_answer_summary *summary)
{
    if (summary)
        memset(summary, 0, sizeof *summary);
    if (!client || !summary)
        return PML_ERROR_ARGUMENT;
    if (!client->answer.open)
        return PML_ERROR_STATE;
    int status = client->answer.status;
    if (status == PML_OK && !pml_answer_complete(&client->answer))
        status = PML_ERROR_ANSWER;
    if (status == PML_OK) {
        summary->found = pml_rank_count(&client->ranking);
        summary->carried = client->answer.carried;
        summary->gallery = client->answer.gallery;
        summary->bytes = client->answer.offset;
    } else {
        pml_wipe(client->ranking.matches, client->ranking.capacity * sizeof(pml_match));
    }
    close_answer(client);
    pml_wipe_stack();
    return status;
}
