/* SPDX-License-Identifier: Apache-2.0
 * HPKE (RFC 9180) in base mode with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and any AEAD of the table. One context seals
 * or opens one message and exports secrets, so there are no sequence numbers. All functions return 0, or anything else
 * when a primitive failed; then what they fill is wiped. */
#ifndef PML_HPKE_H
#define PML_HPKE_H

#include "privatemail_transport.h"

#define HPKE_KEM_X25519 0x0020u
#define HPKE_KDF_SHA256 0x0001u

/* Secret: wipe it. */
typedef struct pml_hpke {
    const pml_aead *aead;
    uint8_t key[PML_AEAD_KEY_MAX];
    uint8_t nonce[PML_AEAD_NONCE_SIZE];
    uint8_t exporter[32];
} pml_hpke;

/* `ephemeral` is 32 random bytes, for this message alone. */
int pml_hpke_send(pml_hpke *hpke, const pml_crypto *crypto, const pml_aead *aead,
                  const uint8_t public_key[PML_KEY_SIZE], pml_piece info, const uint8_t ephemeral[PML_KEY_SIZE],
                  uint8_t enc[PML_KEY_SIZE]);

int pml_hpke_receive(pml_hpke *hpke, const pml_crypto *crypto, const pml_aead *aead, const pml_private_key *key,
                     pml_piece info, const uint8_t enc[PML_KEY_SIZE]);

int pml_hpke_export(const pml_hpke *hpke, const pml_crypto *crypto, pml_piece context, uint8_t *out, size_t size);

#endif
