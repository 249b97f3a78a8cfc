/* SPDX-License-Identifier: Apache-2.0
 * Who may take part: a file with the SHA-256 digest of one token per line, each good once per epoch. The relay never
 * keeps a token, and remembers the digests used in an epoch only while it is open. */
#ifndef RELAY_TOKENS_H
#define RELAY_TOKENS_H

#include "relay_table.h"

#include <stdbool.h>

struct relay_tokens {
    uint8_t (*digests)[RELAY_KEY_SIZE]; /* sorted; the first half of each digest */
    size_t count;
};

/* Reads the file: 64 hexadecimal digits per line; empty lines and what follows a # are skipped. `tokens` changes only
 * when PML_DONE is returned. */
pml_outcome relay_tokens_read(struct relay_tokens *tokens, const char *path, struct pml_message *message);
void relay_tokens_free(struct relay_tokens *tokens);

/* Whether the token is one of them; its digest. */
bool relay_tokens_admit(const struct relay_tokens *tokens, const char *token, uint8_t digest[RELAY_KEY_SIZE]);

#endif
