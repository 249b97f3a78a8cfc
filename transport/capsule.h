/* SPDX-License-Identifier: Apache-2.0
 * What requests and responses of both kinds have in common: a single request (RFC 9458) and a message of an epoch
 * (SPEC 10.3) differ only in their labels and in their associated data. */
#ifndef PML_CAPSULE_H
#define PML_CAPSULE_H

#include "hpke.h"

#define CAPSULE_HEADER 7u
#define CAPSULE_TAG PML_AEAD_TAG_SIZE
#define CAPSULE_QUERY "/v1/query"
#define CAPSULE_EPOCH_DIGITS 16u
#define CAPSULE_NONCE_MAX 32u /* of a response */

typedef struct pml_binding {
    pml_piece request, response; /* labels */
    uint8_t aad[8 + PML_ID_SIZE];
    size_t aad_size;
} pml_binding;

pml_binding pml_binding_single(void);
pml_binding pml_binding_epoch(uint64_t epoch, const uint8_t pack_id[PML_ID_SIZE]);

/* The epoch as it stands inside a message. */
void pml_epoch_digits(uint64_t epoch, char digits[CAPSULE_EPOCH_DIGITS]);

/* NULL when the table does not have it. */
const pml_aead *pml_aead_find(const pml_crypto *crypto, unsigned id);

/* id, KEM, KDF, AEAD */
void pml_capsule_header(uint8_t header[CAPSULE_HEADER], uint8_t id, unsigned aead);

#define CAPSULE_INFO_MAX 48u
pml_piece pml_capsule_info(pml_piece label, const uint8_t header[CAPSULE_HEADER], uint8_t info[CAPSULE_INFO_MAX]);

/* Bytes of a response's secret, and of its nonce: those of the AEAD's key or nonce, whichever is longer. */
static inline size_t capsule_nonce_size(const pml_aead *aead)
{
    return aead->key_size > PML_AEAD_NONCE_SIZE ? aead->key_size : PML_AEAD_NONCE_SIZE;
}

/* Fills the opener from the context. Returns 0, or anything else with the opener wiped. */
int pml_capsule_export(const pml_hpke *hpke, const pml_crypto *crypto, pml_piece label, const uint8_t enc[PML_KEY_SIZE],
                       pml_opener *opener);

/* Key and nonce of a response (RFC 9458, section 4.4). Returns 0, or anything else with both wiped. */
int pml_response_keys(const pml_crypto *crypto, const pml_aead *aead, const pml_opener *opener,
                      const uint8_t *response_nonce, uint8_t key[PML_AEAD_KEY_MAX], uint8_t nonce[PML_AEAD_NONCE_SIZE]);

/* ---- chunks of an answer (SPEC 10.4), for both sides ---- */

/* The nonce XOR the chunk's number. */
void pml_chunk_nonce(uint8_t out[PML_AEAD_NONCE_SIZE], const uint8_t nonce[PML_AEAD_NONCE_SIZE], uint32_t chunk);

/* The associated data that only the last chunk has. */
pml_piece pml_chunk_aad(bool last);

#define CHUNK_LENGTH_HIGH 0x50u /* varint of 4096 + 16 */
#define CHUNK_LENGTH_LOW 0x10u
#define CHUNK_STEP (2u + PML_CHUNK_SIZE + CAPSULE_TAG)
#define ANSWER_PLAINTEXT_MAX 0x80000000u

#endif
