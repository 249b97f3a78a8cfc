/* SPDX-License-Identifier: Apache-2.0
 * Names: hashing, comparing, digits. */
#include "name.h"

#include "common/rows/rows.h"
#include "core/base/sha256.h"

#include <string.h>

struct pml_name pml_name_of(const void *bytes, size_t size)
{
    struct pml_name name;
    pml_sha256_by(bytes, size, name.bytes, PML_KERNEL(pml_rows_kernels(), sha256_blocks));
    return name;
}

bool pml_name_same(const struct pml_name *left, const struct pml_name *right)
{
    return memcmp(left, right, sizeof *left) == 0;
}

bool pml_name_none(const struct pml_name *name)
{
    static const struct pml_name none;
    return pml_name_same(name, &none);
}

int pml_name_order(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct pml_name));
}

void pml_name_write(const struct pml_name *name, char text[PML_NAME_DIGITS + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < PML_NAME_SIZE; i++) {
        text[2 * i] = digits[name->bytes[i] >> 4];
        text[2 * i + 1] = digits[name->bytes[i] & 15];
    }
    text[PML_NAME_DIGITS] = 0;
}

/* The value of a digit, −1 when it is none. */
static int value_of(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool pml_name_read(const char *text, struct pml_name *name)
{
    for (size_t i = 0; i < PML_NAME_SIZE; i++) {
        const int high = value_of(text[2 * i]), low = high < 0 ? -1 : value_of(text[2 * i + 1]);
        if (low < 0)
            return false;
        name->bytes[i] = (uint8_t)(16 * high + low);
    }
    return true;
}
