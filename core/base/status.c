/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"

/* The numbers follow each other, so that a text is found by counting. */
#define POSITION(name, number, text) POSITION_##name,
enum position { PML_STATUS_LIST(POSITION) STATUS_COUNT };
#define IN_ORDER(name, number, text)                                                                                   \
    _Static_assert((number) == -(int)POSITION_##name, "statuses are numbered without a gap");
PML_STATUS_LIST(IN_ORDER)

const char *pml_status_text(int status)
{
    /* one string: no table of pointers */
#define TEXT_AND_END(name, number, text) text "\0"
    static const char text[] = PML_STATUS_LIST(TEXT_AND_END);
    const char *found = text;
    if (status > 0 || status <= -(int)STATUS_COUNT)
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
