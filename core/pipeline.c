/* SPDX-License-Identifier: Apache-2.0
 * Conductor: which stage of a client follows which. The work itself is in core/stages. What only one mechanism needs is in
 * pipeline_response.c, pipeline_gaussian.c and pipeline_crowd.c. */
#include "pipeline.h"
#include "query.h"
#include "stages/stages.h"

/* ---- init: what depends on pack and configuration only ---- */

size_t pml_pipeline_lay_out(pml_mechanism mechanism, const pml_pack *pack, pml_client *client)
{
    size_t row = BY_MECHANISM(mechanism, lay_out, pack, client, PML_ROUND8(sizeof *client));
    if (client)
        client->row = (int8_t *)client + row;
    return row + pml_query_memory(pack);
}

pml_status pml_pipeline_prepare(pml_client *client)
{
    return BY_MECHANISM(client->config.mechanism, prepare, client);
}

/* ---- arm: all randomness, before the query ---- */

static pml_status start_random(pml_client *client)
{
    uint8_t seed[32] = {0}, same = 0;
    bool sound = client->config.entropy(client->config.entropy_context, seed, sizeof seed) == 0;
    for (size_t i = 1; i < sizeof seed; i++)
        same |= seed[i] ^ seed[0];
    sound = sound && same != 0; /* a stuck source repeats one byte; a good one never does */
    if (sound)
        pml_random_start(&client->random, seed);
    pml_wipe(seed, sizeof seed);
    return sound ? PML_OK : PML_ERROR_ENTROPY;
}

pml_status pml_pipeline_draw(pml_client *client)
{
    pml_status status = start_random(client);
    if (status != PML_OK)
        return status;
    BY_MECHANISM(client->config.mechanism, draw, client);
    if (client->config.mechanism != PML_CROWD) /* the order of a bundle is drawn as it is written */
        pml_wipe(&client->random, sizeof client->random);
    return PML_OK;
}

/* ---- release: from query and noise to bytes ---- */

pml_status pml_pipeline_release(pml_client *client, const pml_query *query, uint8_t *out)
{
    const pml_pack *pack = client->pack;
    uint32_t slot;
    uint64_t valid;
    pml_status status = pml_query_read(query, pack, client->config.kernels, client->config.substitute, client->row,
                                       &slot, &valid);
    if (status == PML_OK) {
        uint8_t *body = !out ? NULL
                             : pml_release_head(out, pack_id(pack), client->config.mechanism, client->calibration.step,
                                                client->body_size);
        BY_MECHANISM(client->config.mechanism, write, client, slot, body);
    }
    pml_wipe(client->row, pml_query_memory(pack));
    return status;
}

void pml_pipeline_wipe_noise(pml_client *client)
{
    pml_wipe(&client->random, sizeof client->random);
    BY_MECHANISM(client->config.mechanism, wipe, client);
}
