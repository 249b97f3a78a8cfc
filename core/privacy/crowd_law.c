/* SPDX-License-Identifier: Apache-2.0
 * The compound Poisson law of the fakes in one cell, and theorem A of PRIVACY. In: public parameters. Out: an upper bound
 * of δ. Only sums of positive terms are formed before the one difference at the end, so relative errors are carried. */
#include "crowd_law.h"
#include "base/elementary.h"
#include "base/exact.h"

#define LEAST 1e-40    /* what is less likely is not kept */
#define MEAN_MAX 98304 /* fakes per cell that are counted: three quarters of PML_CROWD_COUNTS_MAX */
#define ROUNDING 0x1p-53

static double variance(pml_fakes fakes)
{
    return fakes.clusters * ((fakes.copies + 1u) * (2u * fakes.copies + 1u)) / 6.0;
}

/* P(count ≥ mean + x) ≤ e^-52 for x = 2·52/3·v + √(2·52·variance), by Bernstein's inequality. */
size_t pml_law_counts(pml_fakes *fakes)
{
    /* Fewer fakes hide less, so thinning is sound. */
    double most = 2.0 * MEAN_MAX / (fakes->copies + 1u);
    if (fakes->clusters > most)
        fakes->clusters = most;
    return (size_t)(fakes->clusters * (fakes->copies + 1u) * 0.5) + 35u * fakes->copies +
           pml_sqrt_floor((uint64_t)(104.0 * variance(*fakes))) + 4u;
}

/* π(0) … π(last) by Panjer's recursion, each within last·(copies + 5) roundings. They are divided by their sum, which is
 * below 1 by less than e^-52. */
static void fill(pml_fakes fakes, double *chance, size_t last)
{
    double all = chance[0] = 1.0;
    for (size_t k = 1; k <= last; k++) {
        double sum = 0.0;
        for (size_t size = 1; size <= fakes.copies && size <= k; size++)
            sum += (double)size * chance[k - size];
        all += chance[k] = sum * fakes.clusters / (double)(k * fakes.copies);
        if (all > 0x1p500) {
            all *= 0x1p-500;
            for (size_t i = 0; i <= k; i++)
                chance[i] *= 0x1p-500;
        }
    }
    for (size_t k = 0; k <= last; k++)
        chance[k] /= all;
}

/* By insertion: but for the first few counts the quotients before/here ascend already. */
static void sort(pml_law *law)
{
    double *b = law->before, *h = law->here;
    for (size_t i = 1; i < law->count; i++) {
        double before = b[i], here = h[i];
        size_t to = i;
        for (; to > 0 && b[to - 1] * here > before * h[to - 1]; to--) {
            b[to] = b[to - 1];
            h[to] = h[to - 1];
        }
        b[to] = before;
        h[to] = here;
    }
}

void pml_law_make(pml_fakes fakes, double *scratch, pml_law *law)
{
    size_t counts = pml_law_counts(&fakes), first = 0, last = counts - 2u;
    double *here = scratch, *before = scratch + counts;
    fill(fakes, here, last);
    law->error = (double)(counts * (fakes.copies + 8u)) * (8 * ROUNDING);
    law->step = 1.0 / (8u * pml_sqrt_floor((uint64_t)(2.0 * variance(fakes))) + 8u);
    while (here[last] < LEAST)
        last--;
    while (here[first] < LEAST)
        first++;
    before[first] = 0.0;
    here[last + 1] = 0.0;
    memcpy(before + first + 1, here + first, (last + 1u - first) * sizeof *here);
    law->before = before + first;
    law->here = here + first;
    law->count = last + 2u - first;
    sort(law);
}

/* The outcomes (i, j) of the two cells with P > e^ε·Q are those with quotient(i) > e^ε·quotient(j). With i ascending, the
 * set of j only grows. */
double pml_law_delta(const pml_law *law, double epsilon)
{
    double factor = pml_exp(epsilon), wide = factor * (1.0 - law->error), with = 0.0, without = 0.0;
    double here = 0.0, before = 0.0; /* sums over the set of j */
    size_t j = 0;
    for (size_t i = 0; i < law->count; i++) {
        for (; j < law->count && law->before[i] * law->here[j] > wide * law->here[i] * law->before[j]; j++) {
            here += law->here[j];
            before += law->before[j];
        }
        with += law->before[i] * here;
        without += law->here[i] * before;
    }
    return with - factor * without + with * 4.0 * law->error + PML_CROWD_TAIL;
}
