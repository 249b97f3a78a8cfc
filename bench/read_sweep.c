/* SPDX-License-Identifier: Apache-2.0
 * Sums bytes by loading and adding, with eight sums so that additions do not wait for one another. */
#include "read_sweep.h"

#include <string.h>

typedef uint64_t wide __attribute__((vector_size(32)));

enum { SUMS = 8 };

#define SWEEP_BODY                                                                                                     \
    wide sums[SUMS] = {{0}};                                                                                           \
    size_t at = 0;                                                                                                     \
    for (; at + sizeof sums <= size; at += sizeof sums)                                                                \
        for (int i = 0; i < SUMS; i++) {                                                                               \
            wide loaded;                                                                                               \
            memcpy(&loaded, bytes + at + (size_t)i * sizeof loaded, sizeof loaded);                                    \
            sums[i] += loaded;                                                                                         \
        }                                                                                                              \
    uint64_t total = 0;                                                                                                \
    for (int i = 0; i < SUMS; i++)                                                                                     \
        total += sums[i][0] + sums[i][1] + sums[i][2] + sums[i][3];                                                    \
    for (; at < size; at++)                                                                                            \
        total += bytes[at];                                                                                            \
    return total;

static uint64_t sweep_plain(const uint8_t *bytes, size_t size)
{
    SWEEP_BODY
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t sweep_avx2(const uint8_t *bytes, size_t size){SWEEP_BODY}
#endif

uint64_t read_sweep(const void *bytes, size_t size)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return sweep_avx2(bytes, size);
#endif
    return sweep_plain(bytes, size);
}
