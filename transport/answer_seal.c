/* SPDX-License-Identifier: Apache-2.0
 * The gateway's side of answers to messages of an epoch (SPEC 10.4). */
#include "binary_http.h"
#include "capsule.h"

#include "core/base/base.h"

uint64_t pml_answer_size(size_t size)
{
    if (size == 0 || size > ANSWER_PLAINTEXT_MAX)
        return 0;
    const uint64_t whole = (size - 1) / PML_CHUNK_SIZE; /* chunks in front of the last */
    return CAPSULE_NONCE_MAX + whole * CHUNK_STEP + 1 + (size - whole * PML_CHUNK_SIZE) + CAPSULE_TAG;
}

/* Copies what the piece, which begins at `start` of the plaintext, has within [from, from + size). */
static void overlay(uint8_t *out, size_t from, size_t size, size_t start, pml_piece piece)
{
    const size_t begin = from > start ? from : start;
    const size_t end = from + size < start + piece.size ? from + size : start + piece.size;
    if (begin < end)
        memcpy(out + (begin - from), (const uint8_t *)piece.bytes + (begin - start), end - begin);
}

static int seal_chunks(const pml_aead *aead, const uint8_t *key, const uint8_t *nonce, pml_piece head,
                       pml_piece content, size_t size, uint8_t *out)
{
    int failed = 0;
    for (size_t from = 0; from < size && !failed; from += PML_CHUNK_SIZE) {
        const bool last = size - from <= PML_CHUNK_SIZE;
        const size_t plain = last ? size - from : PML_CHUNK_SIZE;
        if (!last)
            *out++ = CHUNK_LENGTH_HIGH;
        *out++ = last ? 0 : CHUNK_LENGTH_LOW;
        memset(out, 0, plain);
        overlay(out, from, plain, 0, head);
        overlay(out, from, plain, head.size, content);
        uint8_t chunk_nonce[PML_AEAD_NONCE_SIZE];
        pml_chunk_nonce(chunk_nonce, nonce, (uint32_t)(from / PML_CHUNK_SIZE));
        const pml_piece aad = pml_chunk_aad(last);
        failed = aead->seal(key, chunk_nonce, aad.bytes, aad.size, out, plain, out + plain);
        pml_wipe(chunk_nonce, sizeof chunk_nonce);
        out += plain + CAPSULE_TAG;
    }
    return failed;
}

pml_status pml_answer_seal(const pml_crypto *crypto, const pml_opener *opener, unsigned status, const void *content,
                           size_t content_size, size_t size, pml_entropy_fn entropy, void *entropy_context,
                           uint8_t *out, size_t capacity)
{
    const uint64_t sealed = pml_answer_size(size);
    if (out)
        memset(out, 0, capacity);
    if (!crypto || !opener || !pml_binary_is_final(status) || (!content && content_size > 0) || sealed == 0 ||
        !entropy || !out)
        return PML_ERROR_ARGUMENT;
    const pml_aead *aead = pml_aead_find(crypto, PML_AEAD_CHACHA20_POLY1305);
    if (!aead || opener->aead != PML_AEAD_CHACHA20_POLY1305)
        return PML_ERROR_KEYS;
    uint8_t bytes[HTTP_RESPONSE_HEAD_MAX], key[PML_AEAD_KEY_MAX], nonce[PML_AEAD_NONCE_SIZE];
    const pml_piece head = {bytes, pml_binary_response_head(bytes, status, content_size)};
    if (capacity < sealed || size <= head.size || content_size > size - head.size - 1)
        return PML_ERROR_BUFFER;
    if (entropy(entropy_context, out, CAPSULE_NONCE_MAX) != 0) {
        pml_wipe(out, CAPSULE_NONCE_MAX);
        return PML_ERROR_ENTROPY;
    }
    const bool done =
        pml_response_keys(crypto, aead, opener, out, key, nonce) == 0 &&
        seal_chunks(aead, key, nonce, head, (pml_piece){content, content_size}, size, out + CAPSULE_NONCE_MAX) == 0;
    pml_wipe(key, sizeof key);
    pml_wipe(nonce, sizeof nonce);
    if (!done)
        pml_wipe(out, capacity);
    return done ? PML_OK : PML_ERROR_KEYS;
}
