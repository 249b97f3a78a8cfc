/* SPDX-License-Identifier: Apache-2.0
 * The law of the fakes in one cell and what hides in it; all of it is public arithmetic. */
#ifndef PML_CROWD_LAW_H
#define PML_CROWD_LAW_H
#include "base/base.h"

/* Bounds what theorem A's two cells have outside the counts that are kept. */
#define PML_CROWD_TAIL 1e-22

/* Bounds what a client's sampler differs from the law: it cuts the number of clusters at 63 (PRIVACY 11). */
#define PML_CROWD_SAMPLER_ERROR 0x1p-173

/* Clusters in a cell: Poisson with mean `clusters`, sizes uniform on 1 … `copies`. */
typedef struct pml_fakes {
    double clusters;
    uint32_t copies;
} pml_fakes;

/* Pairs of neighbouring probabilities (π(k−1), π(k)) for the counts k that are kept, by ascending quotient. The first has
 * 0 for π(k−1), the last 0 for π(k). */
typedef struct pml_law {
    double *before, *here;
    size_t count;
    double error; /* relative, of a product of two probabilities and of sums of such products */
    double step;  /* about a sixteenth of the standard deviation of a release's loss */
} pml_law;

/* Counts that the law needs; `fakes` is thinned until they are at most PML_CROWD_COUNTS_MAX. */
size_t pml_law_counts(pml_fakes *fakes);

/* Computes it in 2·pml_law_counts doubles. */
void pml_law_make(pml_fakes fakes, double *scratch, pml_law *law);

/* Theorem A without its factor 1−γ: an upper bound of δ at ε, 0 ≤ ε ≤ 256. */
double pml_law_delta(const pml_law *law, double epsilon);

/* Losses of several such releases together: P's mass on losses of (index − PML_CROWD_GRID/2)·step. */
typedef struct pml_losses {
    double *mass;
    double step;
    double infinite; /* mass of unbounded loss */
} pml_losses;

/* Computes an upper bound of it in 3·PML_CROWD_GRID doubles. */
void pml_losses_make(const pml_law *law, uint32_t times, double *scratch, pml_losses *losses);
double pml_losses_delta(const pml_losses *losses, double epsilon);

#endif
