/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a key configuration, a message, a request, an answer and Binary HTTP. The first two bytes choose how: with
 * the tags as they are, or with primitives that accept every tag, so that what is behind them is reached too. */
#include "fuzz_common.h"

#include "privatemail_transport.h"

static pml_crypto lenient;

static int accept(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                  size_t size, const uint8_t tag[16])
{
    (void)key, (void)nonce, (void)aad, (void)aad_size, (void)data, (void)size, (void)tag;
    return 0;
}

struct content {
    size_t size;
    bool ended;
};

static pml_status sum_up(void *context, const uint8_t *bytes, size_t size)
{
    struct content *content = context;
    demand(size > 0 && size <= PML_CHUNK_SIZE && !content->ended);
    uint8_t *copy = exact_copy(bytes, size); /* reads every byte */
    free(copy);
    content->size += size;
    return PML_OK;
}

static void try_answer(const pml_crypto *crypto, const uint8_t *bytes, size_t size, size_t piece)
{
    const pml_opener opener = {.aead = PML_AEAD_CHACHA20_POLY1305};
    uint8_t *buffer = malloc(PML_OPEN_BUFFER);
    demand(buffer != NULL);
    memset(buffer, 0, PML_OPEN_BUFFER);
    struct content content = {0};
    unsigned inside = 0;
    pml_open open;
    pml_status status = pml_open_begin(&open, crypto, &opener, buffer, PML_OPEN_BUFFER, size);
    for (size_t at = 0; at < size && status == PML_OK; at += piece)
        status = pml_open_feed(&open, bytes + at, size - at < piece ? size - at : piece, sum_up, &content);
    content.ended = true;
    if (status == PML_OK)
        status = pml_open_end(&open, &inside);
    demand(status == PML_OK ? inside >= 200 && inside <= 599 && content.size < size : status == PML_ERROR_SEALED);
    demand(crypto == &lenient || status != PML_OK);
    demand(all_zero(&open, sizeof open) && all_zero(buffer, PML_OPEN_BUFFER));
    free(buffer);
}

static bool within(pml_piece piece, const uint8_t *bytes, size_t size)
{
    const uint8_t *at = piece.bytes;
    return piece.size == 0 || (at >= bytes && piece.size <= size && at <= bytes + (size - piece.size));
}

static void try_message(const pml_crypto *crypto, const uint8_t *data, size_t size, bool single)
{
    static const uint8_t pack_id[PML_ID_SIZE];
    pml_private_key key = {.id = 1, .secret = {5}};
    pml_opened opened;
    uint8_t *bytes = exact_copy(data, size);
    demand(pml_key_complete(crypto, &key) == PML_OK);
    const pml_status status = single ? pml_ohttp_request_open(crypto, &key, bytes, size, &opened)
                                     : pml_message_open(crypto, &key, 3, pack_id, bytes, size, &opened);
    if (status == PML_OK) {
        demand(crypto == &lenient && within(opened.plaintext, bytes, size) && within(opened.content, bytes, size));
        demand(opened.status == 200 || opened.status == 400 || opened.status == 404 ||
               (opened.status == 409 && !single));
    } else {
        demand(status == PML_ERROR_SEALED || (single && status == PML_ERROR_KEYS));
        demand(all_zero(&opened, sizeof opened));
    }
    free(bytes);
}

static void try_http(const uint8_t *bytes, size_t size)
{
    pml_binary_request request;
    pml_binary_response response;
    if (pml_binary_request_read(bytes, size, &request) == PML_OK) {
        demand(within(request.method, bytes, size) && within(request.scheme, bytes, size));
        demand(within(request.authority, bytes, size) && within(request.path, bytes, size));
        demand(within(request.fields, bytes, size) && within(request.content, bytes, size));
        demand(within(pml_binary_field(request.fields, "epoch"), bytes, size));
    }
    if (pml_binary_response_read(bytes, size, &response) == PML_OK)
        demand(response.status >= 200 && response.status <= 599 && within(response.content, bytes, size));
}

static void try_keys(const uint8_t *bytes, size_t size)
{
    pml_seal_key key;
    const pml_status status = pml_keys_choose(pml_crypto_bearssl(), bytes, size, &key);
    demand(status == PML_OK ? pml_keys_hold(bytes, size, &key) == PML_OK
                            : status == PML_ERROR_KEYS && all_zero(&key, sizeof key));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    lenient = *pml_crypto_bearssl();
    for (size_t i = 0; i < lenient.aeads; i++)
        lenient.aead[i].open = accept;
    const pml_crypto *crypto = data[0] & 1 ? &lenient : pml_crypto_bearssl();
    const unsigned what = data[0] >> 1 & 3;
    const size_t piece = data[1] == 0 ? size : data[1];
    uint8_t *bytes = exact_copy(data + 2, size - 2);
    if (what == 0)
        try_answer(crypto, bytes, size - 2, piece);
    else if (what == 1)
        try_message(crypto, bytes, size - 2, data[1] & 1);
    else if (what == 2)
        try_http(bytes, size - 2);
    else
        try_keys(bytes, size - 2);
    free(bytes);
    return 0;
}
