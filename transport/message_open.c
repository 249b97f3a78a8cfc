/* SPDX-License-Identifier: Apache-2.0
 * The gateway's side of requests.
 * In: bytes from anybody, the gateway's private key. Never tells two failures of decryption apart. */
#include "capsule.h"

#include "core/base/base.h"

static bool is(pml_piece piece, const char *text, size_t size)
{
    return piece.size == size && memcmp(piece.bytes, text, size) == 0;
}

/* Decides what the answer has to say; `digits` is NULL for a single request. */
static void judge(const char *digits, pml_opened *opened)
{
    pml_binary_request request;
    if (pml_binary_request_read(opened->plaintext.bytes, opened->plaintext.size, &request) != PML_OK)
        opened->status = 400;
    else if (!is(request.method, "POST", 4) || !is(request.path, CAPSULE_QUERY, sizeof CAPSULE_QUERY - 1))
        opened->status = 404;
    else if (digits && !is(pml_binary_field(request.fields, "epoch"), digits, CAPSULE_EPOCH_DIGITS))
        opened->status = 409;
    else {
        opened->status = 200;
        opened->content = request.content;
    }
}

static pml_status open_request(const pml_crypto *crypto, const pml_private_key *key, const pml_aead *aead,
                               const pml_binding *binding, uint8_t *request, size_t size, pml_opened *opened)
{
    uint8_t info[CAPSULE_INFO_MAX], *enc = request + CAPSULE_HEADER, *data = request + PML_SEAL_HEAD_SIZE;
    const size_t plain = size - PML_OHTTP_REQUEST_SIZE(0);
    pml_hpke hpke;
    if (pml_hpke_receive(&hpke, crypto, aead, key, pml_capsule_info(binding->request, request, info), enc) != 0)
        return PML_ERROR_SEALED;
    int failed = aead->open(hpke.key, hpke.nonce, binding->aad, binding->aad_size, data, plain, data + plain);
    if (failed)
        pml_wipe(data, plain);
    else
        failed = pml_capsule_export(&hpke, crypto, binding->response, enc, &opened->opener);
    pml_wipe(&hpke, sizeof hpke);
    if (failed)
        return PML_ERROR_SEALED;
    opened->plaintext = (pml_piece){data, plain};
    return PML_OK;
}

pml_status pml_message_open(const pml_crypto *crypto, const pml_private_key *key, uint64_t epoch,
                            const uint8_t pack_id[PML_ID_SIZE], uint8_t *message, size_t size, pml_opened *opened)
{
    if (!opened)
        return PML_ERROR_ARGUMENT;
    *opened = (pml_opened){0};
    if (!crypto || !key || !pack_id || !message)
        return PML_ERROR_ARGUMENT;
    const pml_aead *aead = pml_aead_find(crypto, PML_AEAD_CHACHA20_POLY1305);
    uint8_t header[CAPSULE_HEADER];
    pml_capsule_header(header, key->id, PML_AEAD_CHACHA20_POLY1305);
    if (!aead || size < PML_OHTTP_REQUEST_SIZE(0) || memcmp(message, header, sizeof header) != 0)
        return PML_ERROR_SEALED;
    const pml_binding binding = pml_binding_epoch(epoch, pack_id);
    const pml_status status = open_request(crypto, key, aead, &binding, message, size, opened);
    if (status == PML_OK) {
        char digits[CAPSULE_EPOCH_DIGITS];
        pml_epoch_digits(epoch, digits);
        judge(digits, opened);
    }
    return status;
}

pml_status pml_ohttp_request_open(const pml_crypto *crypto, const pml_private_key *key, uint8_t *request, size_t size,
                                  pml_opened *opened)
{
    if (!opened)
        return PML_ERROR_ARGUMENT;
    *opened = (pml_opened){0};
    if (!crypto || !key || !request)
        return PML_ERROR_ARGUMENT;
    if (size < PML_OHTTP_REQUEST_SIZE(0))
        return PML_ERROR_SEALED;
    const unsigned id = (unsigned)request[5] << 8 | request[6];
    const pml_aead *aead = pml_aead_find(crypto, id);
    uint8_t header[CAPSULE_HEADER];
    pml_capsule_header(header, key->id, id);
    if (!aead || memcmp(request, header, sizeof header) != 0)
        return PML_ERROR_KEYS;
    const pml_binding binding = pml_binding_single();
    const pml_status status = open_request(crypto, key, aead, &binding, request, size, opened);
    if (status == PML_OK)
        judge(NULL, opened);
    return status;
}
