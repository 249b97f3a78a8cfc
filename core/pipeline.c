/* SPDX-License-Identifier: Apache-2.0
 * The conductor: calls the stages in order and does nothing else. The whole data flow is in this file. */
#include "client.h"
#include "exact.h"
#include "stages.h"

static bool is_gaussian(const pml_client *client)
{
    return client->config.mechanism == PML_GAUSSIAN;
}

/* ---- init: what depends on pack and configuration only ---- */

static int prepare_response(pml_client *client, const struct pack_view *pack)
{
#if PML_WITH_RESPONSE
    client->keep = pml_response_keep(client->config.epsilon, pack->m);
    client->body_size = ((size_t)pack->G * symbol_bits(pack->m) + 7) / 8;
    return PML_OK;
#else
    (void)client, (void)pack;
    return PML_ERROR_MECHANISM;
#endif
}

#if PML_WITH_GAUSSIAN
static int certify(const struct pack_view *pack, int64_t *label_rows, int64_t *centres, int64_t *scratch,
                   pml_certificate *certificate)
{
    uint32_t floor = pml_weights_floor(pack->lambda);
    pml_label_rows(pack, pml_weights_label, label_rows);
    return pml_certificate_of(pack, floor, label_rows, centres, scratch, certificate);
}

int pml_pack_certify(const pml_pack *pack, int64_t *scratch, size_t count, pml_certificate *certificate)
{
    if (!pack || !scratch || !certificate)
        return PML_ERROR_ARGUMENT;
    const struct pack_view *v = pack_view(pack);
    memset(certificate, 0, sizeof *certificate);
    if (!v->section[PML_SECTION_ANCHORS])
        return PML_ERROR_SECTION;
    size_t rows = (size_t)v->G * v->k;
    if (count < rows + 2 * (size_t)v->K)
        return PML_ERROR_MEMORY;
    return certify(v, scratch, NULL, scratch + rows, certificate);
}
#endif

static int prepare_gaussian(pml_client *client, const struct pack_view *pack)
{
#if PML_WITH_GAUSSIAN
    int status = certify(pack, client->label_rows, client->centres, client->scratch, &client->certificate);
    if (status == PML_OK)
        status = pml_pack_calibrate(client->pack, &client->certificate, client->config.epsilon, client->config.delta,
                                    client->config.value_bytes, &client->calibration);
    if (status != PML_OK)
        return status;
    for (size_t i = 0; i < (size_t)pack->G * pack->k; i++)
        client->centres[i] = divide_round(client->centres[i], (int64_t)16384 * client->calibration.grid);
    memset(client->scratch, 0, sizeof *client->scratch * 2 * pack->K); /* zero outside calls, from the first on */
    client->body_size = (size_t)pack->G * pack->k * client->config.value_bytes;
    return PML_OK;
#else
    (void)client, (void)pack;
    return PML_ERROR_MECHANISM;
#endif
}

int pml_pipeline_prepare(pml_client *client)
{
    const struct pack_view *pack = pack_view(client->pack);
    return is_gaussian(client) ? prepare_gaussian(client, pack) : prepare_response(client, pack);
}

/* ---- arm: all randomness, before the query ---- */

static int start_random(pml_client *client)
{
    uint8_t seed[32] = {0}, same = 0;
    size_t got = client->config.entropy(client->config.entropy_context, seed, sizeof seed);
    for (size_t i = 1; i < sizeof seed; i++)
        same |= seed[i] ^ seed[0];
    bool sound = got == sizeof seed && same != 0; /* a stuck source repeats one byte; a good one never does */
    if (sound)
        pml_random_start(&client->random, seed);
    pml_wipe(seed, sizeof seed);
    return sound ? PML_OK : PML_ERROR_ENTROPY;
}

int pml_pipeline_draw(pml_client *client)
{
    const struct pack_view *pack = pack_view(client->pack);
    int status = start_random(client);
    if (status != PML_OK)
        return status;
#if PML_WITH_RESPONSE
    if (!is_gaussian(client))
        client->shift = pml_response_draw(&client->random, client->keep, pack->m, pack->G, client->others);
#endif
#if PML_WITH_GAUSSIAN
    if (is_gaussian(client))
        pml_gaussian_draw(&client->random, client->calibration.shift, client->noise, (size_t)pack->G * pack->k);
#endif
    pml_wipe(&client->random, sizeof client->random);
    return PML_OK;
}

/* ---- load: from features to the place of the query ---- */

