/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as the request of an epoch: what is read lies within it and is all of it, and is told back unchanged. */
#include "fuzz_common.h"
#include "server/gateway/gateway_epoch.h"

static uint64_t number_at(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = exact_copy(data, size), head[PML_EPOCH_ANSWERS_HEAD_SIZE];
    struct pml_epoch epoch;
    if (!pml_epoch_read(bytes, size, &epoch)) {
        demand(all_zero(&epoch, sizeof epoch));
        free(bytes);
        return 0;
    }
    demand(size <= PML_EPOCH_SIZE_MAX && epoch.count >= 1 && epoch.count <= PML_EPOCH_MESSAGES_MAX);
    demand(epoch.messages == bytes + PML_EPOCH_HEAD_SIZE);
    demand(PML_EPOCH_HEAD_SIZE + (size_t)epoch.count * epoch.message_size == size);
    for (uint32_t i = 0; i < epoch.count; i++)
        demand(memcmp(epoch.messages + (size_t)i * epoch.message_size + 1, "\0\x20\0\1\0\3", 6) == 0);
    pml_epoch_write_head(&epoch, epoch.number, epoch.message_size, head);
    demand(memcmp(head, bytes, 8 + PML_ID_SIZE) == 0 && number_at(head + 24, 8) == epoch.number);
    demand(memcmp(head + 32, bytes + 24, 8) == 0 && memcmp(data, bytes, size) == 0);
    free(bytes);
    return 0;
}
