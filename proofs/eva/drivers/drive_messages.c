/* SPDX-License-Identifier: Apache-2.0
 * Messages, requests and responses: sealed from arbitrary bytes of two lengths, and opened from arbitrary bytes whose
 * plaintext has 7 bytes, over a table of cryptography that writes any bytes or fails. Sealed answers of one chunk.
 * eva: quick
 * eva: sources transport/hpke.c transport/capsule.c transport/binary_http.c transport/message_seal.c
 * eva: sources transport/message_open.c transport/answer_seal.c transport/ohttp_response.c base/wipe.c
 * eva: options -eva-slevel 3000 -eva-auto-loop-unroll 40 -eva-interprocedural-splits
 * eva: options -eva-split-return-function take:full,pml_binary_read_varint:full,read_piece:full,read_section:full
 * eva: options -eva-split-return-function read_fields:full,pml_binary_request_read:full,put:full,put_varint:full
 * eva: options -eva-split-return-function finish:0,pml_hpke_send:0,pml_hpke_receive:0 */
#include "primitives.h"

enum { PLAIN = 7, HEAD = 7 + 32, TAG = 16 };
static uint8_t bytes[80], sealed[HEAD + PLAIN + TAG], out[200], pack_id[PML_ID_SIZE];
static pml_seal_key key;
static pml_private_key private_key;
static pml_opener opener;

static void fresh(void)
{
    ANY(bytes);
    ANY(sealed);
    ANY(key);
    ANY(private_key);
    ANY(pack_id);
}

static void seal(size_t size, size_t capacity)
{
    fresh();
    (void)pml_message_seal(&crypto, &key, any_u32(), pack_id, bytes, size, any_entropy, NULL, out, capacity, &opener);
    (void)pml_ohttp_request_seal(&crypto, &key, bytes, size, any_entropy, NULL, out, capacity, &opener);
}

static void open(void)
{
    pml_opened opened;
    fresh();
    (void)pml_message_open(&crypto, &private_key, any_u32(), pack_id, sealed, sizeof sealed, &opened);
    ANY(sealed);
    (void)pml_ohttp_request_open(&crypto, &private_key, sealed, sizeof sealed, &opened);
}

static void responses(uint16_t aead)
{
    pml_piece plaintext;
    fresh();
    ANY(opener);
    opener.aead = aead;
    (void)pml_ohttp_response_open(&crypto, &opener, sealed, sizeof sealed, &plaintext);
    (void)pml_ohttp_response_open(&crypto, &opener, sealed, any_size(31), &plaintext);
    (void)pml_ohttp_response_seal(&crypto, &opener, bytes, 60, any_entropy, NULL, out, sizeof out);
}

static void answers(void)
{
    ANY(opener);
    ANY(bytes);
    (void)pml_answer_size(any_size(SIZE_MAX));
    (void)pml_answer_seal(&crypto, &opener, any_u32(), bytes, 60, 100, any_entropy, NULL, out, 149);
    (void)pml_answer_seal(MAYBE(&crypto), &opener, 200, MAYBE(bytes), 60, 100, any_entropy, NULL, MAYBE(out), 148);
}

static void run(void)
{
    seal(21, sizeof out);
    seal(70, sizeof out);
    seal(21, 40);
    open();
    responses(PML_AEAD_CHACHA20_POLY1305);
    responses(PML_AEAD_AES_128_GCM);
    responses(0);
    answers();
}

int main(void)
{
    run();
    return 0;
}
