/* SPDX-License-Identifier: Apache-2.0
 * The budget (SPEC 4; PRIVACY.md, composition). In: prices. Out: 64 bytes that say what is spent. Caps round down,
 * prices round up, and a sum is compared before it is made. */
#include "budget.h"
#include "base/elementary.h"
#include "base/sha256.h"

enum { OWNER = 8, MU2_CAP = 24, DELTA = 32, EPSILON_CAP = 40, EPSILON_SPENT = 44, MU2_SPENT = 48, CHECKSUM = 56 };

_Static_assert(PML_BUDGET_IDENTITY == EPSILON_SPENT, "what changes follows what never does");

static void seal(pml_budget *budget)
{
    uint8_t digest[32];
    pml_sha256(budget->bytes, CHECKSUM, digest);
    memcpy(budget->bytes + CHECKSUM, digest, PML_BUDGET_SIZE - CHECKSUM);
}

static uint64_t ceiling(double v)
{
    uint64_t whole = (uint64_t)v;
    return whole + ((double)whole < v);
}

pml_status pml_budget_check(const pml_budget *budget)
{
    pml_budget copy = *budget;
    const uint8_t *b = budget->bytes;
    seal(&copy);
    bool sound = memcmp(b, "PMLB\1\0\0\0", 8) == 0 && memcmp(copy.bytes, b, PML_BUDGET_SIZE) == 0 &&
                 load_le32(b + EPSILON_SPENT) <= load_le32(b + EPSILON_CAP) &&
                 load_le64(b + MU2_SPENT) <= load_le64(b + MU2_CAP);
    return sound ? PML_OK : PML_ERROR_BUDGET;
}

/* The largest Σμ² that (ε, δ) allows, rounded down. */
static pml_status gaussian_cap(double epsilon, double delta, uint64_t *cap)
{
    *cap = 0;
    if (epsilon == 0.0)
        return delta == 0.0 ? PML_OK : PML_ERROR_DELTA;
    if (!epsilon_in_range(epsilon, PML_BUDGET_EPSILON_MAX))
        return PML_ERROR_EPSILON;
    if (!delta_in_range(delta))
        return PML_ERROR_DELTA;
#if PML_WITH_GAUSSIAN
    double mu = pml_gaussian_mu(epsilon, delta);
    *cap = (uint64_t)(mu * mu * 0x1p40 * (1.0 - 0x1p-48));
    return PML_OK;
#else
    return PML_ERROR_MECHANISM;
#endif
}

pml_status pml_budget_create(pml_budget *budget, const uint8_t owner[16], const pml_budget_caps *caps)
{
    uint64_t cap;
    if (!budget)
        return PML_ERROR_ARGUMENT;
    memset(budget, 0, sizeof *budget);
    if (!owner || !caps)
        return PML_ERROR_ARGUMENT;
    if (!(caps->epsilon_response >= 0.0 && caps->epsilon_response <= 4095.0))
        return PML_ERROR_EPSILON;
    pml_status status = gaussian_cap(caps->epsilon_gaussian, caps->delta, &cap);
    if (status != PML_OK)
        return status;
    uint8_t *b = budget->bytes;
    memcpy(b, "PMLB\1\0\0\0", 8);
    memcpy(b + OWNER, owner, 16);
    store_le32(b + EPSILON_CAP, (uint32_t)(caps->epsilon_response * 0x1p20));
    store_le64(b + MU2_CAP, cap);
    store_le64(b + DELTA, ceiling(caps->delta * 0x1p64));
    seal(budget);
    return PML_OK;
}

pml_status pml_budget_restore(pml_budget *budget, const uint8_t owner[16], const void *bytes, size_t size)
{
    pml_budget copy;
    if (!budget || !owner || !bytes)
        return PML_ERROR_ARGUMENT;
    memset(budget, 0, sizeof *budget);
    if (size != PML_BUDGET_SIZE)
        return PML_ERROR_BUDGET;
    memcpy(copy.bytes, bytes, PML_BUDGET_SIZE);
    if (pml_budget_check(&copy) != PML_OK || memcmp(copy.bytes + OWNER, owner, 16) != 0)
        return PML_ERROR_BUDGET;
    *budget = copy;
    return PML_OK;
}

pml_status pml_budget_remaining(const pml_budget *budget, pml_budget_left *left)
{
    if (!budget || !left)
        return PML_ERROR_ARGUMENT;
    memset(left, 0, sizeof *left);
    if (pml_budget_check(budget) != PML_OK)
        return PML_ERROR_BUDGET;
    const uint8_t *b = budget->bytes;
    left->epsilon_cap = load_le32(b + EPSILON_CAP) * 0x1p-20;
    left->epsilon_spent = load_le32(b + EPSILON_SPENT) * 0x1p-20;
    left->mu2_cap = (double)load_le64(b + MU2_CAP) * 0x1p-40;
    left->mu2_spent = (double)load_le64(b + MU2_SPENT) * 0x1p-40;
    left->delta = (double)load_le64(b + DELTA) * 0x1p-64;
    return PML_OK;
}

uint64_t pml_budget_price(pml_mechanism mechanism, double epsilon, double mu)
{
    return mechanism == PML_GAUSSIAN ? ceiling(mu * mu * 0x1p40 * (1.0 + 0x1p-48)) : ceiling(epsilon * 0x1p20);
}

static pml_status book(const pml_budget *budget, pml_mechanism mechanism, uint64_t price, bool refund,
                       pml_budget *changed)
{
    bool gaussian = mechanism == PML_GAUSSIAN;
    if (pml_budget_check(budget) != PML_OK)
        return PML_ERROR_BUDGET;
    const uint8_t *b = budget->bytes;
    uint64_t cap = gaussian ? load_le64(b + MU2_CAP) : load_le32(b + EPSILON_CAP);
    uint64_t spent = gaussian ? load_le64(b + MU2_SPENT) : load_le32(b + EPSILON_SPENT);
    if (refund ? price > spent : price > cap - spent)
        return refund ? PML_ERROR_BUDGET : PML_ERROR_SPENT;
    spent = refund ? spent - price : spent + price;
    *changed = *budget;
    if (gaussian)
        store_le64(changed->bytes + MU2_SPENT, spent);
    else
        store_le32(changed->bytes + EPSILON_SPENT, (uint32_t)spent);
    seal(changed);
    return PML_OK;
}

pml_status pml_budget_charge(const pml_budget *budget, pml_mechanism mechanism, uint64_t price, pml_budget *changed)
{
    return book(budget, mechanism, price, false, changed);
}

pml_status pml_budget_refund(const pml_budget *budget, pml_mechanism mechanism, uint64_t price, pml_budget *changed)
{
    return book(budget, mechanism, price, true, changed);
}
