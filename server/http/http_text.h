/* SPDX-License-Identifier: Apache-2.0
 * Text that grows. */
#ifndef PML_HTTP_TEXT_H
#define PML_HTTP_TEXT_H

#include "common/bytes.h"

#include <privatemail.h>

/* Appends printf's text of less than 512 bytes. Returns false when out of memory. */
bool pml_http_print(struct pml_bytes *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An id as 32 hexadecimal digits. */
void pml_http_id_text(const uint8_t id[PML_ID_SIZE], char text[2 * PML_ID_SIZE + 1]);

/* Appends bytes as base64. Returns false when out of memory. */
bool pml_http_base64(struct pml_bytes *text, const uint8_t *bytes, size_t size);

#endif
