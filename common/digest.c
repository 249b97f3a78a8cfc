/* SPDX-License-Identifier: Apache-2.0
 * The 64-bit digest. A step is one-to-one in the digest and in the word, so data that differ in a single word never have the same digest. */
#include "digest.h"

/* The step of SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t pml_digest_number(uint64_t digest, uint64_t number)
{
    uint64_t z = (digest + 0x9E3779B97F4A7C15u) ^ number;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Little-endian; compilers make one load of it. */
static uint64_t word(const uint8_t *bytes)
{
    return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 | (uint64_t)bytes[3] << 24 |
           (uint64_t)bytes[4] << 32 | (uint64_t)bytes[5] << 40 | (uint64_t)bytes[6] << 48 | (uint64_t)bytes[7] << 56;
}

uint64_t pml_digest_string(uint64_t digest, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    digest = pml_digest_number(digest, size);
    for (; size >= 8; at += 8, size -= 8)
        digest = pml_digest_number(digest, word(at));
    if (size == 0)
        return digest;
    uint8_t last[8] = {0};
    for (size_t i = 0; i < size; i++)
        last[i] = at[i];
    return pml_digest_number(digest, word(last));
}
