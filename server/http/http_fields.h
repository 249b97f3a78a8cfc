/* SPDX-License-Identifier: Apache-2.0
 * What the header fields of a request ask for. Text from anybody goes in; no field is an error, a bad one is ignored. */
#ifndef PML_HTTP_FIELDS_H
#define PML_HTTP_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Accept: how much each form of an answer is wanted, in thousandths, by the range that names it most closely (RFC 9110,
 * 12.5.1). Zero before the first field; several fields add up. */
struct pml_http_accept {
    struct {
        unsigned wanted, closeness;
    } cbor, json;
};
void pml_http_accept(struct pml_http_accept *accept, const char *field);

/* JSON only where it is wanted more than CBOR. */
bool pml_http_accept_json(const struct pml_http_accept *accept);

/* Whether a Content-Type is `type`, whatever its parameters. */
bool pml_http_is_type(const char *field, const char *type);

/* If-None-Match: whether one of its tags is `tag` ("…" with its quotes), compared weakly; * is any. */
bool pml_http_has_tag(const char *field, const char *tag);

/* One range of `size` bytes. Several, other units and what is no range ask for everything. */
enum pml_http_range { PML_HTTP_WHOLE, PML_HTTP_PART, PML_HTTP_BEYOND };
enum pml_http_range pml_http_range(const char *field, uint64_t size, uint64_t *first, uint64_t *last);

#endif
