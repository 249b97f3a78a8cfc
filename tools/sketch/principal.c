/* SPDX-License-Identifier: Apache-2.0
 * Second moments of the rows, not of their distances to the mean: it is the angle that sketches keep. */
#include "principal.h"

pml_outcome pml_principal_directions(struct pml_moments *moments, struct pml_directions *directions,
                                     const struct pml_rows *rows, size_t wanted, struct pml_generator *generator,
                                     unsigned threads, const struct pml_progress *progress)
{
    const size_t most = wanted + PML_MOMENTS_SPARE;
    pml_outcome outcome = pml_moments_sum(moments, rows, NULL, pml_generator_next(generator), threads);
    if (outcome == PML_DONE)
        outcome = pml_directions_allocate(directions, most < rows->columns ? most : rows->columns, rows->columns);
    if (outcome == PML_DONE)
        outcome = pml_moments_directions(moments, directions, generator, threads, progress);
    return outcome;
}
