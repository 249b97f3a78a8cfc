/* SPDX-License-Identifier: Apache-2.0
 * The beginning of a blob. In: what anybody may have written. Never takes a later version for one that is known. */
#include "blob_kind.h"
#include "little_endian.h"

#include <string.h>

enum { VERSION_AT = 4, SIZE = 8 };

void pml_blob_begin(const struct pml_blob_kind *kind, uint8_t *bytes)
{
    memcpy(bytes, kind->letters, sizeof kind->letters);
    pml_put32(bytes + VERSION_AT, kind->version);
}

pml_outcome pml_blob_begins(const struct pml_blob_kind *kind, const uint8_t *bytes, size_t size,
                            struct pml_message *message)
{
    if (size < SIZE || memcmp(bytes, kind->letters, sizeof kind->letters) != 0)
        return PML_DAMAGED;
    const uint32_t found = pml_get32(bytes + VERSION_AT);
    return found == kind->version ? PML_DONE : pml_say_version(message, kind->what, found, kind->version);
}
