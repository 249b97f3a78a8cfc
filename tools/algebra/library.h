/* SPDX-License-Identifier: Apache-2.0
 * Libraries of numbers are loaded when they are needed, not linked: OpenBLAS starts threads as soon as it is loaded, and no
 * other command should have them. */
#ifndef PML_LIBRARY_H
#define PML_LIBRARY_H

#include <stdbool.h>

/* Finds a function in the first of the libraries that is there and has it; the list ends with NULL. `function` is the
 * pointer to fill. They run on one thread, because more would add in another order and give other bytes, and stay loaded to
 * the end of the program. Not for several threads at once. */
bool pml_library_find(const char *const *libraries, const char *name, void *function);

#endif
