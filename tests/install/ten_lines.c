/* SPDX-License-Identifier: Apache-2.0
 * The least that a user writes: valid C and C++. What it prints and returns shows that the library is there and right. */
#include <privatemail.h>
#include <stdio.h>

int main(void)
{
    unsigned char bytes[PML_BUDGET_SIZE];
    pml_budget budget;
    printf("privatemail %s: %s\n", pml_version(), pml_status_text(PML_ERROR_BUDGET));
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = 0;
    return pml_budget_restore(&budget, bytes, bytes, sizeof bytes) == PML_ERROR_BUDGET ? 0 : 1;
}
