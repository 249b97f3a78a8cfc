// SPDX-License-Identifier: Apache-2.0
// Opens a pack and says what it holds; then that nothing is released without entropy. Fill in the two places that only
// your board knows: where the pack is, and its hardware generator.
#include <privatemail.h>

static const uint8_t pack_bytes[] = {0};  // your pack, for example from `xxd -i collection.pmpk`

// Return 0 only when every byte comes from a hardware generator with health tests. Never use random() or a clock.
static int entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    (void)out;
    (void)size;
    return -1;
}

static uint8_t memory[PML_RESPONSE_MEMORY(64, 10)];
static pml_pack pack;

void setup()
{
    Serial.begin(115200);
    pml_client *client;
    pml_config config = {};
    config.epsilon = 4.0;
    config.entropy = entropy;
    pml_status status = pml_pack_open(&pack, pack_bytes, sizeof pack_bytes, NULL, NULL);
    if (status == PML_OK)
        status = pml_client_init(&client, memory, sizeof memory, &pack, &config);
    Serial.println(pml_status_text(status));
}

void loop()
{
}
