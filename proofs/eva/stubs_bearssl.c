/* SPDX-License-Identifier: Apache-2.0
 * In place of BearSSL: checks that what it is given can be read or written, and was made before it is used, and writes
 * any bytes where BearSSL's headers say that it may write. */
#include "arbitrary.h"
#include "bearssl.h"

static void read_all(const uint8_t *bytes, size_t size)
{
    //@ assert size == 0 || \valid_read(bytes + (0 .. size - 1));
    //@ assert size == 0 || \initialized(bytes + (0 .. size - 1));
    (void)bytes;
    (void)size;
}

static void change(void *memory, size_t size)
{
    uint8_t *bytes = memory;
    //@ assert size == 0 || \valid(bytes + (0 .. size - 1));
    if (size > 0)
        make_any(bytes, size);
}

static uint32_t any_product(unsigned char *point, size_t point_size, const unsigned char *scalar, size_t scalar_size,
                            int curve)
{
    //@ assert curve == BR_EC_curve25519 && point_size == 32 && scalar_size == 32;
    (void)curve;
    read_all(scalar, scalar_size);
    read_all(point, point_size);
    change(point, point_size);
    return any_u32();
}

const br_ec_impl br_ec_c25519_m31 = {any_product};
const br_hash_class br_sha256_vtable;
static const br_block_ctr_class counter_mode;

void br_hmac_key_init(br_hmac_key_context *key, const br_hash_class *hash, const void *bytes, size_t size)
{
    //@ assert hash == &br_sha256_vtable;
    (void)hash;
    read_all(bytes, size);
    change(key, sizeof *key);
}

void br_hmac_init(br_hmac_context *context, const br_hmac_key_context *key, size_t out_size)
{
    //@ assert out_size == 0; // all 32 bytes
    (void)out_size;
    read_all((const uint8_t *)key, sizeof *key);
    change(context, sizeof *context);
}

void br_hmac_update(br_hmac_context *context, const void *data, size_t size)
{
    read_all((const uint8_t *)context, sizeof *context);
    read_all(data, size);
    change(context, sizeof *context);
}

size_t br_hmac_out(const br_hmac_context *context, void *out)
{
    read_all((const uint8_t *)context, sizeof *context);
    change(out, 32);
    return 32;
}

uint32_t br_chacha20_ct_run(const void *key, const void *iv, uint32_t counter, void *data, size_t size)
{
    read_all(key, 32);
    read_all(iv, 12);
    read_all(data, size);
    change(data, size);
    return counter;
}

void br_poly1305_ctmul_run(const void *key, const void *iv, void *data, size_t size, const void *aad, size_t aad_size,
                           void *tag, br_chacha20_run chacha, int encrypt)
{
    //@ assert chacha == &br_chacha20_ct_run && 0 <= encrypt <= 1;
    (void)encrypt;
    (void)chacha(key, iv, 1, data, size);
    read_all(aad, aad_size);
    change(tag, 16);
}

void br_aes_ct_ctr_init(br_aes_ct_ctr_keys *keys, const void *key, size_t size)
{
    //@ assert size == 16;
    read_all(key, size);
    change(keys->state, sizeof keys->state);
    keys->vtable = &counter_mode;
}

void br_ghash_ctmul32(void *y, const void *h, const void *data, size_t size)
{
    read_all(y, 16);
    read_all(h, 16);
    read_all(data, size);
    change(y, 16);
}

void br_gcm_init(br_gcm_context *context, const br_block_ctr_class **block, br_ghash ghash)
{
    uint8_t y[16], h[16];
    //@ assert *block == &counter_mode && ghash == &br_ghash_ctmul32;
    (void)block;
    ANY(y);
    ANY(h);
    ghash(y, h, NULL, 0);
    change(context, sizeof *context);
}

static void use(br_gcm_context *context)
{
    read_all((const uint8_t *)context, sizeof *context);
    change(context, sizeof *context);
}

void br_gcm_reset(br_gcm_context *context, const void *iv, size_t size)
{
    use(context);
    read_all(iv, size);
}

void br_gcm_aad_inject(br_gcm_context *context, const void *data, size_t size)
{
    use(context);
    read_all(data, size);
}

void br_gcm_flip(br_gcm_context *context)
{
    use(context);
}

void br_gcm_run(br_gcm_context *context, int encrypt, void *data, size_t size)
{
    //@ assert 0 <= encrypt <= 1;
    (void)encrypt;
    use(context);
    read_all(data, size);
    change(data, size);
}

void br_gcm_get_tag(br_gcm_context *context, void *tag)
{
    use(context);
    change(tag, 16);
}
