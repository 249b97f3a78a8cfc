/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 of six lengths up to two blocks and a half, ChaCha20, random words and numbers, elementary integers.
 * eva: quick
 * eva: sources base/sha256.c base/chacha20.c base/random.c base/exact.c base/exponential.c base/wipe.c base/status.c
 * eva: options -eva-slevel 100 -eva-widening-delay 20 -eva-auto-loop-unroll 200 -eva-slevel-function pml_status_text:4000 */
#include "arbitrary.h"
#include "core/base/chacha20.h"
#include "core/base/exact.h"
#include "core/base/exponential.h"
#include "core/base/random.h"
#include "core/base/sha256.h"

enum { MOST = 160 };
static uint8_t bytes[MOST], digest[32], key[32], nonce[12];
static uint32_t block[16];
static pml_random random;

static void hashes(void)
{
    pml_sha256(bytes, 0, digest);
    pml_sha256(bytes, 55, digest);
    pml_sha256(bytes, 56, digest);
    pml_sha256(bytes, 64, digest);
    pml_sha256(bytes, 119, digest);
    pml_sha256(bytes, MOST, digest);
    pml_chacha20_block(key, any_u32(), nonce, block);
}

static void numbers(void)
{
    int8_t row[8];
    ANY(row);
    (void)pml_random_word(&random);
    (void)pml_random_below(&random, 1 + (uint64_t)any_u32());
    (void)pml_random_poisson(&random, (uint32_t)any_size(1u << 31));
    (void)pml_sqrt_floor(any_u32() * (uint64_t)any_u32());
    (void)pml_inverse_sqrt(any_u32());
    (void)pml_is_inverse_sqrt(any_u32(), any_u32());
    (void)pml_inverse_norm(MAYBE(row), 8);
    (void)pml_inverse_norm(row, PML_FEATURES_MAX + 1 + any_size(9));
    (void)pml_scale_127(any_u32() * (uint64_t)any_u32(), any_u32() * (uint64_t)any_u32());
    (void)pml_exp31(any_u32());
    (void)pml_kernel31((int64_t)(any_u32() * (uint64_t)any_u32()), any_u32());
}

int main(void)
{
    ANY(bytes);
    ANY(key);
    ANY(nonce);
    hashes();
    pml_random_start(&random, key);
    while (any_bool())
        numbers();
    for (int status = -40; status < 4; status++)
        (void)pml_status_text(status);
    (void)pml_version();
    pml_wipe_stack();
    return 0;
}
