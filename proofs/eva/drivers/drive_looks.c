/* SPDX-License-Identifier: Apache-2.0
 * Looks and quantising: features of any bits, in memory of exactly the size that the header's macro gives, which begins
 * one byte behind an aligned address, so that its last byte is used.
 * eva: quick
 * eva: sources looks.c stages/look.c stages/quantise.c base/exact.c base/wipe.c base/kernels_portable.c
 * eva: stubs stubs_hash.c
 * eva: options -eva-slevel 5 -eva-auto-loop-unroll 40 */
#include "arbitrary.h"

enum { COUNT = 5, MANY = 33 };

int main(void)
{
    static uint8_t memory[PML_LOOKS_MEMORY(COUNT)], large[PML_LOOKS_MEMORY(MANY)];
    static float features[MANY], means[MANY];
    static int8_t row[MANY];
    pml_looks *looks = NULL, *more = NULL;
    ANY(features);
    eva_offset = 3;
    const size_t needed = pml_looks_size(COUNT);
    const bool agree = needed == sizeof memory;
    //@ assert agree == 1;
    (void)pml_looks_size(any_size(SIZE_MAX));
    (void)pml_looks_begin(MAYBE(&more), MAYBE((void *)large), any_size(sizeof large), MANY);
    if (pml_looks_begin(&looks, memory, needed, COUNT) != PML_OK)
        return 1;
    (void)pml_looks_add(looks, features, COUNT);
    (void)pml_looks_mean(looks, means, COUNT);
    (void)pml_looks_add(MAYBE(looks), MAYBE(features), any_size(SIZE_MAX));
    (void)pml_looks_mean(MAYBE(looks), MAYBE(means), any_size(MANY));
    pml_looks_wipe(MAYBE(looks));
    (void)pml_quantise(MAYBE(features), MANY, MAYBE(row));
    (void)pml_quantise(features, 1, row);
    return 0;
}
