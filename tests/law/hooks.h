/* SPDX-License-Identifier: Apache-2.0
 * For core/stages/gaussian.c compiled with its functions weak: one level of them is replaced by choices, so that the level
 * above it is seen on its own, exactly. LAW_LEVEL says which: 1 replaces less, 2 half and step, 3 propose. */
#ifndef LAW_HOOKS_H
#define LAW_HOOKS_H
#include "choices.h"

#define LIMBS 20

struct uniform { /* as gaussian.c has it */
    uint32_t limb[LIMBS];
    int drawn;
};

bool less(pml_random *random, struct uniform *a, struct uniform *b);
bool half(pml_random *random);
bool step(pml_random *random, uint32_t k, struct uniform *x);
bool propose(pml_random *random, uint32_t *k, struct uniform *x);
uint32_t limb(pml_random *random, struct uniform *u, int i);
void pml_gaussian_draw(pml_random *random, uint32_t shift, int32_t *noise, size_t count);

#endif
