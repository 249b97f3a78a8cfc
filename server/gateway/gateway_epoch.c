/* SPDX-License-Identifier: Apache-2.0
 * In: a request from anybody. Out: where its messages are. Never reads beyond the request, and takes none whose length is
 * not exactly what its numbers say. */
#include "gateway_epoch.h"

#include <string.h>

/* SPEC 10.3: id, then X25519, HKDF-SHA256 and ChaCha20-Poly1305; what follows is the encapsulated key. */
enum { ID_SIZE = 1, HEAD_SIZE = 7, SEAL_SIZE = HEAD_SIZE + 32 + 16 };
static const uint8_t algorithms[HEAD_SIZE - ID_SIZE] = {0x00, 0x20, 0x00, 0x01, 0x00, 0x03};

#define AHEAD 3600u /* seconds that an epoch may be before or behind this clock */
#define BEHIND 90000u

static uint64_t read_number(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

static uint8_t *write_number(uint8_t *at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(number >> 8 * (size - 1 - i));
    return at + size;
}

bool pml_epoch_read(uint8_t *request, size_t size, struct pml_epoch *epoch)
{
    memset(epoch, 0, sizeof *epoch);
    if (size < PML_EPOCH_HEAD_SIZE)
        return false;
    const uint64_t count = read_number(request + 24, 4), message = read_number(request + 28, 4);
    if (count < 1 || count > PML_EPOCH_MESSAGES_MAX || message <= SEAL_SIZE || message > PML_EPOCH_MESSAGE_MAX ||
        size - PML_EPOCH_HEAD_SIZE != count * message)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (memcmp(request + PML_EPOCH_HEAD_SIZE + i * message + ID_SIZE, algorithms, sizeof algorithms) != 0)
            return false;
    }
    epoch->number = read_number(request, 8);
    memcpy(epoch->pack, request + 8, PML_ID_SIZE);
    epoch->count = (uint32_t)count;
    epoch->message_size = (uint32_t)message;
    epoch->messages = request + PML_EPOCH_HEAD_SIZE;
    return true;
}

bool pml_epoch_is_current(uint64_t number, uint64_t now)
{
    return number > now ? number - now <= AHEAD : now - number <= BEHIND;
}

void pml_epoch_write_head(const struct pml_epoch *epoch, uint64_t gallery, uint32_t answer_size,
                          uint8_t head[PML_EPOCH_ANSWERS_HEAD_SIZE])
{
    uint8_t *at = write_number(head, epoch->number, 8);
    memcpy(at, epoch->pack, PML_ID_SIZE);
    at = write_number(at + PML_ID_SIZE, gallery, 8);
    at = write_number(at, epoch->count, 4);
    write_number(at, answer_size, 4);
}
