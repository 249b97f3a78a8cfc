/* SPDX-License-Identifier: Apache-2.0
 * Bytes that grow. */
#ifndef PML_BYTES_H
#define PML_BYTES_H

#include "message.h"

#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is empty; pml_bytes_free frees. */
struct pml_bytes {
    uint8_t *bytes;
    size_t size, capacity;
};

/* Both return PML_DONE or PML_NO_MEMORY. Reserving makes room for `more` bytes and leaves the size as it is. */
pml_outcome pml_bytes_reserve(struct pml_bytes *bytes, size_t more);
pml_outcome pml_bytes_append(struct pml_bytes *bytes, const void *more, size_t size);
void pml_bytes_free(struct pml_bytes *bytes);

#endif
