/* SPDX-License-Identifier: Apache-2.0
 * Where things are in a pack, computed from SPEC 1 alone. It is independent of core/pack/pack_check.c on purpose: tests
 * compare what the core finds with it, and change or make packs that the core must refuse. */
#ifndef TEST_PACK_LAYOUT_H
#define TEST_PACK_LAYOUT_H

#include "base/base.h"

enum { SECTIONS = 21, HEADER_SIZE = 88, RECORD_SIZE = 64, RECORDS_SIZE = 512, CODE_SIZE = 272 };

enum { AT_HASH = 8, AT_SIZE = 40, AT_FIELDS = 48, AT_SECTIONS = 80, AT_PROTOTYPES = 84 };

struct pack_fields {
    uint64_t size;
    uint32_t d, n, K, k, G, kind, m, C, lambda, alpha, L, sections, M;
    size_t bodies; /* of fronts; this and the next two are 0 unless read by read_all_fields */
    uint32_t H, P; /* labels of the head, directions of coded sketches */
};

static inline struct pack_fields read_fields(const uint8_t *bytes)
{
    return (struct pack_fields){
        .size = load_le64(bytes + 40),
        .d = load_le32(bytes + 48),
        .n = load_le32(bytes + 52),
        .K = load_le16(bytes + 56),
        .k = load_le16(bytes + 58),
        .G = load_le16(bytes + 60),
        .kind = load_le16(bytes + 62),
        .m = load_le32(bytes + 64),
        .C = load_le32(bytes + 68),
        .lambda = load_le32(bytes + 72),
        .alpha = load_le16(bytes + 76),
        .L = load_le16(bytes + 78),
        .sections = load_le32(bytes + 80),
        .M = load_le32(bytes + 84),
    };
}

/* Bytes of a section of a sound pack. */
static inline size_t section_size(const struct pack_fields *f, unsigned section)
{
    const size_t rows = (size_t)f->G * f->M;
    const size_t sizes[SECTIONS] = {
        8 * (size_t)f->C,
        rows * f->d,
        4 * rows,
        (size_t)f->n * f->d,
        4 * (size_t)f->n,
        4 * ((size_t)f->G + 1),
        2 * (size_t)f->n * f->k,
        2 * (size_t)f->G * f->k,
        2 * (size_t)f->G * f->m * f->k,
        4 * (size_t)f->n * f->K,
        2 * rows,
        (size_t)f->L * f->d,
        65,
        RECORDS_SIZE,
        f->bodies,
        16,
        (size_t)f->H * (16 + f->d),
        CODE_SIZE,
        (size_t)f->P * f->d,
        4 * (size_t)f->P,
        4 * (size_t)f->P,
    };
    return f->sections >> section & 1 ? sizes[section] : 0;
}

/* Where a section of a sound pack starts; 0 when it is absent. */
static inline size_t section_offset(const struct pack_fields *f, unsigned section)
{
    size_t end = HEADER_SIZE;
    for (unsigned i = 0; i < section; i++)
        if (f->sections >> i & 1)
            end = (end + 15) / 16 * 16 + section_size(f, i);
    return f->sections >> section & 1 ? (end + 15) / 16 * 16 : 0;
}

/* Bytes of the body of a front with this record (SPEC 1.1). */
static inline size_t front_body_size(const uint8_t *record, size_t d)
{
    const size_t inputs = load_le32(record + 4), centres = load_le32(record + 8);
    switch (load_le16(record)) {
    case 3:
        return d * (12 + inputs);
    case 4:
        return 8 * d + centres * (12 + inputs + d);
    default:
        return 0;
    }
}

/* The same of a sound pack, with what its sections say about the sizes of others. */
static inline struct pack_fields read_all_fields(const uint8_t *bytes)
{
    struct pack_fields f = read_fields(bytes);
    const size_t records = section_offset(&f, 13);
    for (size_t v = 0; records > 0 && v < RECORDS_SIZE / RECORD_SIZE; v++)
        f.bodies += front_body_size(bytes + records + v * RECORD_SIZE, f.d);
    if (f.sections >> 15 & 1)
        f.H = load_le32(bytes + section_offset(&f, 15));
    for (size_t b = 0; f.sections >> 17 & 1 && b < 7; b++)
        f.P += 8 * load_le16(bytes + section_offset(&f, 17) + 2 * b);
    return f;
}

/* Whether a byte behind the header belongs to no section. */
static inline bool is_gap(const struct pack_fields *f, size_t at)
{
    for (unsigned i = 0; i < SECTIONS; i++)
        if (f->sections >> i & 1 && at >= section_offset(f, i) && at < section_offset(f, i) + section_size(f, i))
            return false;
    return at >= HEADER_SIZE;
}

static inline void store_le(uint8_t *p, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

#endif
