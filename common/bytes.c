/* SPDX-License-Identifier: Apache-2.0
 * Bytes that grow. */
#include "bytes.h"

#include <stdlib.h>
#include <string.h>

pml_outcome pml_bytes_reserve(struct pml_bytes *bytes, size_t more)
{
    if (more <= bytes->capacity - bytes->size)
        return PML_DONE;
    if (more > SIZE_MAX / 2 - bytes->size)
        return PML_NO_MEMORY;
    size_t capacity = bytes->capacity > 256 ? bytes->capacity : 256;
    while (capacity < bytes->size + more)
        capacity *= 2;
    uint8_t *room = realloc(bytes->bytes, capacity);
    if (!room)
        return PML_NO_MEMORY;
    bytes->bytes = room;
    bytes->capacity = capacity;
    return PML_DONE;
}

pml_outcome pml_bytes_append(struct pml_bytes *bytes, const void *more, size_t size)
{
    if (pml_bytes_reserve(bytes, size) != PML_DONE)
        return PML_NO_MEMORY;
    if (size > 0)
        memcpy(bytes->bytes + bytes->size, more, size);
    bytes->size += size;
    return PML_DONE;
}

void pml_bytes_free(struct pml_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (struct pml_bytes){0};
}
