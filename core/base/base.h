/* SPDX-License-Identifier: Apache-2.0
 * What every file of the core stands on: the compiler's contract, bytes, masks, wiping. No state, no arithmetic. */
#ifndef PML_BASE_H
#define PML_BASE_H

#include "include/privatemail_crowd.h"
#include "include/privatemail_public.h"

#include <limits.h>

/* Options of the build; SwiftPM and CocoaPods carry no flags, so absent means all. */
#ifndef PML_WITH_RESPONSE
#define PML_WITH_RESPONSE 1
#endif
#ifndef PML_WITH_GAUSSIAN
#define PML_WITH_GAUSSIAN 1
#endif
#ifndef PML_WITH_CROWD
#define PML_WITH_CROWD PML_WITH_RESPONSE
#endif
#ifndef PML_WITH_FRONT
#define PML_WITH_FRONT 1
#endif
#ifndef PML_WITH_HEAD
#define PML_WITH_HEAD PML_WITH_FRONT
#endif
#if !PML_WITH_RESPONSE && !PML_WITH_GAUSSIAN
#error "PrivateMail needs at least one mechanism"
#endif
#if PML_WITH_CROWD && !PML_WITH_RESPONSE
#error "a crowd needs the response mechanism"
#endif
#if PML_WITH_HEAD && !PML_WITH_FRONT
#error "heads need fronts"
#endif

/* Every platform must give the same bytes: doubles are evaluated as doubles, never fused, never reassociated. */
#if defined(__FAST_MATH__)
#error "PrivateMail must not be compiled with -ffast-math"
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "PrivateMail needs double arithmetic without excess precision (on x86: -msse2 -mfpmath=sse)"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__cplusplus)
#pragma GCC optimize("fp-contract=off")
#endif

_Static_assert(CHAR_BIT == 8, "bytes of 8 bits");
_Static_assert(sizeof(float) == 4 && sizeof(double) == 8, "IEEE-754 binary32 and binary64");
_Static_assert((-1 & 3) == 3, "two's complement");

/* A frame of its own, also when the whole program is optimised at once. */
#if defined(__GNUC__)
#define PML_NOINLINE __attribute__((noinline))
#elif defined(_MSC_VER)
#define PML_NOINLINE __declspec(noinline)
#else
#define PML_NOINLINE
#endif

/* The only functions that core and transport take from outside; every freestanding compiler demands them anyway. */
/*@ requires \valid((uint8_t *)to + (0 .. size - 1)) && \valid_read((uint8_t *)from + (0 .. size - 1));
    terminates \true;
    assigns ((uint8_t *)to)[0 .. size - 1];
    ensures \forall integer i; 0 <= i < size ==> ((uint8_t *)to)[i] == \old(((uint8_t *)from)[i]); */
void *memcpy(void *restrict to, const void *restrict from, size_t size);
/*@ requires \valid((uint8_t *)to + (0 .. size - 1));
    terminates \true;
    assigns ((uint8_t *)to)[0 .. size - 1];
    ensures \forall integer i; 0 <= i < size ==> ((uint8_t *)to)[i] == (uint8_t)value; */
void *memset(void *to, int value, size_t size);
/*@ terminates \true;
    assigns \result \from ((uint8_t *)a)[0 .. size - 1], ((uint8_t *)b)[0 .. size - 1];
    ensures \result == 0 ==> \forall integer i; 0 <= i < size ==> ((uint8_t *)a)[i] == ((uint8_t *)b)[i]; */
int memcmp(const void *a, const void *b, size_t size);
void *memmove(void *to, const void *from, size_t size);

/* ---- ranges (SPEC 4, 5.8, 5.11), each in one place; no comparison holds for a NaN ---- */

#define PML_BUDGET_EPSILON_MAX 256.0 /* of all Gaussian releases together */

static inline bool epsilon_in_range(double epsilon, double max)
{
    return epsilon >= PML_EPSILON_MIN && epsilon <= max;
}

static inline bool delta_in_range(double delta)
{
    return delta >= 0x1p-50 && delta < 1.0;
}

/* SPEC 5.17, but for what depends on a pack, and for what is booked. */
static inline bool crowd_in_range(const pml_crowd *crowd)
{
    return crowd->clients <= PML_CROWD_CLIENTS_MAX && crowd->clusters >= 0.0 &&
           crowd->clusters <= (crowd->clients > 0 ? PML_CROWD_CLUSTERS_MAX : 0.0) &&
           crowd->copies - 1u < PML_CROWD_COPIES_MAX && crowd->own - 1u < PML_CROWD_OWN_MAX &&
           crowd->relay_clusters >= 0.0 && crowd->relay_clusters <= PML_CROWD_RELAY_MAX;
}

/* ---- wiping ---- */

/* Zeroes memory in a way the compiler cannot remove. */
void pml_wipe(void *memory, size_t size);

/* Zeroes the stack below its caller, and where the compiler can the registers it may use: what the calls before it left
 * there. Called by the public functions after each look at a secret; no call below them goes deeper
 * (tests/check_wipe.sh). */
PML_NOINLINE void pml_wipe_stack(void);

#define PML_STACK_WIPED (sizeof(void *) > 4 ? 2560u : 1024u)

/* ---- bytes ---- */

/*@ logic integer le32(uint8_t *p) = p[0] + 0x100 * p[1] + 0x10000 * p[2] + 0x1000000 * p[3];
    logic integer le64(uint8_t *p) = le32(p) + 0x100000000 * le32(p + 4);
    logic integer be32(uint8_t *p) = 0x1000000 * p[0] + 0x10000 * p[1] + 0x100 * p[2] + p[3];
    lemma bytes_of_word: \forall uint32_t v;
      v == (uint8_t)v + 0x100 * (uint8_t)(v >> 8) + 0x10000 * (uint8_t)(v >> 16) + 0x1000000 * (v >> 24); */

