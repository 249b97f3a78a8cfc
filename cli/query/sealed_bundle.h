/* SPDX-License-Identifier: Apache-2.0
 * A bundle as the relay gets it (SPEC 11.2): every message sealed, all of them of one length. What opens the answers to the
 * own ones stays here. */
#ifndef CLI_SEALED_BUNDLE_H
#define CLI_SEALED_BUNDLE_H

#include "cli/shared/crowd_bundle.h"
#include "relay_link.h"

#include <privatemail_transport.h>

/* A zeroed struct may be closed. */
struct sealed_bundle {
    uint8_t *bytes;
    size_t size, message; /* bytes of all, and of one message */
    char ticket[2 * RELAY_TICKET_SIZE + 1];
    size_t own; /* how many of the messages are own: their places in the bundle, in its order */
    size_t places[PML_CROWD_OWN_MAX];
    pml_opener openers[PML_CROWD_OWN_MAX];
};

/* Seals a bundle for this key, epoch and pack, under a new ticket. Close it after a failure too. */
pml_status sealed_bundle_make(struct sealed_bundle *sealed, const struct crowd_bundle *bundle, const pml_seal_key *key,
                              uint64_t epoch, const uint8_t pack_id[PML_ID_SIZE]);

/* Wipes and frees. */
void sealed_bundle_close(struct sealed_bundle *sealed);

#endif
