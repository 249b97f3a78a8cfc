/* SPDX-License-Identifier: Apache-2.0
 * Writes answers (SPEC 3), sound ones and others: every head is written as the test says. */
#ifndef TEST_ANSWER_WRITER_H
#define TEST_ANSWER_WRITER_H

#include "support.h"

#include <stdlib.h>

enum { CBOR_UINT = 0, CBOR_NEGATIVE = 1, CBOR_BYTES = 2, CBOR_ARRAY = 4 };

enum { WRITER_CAPACITY = 1 << 20 };

struct writer {
    uint8_t *bytes; /* free() it */
    size_t size;
};

static inline void write_bytes(struct writer *w, const void *bytes, size_t size)
{
    if (!w->bytes)
        w->bytes = malloc(WRITER_CAPACITY);
    if (!w->bytes || size > WRITER_CAPACITY - w->size) {
        TEST_FAIL_MESSAGE("no room for the answer");
        return;
    }
    if (size > 0)
        memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

/* A head with `extra` bytes of value behind its first: 0, 1, 2, 4 or 8. */
static inline void write_head_of(struct writer *w, unsigned major, uint64_t value, unsigned extra)
{
    static const uint8_t infos[] = {0, 24, 25, 0, 26, 0, 0, 0, 27};
    uint8_t head[9] = {(uint8_t)(major << 5 | (extra == 0 ? (unsigned)value : infos[extra]))};
    for (unsigned i = 0; i < extra; i++)
        head[1 + i] = (uint8_t)(value >> 8 * (extra - 1 - i));
    write_bytes(w, head, 1 + extra);
}

/* The shortest head. */
static inline void write_head(struct writer *w, unsigned major, uint64_t value)
{
    write_head_of(w, major, value, value < 24 ? 0 : value < 256 ? 1 : value < 65536 ? 2 : value >> 32 == 0 ? 4 : 8);
}

static inline void write_byte_string(struct writer *w, const void *bytes, size_t size)
{
    write_head(w, CBOR_BYTES, size);
    write_bytes(w, bytes, size);
}

static inline void write_label(struct writer *w, int32_t label)
{
    if (label < 0)
        write_head(w, CBOR_NEGATIVE, (uint64_t)(-1 - (int64_t)label));
    else
        write_head(w, CBOR_UINT, (uint64_t)label);
}

static inline void write_header_of(struct writer *w, const pml_pack *pack, uint64_t slots, uint64_t gallery)
{
    pml_pack_info info;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(pack, &info));
    write_head(w, CBOR_ARRAY, 5);
    write_head(w, CBOR_UINT, info.directions > 0 ? 2 : 1);
    write_byte_string(w, info.id, sizeof info.id);
    write_head(w, CBOR_UINT, slots);
    write_head(w, CBOR_UINT, info.sketch);
    write_head(w, CBOR_UINT, gallery);
}

static inline void write_header(struct writer *w, const pml_pack *pack, uint64_t gallery)
{
    write_header_of(w, pack, pack->slots, gallery);
}

static inline void write_slot(struct writer *w, uint64_t slot, uint64_t count)
{
    write_head(w, CBOR_ARRAY, 2);
    write_head(w, CBOR_UINT, slot);
    write_head(w, CBOR_UINT, count);
}

static inline void write_candidate(struct writer *w, uint64_t item, int32_t label, const int8_t *sketch, size_t length,
                                   const void *payload, size_t payload_size)
{
    write_head(w, CBOR_ARRAY, 4);
    write_head(w, CBOR_UINT, item);
    write_label(w, label);
    write_byte_string(w, sketch, length);
    write_byte_string(w, payload, payload_size);
}

/* ---- lists of version 2 ---- */

enum { LIST_CLASSES = 1, LIST_PAYLOADS = 2 };

static inline void write_leb(struct writer *w, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        write_bytes(w, &(uint8_t){(uint8_t)(value | 128)}, 1);
    write_bytes(w, &(uint8_t){(uint8_t)value}, 1);
}

/* A list that is being made: its candidates as they will stand in the byte string. */
struct list {
    struct writer candidates;
    uint64_t count, next; /* next: the smallest item that may follow */
    unsigned form;
    int32_t label; /* of all candidates without LIST_CLASSES, else the smallest */
};

/* Returns where the payload begins in the byte string. Items must ascend, and labels be those that the form can hold. */
static inline size_t add_to_list(struct list *l, uint64_t item, int32_t label, const uint8_t *sketch, size_t length,
                                 const void *payload, size_t payload_size)
{
    write_leb(&l->candidates, item - l->next);
    l->next = item + 1;
    l->count++;
    if (l->form & LIST_CLASSES)
        write_leb(&l->candidates, (uint32_t)label - (uint32_t)l->label);
    write_bytes(&l->candidates, sketch, length);
    if (l->form & LIST_PAYLOADS)
        write_leb(&l->candidates, payload_size);
    write_bytes(&l->candidates, payload, payload_size);
    return l->candidates.size - payload_size;
}

/* The fields of a list up to the byte string. */
static inline void write_list_head(struct writer *w, uint64_t slot, uint64_t count, uint64_t form, int32_t label)
{
    write_head(w, CBOR_ARRAY, 5);
    write_head(w, CBOR_UINT, slot);
    write_head(w, CBOR_UINT, count);
    write_head(w, CBOR_UINT, form);
    write_label(w, label);
}

/* Writes the list and frees it. Returns where its byte string begins in the answer. */
static inline size_t write_list(struct writer *w, uint64_t slot, struct list *l)
{
    write_list_head(w, slot, l->count, l->form, l->label);
    write_byte_string(w, l->candidates.bytes, l->candidates.size);
    const size_t start = w->size - l->candidates.size;
    free(l->candidates.bytes);
    *l = (struct list){.form = 0};
    return start;
}

/* Feeds a copy that ends where its allocation ends, so that a read beyond it is seen; returns the status of finish. */
static inline pml_status feed_and_finish(pml_ranking *ranking, const uint8_t *bytes, size_t size,
                                         pml_answer_summary *summary)
{
    uint8_t *copy = malloc(size + 1);
    TEST_ASSERT_NOT_NULL(copy);
    if (size > 0)
        memcpy(copy + 1, bytes, size);
    pml_status fed = pml_ranking_feed(ranking, copy + 1, size);
    free(copy);
    pml_status status = pml_ranking_finish(ranking, summary);
    TEST_ASSERT_TRUE(fed == status || (fed == PML_OK && status == PML_ERROR_ANSWER));
    return status;
}

#endif
