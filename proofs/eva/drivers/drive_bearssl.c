/* SPDX-License-Identifier: Apache-2.0
 * The table of cryptography by BearSSL, with both of its AEADs: every entry, with arbitrary bytes in keys, pieces and data
 * of eight lengths. In place of BearSSL are stubs. Expanded keys also of the largest length, and of one byte too many.
 * eva: quick
 * eva: sources transport/bearssl/crypto_bearssl.c base/wipe.c
 * eva: stubs stubs_bearssl.c
 * eva: defines -DPML_TRANSPORT_AES
 * eva: options -eva-slevel 2000 -eva-auto-loop-unroll 300 */
#include "arbitrary.h"
#include "transport/include/privatemail_transport.h"

enum { MOST = 70, LONGEST = 255 * 32 };
static uint8_t bytes[MOST], data[MOST], out[LONGEST], key[32], nonce[12], tag[16], point[32];

static void fresh(void)
{
    ANY(bytes);
    ANY(data);
    ANY(key);
    ANY(nonce);
    ANY(tag);
    ANY(point);
}

/* So many pieces of so many bytes. What is read or written ends where its object ends. */
static void pieces(const pml_crypto *crypto, size_t count, size_t size)
{
    const pml_piece piece = {bytes + (MOST - size), size};
    const pml_piece input[3] = {piece, {NULL, 0}, piece};
    (void)crypto->hkdf_extract(out + (LONGEST - 32), piece.bytes, size, input + (3 - count), count);
    (void)crypto->hkdf_extract(out, NULL, 0, input + (3 - count), count);
    (void)crypto->hkdf_expand(out + (LONGEST - size), size, key, input + (3 - count), count);
}

static void curves(const pml_crypto *crypto)
{
    int status = crypto->x25519(out, key, point);
    status |= crypto->x25519_base(out, key);
    //@ assert 0 <= status <= 1;
    (void)status;
}

static void aeads(const pml_crypto *crypto, size_t size)
{
    const uint8_t *aad = bytes + (MOST - size);
    //@ assert crypto->aeads == 2;
    //@ loop unroll 2;
    for (size_t i = 0; i < 2; i++) {
        const uint8_t *aead_key = key + (32 - crypto->aead[i].key_size);
        fresh();
        (void)crypto->aead[i].seal(aead_key, nonce, aad, size, data + (MOST - size), size, tag);
        (void)crypto->aead[i].seal(aead_key, nonce, NULL, 0, data + (MOST - size), size, tag);
        fresh();
        (void)crypto->aead[i].open(aead_key, nonce, aad, size, data + (MOST - size), size, tag);
        (void)crypto->aead[i].open(aead_key, nonce, aad, size, data, 0, tag);
    }
}

int main(void)
{
    static const size_t sizes[] = {0, 1, 31, 32, 33, 64, 65, MOST};
    const pml_crypto *crypto = pml_crypto_bearssl();
    fresh();
    curves(crypto);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t count = 0; count <= 3; count++)
            pieces(crypto, count, sizes[i]);
        aeads(crypto, sizes[i]);
    }
    (void)crypto->hkdf_expand(out, LONGEST, key, NULL, 0);
    (void)crypto->hkdf_expand(out, LONGEST + 1, key, NULL, 0);
    return 0;
}
