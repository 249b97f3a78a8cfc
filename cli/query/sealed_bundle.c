/* SPDX-License-Identifier: Apache-2.0
 * Seals bundles. In: messages, and which are own. Out: bytes of which all but their number is random. */
#include "sealed_bundle.h"

#include <privatemail_platform.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_SIZE = 8 + RELAY_TICKET_SIZE };

/* The epoch, big-endian, and a random ticket. */
static pml_status write_head(struct sealed_bundle *sealed, uint64_t epoch)
{
    for (unsigned i = 0; i < 8; i++)
        sealed->bytes[i] = (uint8_t)(epoch >> (56 - 8 * i));
    if (pml_platform_entropy(NULL, sealed->bytes + 8, RELAY_TICKET_SIZE) != 0)
        return PML_ERROR_ENTROPY;
    for (unsigned i = 0; i < RELAY_TICKET_SIZE; i++)
        snprintf(sealed->ticket + 2 * (size_t)i, 3, "%02x", sealed->bytes[8 + i]);
    return PML_OK;
}

pml_status sealed_bundle_make(struct sealed_bundle *sealed, const struct crowd_bundle *bundle, const pml_seal_key *key,
                              uint64_t epoch, const uint8_t pack_id[PML_ID_SIZE])
{
    *sealed = (struct sealed_bundle){.message = pml_message_size(bundle->length)};
    sealed->bytes = malloc(HEAD_SIZE + bundle->count * sealed->message);
    if (!sealed->bytes)
        return PML_ERROR_MEMORY;
    sealed->size = HEAD_SIZE;
    pml_status status = write_head(sealed, epoch);
    for (size_t i = 0; i < bundle->count && status == PML_OK; i++) {
        pml_opener fake, *opener = &fake; /* made for every message: time does not tell the own ones */
        if (bundle->own[i] != 0) {
            sealed->places[sealed->own] = i;
            opener = &sealed->openers[sealed->own++];
        }
        status = pml_message_seal(pml_crypto_bearssl(), key, epoch, pack_id, bundle->bytes + i * bundle->length,
                                  bundle->length, pml_platform_entropy, NULL, sealed->bytes + sealed->size,
                                  sealed->message, opener);
        sealed->size += sealed->message;
        pml_opener_wipe(&fake);
    }
    return status;
}

void sealed_bundle_close(struct sealed_bundle *sealed)
{
    for (size_t i = 0; i < PML_CROWD_OWN_MAX; i++)
        pml_opener_wipe(&sealed->openers[i]);
    free(sealed->bytes);
    *sealed = (struct sealed_bundle){0};
}
