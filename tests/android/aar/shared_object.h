/* SPDX-License-Identifier: Apache-2.0
 * Loads an Android library without Android: what its dynamic linker does, for as much as libprivatemail.so needs. */
#ifndef SHARED_OBJECT_H
#define SHARED_OBJECT_H

#include <stdint.h>

struct shared_object;

struct import {
    const char *name;
    uintptr_t address;
};

/* Maps the file in pages of 16 KiB, whatever the machine's are: segments that a kernel with such pages could not map
 * apart would overwrite each other. Fills its imports, then takes the right to write from where the file says so. Prints
 * why and answers NULL when it cannot. One object a program; `imports` ends with a NULL name. */
const struct shared_object *shared_object_load(const char *path, const struct import *imports);

/* NULL when the object exports no such symbol. */
void *shared_object_symbol(const struct shared_object *object, const char *name);

#endif
