/* SPDX-License-Identifier: Apache-2.0
 * The client's requests: a message of an epoch (SPEC 10.3), and a single request (RFC 9458).
 * In: a release, the gateway's public key, randomness. Out: bytes of a length that depends on the release's length alone.
 * Never leaves the ephemeral key or the context in memory. */
#include "capsule.h"

#include "core/base/base.h"

/* Seals what stands in out after PML_SEAL_HEAD_SIZE bytes, of this size. */
static pml_status seal(const pml_crypto *crypto, const pml_seal_key *key, const pml_binding *binding,
                       const uint8_t ephemeral[PML_KEY_SIZE], uint8_t *out, size_t size, pml_opener *opener)
{
    const pml_aead *aead = pml_aead_find(crypto, key->aead);
    if (!aead)
        return PML_ERROR_KEYS;
    uint8_t info[CAPSULE_INFO_MAX], *enc = out + CAPSULE_HEADER, *data = out + PML_SEAL_HEAD_SIZE;
    pml_capsule_header(out, key->id, key->aead);
    pml_hpke hpke;
    if (pml_hpke_send(&hpke, crypto, aead, key->public_key, pml_capsule_info(binding->request, out, info), ephemeral,
                      enc) != 0)
        return PML_ERROR_KEYS;
    int failed = aead->seal(hpke.key, hpke.nonce, binding->aad, binding->aad_size, data, size, data + size);
    if (!failed && opener)
        failed = pml_capsule_export(&hpke, crypto, binding->response, enc, opener);
    pml_wipe(&hpke, sizeof hpke);
    return failed ? PML_ERROR_KEYS : PML_OK;
}

static pml_status seal_fresh(const pml_crypto *crypto, const pml_seal_key *key, const pml_binding *binding,
                             pml_entropy_fn entropy, void *entropy_context, uint8_t *out, size_t size,
                             pml_opener *opener)
{
    uint8_t ephemeral[PML_KEY_SIZE] = {0}, same = 0;
    pml_status status = PML_ERROR_ENTROPY;
    const bool drawn = entropy(entropy_context, ephemeral, sizeof ephemeral) == 0;
    for (size_t i = 1; i < sizeof ephemeral; i++)
        same |= ephemeral[i] ^ ephemeral[0];
    if (drawn && same != 0) /* a stuck source repeats one byte; a good one never does */
        status = seal(crypto, key, binding, ephemeral, out, size, opener);
    pml_wipe(ephemeral, sizeof ephemeral);
    return status;
}

/* ---- a message of an epoch ---- */

#define EPOCH_FIELD_SIZE (1u + 5u + 1u + CAPSULE_EPOCH_DIGITS)
/* Everything but the release and its length. */
#define REQUEST_SIZE (1u + 5u + 6u + 1u + 10u + 1u + EPOCH_FIELD_SIZE + 1u)

size_t pml_message_size(size_t release_size)
{
    if (release_size == 0 || release_size > PML_SEAL_RELEASE_MAX)
        return 0;
    return PML_OHTTP_REQUEST_SIZE(REQUEST_SIZE + (release_size < 64 ? 1 : 2) + release_size);
}

static pml_status write_request(uint64_t epoch, pml_piece release, uint8_t *out, size_t size)
{
    uint8_t field[EPOCH_FIELD_SIZE] = {5, 'e', 'p', 'o', 'c', 'h', CAPSULE_EPOCH_DIGITS};
    pml_epoch_digits(epoch, (char *)field + 7);
    const pml_binary_request request = {
        .method = {"POST", 4},
        .scheme = {"https", 5},
        .path = {CAPSULE_QUERY, sizeof CAPSULE_QUERY - 1},
        .fields = {field, sizeof field},
        .content = release,
    };
    size_t written;
    return pml_binary_request_write(&request, out, size, &written);
}

pml_status pml_message_seal(const pml_crypto *crypto, const pml_seal_key *key, uint64_t epoch,
                            const uint8_t pack_id[PML_ID_SIZE], const void *release, size_t release_size,
                            pml_entropy_fn entropy, void *entropy_context, uint8_t *out, size_t capacity,
                            pml_opener *opener)
{
    const size_t size = pml_message_size(release_size);
    pml_opener_wipe(opener);
    if (out)
        memset(out, 0, capacity);
    if (!crypto || !key || !pack_id || !release || size == 0 || !entropy || !out)
        return PML_ERROR_ARGUMENT;
    if (capacity < size)
        return PML_ERROR_BUFFER;
    /* All messages of an epoch look alike. */
    if (key->aead != PML_AEAD_CHACHA20_POLY1305)
        return PML_ERROR_KEYS;
    const pml_binding binding = pml_binding_epoch(epoch, pack_id);
    const size_t plain = size - PML_OHTTP_REQUEST_SIZE(0);
    pml_status status = write_request(epoch, (pml_piece){release, release_size}, out + PML_SEAL_HEAD_SIZE, plain);
    if (status == PML_OK)
        status = seal_fresh(crypto, key, &binding, entropy, entropy_context, out, plain, opener);
    if (status != PML_OK)
        pml_wipe(out, capacity);
    return status;
}

/* ---- a single request ---- */

pml_status pml_ohttp_request_seal(const pml_crypto *crypto, const pml_seal_key *key, const void *plaintext, size_t size,
                                  pml_entropy_fn entropy, void *entropy_context, uint8_t *out, size_t capacity,
                                  pml_opener *opener)
{
    pml_opener_wipe(opener);
    if (!crypto || !key || !plaintext || !entropy || !out)
        return PML_ERROR_ARGUMENT;
    pml_status status = PML_ERROR_BUFFER;
    if (capacity >= PML_OHTTP_REQUEST_SIZE(0) && size <= capacity - PML_OHTTP_REQUEST_SIZE(0)) {
        const pml_binding binding = pml_binding_single();
        memmove(out + PML_SEAL_HEAD_SIZE, plaintext, size);
        status = seal_fresh(crypto, key, &binding, entropy, entropy_context, out, size, opener);
    }
    if (status != PML_OK)
        pml_wipe(out, capacity);
    return status;
}
