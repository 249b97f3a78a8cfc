/* SPDX-License-Identifier: Apache-2.0
 * What transport/bearssl takes of BearSSL, in place of BearSSL's own header: stubs_bearssl.c stands for the functions.
 * Contexts are as opaque as they are to their users, and smaller. */
#ifndef BEARSSL_H
#define BEARSSL_H
#include <stddef.h>
#include <stdint.h>

#define BR_EC_curve25519 29

typedef struct {
    uint32_t (*mul)(unsigned char *point, size_t point_size, const unsigned char *scalar, size_t scalar_size,
                    int curve);
} br_ec_impl;
extern const br_ec_impl br_ec_c25519_m31;

typedef struct {
    size_t context_size;
} br_hash_class;
extern const br_hash_class br_sha256_vtable;

typedef struct {
    unsigned char state[8];
} br_hmac_key_context;
typedef struct {
    unsigned char state[8];
} br_hmac_context;
void br_hmac_key_init(br_hmac_key_context *key, const br_hash_class *hash, const void *bytes, size_t size);
void br_hmac_init(br_hmac_context *context, const br_hmac_key_context *key, size_t out_size);
void br_hmac_update(br_hmac_context *context, const void *data, size_t size);
size_t br_hmac_out(const br_hmac_context *context, void *out);

typedef uint32_t (*br_chacha20_run)(const void *key, const void *iv, uint32_t counter, void *data, size_t size);
uint32_t br_chacha20_ct_run(const void *key, const void *iv, uint32_t counter, void *data, size_t size);
void br_poly1305_ctmul_run(const void *key, const void *iv, void *data, size_t size, const void *aad, size_t aad_size,
                           void *tag, br_chacha20_run chacha, int encrypt);

typedef struct {
    size_t context_size;
} br_block_ctr_class;
typedef struct {
    const br_block_ctr_class *vtable;
    unsigned char state[8];
} br_aes_ct_ctr_keys;
void br_aes_ct_ctr_init(br_aes_ct_ctr_keys *keys, const void *key, size_t size);

typedef void (*br_ghash)(void *y, const void *h, const void *data, size_t size);
void br_ghash_ctmul32(void *y, const void *h, const void *data, size_t size);

typedef struct {
    unsigned char state[8];
} br_gcm_context;
void br_gcm_init(br_gcm_context *context, const br_block_ctr_class **block, br_ghash ghash);
void br_gcm_reset(br_gcm_context *context, const void *iv, size_t size);
void br_gcm_aad_inject(br_gcm_context *context, const void *data, size_t size);
void br_gcm_flip(br_gcm_context *context);
void br_gcm_run(br_gcm_context *context, int encrypt, void *data, size_t size);
void br_gcm_get_tag(br_gcm_context *context, void *tag);

#endif
