/* SPDX-License-Identifier: Apache-2.0
 * X25519, HKDF and the two AEADs: each function passes its arguments on to OpenSSL and keeps nothing. */
#include "crypto_openssl.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <string.h>

enum { INPUT_MAX = 512 /* bytes of all pieces: HPKE's have fewer than 200 */, RAW = 32 };

/* ---- X25519 ---- */

static int derive(uint8_t out[RAW], EVP_PKEY *own, EVP_PKEY *other)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(own, NULL);
    size_t size = RAW;
    /* OpenSSL refuses a result of zeros. */
    const bool derived = context && EVP_PKEY_derive_init(context) == 1 &&
                         EVP_PKEY_derive_set_peer(context, other) == 1 && EVP_PKEY_derive(context, out, &size) == 1 &&
                         size == RAW;
    EVP_PKEY_CTX_free(context);
    return derived ? 0 : -1;
}

static int x25519(uint8_t out[RAW], const uint8_t scalar[RAW], const uint8_t point[RAW])
{
    EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, scalar, RAW);
    EVP_PKEY *other = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, point, RAW);
    const int failed = own && other ? derive(out, own, other) : -1;
    EVP_PKEY_free(own);
    EVP_PKEY_free(other);
    return failed;
}

static int x25519_base(uint8_t out[RAW], const uint8_t scalar[RAW])
{
    EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, scalar, RAW);
    size_t size = RAW;
    const bool known = own && EVP_PKEY_get_raw_public_key(own, out, &size) == 1 && size == RAW;
    EVP_PKEY_free(own);
    return known ? 0 : -1;
}

/* ---- HKDF ---- */

/* The pieces as one input; false when they are too long. */
static bool join(uint8_t joined[INPUT_MAX], size_t *size, const pml_piece *pieces, size_t count)
{
    *size = 0;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].size > INPUT_MAX - *size)
            return false;
        if (pieces[i].size > 0)
            memcpy(joined + *size, pieces[i].bytes, pieces[i].size);
        *size += pieces[i].size;
    }
    return true;
}

/* OpenSSL's parameters are not const, but it does not write to what goes in. */
static OSSL_PARAM octets(const char *name, const void *bytes, size_t size)
{
    return OSSL_PARAM_construct_octet_string(name, (void *)(uintptr_t)bytes, size);
}

static int hkdf(int mode, uint8_t *out, size_t size, OSSL_PARAM key, OSSL_PARAM other)
{
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
                               OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0), key, other,
                               OSSL_PARAM_construct_end()};
    EVP_KDF *function = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = function ? EVP_KDF_CTX_new(function) : NULL;
    const bool derived = context && EVP_KDF_derive(context, out, size, parameters) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(function);
    return derived ? 0 : -1;
}

static int hkdf_extract(uint8_t out[RAW], const uint8_t *salt, size_t salt_size, const pml_piece *ikm, size_t pieces)
{
    uint8_t joined[INPUT_MAX];
    size_t size;
    const uint8_t zeros[RAW] = {0}; /* RFC 5869: what an empty salt stands for */
    const bool given = salt_size > 0;
    const int failed = join(joined, &size, ikm, pieces)
                           ? hkdf(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, out, RAW, octets(OSSL_KDF_PARAM_KEY, joined, size),
                                  octets(OSSL_KDF_PARAM_SALT, given ? salt : zeros, given ? salt_size : sizeof zeros))
                           : -1;
    OPENSSL_cleanse(joined, sizeof joined);
    return failed;
}

static int hkdf_expand(uint8_t *out, size_t size, const uint8_t prk[RAW], const pml_piece *info, size_t pieces)
{
    uint8_t joined[INPUT_MAX];
    size_t joined_size;
    return join(joined, &joined_size, info, pieces)
               ? hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, out, size, octets(OSSL_KDF_PARAM_KEY, prk, RAW),
                      octets(OSSL_KDF_PARAM_INFO, joined, joined_size))
               : -1;
}

/* ---- AEADs ---- */

/* In place, one way or the other. OpenSSL counts bytes as int. */
static int crypt(const EVP_CIPHER *cipher, int sealing, const uint8_t *key, const uint8_t nonce[PML_AEAD_NONCE_SIZE],
                 const pml_piece *aad, uint8_t *data, size_t size, uint8_t tag[PML_AEAD_TAG_SIZE])
{
    EVP_CIPHER_CTX *context = size <= INT32_MAX && aad->size <= INT32_MAX ? EVP_CIPHER_CTX_new() : NULL;
    uint8_t none[1];
    int moved = 0;
    bool fine = context && EVP_CipherInit_ex(context, cipher, NULL, key, nonce, sealing) == 1;
    if (fine && aad->size > 0)
        fine = EVP_CipherUpdate(context, NULL, &moved, aad->bytes, (int)aad->size) == 1;
    if (fine && size > 0)
        fine = EVP_CipherUpdate(context, data, &moved, data, (int)size) == 1;
    if (fine && !sealing)
        fine = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, PML_AEAD_TAG_SIZE, tag) == 1;
    if (fine)
        fine = EVP_CipherFinal_ex(context, none, &moved) == 1;
    if (fine && sealing)
        fine = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, PML_AEAD_TAG_SIZE, tag) == 1;
    EVP_CIPHER_CTX_free(context);
    return fine ? 0 : -1;
}

static int seal_with(const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *nonce, const uint8_t *aad,
                     size_t aad_size, uint8_t *data, size_t size, uint8_t *tag)
{
    return crypt(cipher, 1, key, nonce, &(pml_piece){aad, aad_size}, data, size, tag);
}

static int open_with(const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *nonce, const uint8_t *aad,
                     size_t aad_size, uint8_t *data, size_t size, const uint8_t *tag)
{
    uint8_t expected[PML_AEAD_TAG_SIZE];
    memcpy(expected, tag, sizeof expected);
    return crypt(cipher, 0, key, nonce, &(pml_piece){aad, aad_size}, data, size, expected);
}

static int seal_chacha(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                       size_t size, uint8_t tag[16])
{
    return seal_with(EVP_chacha20_poly1305(), key, nonce, aad, aad_size, data, size, tag);
}

static int open_chacha(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                       size_t size, const uint8_t tag[16])
{
    return open_with(EVP_chacha20_poly1305(), key, nonce, aad, aad_size, data, size, tag);
}

static int seal_aes(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                    size_t size, uint8_t tag[16])
{
    return seal_with(EVP_aes_128_gcm(), key, nonce, aad, aad_size, data, size, tag);
}

static int open_aes(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                    size_t size, const uint8_t tag[16])
{
    return open_with(EVP_aes_128_gcm(), key, nonce, aad, aad_size, data, size, tag);
}

/* ---- all ---- */

const pml_crypto *pml_crypto_openssl(void)
{
    static const pml_crypto crypto = {
        .x25519 = x25519,
        .x25519_base = x25519_base,
        .hkdf_extract = hkdf_extract,
        .hkdf_expand = hkdf_expand,
        .aead = {{PML_AEAD_CHACHA20_POLY1305, 32, seal_chacha, open_chacha},
                 {PML_AEAD_AES_128_GCM, 16, seal_aes, open_aes}},
        .aeads = 2,
    };
    return &crypto;
}

int pml_entropy_openssl(void *context, uint8_t *out, size_t size)
{
    (void)context;
    return size <= INT32_MAX && RAND_bytes(out, (int)size) == 1 ? 0 : -1;
}
