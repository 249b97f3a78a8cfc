/* SPDX-License-Identifier: Apache-2.0
 * ChaCha20 (RFC 8439). In: key, counter, nonce. Out: one block. No branch or address depends on the key. */
#include "chacha20.h"

static uint32_t rotate(uint32_t v, int n)
{
    return v << n | v >> (32 - n);
}

static void quarter(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b, *d = rotate(*d ^ *a, 16);
    *c += *d, *b = rotate(*b ^ *c, 12);
    *a += *b, *d = rotate(*d ^ *a, 8);
    *c += *d, *b = rotate(*b ^ *c, 7);
}

void pml_chacha20_block(const uint8_t key[32], uint32_t counter, const uint8_t nonce[12], uint32_t out[16])
{
    uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int i = 0; i < 8; i++)
        start[4 + i] = load_le32(key + 4 * i);
    start[12] = counter;
    for (int i = 0; i < 3; i++)
        start[13 + i] = load_le32(nonce + 4 * i);
    memcpy(out, start, sizeof start);
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < 4; j++)
            quarter(out + j, out + 4 + j, out + 8 + j, out + 12 + j);
        for (int j = 0; j < 4; j++)
            quarter(out + j, out + 4 + (j + 1) % 4, out + 8 + (j + 2) % 4, out + 12 + (j + 3) % 4);
    }
    for (int i = 0; i < 16; i++)
        out[i] += start[i];
    pml_wipe(start, sizeof start);
}
