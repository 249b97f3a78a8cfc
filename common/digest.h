/* SPDX-License-Identifier: Apache-2.0
 * A 64-bit digest (SPEC 8) that tells damaged or changed data from what it was. Against accidents, not against malice:
 * whoever may write the data can also write a digest that matches. */
#ifndef PML_DIGEST_H
#define PML_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* Both continue from `digest`, which is 0 at the start, and return the new one. A string counts with its length, so that ("ab", "c") is not ("a", "bc"). */
uint64_t pml_digest_number(uint64_t digest, uint64_t number);
uint64_t pml_digest_string(uint64_t digest, const void *bytes, size_t size);

#endif
