/* SPDX-License-Identifier: Apache-2.0
 * Evaluates the library's real functions for tests/check_math.py. In: lines "verb number …" on standard input.
 * Out: one line each, the result as a hexadecimal float, or "?" for a verb that this build does not have. */
#include "base/elementary.h"
#if PML_WITH_GAUSSIAN || PML_WITH_FRONT
#include "base/exponential.h"
#endif
#include "privatemail_public.h"
#if PML_WITH_GAUSSIAN || PML_WITH_CROWD
#include "privacy/normal.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double (*unary)(double);
typedef double (*binary)(double, double);

#if PML_WITH_GAUSSIAN || PML_WITH_FRONT
static double exp31(double x)
{
    return pml_exp31((uint32_t)x); /* integers below 2^32: exact */
}
#endif

static const struct {
    const char *name;
    unary function;
} unaries[] = {
#if PML_WITH_GAUSSIAN || PML_WITH_FRONT
    {"exp31", exp31},
#endif
    {"exp", pml_exp},
    {"log", pml_log},
#if PML_WITH_GAUSSIAN
    {"cdf", pml_normal_cdf},
#endif
};

#if PML_WITH_RESPONSE
static double keep(double epsilon, double prototypes)
{
    return (double)pml_response_keep(epsilon, (uint32_t)prototypes); /* below 2^40: exact */
}
#endif

static const struct {
    const char *name;
    binary function;
} binaries[] = {
    {"recall_ceiling", pml_recall_ceiling},
    {"epsilon_for", pml_epsilon_for},
#if PML_WITH_RESPONSE
    {"keep", keep},
#endif
#if PML_WITH_GAUSSIAN
    {"delta", pml_gaussian_delta},
    {"delta_below", pml_gaussian_delta_below},
    {"ratio", pml_gaussian_ratio},
    {"mu", pml_gaussian_mu},
    {"gaussian_recall_ceiling", pml_gaussian_recall_ceiling},
#endif
};

static unary find_unary(const char *name)
{
    for (size_t i = 0; i < sizeof unaries / sizeof unaries[0]; i++)
        if (strcmp(unaries[i].name, name) == 0)
            return unaries[i].function;
    return NULL;
}

static binary find_binary(const char *name)
{
    for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++)
        if (strcmp(binaries[i].name, name) == 0)
            return binaries[i].function;
    return NULL;
}

static void evaluate(char *line)
{
    char *numbers = line + strcspn(line, " \n");
    if (*numbers != '\0')
        *numbers++ = '\0';
    char *after;
    double first = strtod(numbers, &after);
    double second = strtod(after, NULL);
    unary one = find_unary(line);
    binary two = find_binary(line);
    if (one)
        printf("%a\n", one(first));
    else if (two)
        printf("%a\n", two(first, second));
    else
        printf("?\n");
}

int main(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin))
        evaluate(line);
    return ferror(stdin) || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
