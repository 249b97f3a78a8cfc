/* SPDX-License-Identifier: Apache-2.0
 * In place of crowd_law.c and crowd_losses.c, where a driver is about what is made of them: laws that need as many counts as
 * the driver says, write all of the scratch that their headers name, and bound δ by any number, NaN among them. */
#include "arbitrary.h"
#include "core/privacy/crowd_law.h"

size_t eva_counts;

size_t pml_law_counts(pml_fakes *fakes)
{
    const double clusters = fakes->clusters;
    //@ assert clusters >= 0.0 && clusters <= 0x1p35;
    const uint32_t copies = fakes->copies;
    //@ assert 1 <= copies <= 64;
    return eva_counts;
}

void pml_law_make(pml_fakes fakes, double *scratch, pml_law *law)
{
    (void)fakes;
    make_any(scratch, 2 * eva_counts * sizeof *scratch);
    law->here = scratch;
    law->before = scratch + eva_counts;
    law->count = eva_counts;
    law->error = any_double();
    law->step = any_double();
}

double pml_law_delta(const pml_law *law, double epsilon)
{
    //@ assert \valid_read(law->here + (0 .. law->count - 1)) && epsilon >= 0.0 && epsilon <= 700.0;
    (void)law;
    (void)epsilon;
    return any_double();
}

void pml_losses_make(const pml_law *law, uint32_t times, double *scratch, pml_losses *losses)
{
    //@ assert 2 <= times < 0x1000000;
    (void)times;
    make_any(scratch, 3 * PML_CROWD_GRID * sizeof *scratch);
    losses->mass = scratch + PML_CROWD_GRID;
    losses->step = law->step;
    losses->infinite = any_double();
}

double pml_losses_delta(const pml_losses *losses, double epsilon)
{
    //@ assert \valid_read(losses->mass + (0 .. PML_CROWD_GRID - 1)) && epsilon >= 0.0 && epsilon <= 700.0;
    (void)losses;
    (void)epsilon;
    return any_double();
}
