/* SPDX-License-Identifier: Apache-2.0
 * The messages of an epoch in one request (SPEC 10.6), as bytes. */
#ifndef PML_GATEWAY_EPOCH_H
#define PML_GATEWAY_EPOCH_H

#include "common/bytes.h"

#include <privatemail.h>

#define PML_EPOCH_HEAD_SIZE 32u
#define PML_EPOCH_MESSAGES_MAX 1024u
#define PML_EPOCH_MESSAGE_MAX 256u /* bytes: no release of a crowd makes a longer one */
#define PML_EPOCH_SIZE_MAX (PML_EPOCH_HEAD_SIZE + PML_EPOCH_MESSAGES_MAX * PML_EPOCH_MESSAGE_MAX)
#define PML_EPOCH_ANSWERS_HEAD_SIZE 40u

struct pml_epoch {
    uint64_t number;
    uint8_t pack[PML_ID_SIZE];
    uint32_t count, message_size;
    uint8_t *messages; /* point into the request */
};

/* Reads a request. Returns false unless it is of this form, every message with a header of the only algorithms. */
bool pml_epoch_read(uint8_t *request, size_t size, struct pml_epoch *epoch);

/* Whether the epoch's number is a time that this clock allows. */
bool pml_epoch_is_current(uint64_t number, uint64_t now);

/* Writes what stands before the answers. */
void pml_epoch_write_head(const struct pml_epoch *epoch, uint64_t gallery, uint32_t answer_size,
                          uint8_t head[PML_EPOCH_ANSWERS_HEAD_SIZE]);

#endif
