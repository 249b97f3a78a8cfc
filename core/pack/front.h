/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_FRONT_H
#define PML_FRONT_H
#include "base/exact.h"
#include "pack.h"

/* A front's bytes (SPEC 1.1): records of 64 bytes, bodies. */
#define PML_FRONT_RECORD 64u
#define PML_FRONT_NAME_AT 16u
#define PML_FRONT_NAME_SIZE (PML_MODALITY_NAME_MAX + 1u)

/* pack_front.c: fills modalities and inputs of a pack whose section 13 is placed, and tells the size of the bodies, below
 * 2^32. */
pml_status pml_fronts_measure(pml_pack *pack, uint64_t *bodies_size);

/* The bodies of a pack that was measured and placed. */
bool pml_fronts_sound(const pml_pack *pack);

/* Reads a record, all but its name, of a front whose body stands at `body`; are its counts in their ranges, and the
 * values of its body? `body` may be NULL as long as nobody looks at it. */
bool pml_front_record(const uint8_t *record, uint32_t outputs, const uint8_t *body, pml_front *front);
bool pml_front_sound(const pml_front *front);

/* pack_head.c: fills `labels` of a pack whose section 15 is placed, and tells the size of section 16, below 2^25; is what
 * stands there in its ranges? True also without a head. */
bool pml_head_measure(pml_pack *pack, uint64_t *size);
bool pml_head_sound(const pml_pack *pack);

/* Are the labels of a head strictly ascending? */
bool pml_head_labels_sound(const pml_front *head);

/* Does it keep the quantised row in memory? */
static inline bool front_keeps_row(const pml_front *front)
{
    return front->kind == PML_FRONT_MATRIX || front->kind == PML_FRONT_KERNELS;
}

/* Bytes per output before the values: an offset, and in a matrix a gain. */
static inline size_t front_stride(const pml_front *front)
{
    return front->kind == PML_FRONT_MATRIX ? 12 : 8;
}

static inline int64_t front_offset(const pml_front *front, size_t output)
{
    return (int64_t)load_le64(front->body + front_stride(front) * output);
}

static inline uint32_t front_gain(const pml_front *front, size_t output)
{
    return load_le32(front->body + 12 * output + 8);
}

/* Row `output` of a matrix, given its product with a row whose inverse norm is `inverse` (SPEC 5.18, 5.19). A gain is at
 * most 32, so the first product is below 2^31. */
static inline int64_t matrix_sum(const pml_front *front, size_t output, int32_t dot, uint32_t inverse)
{
    return multiply_signed(dot * (int32_t)front_gain(front, output), inverse) + front_offset(front, output);
}

static inline int32_t head_label(const pml_front *head, size_t index)
{
    return (int32_t)load_le32(head->labels + 4 * index);
}

struct front_centre {
    uint32_t inverse, lambda, amplitude;
};

static inline struct front_centre front_centre(const pml_front *front, size_t centre)
{
    const uint8_t *record = (const uint8_t *)front->values - 12 * (front->centres - centre);
    return (struct front_centre){load_le32(record), load_le32(record + 4), load_le32(record + 8)};
}

#endif
