/* SPDX-License-Identifier: Apache-2.0
 * The conductor's part for response (SPEC 5.11): prototypes ─► response. */
#include "pipeline.h"
#include "stages/stages.h"

size_t pml_lay_out_response(const pml_pack *pack, pml_client *client, size_t at)
{
    if (client)
        client->others = (uint16_t *)(void *)((uint8_t *)client + at);
    return at + PML_ROUND8(2 * (size_t)pack->slots);
}

pml_status pml_prepare_response(pml_client *client)
{
    const pml_pack *pack = client->pack;
    client->keep = pml_response_keep(client->config.epsilon, pack->cells);
    client->body_size = symbols_size(pack->slots, symbol_bits(pack->cells));
    return PML_OK;
}

void pml_draw_response(pml_client *client)
{
    const pml_pack *pack = client->pack;
    client->shift = pml_response_draw(&client->random, client->keep, pack->cells, pack->slots, client->others);
}

void pml_write_response(pml_client *client, uint32_t slot, uint8_t *body)
{
    const pml_pack *pack = client->pack;
    uint32_t cell = pml_prototypes_cell(pack, client->config.kernels, client->row, slot);
    pml_response_emit(client->others, pack->cells, pack->slots, slot, cell, client->shift, body);
}

void pml_wipe_response(pml_client *client)
{
    pml_wipe(&client->shift, sizeof client->shift);
    pml_wipe(client->others, sizeof *client->others * client->pack->slots);
}
