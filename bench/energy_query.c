/* SPDX-License-Identifier: Apache-2.0 */
#include "energy_query.h"

/* As a radio or a socket hands an answer over. */
enum { PIECE = 1024, DIRECTIONS_MAX = 1024 };

static int fixed_entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(37 * i + 11);
    return 0;
}

static int no_storage(void *context, const uint8_t *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return 0;
}

static pml_status rank(const struct energy_material *material, const pml_pack *pack, const pml_query *query,
                       const struct pml_kernels *kernels, void (*done)(enum energy_stage stage),
                       struct energy_result *result)
{
    static uint8_t memory[PML_RANKING_MEMORY(ENERGY_FEATURES, 256, DIRECTIONS_MAX)];
    const pml_ranking_config config = {.matches = result->matches, .capacity = ENERGY_MATCHES, .kernels = kernels};
    pml_ranking *ranking;
    pml_status status = pml_ranking_begin(&ranking, memory, sizeof memory, pack, query, &config);
    done(ENERGY_BEGIN);
    for (size_t at = 0; at < material->answer_size && status == PML_OK; at += PIECE) {
        const size_t left = material->answer_size - at;
        status = pml_ranking_feed(ranking, material->answer + at, left < PIECE ? left : PIECE);
    }
    done(ENERGY_FEED);
    if (status == PML_OK)
        status = pml_ranking_finish(ranking, &result->summary);
    done(ENERGY_FINISH);
    return status;
}

pml_status energy_query(const struct energy_material *material, const struct pml_kernels *kernels,
                        void (*done)(enum energy_stage stage), struct energy_result *result)
{
    static const uint8_t owner[16] = "energy";
    static const pml_budget_caps caps = {.epsilon_response = 1000.0};
    static uint8_t memory[PML_RESPONSE_MEMORY(ENERGY_FEATURES, 1)];
    static pml_pack pack;
    static pml_budget budget;
    const pml_query query = {.features = material->features, .count = ENERGY_FEATURES};
    const pml_config config = {.epsilon = 4.0, .entropy = fixed_entropy, .persist = no_storage, .kernels = kernels};
    pml_client *client;
    pml_status status = pml_budget_create(&budget, owner, &caps);
    if (status != PML_OK)
        return status;
    done(ENERGY_STAGES); /* starts the clock of the first stage */
    status = pml_pack_open_with(&pack, material->pack, material->pack_size, NULL, NULL, kernels);
    done(ENERGY_OPEN);
    if (status != PML_OK)
        return status;
    status = pml_client_init(&client, memory, sizeof memory, &pack, &config);
    done(ENERGY_INIT);
    if (status != PML_OK)
        return status;
    status = pml_client_arm(client, &budget);
    done(ENERGY_ARM);
    if (status == PML_OK)
        status = pml_client_release(client, &query, result->message, sizeof result->message);
    done(ENERGY_RELEASE);
    result->message_size = pml_client_release_size(client);
    if (status != PML_OK || material->answer_size == 0)
        return status;
    return rank(material, &pack, &query, kernels, done, result);
}
