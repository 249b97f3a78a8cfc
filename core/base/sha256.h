/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_SHA256_H
#define PML_SHA256_H
#include "base.h"

/* FIPS 180-4, of one contiguous message. */
void pml_sha256(const uint8_t *bytes, size_t size, uint8_t digest[32]);

#endif
