/* SPDX-License-Identifier: Apache-2.0
 * Text that grows. In: pieces. Out: longer text. */
#include "http_text.h"

#include <stdarg.h>
#include <stdio.h>

int pml_http_print(struct pml_bytes *text, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return length < 0 || (size_t)length >= sizeof line ? -1 : pml_bytes_append(text, line, (size_t)length);
}

void pml_http_id_text(const uint8_t id[PML_ID_SIZE], char text[2 * PML_ID_SIZE + 1])
{
    for (size_t i = 0; i < PML_ID_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}
