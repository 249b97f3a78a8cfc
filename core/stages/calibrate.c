/* SPDX-License-Identifier: Apache-2.0
 * Stage: from (ε, δ) and the certificate to the grid and the noise (SPEC 5.8; PRIVACY.md, theorems 4 and 5).
 * In: public parameters. Out: g, s, e, σ, μ. Everything rounds towards more noise. */
#include "base/exact.h"
#include "stages.h"

#define SHIFT_MIN 8u
#define SHIFT_MAX 22u

/* e: the smallest that keeps six standard deviations around every possible row inside `limit`. */
static uint32_t coarsening(uint64_t row_bound, uint32_t grid, uint32_t shift, uint64_t limit)
{
    uint64_t reach = (row_bound + grid - 1) / grid + 1 + ((uint64_t)6 << shift);
    uint32_t e = 0;
    while ((reach + ((uint64_t)1 << e)) >> e > limit)
        e++;
    return e;
}

pml_status pml_pack_calibrate(const pml_pack *pack, const pml_certificate *certificate, double epsilon, double delta,
                              unsigned value_bytes, pml_calibration *calibration)
{
    if (!pack || !certificate || !calibration || (value_bytes != 1 && value_bytes != 2))
        return PML_ERROR_ARGUMENT;
    memset(calibration, 0, sizeof *calibration);
    if (!(certificate->sensitivity >= 0x1p-8 && certificate->sensitivity < 0x1p20 && certificate->row_bound >= 0.0 &&
          certificate->row_bound < 0x1p20))
        return PML_ERROR_SENSITIVITY;
    if (!epsilon_in_range(epsilon, PML_EPSILON_MAX))
        return PML_ERROR_EPSILON;
    if (!delta_in_range(delta))
        return PML_ERROR_DELTA;
    if (!pack->section[PML_SECTION_ANCHORS])
        return PML_ERROR_SECTION;
    uint64_t changed = (uint64_t)pack->dimensions * (pack->slots > 1 ? 2 : 1); /* coordinates that may change */
    double root = (double)(pml_sqrt_floor(changed << 40) + (uint64_t)1) * 0x1p-20;
    double ratio = pml_gaussian_ratio(epsilon, delta);
    uint32_t shift = SHIFT_MIN;
    while (shift < SHIFT_MAX && (double)(1u << shift) < 64.0 * ratio * root)
        shift++;
    if ((double)(1u << shift) < 8.0 * ratio * root)
        return PML_ERROR_EPSILON;
    double scale = (double)(1u << shift);
    double exact = ratio * certificate->sensitivity / (scale - ratio * root) * (1.0 + 0x1p-40);
    uint32_t grid = (uint32_t)exact;
    grid += (double)grid < exact;
    uint32_t coarsen = coarsening((uint64_t)certificate->row_bound, grid, shift, value_limit(value_bytes));
    if ((uint64_t)grid << coarsen > UINT32_MAX)
        return PML_ERROR_EPSILON;
    calibration->ratio = ratio;
    calibration->grid = grid;
    calibration->shift = shift;
    calibration->coarsen = coarsen;
    calibration->step = grid << coarsen;
    calibration->sigma = grid * scale;
    calibration->mu = (certificate->sensitivity + grid * root) / calibration->sigma * (1.0 + 0x1p-50);
    return PML_OK;
}
