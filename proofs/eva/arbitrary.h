/* SPDX-License-Identifier: Apache-2.0
 * What the drivers have in common: arbitrary bytes, numbers, pointers and choices. */
#ifndef PML_EVA_ARBITRARY_H
#define PML_EVA_ARBITRARY_H

#include "core/base/base.h"

#include <__fc_builtin.h>

/* How far the caller's memory is from the next address that is aligned: 0 to 7. The drivers set it before each call that
 * lays something out. It stands for the rounding of an address, which Eva does not know (check_behaviour.py, REWRITES). */
extern size_t eva_offset;

/* Any bytes, of any type. */
static inline void make_any(void *memory, size_t size)
{
    Frama_C_make_unknown((char *)memory, size);
}

#define ANY(object) make_any(&(object), sizeof(object))

static inline bool any_bool(void)
{
    return Frama_C_nondet(0, 1) != 0;
}

static inline size_t any_size(size_t most)
{
    return Frama_C_unsigned_long_interval(0, most);
}

static inline uint32_t any_u32(void)
{
    return Frama_C_unsigned_int_interval(0, 0xFFFFFFFFu);
}

static inline double any_double(void)
{
    double value;
    ANY(value);
    return value;
}

/* An ε from 2^-20 to 16, a third at a time: Eva sees how large e^ε is only where it knows ε nearly. */
enum { EPSILON_PARTS = 48 };
static inline double any_epsilon(int part)
{
    return Frama_C_double_interval(part == 0 ? 0x1p-20 : part / 3.0, (part + 1) / 3.0);
}

/* A double that is no such ε: below, above, or none at all. */
enum { OTHER_PARTS = 3 };
static inline double other_epsilon(int part)
{
    const double infinite = 0x1p1023 * 2.0, finite = 0x1.fffffffffffffp1023;
    if (part == 0)
        return any_bool() ? -infinite : Frama_C_double_interval(-finite, 0x1.fffffffffffffp-21);
    if (part == 1)
        return any_bool() ? infinite : Frama_C_double_interval(0x1.0000000000001p4, finite);
    return infinite - infinite;
}

/* The pointer, or NULL. */
#define MAYBE(pointer) (any_bool() ? (pointer) : NULL)

#endif
