/* SPDX-License-Identifier: Apache-2.0
 * Of a test program, runs the one test that PML_TEST_ONLY names. scripts/mutants.py links it with the linker's option
 * --wrap, because most of a program says nothing about one bug. */
#include <stdlib.h>
#include <string.h>
#include <unity.h>

void __real_UnityDefaultTestRun(UnityTestFunction test, const char *name, int line);
void __wrap_UnityDefaultTestRun(UnityTestFunction test, const char *name, int line);

void __wrap_UnityDefaultTestRun(UnityTestFunction test, const char *name, int line)
{
    const char *only = getenv("PML_TEST_ONLY");
    if (only == NULL || strcmp(only, name) == 0)
        __real_UnityDefaultTestRun(test, name, line);
}