/* Quantised row and slot. What is invalid became a public default: the first unit vector, slot 0. Without `substitute`
 * that is an error; with it, nobody can see it: the one test is always true. */
static int read_query(pml_client *client, const float *features, int32_t label, uint32_t *slot, uint64_t *valid)
{
    const struct pack_view *pack = pack_view(client->pack);
    uint64_t known, finite = pml_quantise_row(features, pack->d, client->row);
    *slot = pml_slots_find(pack, label, &known);
    *valid = finite & known;
    if (hide(*valid | mask_nonzero(client->config.substitute)) != 0)
        return PML_OK;
    return finite == 0 ? PML_ERROR_FEATURES : PML_ERROR_LABEL;
}

#if PML_WITH_GAUSSIAN
static void load_gaussian(pml_client *client, const struct pack_view *pack, const struct pml_kernels *kernels)
{
    uint64_t *keys = (uint64_t *)client->scratch;
    uint32_t *indices = (uint32_t *)(void *)(client->scratch + pack->K), *weights = indices + pack->K;
    uint32_t inverse = pml_inverse_norm(client->row, pack->d);
    pml_neighbours_find(pack, kernels, client->row, keys);
    for (size_t j = 0; j < pack->K; j++) {
        indices[j] = neighbour_index(keys[j]);
        weights[j] = pml_weights_of(neighbour_score(keys[j]), inverse, pack->lambda, client->certificate.floor_weight);
    }
    pml_update_row(pack, client->slot, client->label_rows + (size_t)client->slot * pack->k, indices, weights,
                   client->calibration.grid, client->update);
    pml_wipe(client->scratch, sizeof *client->scratch * 2 * pack->K);
}
#endif

int pml_pipeline_load(pml_client *client, const float *features, int32_t label)
{
    const struct pack_view *pack = pack_view(client->pack);
    uint64_t valid;
    int status = read_query(client, features, label, &client->slot, &valid);
    if (status == PML_OK) {
#if PML_WITH_RESPONSE
        if (!is_gaussian(client))
            client->cell =
                pml_prototypes_cell(pack, client->config.kernels, client->row, client->slot, 0, pack->G);
#endif
#if PML_WITH_GAUSSIAN
        if (is_gaussian(client))
            load_gaussian(client, pack, client->config.kernels);
#endif
    }
    pml_wipe(client->row, pack->d);
    return status;
}

/* ---- release: from place and noise to bytes ---- */

void pml_pipeline_emit(const pml_client *client, uint8_t *out)
{
    const struct pack_view *pack = pack_view(client->pack);
    uint8_t *body =
        pml_release_head(out, pack_id(pack), client->config.mechanism, client->calibration.step, client->body_size);
#if PML_WITH_RESPONSE
    if (!is_gaussian(client))
        pml_response_emit(client->others, pack->m, pack->G, client->slot, client->cell, client->shift, body);
#endif
#if PML_WITH_GAUSSIAN
    if (is_gaussian(client))
        pml_gaussian_emit(client->noise, client->centres, client->update, client->slot, pack->G, pack->k,
                          client->calibration.coarsen, client->config.value_bytes, body);
#endif
}

/* ---- answer: from features to what candidates are compared with ---- */

int pml_pipeline_rank(pml_client *client, const float *features, int32_t label)
{
    const struct pack_view *pack = pack_view(client->pack);
    struct ranking *ranking = &client->ranking;
    uint64_t valid;
    int status = read_query(client, features, label, &ranking->slot, &valid);
    if (status == PML_OK)
        status = pml_sketch(client->pack, client->config.kernels, client->row, ranking->sketch);
    if (status == PML_OK) {
        ranking->inverse = pml_inverse_norm(ranking->sketch, pack->L);
        ranking->none = ~valid;
        pml_rank_start(ranking);
    }
    pml_wipe(client->row, pack->d);
    return status;
}

/* ---- wipe ---- */

void pml_pipeline_wipe_noise(pml_client *client)
{
    const struct pack_view *pack = pack_view(client->pack);
    pml_wipe(&client->random, sizeof client->random);
    pml_wipe(&client->shift, sizeof client->shift);
    if (client->others)
        pml_wipe(client->others, sizeof *client->others * pack->G);
    if (client->noise)
        pml_wipe(client->noise, sizeof *client->noise * pack->G * pack->k);
}

void pml_pipeline_wipe_query(pml_client *client)
{
    pml_wipe(&client->slot, sizeof client->slot);
    pml_wipe(&client->cell, sizeof client->cell);
    pml_wipe(client->update, sizeof client->update);
}
