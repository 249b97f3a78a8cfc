/* SPDX-License-Identifier: Apache-2.0
 * A firmware that makes one release: pack in flash, client in static memory, no heap. */
#include "board.h"

#include <privatemail.h>

/* The pack's, from `privatemail inspect`. Too small ones: pml_client_init answers PML_ERROR_MEMORY. */
enum { FEATURES = 64, SLOTS = 10, CELLS = 4, MESSAGE_MAX = 32 };

extern const uint8_t pack_in_flash[];
extern const uint32_t pack_in_flash_size;

static const uint8_t owner[16] = "device 0001";

/* Static, so that the linker knows what is needed and refuses a board that has too little. */
static uint8_t memory[PML_MEMORY_SIZE(FEATURES, 0, SLOTS, CELLS, 0, PML_RESPONSE)];
static pml_pack pack;
static pml_budget budget;
static float features[FEATURES];
static uint8_t message[MESSAGE_MAX];

/* A new budget only where none was ever stored: one that is damaged may have been spent. */
static int open_budget(void)
{
    uint8_t stored[PML_BUDGET_SIZE];
    switch (board_restore(stored, sizeof stored)) {
    case BOARD_STORED:
        return pml_budget_restore(&budget, owner, stored, sizeof stored);
    case BOARD_BLANK:
        return pml_budget_create(&budget, owner, 20.0, 0.0, 0.0);
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

static int make_release(size_t *size)
{
    const pml_config config = {.epsilon = 4.0, .entropy = board_entropy, .persist = board_store};
    pml_client *client;
    int status = pml_pack_open(&pack, pack_in_flash, pack_in_flash_size, NULL, NULL); /* a product pins the id */
    if (status == PML_OK)
        status = pml_client_init(&client, memory, sizeof memory, &pack, &config);
    if (status != PML_OK)
        return status;
    status = open_budget();
    if (status == PML_OK)
        status = pml_client_arm(client, &budget); /* pays and draws the noise, before there is private data */
    if (status == PML_OK) {
        read_features();
        status = pml_client_load(client, features, FEATURES, 3);
        wipe_features();
    }
    if (status == PML_OK)
        status = pml_client_release(client, message, sizeof message, size);
    pml_client_wipe(client);
    return status;
}

int main(void)
{
    size_t size;
    int status = make_release(&size);
    if (status == PML_OK)
        board_send(message, size);
    return status;
}
