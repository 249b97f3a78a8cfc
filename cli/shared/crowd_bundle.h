/* SPDX-License-Identifier: Apache-2.0
 * The bundle that a client hands over in one epoch: its messages, and which of them are own. The second never leaves the
 * device. */
#ifndef CLI_CROWD_BUNDLE_H
#define CLI_CROWD_BUNDLE_H

#include <privatemail.h>

/* A zeroed struct may be closed. */
struct crowd_bundle {
    uint8_t *bytes; /* `count` messages of `length` bytes */
    uint8_t *own;   /* of each message: 0 for a fake, else 1 to w */
    size_t count, length, room;
};

/* Makes room for the largest bundle of this client. Returns PML_OK or PML_ERROR_MEMORY; close it after a failure too. */
pml_status crowd_bundle_open(struct crowd_bundle *bundle, const pml_client *client);
void crowd_bundle_close(struct crowd_bundle *bundle);

/* Pays for the bundle and draws what does not depend on the query: pml_crowd_arm. */
pml_status crowd_bundle_arm(pml_client *client, pml_budget *budget, pml_bundle kind);

/* Makes the bundle of an armed client, about what the client was armed for: pml_crowd_begin. */
pml_status crowd_bundle_make(struct crowd_bundle *bundle, pml_client *client, const pml_crowd_content *content);

#endif
