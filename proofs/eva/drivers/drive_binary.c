/* SPDX-License-Identifier: Apache-2.0
 * Binary HTTP of arbitrary bytes, of every length up to 8, and its fields; then what is written, into every capacity.
 * eva: quick
 * eva: sources transport/binary_http.c base/wipe.c
 * eva: options -eva-slevel 3000 -eva-auto-loop-unroll 20 -eva-interprocedural-splits
 * eva: options -eva-split-return-function take:full,pml_binary_read_varint:full,read_piece:full,read_section:full,read_fields:full
 * eva: options -eva-split-return-function pml_binary_request_read:full,pml_binary_response_read:full,put:full,put_varint:full
 * eva: options -eva-split-return-function put_piece:full */
#include "primitives.h"
#include "transport/binary_http.h"

enum { MOST = 8 };
static uint8_t bytes[MOST], out[32];

static void use(size_t size)
{
    pml_binary_request request;
    pml_binary_response response;
    const uint8_t *message = bytes + MOST - size; /* ends where the object ends */
    ANY(bytes);
    (void)pml_binary_request_read(message, size, &request);
    (void)pml_binary_response_read(message, size, &response);
    (void)pml_binary_field((pml_piece){message, size}, "ab");
}

/* Into every capacity up to one that is enough. */
static void write(void)
{
    static const uint8_t content[3] = {1, 2, 3};
    const pml_piece piece = {content, sizeof content}, none = {NULL, 0};
    const pml_binary_request request = {piece, piece, none, piece, piece, piece};
    pml_binary_response response = {Frama_C_unsigned_int_interval(200, 599), none, piece};
    size_t written;
    //@ loop unroll 32;
    for (size_t capacity = 0; capacity < sizeof out - 1; capacity++) {
        uint8_t *at = out + sizeof out - 1 - capacity; /* memset of no byte wants an address inside */
        (void)pml_binary_request_write(&request, at, capacity, &written);
        (void)pml_binary_response_write(&response, at, capacity);
    }
    (void)pml_binary_request_write(MAYBE(&request), MAYBE(out), sizeof out, MAYBE(&written));
    (void)pml_binary_response_write(MAYBE(&response), MAYBE(out), sizeof out);
}

static void run(void)
{
    pml_binary_request request;
    pml_binary_response response;
    //@ loop unroll 8;
    for (size_t size = 1; size <= MOST; size++)
        use(size);
    (void)pml_binary_request_read(MAYBE(bytes), 1, MAYBE(&request));
    (void)pml_binary_response_read(MAYBE(bytes), 1, MAYBE(&response));
    (void)pml_binary_response_size(any_size((size_t)1 << 40));
    write();
}

int main(void)
{
    run();
    return 0;
}
