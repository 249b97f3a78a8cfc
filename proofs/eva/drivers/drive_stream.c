/* SPDX-License-Identifier: Apache-2.0
 * Opening an answer of one chunk with 7 bytes of plaintext: arbitrary bytes in two pieces, cut at every place, then what
 * comes too much. The plaintext is whatever the table of cryptography makes of it.
 * eva: quick
 * eva: sources transport/answer_open.c transport/capsule.c transport/hpke.c transport/binary_http.c base/wipe.c
 * eva: options -eva-slevel 3000 -eva-auto-loop-unroll 40 -eva-interprocedural-splits
 * eva: options -eva-split-return-function take:full,pml_binary_read_varint:full,pml_open_begin:0,pml_open_feed:full
 * eva: options -eva-split-return-function finish_step:full,finish_chunk:full,hand_out:full,read_head:full */
#include "primitives.h"

enum { PLAIN = 7, WHOLE = 32 + 1 + PLAIN + 16 };
static uint8_t bytes[WHOLE + 1], buffer[PML_OPEN_BUFFER];
static pml_opener opener;

static pml_status any_sink(void *context, const uint8_t *part, size_t size)
{
    (void)context;
    //@ assert size > 0 && \valid_read(part + (0 .. size - 1));
    (void)part;
    (void)size;
    return any_bool() ? PML_OK : PML_ERROR_ANSWER;
}

static void open(size_t cut)
{
    pml_open open;
    unsigned status;
    ANY(opener);
    ANY(bytes);
    if (pml_open_begin(&open, &crypto, &opener, buffer, sizeof buffer, WHOLE) != PML_OK)
        return;
    if (cut > 0 && pml_open_feed(&open, bytes, cut, any_sink, NULL) != PML_OK)
        return;
    if (cut < WHOLE && pml_open_feed(&open, bytes + cut, WHOLE - cut, any_sink, NULL) != PML_OK)
        return;
    (void)pml_open_status(MAYBE(&open));
    if (any_bool())
        (void)pml_open_feed(&open, bytes, 1, any_sink, NULL);
    (void)pml_open_end(MAYBE(&open), MAYBE(&status));
}

static void run(void)
{
    pml_open begun;
    //@ loop unroll 57;
    for (size_t cut = 0; cut <= WHOLE; cut++)
        open(cut);
    (void)pml_open_begin(MAYBE(&begun), MAYBE(&crypto), MAYBE(&opener), MAYBE(buffer), any_size(sizeof buffer),
                         any_size(SIZE_MAX));
}

int main(void)
{
    run();
    return 0;
}
