/* SPDX-License-Identifier: Apache-2.0
 * In: sealed bytes from anybody. Out: sealed answers, all of one length whatever is inside. Never lets what was inside
 * reach anything but the function that answers it. */
#define _POSIX_C_SOURCE 200809L
#include "gateway.h"

#include "crypto_openssl.h"
#include "gateway_keys.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pml_gateway {
    const char *path;
    pthread_mutex_t lock; /* of the keys */
    struct pml_gateway_keys keys;
};

/* ---- keys ---- */

pml_outcome pml_gateway_open(struct pml_gateway **gateway, const char *path, struct pml_message *message)
{
    struct pml_gateway *made = calloc(1, sizeof *made);
    *gateway = NULL;
    if (!made)
        return pml_say_memory(message);
    made->path = path;
    pthread_mutex_init(&made->lock, NULL);
    pml_outcome outcome = pml_gateway_keys_read(&made->keys, path, message);
    if (outcome == PML_DONE)
        *gateway = made;
    else
        pml_gateway_close(made);
    return outcome;
}

pml_outcome pml_gateway_reload(struct pml_gateway *gateway, struct pml_message *message)
{
    struct pml_gateway_keys keys;
    pml_outcome outcome = pml_gateway_keys_read(&keys, gateway->path, message);
    if (outcome != PML_DONE)
        return outcome;
    pthread_mutex_lock(&gateway->lock);
    gateway->keys = keys;
    pthread_mutex_unlock(&gateway->lock);
    pml_gateway_keys_wipe(&keys);
    return PML_DONE;
}

void pml_gateway_close(struct pml_gateway *gateway)
{
    if (!gateway)
        return;
    pml_gateway_keys_wipe(&gateway->keys);
    pthread_mutex_destroy(&gateway->lock);
    free(gateway);
}

/* A copy, which stays the same while the keys are reloaded. Wipe it. */
static struct pml_gateway_keys keys_of(struct pml_gateway *gateway)
{
    pthread_mutex_lock(&gateway->lock);
    const struct pml_gateway_keys keys = gateway->keys;
    pthread_mutex_unlock(&gateway->lock);
    return keys;
}

pml_outcome pml_gateway_configuration(struct pml_gateway *gateway, struct pml_bytes *configuration)
{
    struct pml_gateway_keys keys = keys_of(gateway);
    pml_outcome outcome = pml_gateway_keys_publish(&keys, configuration);
    pml_gateway_keys_wipe(&keys);
    return outcome;
}

/* ---- lengths ---- */

size_t pml_gateway_message_size(size_t release)
{
    return pml_message_size(release);
}

uint64_t pml_gateway_answer_size(size_t plaintext)
{
    return pml_answer_size(plaintext);
}

size_t pml_gateway_padded(uint64_t content)
{
    const size_t size = content <= PML_SEALED_MOST ? pml_binary_response_size((size_t)content) : 0;
    if (content > PML_SEALED_MOST || size > PML_SEALED_MOST)
        return 0;
    return size > PML_SEALED_LEAST ? size : PML_SEALED_LEAST;
}

/* ---- one request ---- */

static void ask(pml_inner_fn answer, void *context, const pml_opened *opened, struct pml_inner *inner)
{
    answer(context, opened->status == 200 ? 0 : opened->status, opened->content.bytes, opened->content.size, inner);
}

/* Binary HTTP of the inner answer, padded, at the place in the reply where it is sealed. */
static pml_outcome seal_single(const pml_opener *opener, const struct pml_inner *inner, struct pml_bytes *reply)
{
    const pml_crypto *crypto = pml_crypto_openssl();
    const size_t size = pml_ohttp_response_size(crypto, opener, inner->padded);
    const size_t nonce = size - inner->padded - PML_AEAD_TAG_SIZE;
    const pml_binary_response response = {.status = inner->status,
                                          .content = {inner->content.bytes, inner->content.size}};
    if (pml_bytes_reserve(reply, size) != PML_DONE)
        return PML_NO_MEMORY;
    uint8_t *out = reply->bytes + reply->size;
    if (pml_binary_response_write(&response, out + nonce, inner->padded) != PML_OK ||
        pml_ohttp_response_seal(crypto, opener, out + nonce, inner->padded, pml_entropy_openssl, NULL, out, size) !=
            PML_OK)
        return PML_UNAVAILABLE;
    reply->size += size;
    return PML_DONE;
}

pml_outcome pml_gateway_single(struct pml_gateway *gateway, uint8_t *request, size_t size, pml_inner_fn answer,
                               void *context, struct pml_bytes *reply)
{
    struct pml_gateway_keys keys = keys_of(gateway);
    const pml_private_key *key = size > 0 ? pml_gateway_keys_find(&keys, request[0]) : NULL;
    struct pml_inner inner = {0};
    pml_opened opened;
    pml_outcome outcome = key ? PML_DONE : size > 0 ? PML_ABSENT : PML_REFUSED;
    if (key && pml_ohttp_request_open(pml_crypto_openssl(), key, request, size, &opened) != PML_OK)
        outcome = PML_REFUSED;
    pml_gateway_keys_wipe(&keys);
    if (outcome != PML_DONE)
        return outcome;
    ask(answer, context, &opened, &inner);
    outcome = inner.padded > 0 ? seal_single(&opened.opener, &inner, reply) : PML_NO_MEMORY;
    pml_opener_wipe(&opened.opener);
    pml_bytes_free(&inner.content);
    return outcome;
}

