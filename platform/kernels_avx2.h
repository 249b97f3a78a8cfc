/* SPDX-License-Identifier: Apache-2.0
 * What the kernel sets of x86-64 share. */
#ifndef PML_KERNELS_AVX2_H
#define PML_KERNELS_AVX2_H

#include "../core/base/kernels.h"

#if defined(PML_KERNELS_X86_64)
void pml_keep_largest_avx2(uint64_t *list, size_t length, uint64_t *keys);
#endif

#endif
