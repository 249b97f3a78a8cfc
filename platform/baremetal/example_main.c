/* SPDX-License-Identifier: Apache-2.0
 * A firmware that makes one release: pack in flash, client in static memory, no heap. */
#include "board.h"

#include <privatemail.h>

/* The pack's, from `privatemail inspect`. If they are too small, pml_client_init returns PML_ERROR_MEMORY. */
enum { FEATURES = 64, SLOTS = 10, MESSAGE_MAX = 32 };

extern const uint8_t pack_in_flash[];
extern const uint32_t pack_in_flash_size;

static const uint8_t owner[16] = "device 0001";

/* Static, so that the linker knows what is needed and refuses a board that has too little. */
static uint8_t memory[PML_RESPONSE_MEMORY(FEATURES, SLOTS)];
static pml_pack pack;
static pml_budget budget;
static float features[FEATURES];
static uint8_t message[MESSAGE_MAX];

/* A new budget only where none was ever stored: one that is damaged may have been spent. */
static pml_status open_budget(void)
{
    static const pml_budget_caps caps = {.epsilon_response = 20.0};
    uint8_t stored[PML_BUDGET_SIZE];
    size_t size = sizeof stored;
    switch (board_restore(stored, &size)) {
    case BOARD_STORED:
        return pml_budget_restore(&budget, owner, stored, size);
    case BOARD_BLANK:
        return pml_budget_create(&budget, owner, &caps);
    default:
        return PML_ERROR_BUDGET;
    }
}

/* Stands for the model and its sensor. */
static void read_features(void)
{
    for (int i = 0; i < FEATURES; i++)
        features[i] = (float)((i * 37 + 11) % 64 - 32);
}

static void wipe_features(void)
{
    for (volatile float *feature = features; feature < features + FEATURES; feature++)
        *feature = 0.0f;
}

static pml_status make_release(size_t *size)
{
    const pml_query query = {.features = features, .count = FEATURES, .label = 3};
    const pml_config config = {.epsilon = 4.0, .entropy = board_entropy, .persist = board_store};
    pml_client *client;
    pml_status status = pml_pack_open(&pack, pack_in_flash, pack_in_flash_size, NULL, NULL); /* a product pins the id */
    if (status == PML_OK)
        status = pml_client_init(&client, memory, sizeof memory, &pack, &config);
    if (status != PML_OK)
        return status;
    status = open_budget();
    if (status == PML_OK)
        status = pml_client_arm(client, &budget); /* pays and draws the noise, before there is private data */
    if (status == PML_OK) {
        read_features();
        status = pml_client_release(client, &query, message, sizeof message);
        wipe_features();
    }
    *size = pml_client_release_size(client);
    pml_client_wipe(client);
    return status;
}

int main(void)
{
    size_t size;
    pml_status status = make_release(&size);
    if (status == PML_OK)
        board_send(message, size);
    return status;
}
