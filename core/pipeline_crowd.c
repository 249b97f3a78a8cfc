/* SPDX-License-Identifier: Apache-2.0
 * The conductor's part for a crowd (SPEC 5.14 to 5.17): prototypes ─► response ─► public_list ─► bundle. */
#include "pipeline_crowd.h"
#include "stages/stages.h"

_Static_assert(sizeof(struct crowd) <= PML_CROWD_FIXED, "the fixed part holds what a crowd adds to a client");

_Static_assert(offsetof(pml_crowd, cover) == 32 && sizeof(pml_crowd) - offsetof(pml_crowd, delta0) == 16,
               "a policy has no padding but behind `cover`");

static uint32_t symbols_of(const pml_pack *pack)
{
    return pack->slots * pack->cells;
}

size_t pml_lay_out_crowd(const pml_pack *pack, pml_client *client, size_t at)
{
    (void)pack;
    if (client)
        client->crowd = (struct crowd *)(void *)((uint8_t *)client + at);
    return at + PML_CROWD_FIXED;
}

static bool in_range(double v, double low, double high)
{
    return v >= low && v <= high; /* false for NaN */
}

static bool policy_sound(const pml_crowd *policy, const pml_pack *pack)
{
    bool promised = in_range(policy->mu, 0x1p-20, 16.0) && in_range(policy->delta0, PML_CROWD_DELTA_MIN, 0x1p-10);
    return crowd_in_range(policy) && policy->own <= pack->cells &&
           (promised || (policy->mu == 0.0 && policy->delta0 == 0.0));
}

/* Byte by byte, but for the padding behind `cover`. */
bool pml_crowd_unchanged(const pml_client *client)
{
    const pml_crowd *now = client->config.crowd, *then = &client->crowd->policy;
    return memcmp(now, then, offsetof(pml_crowd, cover)) == 0 && now->cover == then->cover &&
           memcmp(&now->delta0, &then->delta0, sizeof *now - offsetof(pml_crowd, delta0)) == 0;
}

pml_status pml_prepare_crowd(pml_client *client)
{
    const pml_pack *pack = client->pack;
    client->crowd->policy = *client->config.crowd;
    if (!policy_sound(&client->crowd->policy, pack))
        return PML_ERROR_CROWD;
    if (client->config.epsilon < PML_CROWD_FLOOR_MIN)
        return PML_ERROR_EPSILON;
    client->keep = pml_response_keep(client->config.epsilon, symbols_of(pack));
    client->body_size = symbols_size(1, symbol_bits(symbols_of(pack)));
    return PML_OK;
}

void pml_draw_crowd(pml_client *client)
{
    const pml_crowd *policy = &client->crowd->policy;
    const uint32_t symbols = symbols_of(client->pack);
    client->shift = pml_response_draw(&client->random, client->keep, symbols, 0, NULL);
    pml_bundle_draw(&client->random, poisson_rate(policy->clusters), symbols, policy->copies, &client->crowd->bundle);
}

void pml_crowd_own(pml_client *client, uint32_t symbol)
{
    struct bundle *bundle = &client->crowd->bundle;
    const uint32_t own = client->crowd->policy.own;
    pml_public_list(client->pack, client->config.kernels, symbol, client->row, bundle->symbol, own);
    pml_bundle_own(bundle, own);
    pml_wipe(client->row, client->pack->features);
    pml_wipe(&client->shift, sizeof client->shift);
}

/* The body is not written now: the bundle has many, in its own order. */
void pml_write_crowd(pml_client *client, uint32_t slot, uint8_t *body)
{
    const pml_pack *pack = client->pack;
    const uint32_t symbols = symbols_of(pack);
    const uint32_t symbol = slot * pack->cells + pml_prototypes_cell(pack, client->config.kernels, client->row, slot);
    (void)body;
    pml_crowd_own(client, moved_by(symbol, client->shift, symbols));
}

void pml_crowd_write(pml_client *client, uint8_t *out, unsigned *own)
{
    const pml_pack *pack = client->pack;
    uint32_t symbol = pml_bundle_pick(&client->random, &client->crowd->bundle, own);
    uint8_t *body = pml_release_head(out, pack_id(pack), crowd_mechanism(pack), 0, client->body_size);
    for (size_t i = 0; i < client->body_size; i++)
        body[i] = (uint8_t)(symbol >> 8 * i);
}

void pml_wipe_crowd(pml_client *client)
{
    pml_wipe(&client->shift, sizeof client->shift);
    pml_wipe(&client->crowd->bundle, sizeof client->crowd->bundle);
}
