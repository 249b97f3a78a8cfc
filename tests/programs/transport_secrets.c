/* SPDX-License-Identifier: Apache-2.0
 * Run under valgrind: the same as secrets.c for transport/ and what it takes of BearSSL. Private keys, the keys that follow
 * from them and the release are undefined; memcheck reports every branch and every address that depends on them
 * (tests/check_secrets.sh). `transport_secrets leak` plants one such branch.
 *
 * Public are the results that the protocol shows anyway: enc, whether a point gave zero, whether a tag was right, and then
 * what was under it, which a parser reads. The table below says so to memcheck. */
#include "privatemail_transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define SECRET(place, size) (void)VALGRIND_MAKE_MEM_UNDEFINED(place, size)
#define PUBLIC(place, size) (void)VALGRIND_MAKE_MEM_DEFINED(place, size)

enum { RELEASE = 27, MESSAGE = RELEASE + 104, PLAIN = 9000 };

static pml_crypto table; /* BearSSL's, with the verdicts made public */
static bool leak;

static int x25519(uint8_t out[32], const uint8_t scalar[32], const uint8_t point[32])
{
    uint8_t hidden[32];
    memcpy(hidden, scalar, 32);
    SECRET(hidden, 32);
    int failed = pml_crypto_bearssl()->x25519(out, hidden, point);
    if (leak && out[0] == 1)
        fputs("planted\n", stderr);
    PUBLIC(&failed, sizeof failed);
    return failed;
}

static int x25519_base(uint8_t out[32], const uint8_t scalar[32])
{
    uint8_t hidden[32];
    memcpy(hidden, scalar, 32);
    SECRET(hidden, 32);
    int failed = pml_crypto_bearssl()->x25519_base(out, hidden);
    PUBLIC(out, 32);
    PUBLIC(&failed, sizeof failed);
    return failed;
}

static int open_tagged(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                       size_t size, const uint8_t tag[16])
{
    int failed = pml_crypto_bearssl()->aead[0].open(key, nonce, aad, aad_size, data, size, tag);
    PUBLIC(&failed, sizeof failed);
    PUBLIC(data, size);
    return failed;
}

static int entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(17 * i + 3);
    return 0;
}

static void need(bool right)
{
    if (!right) {
        fputs("transport_secrets: an unexpected result\n", stderr);
        exit(2);
    }
}

static pml_status drop(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return PML_OK;
}

/* A message, its answer, and back; and, when `whole` is false, both damaged. */
static void exchange(bool whole)
{
    static const uint8_t pack_id[PML_ID_SIZE] = "transport";
    static uint8_t message[MESSAGE], answer[PLAIN + 100], content[PLAIN - 10], buffer[PML_OPEN_BUFFER];
    uint8_t release[RELEASE] = {1};
    pml_private_key gateway = {.id = 1, .secret = {7}};
    pml_opener opener;
    pml_opened opened;
    pml_open open;
    unsigned inside;
    need(pml_key_complete(&table, &gateway) == PML_OK);
    pml_seal_key key = {.id = 1, .aead = PML_AEAD_CHACHA20_POLY1305};
    memcpy(key.public_key, gateway.public_key, sizeof key.public_key);
    SECRET(release, sizeof release);
    need(pml_message_seal(&table, &key, 5, pack_id, release, sizeof release, entropy, NULL, message, sizeof message,
                          &opener) == PML_OK);
    PUBLIC(message, sizeof message);
    PUBLIC(&opener.aead, sizeof opener.aead);
    message[MESSAGE - 1] ^= !whole;
    need(pml_message_open(&table, &gateway, 5, pack_id, message, sizeof message, &opened) ==
         (whole ? PML_OK : PML_ERROR_SEALED));
    memset(content, 3, sizeof content);
    SECRET(content, sizeof content);
    need(pml_answer_seal(&table, &opener, 200, content, sizeof content, PLAIN, entropy, NULL, answer, sizeof answer) ==
         PML_OK);
    const size_t size = (size_t)pml_answer_size(PLAIN);
    PUBLIC(answer, size);
    answer[size - 1] ^= !whole;
    need(pml_open_begin(&open, &table, &opener, buffer, sizeof buffer, size) == PML_OK);
    need(pml_open_feed(&open, answer, size, drop, NULL) == (whole ? PML_OK : PML_ERROR_SEALED));
    need(pml_open_end(&open, &inside) == (whole ? PML_OK : PML_ERROR_STATE));
}

int main(int argc, char **argv)
{
    table = *pml_crypto_bearssl();
    table.x25519 = x25519;
    table.x25519_base = x25519_base;
    table.aead[0].open = open_tagged;
    leak = argc == 2 && strcmp(argv[1], "leak") == 0;
    if (argc > 2 || (argc == 2 && !leak)) {
        fputs("usage: transport_secrets [leak]\n", stderr);
        return 2;
    }
    exchange(true);
    exchange(false);
    return 0;
}
