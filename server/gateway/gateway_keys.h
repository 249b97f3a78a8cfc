/* SPDX-License-Identifier: Apache-2.0
 * The keys of a gateway, and the file that keeps them (SPEC 10.1, 10.7). */
#ifndef PML_GATEWAY_KEYS_H
#define PML_GATEWAY_KEYS_H

#include "common/bytes.h"

#include <privatemail_transport.h>

#define PML_GATEWAY_KEYS_MAX 8u
#define PML_GATEWAY_DATE_SIZE 21u /* "2026-11-17T08:00:00Z" */

struct pml_gateway_key {
    pml_private_key key;
    char made[PML_GATEWAY_DATE_SIZE]; /* when; only people read it */
};

/* The newest first. Secret: wipe it. A zeroed struct holds none. */
struct pml_gateway_keys {
    struct pml_gateway_key keys[PML_GATEWAY_KEYS_MAX];
    size_t count;
};

void pml_gateway_keys_wipe(struct pml_gateway_keys *keys);

/* Functions with a message return PML_DONE, or another outcome and fill the message. */

/* Reads the file's text. `name` is what messages call it. */
pml_outcome pml_gateway_keys_parse(struct pml_gateway_keys *keys, const char *name, const void *text, size_t size,
                                   struct pml_message *message);

/* Reads a file that its owner alone, or his group, may read. */
pml_outcome pml_gateway_keys_read(struct pml_gateway_keys *keys, const char *path, struct pml_message *message);

/* Puts a new key in front. Its id follows the newest one's, so that the id of a key that was dropped comes again as late
 * as it can. */
pml_outcome pml_gateway_keys_add(struct pml_gateway_keys *keys, struct pml_message *message);

/* Returns PML_ABSENT when there is no key of this id. */
pml_outcome pml_gateway_keys_drop(struct pml_gateway_keys *keys, uint8_t id);

/* Appends the file's text, private keys included: pml_gateway_keys_forget it. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_gateway_keys_print(const struct pml_gateway_keys *keys, struct pml_bytes *text);

/* Wipes and frees such a text. */
void pml_gateway_keys_forget(struct pml_bytes *text);

/* Appends the configuration for clients (application/ohttp-keys), which is public. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_gateway_keys_publish(const struct pml_gateway_keys *keys, struct pml_bytes *configuration);

/* The key of this id, or NULL. */
const pml_private_key *pml_gateway_keys_find(const struct pml_gateway_keys *keys, uint8_t id);

#endif
