/* SPDX-License-Identifier: Apache-2.0
 * The client: memory, states, budget. In: the app's calls in any order. Out: what the order allows. All that is done to
 * data is in pipeline.c. */
#include "client.h"
#include "pipeline_crowd.h"
#include "query.h"
#include "stages/stages.h"

/* ---- memory ---- */

_Static_assert(sizeof(pml_client) + 7 <= PML_CLIENT_FIXED, "the fixed part holds the client at any alignment");

static bool is_built(pml_mechanism mechanism)
{
    return (mechanism == PML_RESPONSE && PML_WITH_RESPONSE) || (mechanism == PML_GAUSSIAN && PML_WITH_GAUSSIAN) ||
           (mechanism == PML_CROWD && PML_WITH_CROWD);
}

/* Inside, a client of a crowd has a mechanism of its own; an app asks for response with a crowd. -1: no such client. */
static pml_mechanism mechanism_of(const pml_config *config)
{
    pml_mechanism mechanism = (int)config->mechanism == 0 ? PML_RESPONSE : config->mechanism;
    if (mechanism == PML_CROWD || (config->crowd && mechanism != PML_RESPONSE))
        return (pml_mechanism)-1;
    return config->crowd ? PML_CROWD : mechanism;
}

static bool pack_serves(const pml_pack *pack, pml_mechanism mechanism)
{
    return pack->section[mechanism == PML_GAUSSIAN ? PML_SECTION_ANCHORS : PML_SECTION_PROTOTYPES] != NULL;
}

size_t pml_client_size(const pml_pack *pack, const pml_config *config)
{
    if (!pack || !config || !pack->bytes || !is_built(mechanism_of(config)) || !pack_serves(pack, mechanism_of(config)))
        return 0;
    /* the fixed part has room for alignment, the layout begins behind the client itself */
    return pml_pipeline_lay_out(mechanism_of(config), pack, NULL) - PML_ROUND8(sizeof(pml_client)) + PML_CLIENT_FIXED;
}

/* ---- init ---- */

static pml_status check_config(const pml_pack *pack, const pml_config *config)
{
    bool gaussian = mechanism_of(config) == PML_GAUSSIAN;
    if (!config->entropy || !config->persist || config->value_bytes > (gaussian ? 2u : 0u))
        return PML_ERROR_ARGUMENT;
    if (!is_built(mechanism_of(config)))
        return PML_ERROR_MECHANISM;
    if (!epsilon_in_range(config->epsilon, PML_EPSILON_MAX))
        return PML_ERROR_EPSILON;
    if (gaussian ? !delta_in_range(config->delta) : config->delta != 0.0)
        return PML_ERROR_DELTA;
    return pack_serves(pack, mechanism_of(config)) ? PML_OK : PML_ERROR_SECTION;
}

pml_status pml_client_init(pml_client **out, void *memory, size_t size, const pml_pack *pack, const pml_config *config)
{
    if (!out)
        return PML_ERROR_ARGUMENT;
    *out = NULL;
    if (!memory || !pack || !config || !pack->bytes)
        return PML_ERROR_ARGUMENT;
    pml_status status = check_config(pack, config);
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
    pml_pipeline_lay_out(client->config.mechanism, pack, client);
    status = pml_pipeline_prepare(client);
    if (status != PML_OK) {
        pml_wipe(memory, needed);
        return status;
    }
    *out = client;
    return PML_OK;
}

/* ---- states ---- */

/* Lets the app store `changed`, then makes it the budget. */
static pml_status store(const pml_client *client, const pml_budget *changed, pml_budget *budget)
{
    if (client->config.persist(client->config.persist_context, changed->bytes, PML_BUDGET_SIZE) != 0)
        return PML_ERROR_PERSIST;
    *budget = *changed;
    return PML_OK;
}

struct pml_price pml_client_price(const pml_client *client)
{
    const double epsilon = client->config.epsilon;
#if PML_WITH_CROWD
    if (client->crowd)
        return pml_crowd_price(&client->crowd->policy, epsilon, client->crowd->kind);
#endif
    return pml_budget_price(client->config.mechanism, epsilon, client->calibration.mu);
}

