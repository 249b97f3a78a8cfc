/* SPDX-License-Identifier: Apache-2.0
 * Evaluates the accounting of a crowd for tests/crowd/check_accounting.py. In: lines "verb number …" on standard input.
 * Out: one line each, the status and the result as a hexadecimal float. */
#include "privatemail_crowd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double scratch[PML_CROWD_SCRATCH_MAX];

/* clients clusters copies own relay_clusters cells queries floor, then ε, δ or δ₀ */
static int of_policy(const char *verb, const double *v, double *result)
{
    pml_crowd crowd = {.clients = (uint64_t)v[0],
                       .clusters = v[1],
                       .copies = (uint32_t)v[2],
                       .own = (uint32_t)v[3],
                       .relay_clusters = v[4]};
    pml_crowd_use use = {.cells = (uint32_t)v[5], .queries = (uint32_t)v[6], .floor = v[7]};
    size_t count = pml_crowd_scratch(&crowd, &use);
    if (strcmp(verb, "delta") == 0)
        return pml_crowd_delta(&crowd, &use, v[8], scratch, count, result);
    if (strcmp(verb, "epsilon") == 0)
        return pml_crowd_epsilon(&crowd, &use, v[8], scratch, count, result);
    return pml_crowd_mu(&crowd, use.cells, v[8], scratch, count, result);
}

/* clients fakes cells floor, then ε or δ */
static int of_shuffle(const char *verb, const double *v, double *result)
{
    pml_shuffle shuffle = {.clients = (uint64_t)v[0], .fakes = (uint64_t)v[1], .cells = (uint32_t)v[2], .floor = v[3]};
    return strcmp(verb, "shuffle_delta") == 0 ? pml_shuffle_delta(&shuffle, v[4], result)
                                              : pml_shuffle_epsilon(&shuffle, v[4], result);
}

static void evaluate(char *line)
{
    double v[9] = {0}, result = 0.0;
    char *at = line + strcspn(line, " \n");
    if (*at != '\0')
        *at++ = '\0';
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
        v[i] = strtod(at, &at);
    int status = strncmp(line, "shuffle", 7) == 0 ? of_shuffle(line, v, &result) : of_policy(line, v, &result);
    printf("%d %a\n", status, result);
}

int main(void)
{
    char line[512];
    while (fgets(line, sizeof line, stdin))
        evaluate(line);
    return ferror(stdin) || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
