/* SPDX-License-Identifier: Apache-2.0
 * Mixing without clusters: any numbers of clients, fakes and cells, any ε and δ, NaN and infinities among them. The cells
 * are taken from one power of eight to the next, so that Eva sees that a chance is below 8.
 * eva: sources privacy/crowd_shuffle.c base/exact.c
 * eva: stubs stubs_exp.c
 * eva: options -eva-slevel 10 -eva-auto-loop-unroll 15
 * eva: options -eva-slevel-function make_blanket:0,blanket_delta:0,delta_of:0,start_pair:0,step_pair:0,pml_sqrt_floor:0 */
#include "arbitrary.h"

static void shuffle(uint32_t least, uint32_t most)
{
    pml_shuffle any;
    double found;
    ANY(any);
    any.cells = Frama_C_unsigned_int_interval(least, most);
    (void)pml_shuffle_delta(MAYBE(&any), any_double(), MAYBE(&found));
    (void)pml_shuffle_epsilon(MAYBE(&any), any_double(), MAYBE(&found));
}

int main(void)
{
    shuffle(0, 7);
    //@ loop unroll 7;
    for (uint32_t least = 8; least < 1u << 21; least *= 8)
        shuffle(least, 8 * least - 1);
    shuffle(1u << 21, UINT32_MAX);
    return 0;
}
