/* SPDX-License-Identifier: Apache-2.0
 * The law of the fakes in one cell, and the losses of several messages, in scratch of exactly the size that pml_law_counts
 * gives. The mean number of clusters is any of several narrow ranges in which that size is one number, ε is any in its
 * range, and the law that losses are made of has any probabilities. The counts themselves are of any policy.
 * eva: sources privacy/crowd_law.c privacy/crowd_losses.c base/elementary.c base/exact.c
 * eva: options -eva-slevel 100 -eva-widening-delay 20 -eva-auto-loop-unroll 100
 * eva: options -eva-slevel-function sort:0,join:0,coarsen:0,is_wide:0,clear:0,add:0,pml_losses_make:0,pml_losses_delta:0 */
#include "arbitrary.h"
#include "core/privacy/crowd_law.h"

#include <stdlib.h>

enum { COUNT = 5 };

/* Scratch behind which nothing is. */
static double *doubles(size_t count)
{
    return malloc(count * sizeof(double));
}

static double any_up_to(double most)
{
    return Frama_C_double_interval(0.0, most);
}

/* From `low` to `high` clusters in a cell, which need `counts`. */
static void law(double low, double high, uint32_t copies, size_t counts)
{
    pml_fakes fakes = {Frama_C_double_interval(low, high), copies};
    pml_law made;
    const bool agree = pml_law_counts(&fakes) == counts;
    //@ assert agree == 1;
    pml_law_make(fakes, doubles(2 * counts), &made);
    (void)pml_law_delta(&made, any_up_to(256.0));
}

/* Several messages: every table of probabilities, sorted or not. */
static void losses(uint32_t times)
{
    static double before[COUNT], here[COUNT];
    pml_law any = {before, here, COUNT, any_up_to(0x1p-10), Frama_C_double_interval(0x1p-20, 0.125)};
    pml_losses made;
    for (int i = 0; i < COUNT; i++) {
        before[i] = any_up_to(1.0);
        here[i] = any_up_to(1.0);
    }
    (void)pml_law_delta(&any, any_up_to(256.0));
    pml_losses_make(&any, times, doubles(3 * PML_CROWD_GRID), &made);
    (void)pml_losses_delta(&made, any_up_to(256.0));
}

/* Of every policy: the scratch is never larger than the header says. */
static void counts(void)
{
    //@ loop unroll 64;
    for (uint32_t copies = 1; copies <= PML_CROWD_COPIES_MAX; copies++) {
        pml_fakes fakes = {any_up_to(0x1p40), copies};
        const bool fits = pml_law_counts(&fakes) <= PML_CROWD_COUNTS_MAX;
        //@ assert fits == 1;
    }
}

int main(void)
{
    counts();
    law(0.0, 0.0, 1, 39);
    law(0x1p-7, 0x1.001p-7, 1, 39);
    law(0.25, 0x1.001p-2, 1, 44);
    law(0x1p-10, 0x1.001p-10, 2, 74);
    losses(2);
    losses(Frama_C_unsigned_int_interval(2, PML_CROWD_OWN_MAX * PML_CROWD_QUERIES_MAX));
    return 0;
}