/*@ requires \valid_read(p + (0 .. 1));
    terminates \true;
    assigns \nothing;
    ensures \result == p[0] + 0x100 * p[1]; */
static inline uint32_t load_le16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

/*@ requires \valid_read(p + (0 .. 3));
    terminates \true;
    assigns \nothing;
    ensures \result == le32(p); */
static inline uint32_t load_le32(const uint8_t *p)
{
    return load_le16(p) | load_le16(p + 2) << 16;
}

/*@ requires \valid_read(p + (0 .. 7));
    terminates \true;
    assigns \nothing;
    ensures \result == le64(p); */
static inline uint64_t load_le64(const uint8_t *p)
{
    return (uint64_t)load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
}

/*@ requires \valid(p + (0 .. 3));
    terminates \true;
    assigns p[0 .. 3];
    ensures le32(p) == v; */
static inline void store_le32(uint8_t *p, uint32_t v)
{
    /*@ loop assigns i, p[0 .. 3];
        loop invariant 0 <= i <= 4 && \forall integer k; 0 <= k < i ==> p[k] == (uint8_t)(v >> 8 * k);
        loop variant 4 - i; */
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
    //@ assert p[0] == (uint8_t)v && p[1] == (uint8_t)(v >> 8) && p[2] == (uint8_t)(v >> 16) && p[3] == v >> 24;
}

/*@ requires \valid(p + (0 .. 7));
    terminates \true;
    assigns p[0 .. 7];
    ensures le64(p) == v; */
static inline void store_le64(uint8_t *p, uint64_t v)
{
    store_le32(p, (uint32_t)v);
    store_le32(p + 4, (uint32_t)(v >> 32));
}

/*@ requires \valid_read(p + (0 .. 3));
    terminates \true;
    assigns \nothing;
    ensures \result == be32(p); */
static inline uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/*@ requires \valid(p + (0 .. 3));
    terminates \true;
    assigns p[0 .. 3];
    ensures be32(p) == v; */
static inline void store_be32(uint8_t *p, uint32_t v)
{
    /*@ loop assigns i, p[0 .. 3];
        loop invariant 0 <= i <= 4 && \forall integer k; 0 <= k < i ==> p[k] == (uint8_t)(v >> 24 - 8 * k);
        loop variant 4 - i; */
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
    //@ assert p[3] == (uint8_t)v && p[2] == (uint8_t)(v >> 8) && p[1] == (uint8_t)(v >> 16) && p[0] == v >> 24;
}

/* ---- masks: all ones or zero, computed without a branch on the secret ----
 * Whatever is chosen by a secret is chosen by one of these, never by a 0 or 1 shifted out of it: of such a bit the
 * compiler knows that there are two cases, and may branch between them (tests/check_branches.py). */

/* Keeps the compiler from recognising a comparison, before the shift that makes the mask, or a choice, after it, and
 * turning either into a branch. */
/*@ terminates \true;
    assigns \nothing;
    ensures \result == v; */
static inline uint64_t hide(uint64_t v)
{
#if defined(__GNUC__)
    __asm__("" : "+r"(v));
    return v;
#else
    volatile uint64_t w = v;
    return w;
#endif
}

/*@ terminates \true;
    assigns \nothing;
    ensures \result == (v == 0 ? 0 : UINT64_MAX); */
static inline uint64_t mask_nonzero(uint64_t v)
{
    return hide(0 - (hide(v | (0 - v)) >> 63));
}

/*@ terminates \true;
    assigns \nothing;
    ensures \result == (a == b ? UINT64_MAX : 0); */
static inline uint64_t mask_equal(uint64_t a, uint64_t b)
{
    return ~mask_nonzero(a ^ b);
}

/* a < b, for |a − b| < 2^63 */
/*@ requires -0x8000000000000000 <= a - b <= 0x7FFFFFFFFFFFFFFF;
    terminates \true;
    assigns \nothing;
    ensures \result == (a < b ? UINT64_MAX : 0); */
static inline uint64_t mask_less(int64_t a, int64_t b)
{
    return hide(0 - (hide((uint64_t)a - (uint64_t)b) >> 63));
}

/*@ terminates \true;
    assigns \nothing;
    ensures \result == (a < b ? UINT64_MAX : 0); */
static inline uint64_t mask_less_unsigned(uint64_t a, uint64_t b)
{
    return hide(0 - (hide((~a & b) | ((~a | b) & (a - b))) >> 63));
}

/*@ requires mask == 0 || mask == UINT64_MAX;
    terminates \true;
    assigns \nothing;
    ensures \result == (mask != 0 ? yes : no); */
static inline uint64_t select64(uint64_t mask, uint64_t yes, uint64_t no)
{
    return no ^ (mask & (yes ^ no));
}

/*@ requires mask == 0 || (uint32_t)mask == UINT32_MAX;
    terminates \true;
    assigns \nothing;
    ensures \result == (mask != 0 ? yes : no); */
static inline uint32_t select32(uint64_t mask, uint32_t yes, uint32_t no)
{
    return no ^ ((uint32_t)mask & (yes ^ no));
}

/* −v where the mask is set */
/*@ requires mask == 0 || (uint32_t)mask == UINT32_MAX;
    terminates \true;
    assigns \nothing;
    ensures \result == (mask != 0 ? (uint32_t)-v : v); */
static inline uint32_t negate32(uint64_t mask, uint32_t v)
{
    return (v ^ (uint32_t)mask) - (uint32_t)mask;
}

#endif
