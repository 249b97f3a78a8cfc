/* SPDX-License-Identifier: Apache-2.0
 * Loads libraries of numbers. */
#define _POSIX_C_SOURCE 200809L
#include "library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool pml_library_find(const char *const *libraries, const char *name, void *function)
{
    if (setenv("OPENBLAS_NUM_THREADS", "1", 1) != 0 || setenv("OMP_NUM_THREADS", "1", 1) != 0)
        return false;
    for (; *libraries; libraries++) {
        void *library = dlopen(*libraries, RTLD_NOW | RTLD_LOCAL);
        void *found = library ? dlsym(library, name) : NULL;
        if (found) {
            memcpy(function, &found, sizeof found); /* ISO C has no conversion to a pointer to a function */
            return true;
        }
    }
    return false;
}
