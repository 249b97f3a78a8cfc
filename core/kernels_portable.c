/* SPDX-License-Identifier: Apache-2.0
 * The portable kernels: plain C, the definition of correct. */
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

const struct pml_kernels pml_kernels_portable = {"portable", pml_dots_s8_portable};
