/* SPDX-License-Identifier: Apache-2.0
 * All installed headers compile, and the library answers. */
#include <privatemail.h>
#include <privatemail_crowd.h>
#include <privatemail_platform.h>
#include <privatemail_public.h>

#include <stdio.h>

int main(void)
{
    double chance = pml_recall_ceiling(1.0, 0.5);

    printf("privatemail %s\n", pml_version());
    return chance > 0.731 && chance < 0.732 ? 0 : 1;
}
