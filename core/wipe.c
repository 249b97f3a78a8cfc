/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"

void pml_wipe(void *memory, size_t size)
{
    volatile uint8_t *p = memory;
    for (size_t i = 0; i < size; i++)
        p[i] = 0;
#if defined(__GNUC__)
    __asm__ volatile("" : : "r"(memory) : "memory");
#endif
}
