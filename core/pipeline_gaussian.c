/* SPDX-License-Identifier: Apache-2.0
 * The conductor's part for the Gaussian (SPEC 5.5 to 5.9, 5.12): neighbours ─► weights ─► update ─► gaussian, and once
 * per client label_row ─► certificate ─► calibrate ─► centres on the grid. */
#include "base/exact.h"
#include "pipeline.h"
#include "stages/stages.h"

static size_t coordinates(const pml_pack *pack)
{
    return (size_t)pack->slots * pack->dimensions;
}

size_t pml_lay_out_gaussian(const pml_pack *pack, pml_client *client, size_t at)
{
    const size_t label_rows = at, centres = label_rows + 8 * coordinates(pack);
    const size_t scratch = centres + 8 * coordinates(pack), noise = scratch + 16 * (size_t)pack->neighbours;
    if (client) {
        uint8_t *base = (uint8_t *)client;
        client->label_rows = (int64_t *)(void *)(base + label_rows);
        client->centres = (int64_t *)(void *)(base + centres);
        client->scratch = (int64_t *)(void *)(base + scratch);
        client->noise = (int32_t *)(void *)(base + noise);
    }
    return noise + PML_ROUND8(4 * coordinates(pack));
}

static pml_status certify(const pml_pack *pack, int64_t *label_rows, int64_t *centres, int64_t *scratch,
                          pml_certificate *certificate)
{
    uint32_t floor = pml_weights_floor(pack->lambda);
    pml_label_rows(pack, pml_weights_label, label_rows);
    return pml_certificate_of(pack, floor, label_rows, centres, scratch, certificate);
}

pml_status pml_pack_certify(const pml_pack *pack, int64_t *scratch, size_t count, pml_certificate *certificate)
{
    if (!pack || !scratch || !certificate)
        return PML_ERROR_ARGUMENT;
    memset(certificate, 0, sizeof *certificate);
    if (!pack->section[PML_SECTION_ANCHORS])
        return PML_ERROR_SECTION;
    if (count < coordinates(pack) + 2 * (size_t)pack->neighbours)
        return PML_ERROR_MEMORY;
    return certify(pack, scratch, NULL, scratch + coordinates(pack), certificate);
}

static void wipe_scratch(pml_client *client)
{
    pml_wipe(client->scratch, sizeof *client->scratch * 2 * client->pack->neighbours);
}

pml_status pml_prepare_gaussian(pml_client *client)
{
    const pml_pack *pack = client->pack;
    pml_status status = certify(pack, client->label_rows, client->centres, client->scratch, &client->certificate);
    if (status == PML_OK)
        status = pml_pack_calibrate(pack, &client->certificate, client->config.epsilon, client->config.delta,
                                    client->config.value_bytes, &client->calibration);
    if (status != PML_OK)
        return status;
    for (size_t i = 0; i < coordinates(pack); i++)
        client->centres[i] = divide_round(client->centres[i], (int64_t)16384 * client->calibration.grid);
    wipe_scratch(client); /* zero outside calls, from the first on */
    client->body_size = coordinates(pack) * client->config.value_bytes;
    return PML_OK;
}

void pml_draw_gaussian(pml_client *client)
{
    pml_gaussian_draw(&client->random, client->calibration.shift, client->noise, coordinates(client->pack));
}

void pml_place_gaussian(pml_client *client, uint32_t slot, int32_t *update)
{
    const pml_pack *pack = client->pack;
    uint64_t *keys = (uint64_t *)client->scratch;
    uint32_t *indices = (uint32_t *)(void *)(client->scratch + pack->neighbours), *weights = indices + pack->neighbours;
    uint32_t inverse = pml_inverse_norm(client->row, pack->features);
    pml_neighbours_find(pack, client->config.kernels, client->row, keys);
    for (size_t j = 0; j < pack->neighbours; j++) {
        indices[j] = neighbour_index(keys[j]);
        weights[j] = pml_weights_of(neighbour_score(keys[j]), inverse, pack->lambda, client->certificate.floor_weight);
    }
    pml_update_row(pack, slot, client->label_rows + (size_t)slot * pack->dimensions, indices, weights,
                   client->calibration.grid, update);
    wipe_scratch(client);
}

void pml_write_gaussian(pml_client *client, uint32_t slot, uint8_t *body)
{
    const pml_pack *pack = client->pack;
    int32_t update[PML_DIMENSIONS_MAX];
    pml_place_gaussian(client, slot, update);
    pml_gaussian_emit(client->noise, client->centres, update, slot, pack->slots, pack->dimensions,
                      client->calibration.coarsen, client->config.value_bytes, body);
    pml_wipe(update, sizeof update);
}

void pml_wipe_gaussian(pml_client *client)
{
    pml_wipe(client->noise, sizeof *client->noise * coordinates(client->pack));
}
