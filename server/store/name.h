/* SPDX-License-Identifier: Apache-2.0
 * Names of blobs (SPEC 8): the SHA-256 of their bytes. */
#ifndef PML_NAME_H
#define PML_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PML_NAME_SIZE 32u
#define PML_NAME_DIGITS 64u

/* All zero: no name. */
struct pml_name {
    uint8_t bytes[PML_NAME_SIZE];
};

struct pml_name pml_name_of(const void *bytes, size_t size);
bool pml_name_same(const struct pml_name *left, const struct pml_name *right);
bool pml_name_none(const struct pml_name *name);

/* For qsort and bsearch. */
int pml_name_order(const void *left, const void *right);

/* As lower-case hexadecimal digits. Reading takes exactly so many digits at `text`, and no others; what follows them is not
 * looked at. */
void pml_name_write(const struct pml_name *name, char text[PML_NAME_DIGITS + 1]);
bool pml_name_read(const char *text, struct pml_name *name);

#endif
