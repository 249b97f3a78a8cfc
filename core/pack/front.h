/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_FRONT_H
#define PML_FRONT_H
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

struct front_centre {
    uint32_t inverse, lambda, amplitude;
};

static inline struct front_centre front_centre(const pml_front *front, size_t centre)
{
    const uint8_t *record = (const uint8_t *)front->values - 12 * (front->centres - centre);
    return (struct front_centre){load_le32(record), load_le32(record + 4), load_le32(record + 8)};
}

#endif
