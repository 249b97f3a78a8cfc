/* SPDX-License-Identifier: Apache-2.0
 * The pieces that Binary HTTP (RFC 9292) is made of. */
#ifndef PML_BINARY_HTTP_H
#define PML_BINARY_HTTP_H

#include "privatemail_transport.h"

#define HTTP_KNOWN_REQUEST 0u
#define HTTP_KNOWN_RESPONSE 1u
#define HTTP_VARINT_MAX 8u
#define HTTP_RESPONSE_HEAD_MAX (1u + 2u + 1u + HTTP_VARINT_MAX)

/* Bytes that are read from the front. After the first failure `failed` stays true and nothing more is taken. */
typedef struct pml_binary_reader {
    const uint8_t *at;
    size_t left;
    bool failed;
} pml_binary_reader;

uint64_t pml_binary_read_varint(pml_binary_reader *reader);

/* Everything of a known-length response in front of its content, with an empty field section. `head` has room for
 * HTTP_RESPONSE_HEAD_MAX bytes. Returns its length. */
size_t pml_binary_response_head(uint8_t *head, unsigned status, size_t content_size);

static inline bool pml_binary_is_final(uint64_t status)
{
    return status >= 200 && status <= 599;
}

/* True when all bytes are zero. */
bool pml_binary_zeros(const uint8_t *bytes, size_t size);

#endif
