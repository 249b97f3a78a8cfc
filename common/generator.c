/* SPDX-License-Identifier: Apache-2.0
 * Integers from a seed, the same on every platform. Never use them for privacy: whoever has the seed knows them all. */
#include "generator.h"

/* SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t pml_generator_next(struct pml_generator *generator)
{
    uint64_t z = generator->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

struct pml_generator pml_generator_start(uint64_t seed, uint64_t stream)
{
    struct pml_generator first = {seed}, second = {~stream};
    return (struct pml_generator){pml_generator_next(&first) ^ pml_generator_next(&second)};
}

uint64_t pml_generator_below(struct pml_generator *generator, uint64_t bound)
{
    const uint64_t excess = (UINT64_MAX - bound + 1) % bound; /* 2^64 mod bound */
    uint64_t value;
    do
        value = pml_generator_next(generator);
    while (value > UINT64_MAX - excess);
    return value % bound;
}

int32_t pml_generator_normal(struct pml_generator *generator, int32_t deviation)
{
    int64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t word = pml_generator_next(generator);
        for (int part = 0; part < 4; part++)
            sum += (int64_t)(word >> 16 * part & 0xFFFF);
    }
    /* Twelve uniforms on 0 … 65535 have mean 6·65535 and, but for 10^-10, standard deviation 65536. */
    int64_t scaled = (sum - 6 * 65535) * deviation;
    return (int32_t)((scaled < 0 ? scaled - 32768 : scaled + 32768) / 65536);
}
