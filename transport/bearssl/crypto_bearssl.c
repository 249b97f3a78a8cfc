/* SPDX-License-Identifier: Apache-2.0
 * The table of primitives by BearSSL. Implementations are chosen by name, so that no other is linked, and all of them run
 * in constant time: of those with 32-bit multiplications where a long multiplication's time depends on its operands
 * (Cortex-M0, M0+, M3), else of those with 64-bit results.
 * Never leaves a secret on the stack: BearSSL does not wipe its own, so each function here wipes below itself. */
#include "privatemail_transport.h"

#include "core/base/base.h"

#include <bearssl.h>

/* STACK_BELOW: no call from here goes deeper (tests/transport/test_transport_residue.c, scripts/size.sh). */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_7M__)
#define CURVE br_ec_c25519_m15
#define POLY1305 br_poly1305_ctmul32_run
#define STACK_BELOW 2048u
#else
#define CURVE br_ec_c25519_m31
#define POLY1305 br_poly1305_ctmul_run
#define STACK_BELOW (sizeof(void *) > 4 ? 2048u : 1280u)
#endif

PML_NOINLINE static void wipe_below(void)
{
    uint8_t below[STACK_BELOW];
    pml_wipe(below, sizeof below);
}

/* ---- X25519 ---- */

/* BearSSL clamps the scalar. That the result is zero tells of the point alone, so whoever calls may branch on it. */
static int multiply(uint8_t out[32], const uint8_t scalar[32])
{
    const uint32_t done = CURVE.mul(out, 32, scalar, 32, BR_EC_curve25519);
    uint8_t any = 0;
    wipe_below();
    for (unsigned i = 0; i < 32; i++)
        any |= out[i];
    return (done != 1) | (any == 0);
}

static int x25519(uint8_t out[32], const uint8_t scalar[32], const uint8_t point[32])
{
    memcpy(out, point, 32);
    return multiply(out, scalar);
}

static int x25519_base(uint8_t out[32], const uint8_t scalar[32])
{
    memset(out, 0, 32);
    out[0] = 9;
    return multiply(out, scalar);
}

/* ---- HKDF-SHA256: BearSSL's own cannot expand what was extracted elsewhere ---- */

static void hmac(uint8_t out[32], const br_hmac_key_context *key, const uint8_t *before, size_t before_size,
                 const pml_piece *input, size_t pieces, const uint8_t *after, size_t after_size)
{
    br_hmac_context context;
    br_hmac_init(&context, key, 0);
    br_hmac_update(&context, before, before_size);
    for (size_t i = 0; i < pieces; i++)
        br_hmac_update(&context, input[i].bytes, input[i].size);
    br_hmac_update(&context, after, after_size);
    br_hmac_out(&context, out);
    pml_wipe(&context, sizeof context);
}

static int hkdf_extract(uint8_t out[32], const uint8_t *salt, size_t salt_size, const pml_piece *ikm, size_t pieces)
{
    br_hmac_key_context key;
    br_hmac_key_init(&key, &br_sha256_vtable, salt, salt_size);
    hmac(out, &key, NULL, 0, ikm, pieces, NULL, 0);
    pml_wipe(&key, sizeof key);
    wipe_below();
    return 0;
}

static int hkdf_expand(uint8_t *out, size_t size, const uint8_t prk[32], const pml_piece *info, size_t pieces)
{
    if (size > 255 * 32)
        return -1;
    br_hmac_key_context key;
    br_hmac_key_init(&key, &br_sha256_vtable, prk, 32);
    uint8_t block[32], number = 1;
    for (size_t done = 0; done < size; number++) {
        const size_t part = size - done < sizeof block ? size - done : sizeof block;
        hmac(block, &key, block, number > 1 ? sizeof block : 0, info, pieces, &number, 1);
        memcpy(out + done, block, part);
        done += part;
    }
    pml_wipe(&key, sizeof key);
    pml_wipe(block, sizeof block);
    wipe_below();
    return 0;
}

/* ---- AEADs ---- */

static int compare_tags(const uint8_t a[16], const uint8_t b[16])
{
    uint8_t differ = 0;
    for (unsigned i = 0; i < PML_AEAD_TAG_SIZE; i++)
        differ |= a[i] ^ b[i];
    return differ;
}

static int chacha_seal(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                       size_t size, uint8_t tag[16])
{
    POLY1305(key, nonce, data, size, aad, aad_size, tag, br_chacha20_ct_run, 1);
    wipe_below();
    return 0;
}

static int chacha_open(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                       size_t size, const uint8_t tag[16])
{
    uint8_t right[PML_AEAD_TAG_SIZE];
    POLY1305(key, nonce, data, size, aad, aad_size, right, br_chacha20_ct_run, 0);
    const int differ = compare_tags(right, tag);
    pml_wipe(right, sizeof right);
    wipe_below();
    return differ;
}

#if defined(PML_TRANSPORT_AES)
static void gcm(const uint8_t *key, const uint8_t *nonce, const uint8_t *aad, size_t aad_size, uint8_t *data,
                size_t size, uint8_t tag[16], int encrypt)
{
    br_aes_ct_ctr_keys block;
    br_gcm_context context;
    br_aes_ct_ctr_init(&block, key, 16);
    br_gcm_init(&context, &block.vtable, br_ghash_ctmul32);
    br_gcm_reset(&context, nonce, PML_AEAD_NONCE_SIZE);
    br_gcm_aad_inject(&context, aad, aad_size);
    br_gcm_flip(&context);
    br_gcm_run(&context, encrypt, data, size);
    br_gcm_get_tag(&context, tag);
    pml_wipe(&block, sizeof block);
    pml_wipe(&context, sizeof context);
    wipe_below();
}

static int gcm_seal(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                    size_t size, uint8_t tag[16])
{
    gcm(key, nonce, aad, aad_size, data, size, tag, 1);
    return 0;
}

static int gcm_open(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                    size_t size, const uint8_t tag[16])
{
    uint8_t right[PML_AEAD_TAG_SIZE];
    gcm(key, nonce, aad, aad_size, data, size, right, 0);
    return compare_tags(right, tag);
}
#endif

const pml_crypto *pml_crypto_bearssl(void)
{
    static const pml_crypto table = {
        .x25519 = x25519,
        .x25519_base = x25519_base,
        .hkdf_extract = hkdf_extract,
        .hkdf_expand = hkdf_expand,
        .aead =
            {
                {PML_AEAD_CHACHA20_POLY1305, 32, chacha_seal, chacha_open},
#if defined(PML_TRANSPORT_AES)
                {PML_AEAD_AES_128_GCM, 16, gcm_seal, gcm_open},
#endif
            },
#if defined(PML_TRANSPORT_AES)
        .aeads = 2,
#else
        .aeads = 1,
#endif
    };
    return &table;
}