pml_status pml_client_pay(pml_client *client, pml_budget *budget)
{
    pml_budget charged;
    const struct pml_price price = pml_client_price(client);
    pml_status status = pml_budget_charge(budget, &price, &charged);
    if (status != PML_OK)
        return status;
    client->state = CLIENT_BUSY;
    status = pml_pipeline_draw(client);
    pml_wipe_stack();
    if (status == PML_OK)
        status = store(client, &charged, budget);
    if (status != PML_OK) {
        pml_pipeline_wipe_noise(client);
        client->state = CLIENT_IDLE;
        return status;
    }
    memcpy(client->charged, budget->bytes + PML_BUDGET_IDENTITY_AT, sizeof client->charged);
    client->state = CLIENT_ARMED;
    return PML_OK;
}

pml_status pml_client_arm(pml_client *client, pml_budget *budget)
{
    if (!client || !budget)
        return PML_ERROR_ARGUMENT;
    if (client->crowd)
        return PML_ERROR_CROWD;
    return client->state == CLIENT_IDLE ? pml_client_pay(client, budget) : PML_ERROR_STATE;
}

pml_status pml_client_disarm(pml_client *client, pml_budget *budget)
{
    pml_budget refunded;
    if (!client || !budget)
        return PML_ERROR_ARGUMENT;
    if (client->state != CLIENT_ARMED)
        return PML_ERROR_STATE;
    const struct pml_price price = pml_client_price(client);
    pml_status status = pml_budget_refund(budget, &price, &refunded);
    if (status != PML_OK)
        return status;
    if (memcmp(client->charged, budget->bytes + PML_BUDGET_IDENTITY_AT, sizeof client->charged) != 0)
        return PML_ERROR_BUDGET;
    pml_pipeline_wipe_noise(client); /* before the refund is stored: paid and unusable is safe, the reverse is not */
    client->state = CLIENT_BUSY;
    status = store(client, &refunded, budget);
    client->state = CLIENT_IDLE; /* also when storing failed: it may have happened all the same, and once is enough */
    return status;
}

size_t pml_client_release_size(const pml_client *client)
{
    return client ? pml_release_length(client->body_size, client->config.mechanism) : 0;
}

/* All that can be wrong is found before the noise meets the query, so that an error leaves the client armed: nothing was
 * written, and the noise is as good as new (PRIVACY.md, section 6). */
pml_status pml_client_release(pml_client *client, const pml_query *query, uint8_t *out, size_t capacity)
{
    if (out)
        memset(out, 0, capacity);
    if (!client)
        return PML_ERROR_ARGUMENT;
    if (client->crowd)
        return PML_ERROR_CROWD;
    if (client->state != CLIENT_ARMED)
        return PML_ERROR_STATE;
    if (!out)
        return PML_ERROR_ARGUMENT;
    pml_status status = pml_query_check(query, client->pack);
    if (status != PML_OK)
        return status;
    if (capacity < pml_client_release_size(client))
        return PML_ERROR_BUFFER;
    status = pml_pipeline_release(client, query, out);
    if (status == PML_OK) {
        pml_pipeline_wipe_noise(client);
        client->state = CLIENT_IDLE;
    }
    pml_wipe_stack();
    return status;
}

void pml_client_wipe(pml_client *client)
{
    if (!client || client->state == CLIENT_BUSY)
        return;
    pml_pipeline_wipe_noise(client);
    client->state = CLIENT_IDLE;
}

pml_status pml_client_receipt(const pml_client *client, pml_receipt *receipt)
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
    receipt->messages = 1;
#if PML_WITH_CROWD
    if (client->crowd) {
        const pml_crowd *policy = &client->crowd->policy;
        receipt->mechanism = crowd_mechanism(client->pack);
        receipt->delta = policy->delta0;
        receipt->mu = policy->mu;
        receipt->messages = policy->own + (size_t)PML_CROWD_CLUSTERS_CUT * policy->copies;
    }
#endif
    return PML_OK;
}
