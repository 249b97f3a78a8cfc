/* SPDX-License-Identifier: Apache-2.0
 *
 * The one list of kernels. A kernel set is chosen once (platform/) and passed by pointer; there is no global state.
 * The portable kernel defines what is right: every other must equal it bit for bit.
 */
#ifndef PML_KERNELS_H
#define PML_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* out[i] = Σ_j query[j]·rows[i·count + j], i = 0 … row_count−1. Queries hold −127 … 127, rows any int8, count ≤ 4096:
 * exact in int32. Time and addresses depend on the counts only; no byte beyond query and rows is read. */
typedef void (*pml_dots_s8_fn)(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out);

/* Rows and keys that a caller hands to a kernel at once. More of them spread what a call costs; they are on the stack. */
#define PML_KERNEL_ROWS (sizeof(void *) > 4 ? 32u : 16u)

/* Puts PML_KERNEL_ROWS keys into a descending list of `length` ≥ 1: the largest of both stay. A key of 0 is none. May
 * overwrite `keys`. Time and addresses depend on the length only. */
typedef void (*pml_keep_largest_fn)(uint64_t *list, size_t length, uint64_t *keys);

struct pml_kernels {
    const char *name;
    pml_dots_s8_fn dots_s8;
    pml_keep_largest_fn keep_largest; /* NULL in builds without the Gaussian mechanism */
};

/* What the compiler can make for this architecture; the CPU is asked when it runs. Not in builds without optimisation:
 * there every vector goes over the stack, deeper than what is wiped. Not on Windows: gcc misaligns vectors there. */
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#if defined(__x86_64__) && !defined(_WIN32)
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

void pml_keep_largest_portable(uint64_t *list, size_t length, uint64_t *keys);

/* For sets that have no better one. */
#if !defined(PML_WITH_GAUSSIAN) || PML_WITH_GAUSSIAN
#define PML_KEEP_LARGEST_PORTABLE pml_keep_largest_portable
#else
#define PML_KEEP_LARGEST_PORTABLE NULL
#endif

/* platform/kernels_select.c: the best set that this CPU runs of the first `count` ≥ 1 of the list. What pml_platform_kernels
 * answers is that of all; tests and benches go below it. */
const struct pml_kernels *pml_kernels_among(size_t count);

#endif
