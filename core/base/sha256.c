/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 (FIPS 180-4). In: public bytes. Out: their digest. Never used on secrets. */
#include "sha256.h"

const uint32_t pml_sha256_round[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t v, int n)
{
    return v >> n | v << (32 - n);
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[16], s[8];
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        if (i < 16) {
            w[i] = load_be32(block + 4 * i);
        } else {
            uint32_t a = w[(i + 1) & 15], b = w[(i + 14) & 15];
            w[i & 15] +=
                (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[(i + 9) & 15] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
        }
        uint32_t t = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
                     pml_sha256_round[i] + w[i & 15];
        uint32_t u =
            (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j > 0; j--)
            s[j] = s[j - 1];
        s[4] += t;
        s[0] = t + u;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void pml_sha256_blocks_portable(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    for (; count > 0; count--, blocks += 64)
        compress(state, blocks);
}

void pml_sha256_by(const uint8_t *bytes, size_t size, uint8_t digest[32], pml_sha256_blocks_fn take)
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t last[128] = {0};
    const size_t left = size % 64, end = left < 56 ? 64 : 128;
    take(state, bytes, size / 64);
    if (left != 0)
        memcpy(last, bytes + (size - left), left);
    last[left] = 0x80;
    store_be32(last + end - 8, (uint32_t)((uint64_t)size >> 29));
    store_be32(last + end - 4, (uint32_t)size << 3);
    take(state, last, end / 64);
    for (int i = 0; i < 8; i++)
        store_be32(digest + 4 * i, state[i]);
}

void pml_sha256(const uint8_t *bytes, size_t size, uint8_t digest[32])
{
    pml_sha256_by(bytes, size, digest, pml_sha256_blocks_portable);
}
