/* SPDX-License-Identifier: Apache-2.0
 * A file without a name: it is gone when the process is, however that ended. */
#ifndef RELAY_SPOOL_H
#define RELAY_SPOOL_H

#include "common/message.h"

#include <stddef.h>
#include <stdint.h>

/* A spool with the descriptor −1 is closed. */
struct relay_spool {
    int file;
    uint64_t reserved; /* bytes that the disk is known to have room for */
};

/* In the folder. Returns PML_DONE, or PML_UNAVAILABLE with a message, which may be NULL. */
pml_outcome relay_spool_open(struct relay_spool *spool, const char *folder, struct pml_message *message);
void relay_spool_close(struct relay_spool *spool);

/* All of them return PML_DONE or PML_UNAVAILABLE: the disk is full or fails. Reserving makes sure that the first `size`
 * bytes can be written later, where the system can do that. */
pml_outcome relay_spool_reserve(struct relay_spool *spool, uint64_t size);
pml_outcome relay_spool_write(const struct relay_spool *spool, const void *bytes, size_t size, uint64_t offset);
pml_outcome relay_spool_read(const struct relay_spool *spool, void *bytes, size_t size, uint64_t offset);

/* Gives the bytes back to the disk, where the system can do that; they read as zeros then. */
void relay_spool_forget(const struct relay_spool *spool, uint64_t offset, uint64_t size);

#endif
