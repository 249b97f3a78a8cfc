/* SPDX-License-Identifier: Apache-2.0
 *
 * The one list of kernels. A kernel set is chosen once (platform/) and passed by pointer; there is no global state.
 * The portable kernel defines what is right: every other must equal it bit for bit.
 */
#ifndef PML_KERNELS_H
#define PML_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* out[i] = Σ_j query[j]·rows[i·count + j], i = 0 … row_count−1. Queries hold −127 … 127, rows any int8, count ≤ 4096:
 * exact in int32. Time and addresses depend on the counts only; no byte beyond query and rows is read. */
typedef void (*pml_dots_s8_fn)(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out);

/* Rows that a caller hands to dots_s8 at once. More of them spread what a call costs; their sums are on the stack. */
#define PML_KERNEL_ROWS (sizeof(void *) > 4 ? 32u : 16u)

/* The `length` ≥ 1 rows that are nearest to a query (SPEC 5.3), best first, as the keys of core/stages/neighbours.c, which
 * says what is right; 0 in places that no row is left for. `inverse` has a number for each row, at most 2^30, 4 bytes with
 * the low one first; there are at most 2^20 rows. Time and addresses depend on the counts only. */
typedef void (*pml_nearest_fn)(const int8_t *query, const int8_t *rows, const uint8_t *inverse, size_t count,
                               size_t row_count, uint64_t *list, size_t length);

/* What a row's largest value is divided by: made once, so that no value needs a division or its own trial steps. */
struct scale {
    uint32_t max, reciprocal; /* mantissa, from 2^23 on; ⌊(2^55 − 1)/max⌋ */
    uint32_t exponent, shift; /* a subnormal's mantissa was shifted that far, as those of all others must be */
};

/* Halves of quantising (SPEC 5.1), a piece of the features at a time: the largest of `top` and the bits of all sizes; then
 * int8 values, all zero unless the mask `valid` is set, of roots if `root` is. core/stages/quantise.c says what is right.
 * Time and addresses depend on `count` and `root` only. */
typedef uint32_t (*pml_quantise_top_fn)(const float *features, size_t count, uint32_t top);
typedef void (*pml_quantise_values_fn)(const struct scale *scale, uint64_t valid, bool root, const float *features,
                                       size_t count, int8_t *out);

/* Takes `count` blocks of 64 bytes into a state of SHA-256 (core/base/sha256.c). Never used on secrets. */
typedef void (*pml_sha256_blocks_fn)(uint32_t state[8], const uint8_t *blocks, size_t count);
extern const uint32_t pml_sha256_round[64]; /* its constants */

/* Sums of four products, of the values 64·k + 2·i + {0, 1, 32, 33}, are made in 16 bits by dots_small. They fit when the
 * product of the largest sum of such four squares of the query, and of that of each row, is at most this: by Cauchy and
 * Schwarz the sum is then at most 32259 in size, and AVX2 takes at most the sum of four sizes, 508, from it. Only for
 * public rows on both sides, since such a query is chosen by its values. */
#define PML_SMALL ((uint64_t)32259 * 32259)

/* Small CPUs have kernels for what takes longest, and no bytes for more. */
#define PML_KERNELS_WIDE (UINTPTR_MAX > 0xFFFFFFFF)

/* Coded sketches of a pack (SPEC 5.13), and the (secret) coordinates of the query that they are compared with. */
struct pml_coded {
    const uint8_t *code, *ranges; /* sections 17 and 20 */
    const int16_t *coordinates;   /* one per direction */
    uint32_t directions, bytes;   /* of a sketch */
};

/* What has been compared of one sketch: sums that are secret, and where in the sketch they end. */
struct pml_compared {
    int32_t dot;
    uint32_t squares;
    uint32_t bits;       /* that have come of the next directions … */
    uint16_t next, last; /* … and the next direction, and the one behind the last of its depth */
    uint8_t held, depth; /* how many bits, and how many a direction has now */
};

/* Before the first byte of a sketch. */
#define PML_COMPARED_START ((struct pml_compared){.depth = 8})

/* Adds the next `count` bytes of a sketch to the sums. Time and addresses depend on the bytes, which are public, and not
 * on the coordinates. */
