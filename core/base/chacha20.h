/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_CHACHA20_H
#define PML_CHACHA20_H
#include "base.h"

/* One 64-byte block of RFC 8439's key stream, as the 16 words it serialises little-endian. */
/*@ terminates \true;
    assigns out[0 .. 15]; */
void pml_chacha20_block(const uint8_t key[32], uint32_t counter, const uint8_t nonce[12], uint32_t out[16]);

#endif
