/* SPDX-License-Identifier: Apache-2.0 */
#include "capsule.h"

#include "core/base/base.h"

#define LABEL(text)                                                                                                    \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }

pml_binding pml_binding_single(void)
{
    return (pml_binding){.request = LABEL("message/bhttp request"), .response = LABEL("message/bhttp response")};
}

pml_binding pml_binding_epoch(uint64_t epoch, const uint8_t pack_id[PML_ID_SIZE])
{
    pml_binding binding = {
        .request = LABEL("message/bhttp epoch request"),
        .response = LABEL("message/bhttp epoch response"),
        .aad_size = sizeof binding.aad,
    };
    for (unsigned i = 0; i < 8; i++)
        binding.aad[i] = (uint8_t)(epoch >> (56 - 8 * i));
    memcpy(binding.aad + 8, pack_id, PML_ID_SIZE);
    return binding;
}

void pml_epoch_digits(uint64_t epoch, char digits[CAPSULE_EPOCH_DIGITS])
{
    for (unsigned i = 0; i < CAPSULE_EPOCH_DIGITS; i++)
        digits[i] = "0123456789abcdef"[epoch >> (60 - 4 * i) & 15];
}

const pml_aead *pml_aead_find(const pml_crypto *crypto, unsigned id)
{
    for (size_t i = 0; i < crypto->aeads; i++) {
        if (crypto->aead[i].id == id)
            return &crypto->aead[i];
    }
    return NULL;
}

void pml_capsule_header(uint8_t header[CAPSULE_HEADER], uint8_t id, unsigned aead)
{
    const uint8_t bytes[CAPSULE_HEADER] = {
        id, 0x00, HPKE_KEM_X25519, 0x00, HPKE_KDF_SHA256, (uint8_t)(aead >> 8), (uint8_t)aead,
    };
    memcpy(header, bytes, CAPSULE_HEADER);
}

pml_piece pml_capsule_info(pml_piece label, const uint8_t header[CAPSULE_HEADER], uint8_t info[CAPSULE_INFO_MAX])
{
    memcpy(info, label.bytes, label.size);
    info[label.size] = 0;
    memcpy(info + label.size + 1, header, CAPSULE_HEADER);
    return (pml_piece){info, label.size + 1 + CAPSULE_HEADER};
}

int pml_capsule_export(const pml_hpke *hpke, const pml_crypto *crypto, pml_piece label, const uint8_t enc[PML_KEY_SIZE],
                       pml_opener *opener)
{
    *opener = (pml_opener){.aead = hpke->aead->id};
    memcpy(opener->enc, enc, PML_KEY_SIZE);
    const int failed = pml_hpke_export(hpke, crypto, label, opener->secret, capsule_nonce_size(hpke->aead));
    if (failed)
        pml_opener_wipe(opener);
    return failed;
}

int pml_response_keys(const pml_crypto *crypto, const pml_aead *aead, const pml_opener *opener,
                      const uint8_t *response_nonce, uint8_t key[PML_AEAD_KEY_MAX], uint8_t nonce[PML_AEAD_NONCE_SIZE])
{
    const size_t size = capsule_nonce_size(aead);
    const pml_piece secret = {opener->secret, size}, key_label = {"key", 3}, nonce_label = {"nonce", 5};
    uint8_t salt[PML_KEY_SIZE + CAPSULE_NONCE_MAX], prk[32];
    memcpy(salt, opener->enc, PML_KEY_SIZE);
    memcpy(salt + PML_KEY_SIZE, response_nonce, size);
    const bool done = crypto->hkdf_extract(prk, salt, PML_KEY_SIZE + size, &secret, 1) == 0 &&
                      crypto->hkdf_expand(key, aead->key_size, prk, &key_label, 1) == 0 &&
                      crypto->hkdf_expand(nonce, PML_AEAD_NONCE_SIZE, prk, &nonce_label, 1) == 0;
    pml_wipe(prk, sizeof prk);
    if (done)
        return 0;
    pml_wipe(key, PML_AEAD_KEY_MAX);
    pml_wipe(nonce, PML_AEAD_NONCE_SIZE);
    return -1;
}

void pml_opener_wipe(pml_opener *opener)
{
    if (opener)
        pml_wipe(opener, sizeof *opener);
}

/* ---- chunks ---- */

void pml_chunk_nonce(uint8_t out[PML_AEAD_NONCE_SIZE], const uint8_t nonce[PML_AEAD_NONCE_SIZE], uint32_t chunk)
{
    memcpy(out, nonce, PML_AEAD_NONCE_SIZE);
    for (unsigned i = 0; i < 4; i++)
        out[PML_AEAD_NONCE_SIZE - 1 - i] ^= (uint8_t)(chunk >> (8 * i));
}

pml_piece pml_chunk_aad(bool last)
{
    return last ? (pml_piece){"final", 5} : (pml_piece){NULL, 0};
}
