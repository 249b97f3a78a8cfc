/* SPDX-License-Identifier: Apache-2.0
 * A table of cryptography that writes any bytes within the bounds that the table promises, or fails. It checks that its
 * input can be read. */
#ifndef PML_EVA_PRIMITIVES_H
#define PML_EVA_PRIMITIVES_H

#include "arbitrary.h"
#include "transport/include/privatemail_transport.h"

static int any_result(void)
{
    return Frama_C_interval(-1, 1);
}

static int any_x25519(uint8_t result[32], const uint8_t scalar[32], const uint8_t point[32])
{
    //@ assert \valid_read(scalar + (0 .. 31)) && \valid_read(point + (0 .. 31));
    (void)scalar;
    (void)point;
    make_any(result, 32);
    return any_result();
}

static int any_x25519_base(uint8_t result[32], const uint8_t scalar[32])
{
    //@ assert \valid_read(scalar + (0 .. 31));
    (void)scalar;
    make_any(result, 32);
    return any_result();
}

static void read_pieces(const pml_piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *piece = pieces[i].bytes;
        const size_t size = pieces[i].size;
        //@ assert size == 0 || \valid_read(piece + (0 .. size - 1));
        (void)piece;
        (void)size;
    }
}

static int any_extract(uint8_t result[32], const uint8_t *salt, size_t salt_size, const pml_piece *ikm, size_t pieces)
{
    //@ assert salt_size == 0 || \valid_read(salt + (0 .. salt_size - 1));
    (void)salt;
    (void)salt_size;
    read_pieces(ikm, pieces);
    make_any(result, 32);
    return any_result();
}

static int any_expand(uint8_t *result, size_t size, const uint8_t prk[32], const pml_piece *info, size_t pieces)
{
    //@ assert \valid_read(prk + (0 .. 31));
    (void)prk;
    read_pieces(info, pieces);
    make_any(result, size);
    return any_result();
}

static int seal_any(const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data, size_t size,
                    uint8_t tag[16])
{
    //@ assert \valid_read(nonce + (0 .. 11));
    //@ assert aad_size == 0 || \valid_read(aad + (0 .. aad_size - 1));
    (void)nonce;
    (void)aad;
    (void)aad_size;
    if (size > 0)
        make_any(data, size);
    make_any(tag, 16);
    return any_result();
}

static int open_any(const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data, size_t size,
                    const uint8_t tag[16])
{
    //@ assert \valid_read(nonce + (0 .. 11)) && \valid_read(tag + (0 .. 15));
    //@ assert aad_size == 0 || \valid_read(aad + (0 .. aad_size - 1));
    (void)nonce;
    (void)aad;
    (void)aad_size;
    (void)tag;
    if (size > 0)
        make_any(data, size);
    return any_result();
}

/* Of both algorithms, whose keys have 16 and 32 bytes. */
#define AEAD_OF(bits)                                                                                                  \
    static int any_seal_##bits(const uint8_t *aead_key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size,  \
                               uint8_t *data, size_t size, uint8_t tag[16])                                            \
    {                                                                                                                  \
        read_key(aead_key, (bits) / 8);                                                                                \
        return seal_any(nonce, aad, aad_size, data, size, tag);                                                        \
    }                                                                                                                  \
    static int any_open_##bits(const uint8_t *aead_key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size,  \
                               uint8_t *data, size_t size, const uint8_t tag[16])                                      \
    {                                                                                                                  \
        read_key(aead_key, (bits) / 8);                                                                                \
        return open_any(nonce, aad, aad_size, data, size, tag);                                                        \
    }

static void read_key(const uint8_t *aead_key, size_t size)
{
    //@ assert \valid_read(aead_key + (0 .. size - 1));
    (void)aead_key;
    (void)size;
}

AEAD_OF(128)
AEAD_OF(256)

static const pml_crypto crypto = {
    .x25519 = any_x25519,
    .x25519_base = any_x25519_base,
    .hkdf_extract = any_extract,
    .hkdf_expand = any_expand,
    .aead = {{PML_AEAD_CHACHA20_POLY1305, 32, any_seal_256, any_open_256},
             {PML_AEAD_AES_128_GCM, 16, any_seal_128, any_open_128}},
    .aeads = 2,
};

static int any_entropy(void *context, uint8_t *result, size_t size)
{
    (void)context;
    make_any(result, size);
    return any_result();
}

#endif
