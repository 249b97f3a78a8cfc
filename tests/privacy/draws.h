/* SPDX-License-Identifier: Apache-2.0
 * Numbers for the tests: pseudo-random ones that do not come from the code under test, wide ones, and how many. */
#ifndef TEST_DRAWS_H
#define TEST_DRAWS_H

#include <stdint.h>
#include <stdlib.h>

/* 128 bits where the compiler has them. Tests that need more than 64 ask for __SIZEOF_INT128__. */
#if defined(__SIZEOF_INT128__)
__extension__ typedef __int128 wide;
#else
typedef int64_t wide;
#endif

/* SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint64_t draw64(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* 0 … bound−1; the bias of bound/2^64 does not matter to a test. */
static inline uint64_t draw_below(uint64_t *state, uint64_t bound)
{
    return draw64(state) % bound;
}

static inline size_t draw_size(uint64_t *state, size_t bound)
{
    return (size_t)draw_below(state, bound);
}

/* low … high */
static inline int64_t draw_between(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)draw_below(state, (uint64_t)(high - low) + 1);
}

/* Sanitisers are slow and look for other faults than statistics do. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITISED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITISED 1
#endif
#ifndef SANITISED
#define SANITISED 0
#endif

/* A number of rounds: ten times as many under PML_TEST_LONG, a tenth under PML_TEST_QUICK (valgrind). */
static inline size_t rounds(size_t usual)
{
    size_t count = getenv("PML_TEST_LONG") ? usual * 10 : usual;
    if (SANITISED || getenv("PML_TEST_QUICK"))
        count /= 10;
    return count > 0 ? count : 1;
}

#endif
