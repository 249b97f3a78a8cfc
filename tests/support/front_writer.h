/* SPDX-License-Identifier: Apache-2.0
 * Writes front files, by SPEC 1.2 alone. */
#ifndef TEST_FRONT_WRITER_H
#define TEST_FRONT_WRITER_H

#include "pack_layout.h"
#include "support.h"

#include <stdlib.h>

enum { FRONT_HEADER = 128, AT_OUTPUTS = 48, AT_RECORD = 64 };

struct front_writer {
    uint8_t *bytes;
    size_t size, outputs, inputs, centres;
};

/* A front whose body is zero: not sound yet. Free its bytes with free(). */
static inline struct front_writer start_front(unsigned kind, size_t outputs, size_t inputs, size_t centres, bool root)
{
    uint8_t record[RECORD_SIZE] = {0};
    store_le(record, 2, kind);
    store_le(record + 2, 2, root);
    store_le(record + 4, 4, inputs);
    store_le(record + 8, 4, centres);
    if (kind == PML_FRONT_SIGNS)
        memset(record + 32, 0x42, 32);
    struct front_writer w = {.outputs = outputs, .inputs = inputs, .centres = centres};
    w.size = FRONT_HEADER + front_body_size(record, outputs);
    w.bytes = calloc(1, w.size);
    TEST_ASSERT_NOT_NULL(w.bytes);
    memcpy(w.bytes, "PMFR\0\0\1", 8);
    store_le(w.bytes + AT_SIZE, 8, w.size);
    store_le(w.bytes + AT_OUTPUTS, 4, outputs);
    memcpy(w.bytes + AT_RECORD, record, sizeof record);
    return w;
}

static inline void set_matrix_row(struct front_writer *w, size_t i, int64_t offset, uint32_t gain, const int8_t *values)
{
    uint8_t *body = w->bytes + FRONT_HEADER;
    store_le(body + 12 * i, 8, (uint64_t)offset);
    store_le(body + 12 * i + 8, 4, gain);
    memcpy(body + 12 * w->outputs + i * w->inputs, values, w->inputs);
}

static inline void set_offset(struct front_writer *w, size_t i, int64_t offset)
{
    store_le(w->bytes + FRONT_HEADER + 8 * i, 8, (uint64_t)offset);
}

static inline void set_centre(struct front_writer *w, size_t c, uint32_t lambda, uint32_t amplitude,
                              const int8_t *centre, const int8_t *coefficients)
{
    uint8_t *records = w->bytes + FRONT_HEADER + 8 * w->outputs, *values = records + 12 * w->centres;
    store_le(records + 12 * c, 4, pml_inverse_norm(centre, w->inputs));
    store_le(records + 12 * c + 4, 4, lambda);
    store_le(records + 12 * c + 8, 4, amplitude);
    memcpy(values + c * w->inputs, centre, w->inputs);
    memcpy(values + w->centres * w->inputs + c * w->outputs, coefficients, w->outputs);
}

/* Seals it and opens it, which must work. The front points into its bytes. */
static inline pml_front finish_front(struct front_writer *w)
{
    pml_front front;
    pml_front_seal(w->bytes, w->size);
    TEST_ASSERT_EQUAL(PML_OK, pml_front_open(&front, w->bytes, w->size));
    return front;
}

#endif