/* ---- the messages of an epoch ---- */

struct pml_gateway_batch {
    struct pml_batch_options options;
    struct pml_gateway_keys keys;
    struct pml_inner inner;
    struct pml_bytes sealed; /* what is being read: the head, then one answer after the other */
    size_t offset;           /* bytes of it that were read */
    uint32_t next;           /* message */
    size_t answer_size;
};

pml_outcome pml_gateway_batch_open(struct pml_gateway_batch **batch, struct pml_gateway *gateway,
                                   const struct pml_batch_options *options)
{
    struct pml_gateway_batch *made = calloc(1, sizeof *made);
    *batch = NULL;
    if (!made)
        return PML_NO_MEMORY;
    made->options = *options;
    made->answer_size = (size_t)pml_answer_size(options->padded);
    if (pml_bytes_reserve(&made->sealed, made->answer_size + PML_EPOCH_ANSWERS_HEAD_SIZE) != PML_DONE ||
        pml_bytes_reserve(&made->inner.content, options->padded) != PML_DONE) {
        pml_gateway_batch_close(made);
        return PML_NO_MEMORY;
    }
    made->keys = keys_of(gateway);
    pml_epoch_write_head(&options->epoch, options->gallery, (uint32_t)made->answer_size, made->sealed.bytes);
    made->sealed.size = PML_EPOCH_ANSWERS_HEAD_SIZE;
    *batch = made;
    return PML_DONE;
}

/* What was inside is not left behind in memory that others get. */
void pml_gateway_batch_close(struct pml_gateway_batch *batch)
{
    if (batch->inner.content.bytes)
        OPENSSL_cleanse(batch->inner.content.bytes, batch->inner.content.capacity);
    pml_bytes_free(&batch->inner.content);
    pml_bytes_free(&batch->sealed);
    pml_gateway_keys_wipe(&batch->keys);
    free(batch);
}

uint64_t pml_gateway_batch_size(const struct pml_gateway_batch *batch)
{
    return PML_EPOCH_ANSWERS_HEAD_SIZE + (uint64_t)batch->options.epoch.count * batch->answer_size;
}

/* A message that cannot be opened gets an answer that nobody can open: from outside the two look alike. */
static bool pretend(struct pml_gateway_batch *batch, pml_opened *opened)
{
    *opened = (pml_opened){.status = 400, .opener.aead = PML_AEAD_CHACHA20_POLY1305};
    batch->inner.status = opened->status;
    return pml_entropy_openssl(NULL, opened->opener.secret, sizeof opened->opener.secret) == 0 &&
           pml_entropy_openssl(NULL, opened->opener.enc, sizeof opened->opener.enc) == 0;
}

static bool seal_next(struct pml_gateway_batch *batch)
{
    const struct pml_batch_options *options = &batch->options;
    const struct pml_epoch *epoch = &options->epoch;
    const pml_crypto *crypto = pml_crypto_openssl();
    uint8_t *message = epoch->messages + (size_t)batch->next++ * epoch->message_size;
    const pml_private_key *key = pml_gateway_keys_find(&batch->keys, message[0]);
    struct pml_inner *inner = &batch->inner;
    pml_opened opened;
    bool sealed = true;
    inner->content.size = 0;
    inner->padded = options->padded;
    if (key &&
        pml_message_open(crypto, key, epoch->number, epoch->pack, message, epoch->message_size, &opened) == PML_OK)
        ask(options->answer, options->context, &opened, inner);
    else
        sealed = pretend(batch, &opened);
    sealed = sealed && pml_answer_seal(crypto, &opened.opener, inner->status, inner->content.bytes, inner->content.size,
                                       options->padded, pml_entropy_openssl, NULL, batch->sealed.bytes,
                                       batch->answer_size) == PML_OK;
    pml_opener_wipe(&opened.opener);
    batch->sealed.size = batch->answer_size;
    batch->offset = 0;
    return sealed;
}

ssize_t pml_gateway_batch_read(struct pml_gateway_batch *batch, void *bytes, size_t most)
{
    if (batch->offset == batch->sealed.size) {
        if (batch->next == batch->options.epoch.count)
            return 0;
        if (!seal_next(batch))
            return -1;
    }
    const size_t left = batch->sealed.size - batch->offset, given = left < most ? left : most;
    memcpy(bytes, batch->sealed.bytes + batch->offset, given);
    batch->offset += given;
    return (ssize_t)given;
}
