/* SPDX-License-Identifier: Apache-2.0
 * Single items of CBOR (RFC 8949), each in its shortest form. */
#ifndef PML_CBOR_ITEMS_H
#define PML_CBOR_ITEMS_H

#include "common/bytes.h"

#include <stdbool.h>

#define PML_CBOR_HEAD_MAX 9u /* bytes of the longest head */

/* Bytes of the head of a number, a length or an array. */
uint64_t pml_cbor_head_size(uint64_t value);

/* These write without asking for room: their callers have made some. */
void pml_cbor_put_uint(struct pml_bytes *bytes, uint64_t value);
void pml_cbor_put_array(struct pml_bytes *bytes, size_t fields);
void pml_cbor_put_label(struct pml_bytes *bytes, int32_t label);
void pml_cbor_put_string(struct pml_bytes *bytes, const void *string, size_t size);

enum pml_cbor_kind { PML_CBOR_OTHER, PML_CBOR_UINT, PML_CBOR_NEGATIVE, PML_CBOR_BYTES, PML_CBOR_ARRAY };

/* A number, a length, or a string and its length. */
struct pml_cbor_item {
    enum pml_cbor_kind kind;
    uint64_t value;
    const uint8_t *string;
};

/* Reads the item at *offset and moves *offset behind it. Returns false when there is none, or its head is not the
 * shortest. */
bool pml_cbor_next(const uint8_t *bytes, size_t size, size_t *offset, struct pml_cbor_item *item);

#endif
