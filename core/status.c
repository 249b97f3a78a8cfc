/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"

const char *pml_status_text(int status)
{
    /* one string, in the order of the numbers: no table of pointers */
    static const char text[] = "success\0"
                               "a null pointer, or an argument out of range\0"
                               "memory too small: ask pml_client_size\0"
                               "output buffer too small\0"
                               "wrong order of calls: arm, load, release\0"
                               "epsilon out of range, or too small to fit\0"
                               "delta: 0 for response, else 2^-50 to 1\0"
                               "mechanism unknown or left out of this build\0"
                               "wrong number of features\0"
                               "features not finite, or all zero\0"
                               "the pack has no such class\0"
                               "the pack contradicts itself\0"
                               "not a pack of a version known here\0"
                               "the pack is truncated or too long\0"
                               "the pack is damaged: wrong hash\0"
                               "the id is another pack's\0"
                               "the pack lacks a section this needs\0"
                               "the pack's codes give no usable sensitivity\0"
                               "the entropy source failed\0"
                               "the budget could not be stored\0"
                               "the budget is damaged or another's\0"
                               "the budget is spent\0"
                               "not a release of this pack\0"
                               "not a sound answer\0"
                               "the pack is of another model";
    const char *found = text;
    if (status > 0 || status < PML_ERROR_PACK_MODEL)
        return "unknown status";
    while (status++ < 0)
        while (*found++ != 0)
            ;
    return found;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *pml_version(void)
{
    return TEXT(PML_VERSION_MAJOR) "." TEXT(PML_VERSION_MINOR) "." TEXT(PML_VERSION_PATCH);
}
