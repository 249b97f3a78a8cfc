/* SPDX-License-Identifier: Apache-2.0
 * The order in which messages leave: what the crowd's promise rests on (PRIVACY.md, section 11). */
#ifndef RELAY_ORDER_H
#define RELAY_ORDER_H

#include "common/message.h"

#include <privatemail.h>

/* Fills `order` with 0 … count−1 in a uniformly random order, with words of a key of its own from `entropy`. Returns
 * PML_DONE, or PML_UNAVAILABLE when there is no entropy. */
pml_outcome relay_order(uint32_t *order, uint32_t count, pml_entropy_fn entropy, void *context);

#endif