typedef void (*pml_compare_fn)(const struct pml_coded *coded, const uint8_t *bytes, size_t count,
                               struct pml_compared *compared);

struct pml_kernels {
    const char *name;
    pml_dots_s8_fn dots_s8;
#if PML_KERNELS_WIDE
    pml_quantise_top_fn quantise_top;
    pml_quantise_values_fn quantise_values;
    pml_sha256_blocks_fn sha256_blocks;
    pml_compare_fn compare;
    pml_nearest_fn nearest;                /* NULL: neighbours.c ranks what dots_s8 gives */
    pml_dots_s8_fn dots_small;             /* NULL, or a faster dots_s8 for rows that PML_SMALL allows */
    const struct pml_kernels *with_sha256; /* NULL, or the same set for CPUs that have instructions for SHA-256 */
#endif
};

uint32_t pml_quantise_top_portable(const float *features, size_t count, uint32_t top);
void pml_quantise_values_portable(const struct scale *scale, uint64_t valid, bool root, const float *features,
                                  size_t count, int8_t *out);
void pml_sha256_blocks_portable(uint32_t state[8], const uint8_t *blocks, size_t count);
void pml_compare_portable(const struct pml_coded *coded, const uint8_t *bytes, size_t count,
                          struct pml_compared *compared);

/* The function of a set, as in PML_KERNEL(kernels, quantise_top)(features, count, 0). */
#if PML_KERNELS_WIDE
#define PML_KERNEL(kernels, function) ((kernels)->function)
#else
#define PML_KERNEL(kernels, function) ((void)(kernels), pml_##function##_portable)
#endif

/* What the compiler can make for this architecture; the CPU is asked when it runs. Not in builds without optimisation:
 * there every vector goes over the stack, deeper than what is wiped. Not on Windows: gcc misaligns vectors there.
 * scripts/amalgamate.py takes those of microcontrollers only. */
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#if defined(PML_AMALGAMATION) && (defined(__x86_64__) || defined(__aarch64__) || defined(__ARM_NEON))
/* none but the portable ones */
#elif defined(__x86_64__) && !defined(_WIN32)
#define PML_KERNELS_X86_64
#elif defined(__aarch64__)
#define PML_KERNELS_AARCH64
#define PML_KERNELS_NEON
#elif defined(__ARM_NEON)
#define PML_KERNELS_NEON
#elif defined(__ARM_FEATURE_MVE)
#define PML_KERNELS_HELIUM
#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define PML_KERNELS_DSP
#endif
#endif

/* X(name), the slowest first: one line here gives a kernel set its prototype, its place in the dispatch, its tests and
 * its bench. */
#if defined(PML_KERNELS_X86_64)
#define PML_KERNEL_LIST(X) X(portable) X(avx2) X(avx512vnni)
#elif defined(PML_KERNELS_AARCH64)
#define PML_KERNEL_LIST(X) X(portable) X(neon) X(neon_dotprod)
#elif defined(PML_KERNELS_NEON)
#define PML_KERNEL_LIST(X) X(portable) X(neon)
#elif defined(PML_KERNELS_HELIUM)
#define PML_KERNEL_LIST(X) X(portable) X(helium)
#elif defined(PML_KERNELS_DSP)
#define PML_KERNEL_LIST(X) X(portable) X(dsp)
#else
#define PML_KERNEL_LIST(X) X(portable)
#endif

#define PML_KERNEL_DECLARE(name)                                                                                       \
    void pml_dots_s8_##name(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out);    \
    extern const struct pml_kernels pml_kernels_##name;
PML_KERNEL_LIST(PML_KERNEL_DECLARE)
#undef PML_KERNEL_DECLARE

#define PML_KERNEL_ONE(name) +1
#define PML_KERNEL_COUNT (0u PML_KERNEL_LIST(PML_KERNEL_ONE))

/* platform/kernels_select.c: the best set that this CPU runs of the first `count` ≥ 1 of the list. What pml_platform_kernels
 * answers is that of all; tests and benches go below it. */
const struct pml_kernels *pml_kernels_among(size_t count);

#endif
