/* SPDX-License-Identifier: Apache-2.0
 * Dot products over NEON's vectors, and what a set consists of. The file that includes this has defined INLINE and
 * add_products(sum, query, row): the products of 16 bytes, added to the lanes of an int32x4_t. */
#ifndef PML_KERNELS_NEON_H
#define PML_KERNELS_NEON_H

#define STEP 16u /* bytes a vector */

INLINE int32_t total(int32x4_t sum)
{
    const int32x2_t half = vadd_s32(vget_low_s32(sum), vget_high_s32(sum));
    return vget_lane_s32(vpadd_s32(half, half), 0);
}

INLINE int32_t rest(const int8_t *query, const int8_t *row, size_t from, size_t count)
{
    int32_t sum = 0;
    for (size_t j = from; j < count; j++)
        sum += query[j] * row[j];
    return sum;
}

/* Four rows share the loads of the query. */
INLINE void four_dots(const int8_t *query, const int8_t *rows, size_t count, int32_t *out)
{
    const int8_t *row[4] = {rows, rows + count, rows + 2 * count, rows + 3 * count};
    int32x4_t a = vdupq_n_s32(0), b = a, c = a, d = a;
    size_t j = 0;
    for (; j + STEP <= count; j += STEP) {
        const int8x16_t factors = vld1q_s8(query + j);
        a = add_products(a, factors, vld1q_s8(row[0] + j));
        b = add_products(b, factors, vld1q_s8(row[1] + j));
        c = add_products(c, factors, vld1q_s8(row[2] + j));
        d = add_products(d, factors, vld1q_s8(row[3] + j));
    }
    out[0] = total(a) + rest(query, row[0], j, count);
    out[1] = total(b) + rest(query, row[1], j, count);
    out[2] = total(c) + rest(query, row[2], j, count);
    out[3] = total(d) + rest(query, row[3], j, count);
}

INLINE int32_t one_dot(const int8_t *query, const int8_t *row, size_t count)
{
    int32x4_t sum = vdupq_n_s32(0);
    size_t j = 0;
    for (; j + STEP <= count; j += STEP)
        sum = add_products(sum, vld1q_s8(query + j), vld1q_s8(row + j));
    return total(sum) + rest(query, row, j, count);
}

INLINE void dots_of_rows(const int8_t *query, const int8_t *rows, size_t count, size_t row_count, int32_t *out)
{
    size_t i = 0;
    for (; i + 4 <= row_count; i += 4)
        four_dots(query, rows + i * count, count, out + i);
    for (; i < row_count; i++)
        out[i] = one_dot(query, rows + i * count, count);
}

/* A set; on 64 bits twice: for CPUs without and with instructions for SHA-256. */
#if PML_KERNELS_WIDE
void pml_sha256_blocks_neon(uint32_t state[8], const uint8_t *blocks, size_t count); /* kernels_neon_sha256.c */

#define PML_SET_NEON(set, sha256, with)                                                                                \
    {                                                                                                                  \
        .name = #set, .dots_s8 = pml_dots_s8_##set, .quantise_top = pml_quantise_top_portable,                         \
        .quantise_values = pml_quantise_values_portable, .sha256_blocks = sha256, .compare = pml_compare_portable,     \
        .with_sha256 = with,                                                                                           \
    }
#define PML_SETS_NEON(set)                                                                                             \
    static const struct pml_kernels with_sha256 = PML_SET_NEON(set, pml_sha256_blocks_neon, NULL);                     \
    const struct pml_kernels pml_kernels_##set = PML_SET_NEON(set, pml_sha256_blocks_portable, &with_sha256);
#else
#define PML_SETS_NEON(set) const struct pml_kernels pml_kernels_##set = {#set, pml_dots_s8_##set};
#endif

#endif
