/* SPDX-License-Identifier: Apache-2.0
 * Numbers of SPEC 8 as bytes. */
#ifndef PML_LITTLE_ENDIAN_H
#define PML_LITTLE_ENDIAN_H

#include <stdint.h>

static inline void pml_put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static inline void pml_put32(uint8_t *at, uint32_t value)
{
    pml_put16(at, (uint16_t)value);
    pml_put16(at + 2, (uint16_t)(value >> 16));
}

static inline void pml_put64(uint8_t *at, uint64_t value)
{
    pml_put32(at, (uint32_t)value);
    pml_put32(at + 4, (uint32_t)(value >> 32));
}

static inline uint16_t pml_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t pml_get32(const uint8_t *at)
{
    return pml_get16(at) | (uint32_t)pml_get16(at + 2) << 16;
}

static inline uint64_t pml_get64(const uint8_t *at)
{
    return pml_get32(at) | (uint64_t)pml_get32(at + 4) << 32;
}

#endif
