/* SPDX-License-Identifier: Apache-2.0
 *
 * The one list of kernels. A kernel set is chosen once (platform/) and passed by pointer; there is no global state.
 * The portable kernel defines what is right: every other must equal it bit for bit.
 */
#ifndef PML_KERNELS_H
#define PML_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* out[i] = Σ_j query[j]·rows[i·count + j], i = 0 … row_count−1. Values −127 … 127, count ≤ 4096: exact in int32.
 * Time and addresses depend on the counts only. */
typedef void (*pml_dots_s8_fn)(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out);

struct pml_kernels {
    const char *name;
    pml_dots_s8_fn dots_s8;
};

/* X(name): one line here gives a kernel its prototype, its entry in the dispatch, its test and its bench. */
#define PML_KERNEL_LIST(X) X(portable)

#define PML_KERNEL_DECLARE(name)                                                                                       \
    void pml_dots_s8_##name(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out);
PML_KERNEL_LIST(PML_KERNEL_DECLARE)
#undef PML_KERNEL_DECLARE

extern const struct pml_kernels pml_kernels_portable;

/* Rows a caller hands to a kernel at once. */
#define PML_KERNEL_ROWS 16u

#endif
