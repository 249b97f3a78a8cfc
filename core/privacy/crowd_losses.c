/* SPDX-License-Identifier: Apache-2.0
 * Several releases together: the law of their privacy loss on a grid. In: the law of one cell's fakes. Out: an upper bound
 * of δ at every ε.
 *
 * An outcome with masses (p, q) under P and Q may be split into several with the same sums: whoever sees the parts can
 * join them, so δ does not fall. Split between the two grid points around its loss, an outcome keeps both masses exactly,
 * and the grid may be coarse: it costs a little variance and no bias (PRIVACY 11, losses on a grid). */
#include "base/elementary.h"
#include "crowd_law.h"

#define GRID ((int)PML_CROWD_GRID)
#define MIDDLE (GRID / 2)
#define SQUARES_MAX 541.0 /* (MIDDLE/11)²: the grid reaches 11 standard deviations */
#define LEAST 1e-100

static void clear(pml_losses *losses, double step, double infinite)
{
    memset(losses->mass, 0, PML_CROWD_GRID * sizeof *losses->mass);
    losses->step = step;
    losses->infinite = infinite;
}

/* Losses below the grid are rounded up to its first point; those above it count as unbounded, and so do tiny masses, whose
 * products would be 0. */
static void add(pml_losses *losses, int at, double mass)
{
    if (at >= GRID || mass < LEAST)
        losses->infinite += mass;
    else
        losses->mass[at > 0 ? at : 0] += mass;
}

/* Splits outcomes (p, q), whose quotients p/q ascend with `by`, between the points around their losses. Masses and quotients
 * are raised by what rounding may have taken from them, here and in sums (2^-40). */
static void place(pml_losses *losses, const double *p, const double *q, size_t count, ptrdiff_t by, double error)
{
    double growth = pml_exp(losses->step), point = pml_exp(-MIDDLE * losses->step), raised = 1.0 + error + 0x1p-40;
    int at = 0;
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t k = by * (ptrdiff_t)i;
        const double mass = p[k] * raised;
        while (at < GRID && mass >= point * growth * q[k]) {
            point *= growth;
            at++;
        }
        double upper = (mass - point * q[k]) / (1.0 - 1.0 / growth);
        upper = upper > 0.0 ? upper < mass ? upper : mass : 0.0;
        add(losses, at + 1, upper);
        add(losses, at, mass - upper);
    }
}

/* Sum of independent losses. */
static void join(const pml_losses *a, const pml_losses *b, pml_losses *sum)
{
    clear(sum, a->step, a->infinite + b->infinite);
    for (int i = 0; i < GRID; i++)
        if (a->mass[i] > 0.0)
            for (int j = 0; j < GRID; j++)
                add(sum, i + j - MIDDLE, a->mass[i] * b->mass[j]);
}

static void swap(pml_losses *a, pml_losses *b)
{
    pml_losses kept = *a;
    *a = *b;
    *b = kept;
}

/* Doubles the step: odd points are split between their neighbours. */
static void coarsen(pml_losses *losses, pml_losses *spare)
{
    double upper = 1.0 / (1.0 + pml_exp(-losses->step)) + 0x1p-48;
    clear(spare, 2.0 * losses->step, losses->infinite);
    for (int i = 0; i < GRID; i++) {
        double raised = i % 2 == 0 ? 0.0 : losses->mass[i] * upper;
        add(spare, (i + MIDDLE) / 2 + 1, raised);
        add(spare, (i + MIDDLE) / 2, losses->mass[i] - raised);
    }
    swap(losses, spare);
}

/* Would twice these losses be too wide for the grid? */
static bool is_wide(const pml_losses *losses)
{
    double squares = 0.0;
    for (int i = 0; i < GRID; i++)
        squares += losses->mass[i] * ((i - MIDDLE) * (i - MIDDLE));
    return 2.0 * squares > SQUARES_MAX;
}

void pml_losses_make(const pml_law *law, uint32_t times, double *scratch, pml_losses *losses)
{
    pml_losses one = {.mass = scratch}, all = {.mass = scratch + GRID}, spare = {.mass = scratch + 2 * GRID};
    /* One release: the loss in cell a, where the message is, and the one in cell b, where it is not. */
    clear(&all, law->step, PML_CROWD_TAIL);
    place(&all, law->before, law->here, law->count, 1, law->error);
    clear(&spare, law->step, 0.0);
    place(&spare, law->here + law->count - 1, law->before + law->count - 1, law->count, -1, law->error);
    join(&all, &spare, &one);

    /* The sum of none of them, then for each bit of `times` twice the sum and the bit's own. */
    clear(&all, one.step, 0.0);
    all.mass[MIDDLE] = 1.0;
    for (uint32_t bit = 1u << 23; bit > 0; bit /= 2u) {
        if (bit > times)
            continue;
        if (is_wide(&all)) {
            coarsen(&all, &spare);
            coarsen(&one, &spare);
        }
        join(&all, &all, &spare);
        swap(&all, &spare);
        if ((times & bit) != 0) {
            join(&all, &one, &spare);
            swap(&all, &spare);
        }
    }
    *losses = all;
}

double pml_losses_delta(const pml_losses *losses, double epsilon)
{
    double delta = losses->infinite;
    for (int i = 0; i < GRID; i++) {
        double over = (i - MIDDLE) * losses->step - epsilon;
        if (over > 0.0)
            delta += losses->mass[i] * (1.0 + 0x1p-47 - pml_exp(-over));
    }
    return delta;
}
