/* SPDX-License-Identifier: Apache-2.0
 * Responses to single requests (RFC 9458, section 4.4), both sides. */
#include "capsule.h"

#include "core/base/base.h"

size_t pml_ohttp_response_size(const pml_crypto *crypto, const pml_opener *opener, size_t size)
{
    const pml_aead *aead = crypto && opener ? pml_aead_find(crypto, opener->aead) : NULL;
    return aead ? capsule_nonce_size(aead) + size + CAPSULE_TAG : 0;
}

pml_status pml_ohttp_response_seal(const pml_crypto *crypto, const pml_opener *opener, const void *plaintext,
                                   size_t size, pml_entropy_fn entropy, void *entropy_context, uint8_t *out,
                                   size_t capacity)
{
    if (!crypto || !opener || !plaintext || !entropy || !out)
        return PML_ERROR_ARGUMENT;
    const pml_aead *aead = pml_aead_find(crypto, opener->aead);
    const size_t least = pml_ohttp_response_size(crypto, opener, 0);
    pml_status status = PML_ERROR_KEYS;
    if (aead && (capacity < least || size > capacity - least))
        status = PML_ERROR_BUFFER;
    else if (aead) {
        uint8_t key[PML_AEAD_KEY_MAX], nonce[PML_AEAD_NONCE_SIZE], *data = out + capsule_nonce_size(aead);
        memmove(data, plaintext, size);
        if (entropy(entropy_context, out, capsule_nonce_size(aead)) != 0)
            status = PML_ERROR_ENTROPY;
        else if (pml_response_keys(crypto, aead, opener, out, key, nonce) == 0 &&
                 aead->seal(key, nonce, NULL, 0, data, size, data + size) == 0)
            status = PML_OK;
        pml_wipe(key, sizeof key);
        pml_wipe(nonce, sizeof nonce);
    }
    if (status != PML_OK)
        pml_wipe(out, capacity);
    return status;
}

pml_status pml_ohttp_response_open(const pml_crypto *crypto, const pml_opener *opener, uint8_t *response, size_t size,
                                   pml_piece *plaintext)
{
    if (!plaintext)
        return PML_ERROR_ARGUMENT;
    *plaintext = (pml_piece){NULL, 0};
    if (!crypto || !opener || !response)
        return PML_ERROR_ARGUMENT;
    const pml_aead *aead = pml_aead_find(crypto, opener->aead);
    if (!aead)
        return PML_ERROR_KEYS;
    const size_t least = pml_ohttp_response_size(crypto, opener, 0);
    if (size < least)
        return PML_ERROR_SEALED;
    uint8_t key[PML_AEAD_KEY_MAX], nonce[PML_AEAD_NONCE_SIZE], *data = response + capsule_nonce_size(aead);
    const size_t plain = size - least;
    const bool done = pml_response_keys(crypto, aead, opener, response, key, nonce) == 0 &&
                      aead->open(key, nonce, NULL, 0, data, plain, data + plain) == 0;
    pml_wipe(key, sizeof key);
    pml_wipe(nonce, sizeof nonce);
    if (!done) {
        pml_wipe(data, plain);
        return PML_ERROR_SEALED;
    }
    *plaintext = (pml_piece){data, plain};
    return PML_OK;
}
