/* SPDX-License-Identifier: Apache-2.0
 * Text that grows. */
#include "http_text.h"

#include <stdarg.h>
#include <stdio.h>

bool pml_http_print(struct pml_bytes *text, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return length >= 0 && (size_t)length < sizeof line && pml_bytes_append(text, line, (size_t)length) == PML_DONE;
}

void pml_http_id_text(const uint8_t id[PML_ID_SIZE], char text[2 * PML_ID_SIZE + 1])
{
    for (size_t i = 0; i < PML_ID_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}

bool pml_http_base64(struct pml_bytes *text, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char part[1024];
    size_t used = 0;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t word = (uint32_t)bytes[i] << 16;
        word |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
        word |= i + 2 < size ? bytes[i + 2] : 0;
        part[used++] = digits[word >> 18];
        part[used++] = digits[word >> 12 & 63];
        part[used++] = i + 1 < size ? digits[word >> 6 & 63] : '=';
        part[used++] = i + 2 < size ? digits[word & 63] : '=';
        if (used == sizeof part) {
            if (pml_bytes_append(text, part, used) != PML_DONE)
                return false;
            used = 0;
        }
    }
    return pml_bytes_append(text, part, used) == PML_DONE;
}
