/* SPDX-License-Identifier: Apache-2.0
 * The header of a pack, all sections placed: arbitrary bytes of several lengths. Built without fronts and heads.
 * eva: quick
 * eva: defines -DPML_WITH_FRONT=0
 * eva: sources pack/pack_check.c pack/pack_sketch.c
 * eva: sources base/exact.c
 * eva: options -eva-slevel 10 -eva-auto-loop-unroll 30 */
#include "arbitrary.h"
#include "core/pack/pack.h"

#include <stdlib.h>

static void header(size_t size)
{
    uint8_t *bytes = malloc(size);
    pml_pack pack = {0};
    make_any(bytes, size);
    (void)pml_pack_check_header(&pack, bytes, size);
}

int main(void)
{
    char name[80];
    ANY(name);
    name[79] = 0;
    header(8);
    header(87);
    header(88);
    header(200);
    header(1000);
    (void)pml_model_length(MAYBE(name));
    return 0;
}
