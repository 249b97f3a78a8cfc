/* SPDX-License-Identifier: Apache-2.0
 * Mechanism: exact Gaussian (SPEC 5.12; PRIVACY.md, theorems 5 and 6). In: random words before the query, then the
 * secret row and slot. Out: an integer per slot and dimension. Deviates are Karney's (2016): normal to the last digit,
 * rounded once, from integers and random bits only. From the finished row on, no branch or address depends on a
 * secret. */
#include "stages.h"

#define LIMBS 20
#define WHOLE_MAX 32u /* P(|N| ≥ 32) < 2^-743 */

/* A uniform number in [0,1) whose digits are drawn when a comparison first asks for them. */
struct uniform {
    uint32_t limb[LIMBS];
    int drawn;
};

static uint32_t limb(pml_random *random, struct uniform *u, int i)
{
    if (u->drawn == i)
        u->limb[u->drawn++] = pml_random_word(random);
    return u->limb[i];
}

static bool less(pml_random *random, struct uniform *a, struct uniform *b)
{
    for (int i = 0; i < LIMBS; i++) {
        uint32_t x = limb(random, a, i), y = limb(random, b, i);
        if (x != y)
            return x < y;
    }
    return false; /* 2^-640: counted in δ */
}

/* true with probability e^(-1/2): the length of the descent ½ > u > v > … is even */
static bool half(pml_random *random)
{
    struct uniform pair[2], *u = &pair[0], *v = &pair[1];
    u->drawn = 0;
    if (limb(random, u, 0) >= (uint32_t)1 << (PML_WORD_BITS - 1))
        return true;
    for (bool even = false;; even = !even) {
        v->drawn = 0;
        if (!less(random, v, u))
            return even;
        struct uniform *free = u;
        u = v, v = free;
    }
}

/* true with probability exp(−x(2k+x)/(2k+2)) */
static bool step(pml_random *random, uint32_t k, struct uniform *x)
{
    struct uniform pair[2], p, *y = x, *z = &pair[0];
    for (bool even = true;; even = !even) {
        z->drawn = p.drawn = 0;
        if (!less(random, z, y))
            return even;
        uint32_t f = pml_random_below(random, 2 * (uint64_t)k + 2);
        if (f == 2 * k + 1 || (f == 2 * k && !less(random, &p, x)))
            return even;
        y = z;
        z = &pair[z == &pair[0]];
    }
}

/* One trial for |N| = k + x; true when it is accepted. */
static bool propose(pml_random *random, uint32_t *k, struct uniform *x)
{
    *k = 0;
    while (half(random))
        if (++*k == WHOLE_MAX)
            return false;
    for (uint32_t i = 0; i < *k * (*k - (*k > 0)); i++)
        if (!half(random))
            return false;
    x->drawn = 0;
    for (uint32_t i = 0; i <= *k; i++)
        if (!step(random, *k, x))
            return false;
    return true;
}

/* round(2^shift · N), of the signed deviate: rounding the size to nearest is symmetric, so it is the same */
static int32_t deviate(pml_random *random, uint32_t shift)
{
    uint32_t k;
    struct uniform x;
    while (!propose(random, &k, &x))
        ;
    int32_t size = (int32_t)((k << shift) + ((limb(random, &x, 0) >> (PML_WORD_BITS - 1 - shift)) + 1) / 2);
    return (pml_random_word(random) & 1) != 0 ? -size : size;
}

void pml_gaussian_draw(pml_random *random, uint32_t shift, int32_t *noise, size_t count)
{
    for (size_t i = 0; i < count; i++)
        noise[i] = deviate(random, shift);
}

/* round(v / 2^coarsen), then into ±limit; |v| < 2^40 */
static int64_t coarse(int64_t v, uint32_t coarsen, int64_t limit)
{
    const int64_t offset = (int64_t)1 << 41;
    uint64_t half_unit = ((uint64_t)1 << coarsen) >> 1;
    int64_t q = (int64_t)(((uint64_t)(v + offset) + half_unit) >> coarsen) - (offset >> coarsen);
    q = (int64_t)select64(mask_less(limit, q), (uint64_t)limit, (uint64_t)q);
    return (int64_t)select64(mask_less(q, -limit), (uint64_t)-limit, (uint64_t)q);
}

void pml_gaussian_emit(const int32_t *noise, const int64_t *centres, const int32_t *row, uint32_t slot, uint32_t slots,
                       uint32_t dimensions, uint32_t coarsen, unsigned value_bytes, uint8_t *body)
{
    const int64_t limit = value_limit(value_bytes);
    for (uint32_t s = 0; s < slots; s++) {
        uint64_t own = mask_equal(s, slot);
        for (uint32_t i = 0; i < dimensions; i++) {
            size_t at = (size_t)s * dimensions + i;
            int64_t place = (int64_t)select64(own, (uint64_t)(int64_t)row[i], (uint64_t)centres[at]);
            int64_t value = coarse(place + noise[at], coarsen, limit);
            if (value_bytes == 2)
                *body++ = (uint8_t)((uint64_t)value >> 8);
            *body++ = (uint8_t)value;
        }
    }
}
