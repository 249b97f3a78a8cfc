/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_SHA256_H
#define PML_SHA256_H
#include "base.h"
#include "kernels.h"

/* FIPS 180-4, of one contiguous message. */
/*@ terminates \true;
    assigns digest[0 .. 31]; */
void pml_sha256(const uint8_t *bytes, size_t size, uint8_t digest[32]);

/* The same by the kernel of a set. */
void pml_sha256_by(const uint8_t *bytes, size_t size, uint8_t digest[32], pml_sha256_blocks_fn take);

#endif
