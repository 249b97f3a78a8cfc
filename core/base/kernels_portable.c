/* SPDX-License-Identifier: Apache-2.0
 * The portable kernels: plain C, the definition of correct. */
#include "base.h"
#include "kernels.h"

void pml_dots_s8_portable(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out)
{
    for (size_t i = 0; i < row_count; i++, rows += count) {
        int32_t sum = 0;
        for (size_t j = 0; j < count; j++)
            sum += query[j] * rows[j];
        out[i] = sum;
    }
}

#if PML_WITH_GAUSSIAN
/* Every key walks through the whole list with masked swaps. */
void pml_keep_largest_portable(uint64_t *list, size_t length, uint64_t *keys)
{
    for (size_t j = 0; j < PML_KERNEL_ROWS; j++) {
        uint64_t key = keys[j];
        for (size_t i = 0; i < length; i++) {
            uint64_t held = list[i], larger = mask_less_unsigned(held, key);
            list[i] = select64(larger, key, held);
            key = select64(larger, held, key);
        }
    }
}
#endif

const struct pml_kernels pml_kernels_portable = {"portable", pml_dots_s8_portable, PML_KEEP_LARGEST_PORTABLE};
