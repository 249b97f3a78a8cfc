/* SPDX-License-Identifier: Apache-2.0
 * The budget (SPEC 4; PRIVACY.md, composition). In: prices. Out: bytes that say what is spent. Caps round down,
 * prices round up, and a sum is compared before it is made. */
#include "budget.h"
#include "base/elementary.h"
#include "base/sha256.h"

enum { OWNER = 8, DELTA = 32, CROWD_DELTA = 56, CHECKSUM = 104, CHECKSUM_SIZE = 8 };

/* Of every ledger: where cap and sum stand, and the bytes of each. */
enum { CAP, SPENT };
static const struct {
    uint8_t at[2], size;
} ledgers[PML_LEDGER_COUNT] = {[PML_LEDGER_RESPONSE] = {{40, 96}, 4},
                               [PML_LEDGER_GAUSSIAN] = {{24, 72}, 8},
                               [PML_LEDGER_FLOOR] = {{44, 100}, 4},
                               [PML_LEDGER_CROWD] = {{48, 80}, 8},
                               [PML_LEDGER_DELTA0] = {{64, 88}, 8}};

/* Version 1 has the owner, the first two caps and δ at the same places, and no other cap. */
enum { OLD_SIZE = 64, OLD_CAPS = 44, OLD_RESPONSE_SPENT = 44, OLD_GAUSSIAN_SPENT = 48, OLD_CHECKSUM = 56 };

static const uint8_t magic[8] = "PMLB\2\0\0", old_magic[8] = "PMLB\1\0\0";

/*@ logic integer width(integer ledger) = ledger == PML_LEDGER_RESPONSE || ledger == PML_LEDGER_FLOOR ? 4 : 8;
    logic integer place(integer ledger, integer which) = which == CAP
      ? (ledger == PML_LEDGER_RESPONSE ? 40 : ledger == PML_LEDGER_GAUSSIAN ? 24 : ledger == PML_LEDGER_FLOOR ? 44
         : ledger == PML_LEDGER_CROWD ? 48 : 64)
      : (ledger == PML_LEDGER_RESPONSE ? 96 : ledger == PML_LEDGER_GAUSSIAN ? 72 : ledger == PML_LEDGER_FLOOR ? 100
         : ledger == PML_LEDGER_CROWD ? 80 : 88);
    logic integer word_at(uint8_t *bytes, integer at) =
      bytes[at] + 0x100 * bytes[at + 1] + 0x10000 * bytes[at + 2] + 0x1000000 * bytes[at + 3];
    lemma word_there{L}: \forall uint8_t *bytes, integer at; le32(bytes + at) == word_at(bytes, at);
    lemma words_there{L}: \forall uint8_t *bytes, integer at;
      le64(bytes + at) == word_at(bytes, at) + 0x100000000 * word_at(bytes, at + 4);
    logic integer kept(pml_budget *budget, integer ledger, integer which) =
      word_at(&budget->bytes[0], place(ledger, which)) +
      (width(ledger) == 8 ? 0x100000000 * word_at(&budget->bytes[0], place(ledger, which) + 4) : 0);
    lemma ledgers_apart: \forall integer l, w, m, x; 0 <= l < PML_LEDGER_COUNT && 0 <= m < PML_LEDGER_COUNT &&
      CAP <= w <= SPENT && CAP <= x <= SPENT && (l != m || w != x) ==>
      place(l, w) + width(l) <= place(m, x) || place(m, x) + width(m) <= place(l, w);
    logic integer room(integer ledger) = width(ledger) == 8 ? UINT64_MAX : UINT32_MAX; */

/*@ requires \valid_read(budget) && ledger < PML_LEDGER_COUNT && which <= SPENT;
    terminates \true;
    assigns \nothing;
    ensures \result == kept(budget, ledger, which) <= room(ledger); */
static uint64_t get(const pml_budget *budget, unsigned ledger, unsigned which)
{
    const uint8_t *p = budget->bytes + ledgers[ledger].at[which];
    return ledgers[ledger].size == 8 ? load_le64(p) : load_le32(p);
}

/*@ requires \valid(budget) && ledger < PML_LEDGER_COUNT && which <= SPENT && v <= room(ledger);
    terminates \true;
    assigns budget->bytes[place(ledger, which) .. place(ledger, which) + width(ledger) - 1];
    ensures kept(budget, ledger, which) == v;
    ensures others: \forall integer l, w; 0 <= l < PML_LEDGER_COUNT && CAP <= w <= SPENT && (l != ledger || w != which)
      ==> kept(budget, l, w) == \old(kept(budget, l, w)); */
static void set(pml_budget *budget, unsigned ledger, unsigned which, uint64_t v)
{
    uint8_t *p = budget->bytes + ledgers[ledger].at[which];
    if (ledgers[ledger].size == 8)
        store_le64(p, v);
    else
        store_le32(p, (uint32_t)v);
    //@ assert p == &budget->bytes[0] + place(ledger, which) && ledgers[ledger].size == width(ledger);
    /*@ assert \forall integer k; 0 <= k < PML_BUDGET_SIZE && (k < place(ledger, which) ||
          place(ledger, which) + width(ledger) <= k) ==> budget->bytes[k] == \at(budget->bytes[k], Pre); */
}

/*@ requires \valid(out + (0 .. CHECKSUM_SIZE - 1));
    terminates \true;
    assigns out[0 .. CHECKSUM_SIZE - 1]; */
static void checksum(const uint8_t *bytes, size_t size, uint8_t out[CHECKSUM_SIZE])
{
    uint8_t digest[32];
    pml_sha256(bytes, size, digest);
    memcpy(out, digest, CHECKSUM_SIZE);
}

/*@ requires \valid(budget);
    terminates \true;
    assigns budget->bytes[CHECKSUM .. CHECKSUM + CHECKSUM_SIZE - 1];
    ensures \forall integer l, w; 0 <= l < PML_LEDGER_COUNT && CAP <= w <= SPENT ==>
      kept(budget, l, w) == \old(kept(budget, l, w)); */
static void seal(pml_budget *budget)
{
    checksum(budget->bytes, CHECKSUM, budget->bytes + CHECKSUM);
}

/* Rounds up. No double below 2^64 is above 2^64 − 2^11. */
/*@ requires 0.0 <= v <= 0x1p64 - 0x1p11;
    terminates \true;
    assigns \nothing;
    ensures v <= \result < v + 1.0; */
static PML_NOINLINE uint64_t ceiling(double v)
{
    //@ assert fits: v < 0x1p64;
    uint64_t whole = (uint64_t)v;
    return whole + ((double)whole < v);
}

/*@ requires \valid_read(budget);
    terminates \true;
    assigns \nothing;
    ensures \result == PML_OK ==>
      \forall integer k; 0 <= k < PML_LEDGER_COUNT ==> kept(budget, k, SPENT) <= kept(budget, k, CAP); */
pml_status pml_budget_check(const pml_budget *budget)
{
    uint8_t sum[CHECKSUM_SIZE];
    checksum(budget->bytes, CHECKSUM, sum);
    bool sound =
        memcmp(budget->bytes, magic, sizeof magic) == 0 && memcmp(budget->bytes + CHECKSUM, sum, CHECKSUM_SIZE) == 0;
    /*@ loop assigns i, sound;
        loop invariant i <= PML_LEDGER_COUNT;
        loop invariant sound ==> \forall integer k; 0 <= k < i ==> kept(budget, k, SPENT) <= kept(budget, k, CAP);
        loop variant PML_LEDGER_COUNT - i; */
    for (unsigned i = 0; i < PML_LEDGER_COUNT; i++)
        sound = sound && get(budget, i, SPENT) <= get(budget, i, CAP);
    return sound ? PML_OK : PML_ERROR_BUDGET;
}

/* The largest Σμ² that (ε, δ) allows, rounded down. `built`: something of this build can spend it. */
static PML_NOINLINE pml_status mu2_cap(double epsilon, double most, double delta, bool built, uint64_t *cap)
{
    *cap = 0;
    if (epsilon == 0.0)
        return delta == 0.0 ? PML_OK : PML_ERROR_DELTA;
    if (!epsilon_in_range(epsilon, most))
        return PML_ERROR_EPSILON;
    if (!delta_in_range(delta))
        return PML_ERROR_DELTA;
    if (!built)
        return PML_ERROR_MECHANISM;
#if PML_WITH_GAUSSIAN || PML_WITH_CROWD
    double mu = pml_gaussian_mu(epsilon, delta);
    *cap = (uint64_t)(mu * mu * 0x1p40 * (1.0 - 0x1p-48));
#endif
    return PML_OK;
}

/* What a sum of ε may be capped at: it fits 32 bits. */
static bool is_sum(double epsilon)
{
    return epsilon >= 0.0 && epsilon <= 4095.0;
}

pml_status pml_budget_create(pml_budget *budget, const uint8_t owner[16], const pml_budget_caps *caps)
{
    uint64_t cap[PML_LEDGER_COUNT];
    if (!budget)
        return PML_ERROR_ARGUMENT;
    memset(budget, 0, sizeof *budget);
    if (!owner || !caps)
        return PML_ERROR_ARGUMENT;
    if (!is_sum(caps->epsilon_response) || !is_sum(caps->epsilon_floor))
        return PML_ERROR_EPSILON;
    pml_status status = mu2_cap(caps->epsilon_gaussian, PML_BUDGET_EPSILON_MAX, caps->delta, PML_WITH_GAUSSIAN,
                                &cap[PML_LEDGER_GAUSSIAN]);
    const double half = 0.5 * caps->delta_crowd; /* the other half of a crowd's δ is for Σδ₀ */
    if (PML_WITH_CROWD && status == PML_OK && !(half >= 0.0 && half < 0.5)) /* not built: refused below */
        status = PML_ERROR_DELTA;
    if (status == PML_OK)
        status = mu2_cap(caps->epsilon_crowd, PML_EPSILON_MAX, half, PML_WITH_CROWD, &cap[PML_LEDGER_CROWD]);
    if (status != PML_OK)
        return status;
    cap[PML_LEDGER_RESPONSE] = (uint64_t)(caps->epsilon_response * 0x1p20);
    cap[PML_LEDGER_FLOOR] = (uint64_t)(caps->epsilon_floor * 0x1p20);
    /* what is not built has no δ: any was refused above */
    cap[PML_LEDGER_DELTA0] = PML_WITH_CROWD ? (uint64_t)(half * 0x1p64) : 0;
    memcpy(budget->bytes, magic, sizeof magic);
    memcpy(budget->bytes + OWNER, owner, 16);
    if (PML_WITH_GAUSSIAN)
        store_le64(budget->bytes + DELTA, ceiling(caps->delta * 0x1p64));
    if (PML_WITH_CROWD)
        store_le64(budget->bytes + CROWD_DELTA, ceiling(half * 0x1p65));
    for (unsigned i = 0; i < PML_LEDGER_COUNT; i++)
        set(budget, i, CAP, cap[i]);
    seal(budget);
    return PML_OK;
}

/* Version 1 with the same caps and sums, and nothing of a crowd. All that is wrong with it is then wrong with the copy,
 * but for its checksum. */
static pml_status upgrade(pml_budget *budget, const uint8_t *bytes)
{
    uint8_t sum[CHECKSUM_SIZE];
    checksum(bytes, OLD_CHECKSUM, sum);
    if (memcmp(bytes, old_magic, sizeof old_magic) != 0 || memcmp(bytes + OLD_CHECKSUM, sum, CHECKSUM_SIZE) != 0)
        return PML_ERROR_BUDGET;
    memset(budget, 0, sizeof *budget);
    memcpy(budget->bytes, bytes, OLD_CAPS);
    memcpy(budget->bytes, magic, sizeof magic);
    set(budget, PML_LEDGER_RESPONSE, SPENT, load_le32(bytes + OLD_RESPONSE_SPENT));
    set(budget, PML_LEDGER_GAUSSIAN, SPENT, load_le64(bytes + OLD_GAUSSIAN_SPENT));
    seal(budget);
    return PML_OK;
}

pml_status pml_budget_restore(pml_budget *budget, const uint8_t owner[16], const void *bytes, size_t size)
{
    pml_budget copy;
    if (!budget || !owner || !bytes)
        return PML_ERROR_ARGUMENT;
    memset(budget, 0, sizeof *budget);
    if (size == PML_BUDGET_SIZE)
        memcpy(copy.bytes, bytes, PML_BUDGET_SIZE);
    else if (size != OLD_SIZE || upgrade(&copy, bytes) != PML_OK)
        return PML_ERROR_BUDGET;
    if (pml_budget_check(&copy) != PML_OK || memcmp(copy.bytes + OWNER, owner, 16) != 0)
        return PML_ERROR_BUDGET;
    *budget = copy;
    return PML_OK;
}

static PML_NOINLINE double amount(const pml_budget *budget, unsigned ledger, unsigned which)
{
    static const float units[PML_LEDGER_COUNT] = {0x1p-20f, 0x1p-40f, 0x1p-20f, 0x1p-40f, 0x1p-64f};
    return (double)get(budget, ledger, which) * (double)units[ledger];
}

pml_status pml_budget_remaining(const pml_budget *budget, pml_budget_left *left)
{
    if (!budget || !left)
        return PML_ERROR_ARGUMENT;
    memset(left, 0, sizeof *left);
    if (pml_budget_check(budget) != PML_OK)
        return PML_ERROR_BUDGET;
    left->epsilon_cap = amount(budget, PML_LEDGER_RESPONSE, CAP);
    left->epsilon_spent = amount(budget, PML_LEDGER_RESPONSE, SPENT);
    left->mu2_cap = amount(budget, PML_LEDGER_GAUSSIAN, CAP);
    left->mu2_spent = amount(budget, PML_LEDGER_GAUSSIAN, SPENT);
    left->delta = (double)load_le64(budget->bytes + DELTA) * 0x1p-64;
    left->floor_cap = amount(budget, PML_LEDGER_FLOOR, CAP);
    left->floor_spent = amount(budget, PML_LEDGER_FLOOR, SPENT);
    left->crowd_mu2_cap = amount(budget, PML_LEDGER_CROWD, CAP);
    left->crowd_mu2_spent = amount(budget, PML_LEDGER_CROWD, SPENT);
    left->crowd_delta0_cap = amount(budget, PML_LEDGER_DELTA0, CAP);
    left->crowd_delta0_spent = amount(budget, PML_LEDGER_DELTA0, SPENT);
    left->crowd_delta = (double)load_le64(budget->bytes + CROWD_DELTA) * 0x1p-64;
    return PML_OK;
}

/*@ terminates \true;
    assigns \nothing; */
static uint64_t price_of_mu(double mu)
{
    return ceiling(mu * mu * 0x1p40 * (1.0 + 0x1p-48));
}

/*@ requires PML_EPSILON_MIN <= epsilon <= PML_EPSILON_MAX;
    terminates \true;
    assigns \nothing;
    ensures epsilon * 0x1p20 <= \result < epsilon * 0x1p20 + 1.0; */
static uint64_t price_of_epsilon(double epsilon)
{
    return ceiling(epsilon * 0x1p20);
}

/*@ requires mechanism != PML_GAUSSIAN ==> PML_EPSILON_MIN <= epsilon <= PML_EPSILON_MAX;
    terminates \true;
    assigns \nothing;
    ensures \forall integer k; 0 <= k < PML_LEDGER_COUNT &&
      k != (mechanism == PML_GAUSSIAN ? PML_LEDGER_GAUSSIAN : PML_LEDGER_RESPONSE) ==> \result.of[k] == 0;
    ensures rounded_up: mechanism != PML_GAUSSIAN ==>
      epsilon * 0x1p20 <= \result.of[PML_LEDGER_RESPONSE] < epsilon * 0x1p20 + 1.0; */
struct pml_price pml_budget_price(pml_mechanism mechanism, double epsilon, double mu)
{
    struct pml_price price = {{0}, false};
    if (mechanism == PML_GAUSSIAN)
        price.of[PML_LEDGER_GAUSSIAN] = price_of_mu(mu);
    else
        price.of[PML_LEDGER_RESPONSE] = price_of_epsilon(epsilon);
    return price;
}

#if PML_WITH_CROWD
/*@ requires \valid_read(policy) && 1 <= policy->own <= PML_CROWD_OWN_MAX && 0.0 <= policy->delta0 <= 0x1p-10;
    requires PML_EPSILON_MIN <= epsilon <= PML_EPSILON_MAX;
    terminates \true;
    assigns \nothing;
    ensures idle: bundle == PML_BUNDLE_IDLE ==>
      \forall integer k; 0 <= k < PML_LEDGER_COUNT ==> \result.of[k] == 0;
    ensures floor: bundle == PML_BUNDLE_QUERY ==>
      epsilon * 0x1p20 <= \result.of[PML_LEDGER_FLOOR] < epsilon * 0x1p20 + 1.0; */
struct pml_price pml_crowd_price(const pml_crowd *policy, double epsilon, pml_bundle bundle)
{
    struct pml_price price = {{0}, false};
    if (bundle == PML_BUNDLE_IDLE)
        return price;
    if (bundle == PML_BUNDLE_QUERY)
        price.of[PML_LEDGER_FLOOR] = price_of_epsilon(epsilon);
    price.of[PML_LEDGER_CROWD] = policy->own * price_of_mu(policy->mu);
    price.of[PML_LEDGER_DELTA0] = policy->own * ceiling(policy->delta0 * 0x1p64);
    price.unpromised = policy->mu == 0.0;
    return price;
}
#endif

/*@ requires \valid_read(budget) && \valid_read(price) && \valid(changed) && \separated(changed, budget, price);
    terminates \true;
    assigns *changed;
    ensures refused: \result != PML_OK ==> *changed == \old(*changed);
    ensures booked: \result == PML_OK ==> \forall integer k; 0 <= k < PML_LEDGER_COUNT ==>
      kept(changed, k, SPENT) == \old(kept(budget, k, SPENT)) + (refund ? -\old(price->of[k]) : \old(price->of[k]));
    ensures capped: \result == PML_OK ==> \forall integer k; 0 <= k < PML_LEDGER_COUNT ==>
      0 <= kept(changed, k, SPENT) <= kept(changed, k, CAP) == \old(kept(budget, k, CAP)); */
static pml_status book(const pml_budget *budget, const struct pml_price *price, bool refund, pml_budget *changed)
{
    uint64_t sums[PML_LEDGER_COUNT];
    if (pml_budget_check(budget) != PML_OK)
        return PML_ERROR_BUDGET;
    if (price->unpromised && get(budget, PML_LEDGER_CROWD, CAP) > 0)
        return PML_ERROR_SPENT;
    /*@ loop assigns i, sums[0 .. PML_LEDGER_COUNT - 1];
        loop invariant i <= PML_LEDGER_COUNT;
        loop invariant \forall integer k; 0 <= k < i ==> 0 <= sums[k] <= kept(budget, k, CAP) <= room(k) &&
          sums[k] == kept(budget, k, SPENT) + (refund ? -price->of[k] : price->of[k]);
        loop variant PML_LEDGER_COUNT - i; */
    for (unsigned i = 0; i < PML_LEDGER_COUNT; i++) {
        const uint64_t spent = get(budget, i, SPENT), due = price->of[i];
        //@ assert spent <= kept(budget, i, CAP) <= room(i);
        if (refund ? due > spent : due > get(budget, i, CAP) - spent)
            return refund ? PML_ERROR_BUDGET : PML_ERROR_SPENT;
        sums[i] = refund ? spent - due : spent + due;
        //@ assert sums[i] == kept(budget, i, SPENT) + (refund ? -price->of[i] : price->of[i]);
    }
    memcpy(changed->bytes, budget->bytes, PML_BUDGET_SIZE);
    //@ assert \forall integer k; 0 <= k < PML_BUDGET_SIZE ==> changed->bytes[k] == \at(budget->bytes[k], Pre);
    /*@ loop assigns i, *changed;
        loop invariant i <= PML_LEDGER_COUNT;
        loop invariant \forall integer k; 0 <= k < i ==> kept(changed, k, SPENT) == sums[k];
        loop invariant \forall integer k; 0 <= k < PML_LEDGER_COUNT ==>
          kept(changed, k, CAP) == \at(kept(budget, k, CAP), Pre);
        loop variant PML_LEDGER_COUNT - i; */
    for (unsigned i = 0; i < PML_LEDGER_COUNT; i++)
        set(changed, i, SPENT, sums[i]);
    seal(changed);
    //@ assert \forall integer k; 0 <= k < PML_LEDGER_COUNT ==> kept(changed, k, SPENT) == sums[k];
    //@ assert \forall integer k; 0 <= k < PML_LEDGER_COUNT ==> kept(changed, k, CAP) == \at(kept(budget, k, CAP), Pre);
    return PML_OK;
}

/*@ requires \valid_read(budget) && \valid_read(price) && \valid(changed) && \separated(changed, budget, price);
    terminates \true;
    assigns *changed;
    ensures refused: \result != PML_OK ==> *changed == \old(*changed);
    ensures booked: \result == PML_OK ==> \forall integer k; 0 <= k < PML_LEDGER_COUNT ==>
      kept(changed, k, SPENT) == \old(kept(budget, k, SPENT)) + \old(price->of[k]);
    ensures capped: \result == PML_OK ==> \forall integer k; 0 <= k < PML_LEDGER_COUNT ==>
      0 <= kept(changed, k, SPENT) <= kept(changed, k, CAP) == \old(kept(budget, k, CAP)); */
pml_status pml_budget_charge(const pml_budget *budget, const struct pml_price *price, pml_budget *changed)
{
    return book(budget, price, false, changed);
}

/*@ requires \valid_read(budget) && \valid_read(price) && \valid(changed) && \separated(changed, budget, price);
    terminates \true;
    assigns *changed;
    ensures refused: \result != PML_OK ==> *changed == \old(*changed);
    ensures booked: \result == PML_OK ==> \forall integer k; 0 <= k < PML_LEDGER_COUNT ==>
      kept(changed, k, SPENT) == \old(kept(budget, k, SPENT)) - \old(price->of[k]);
    ensures capped: \result == PML_OK ==> \forall integer k; 0 <= k < PML_LEDGER_COUNT ==>
      0 <= kept(changed, k, SPENT) <= kept(changed, k, CAP) == \old(kept(budget, k, CAP)); */
pml_status pml_budget_refund(const pml_budget *budget, const struct pml_price *price, pml_budget *changed)
{
    return book(budget, price, true, changed);
}
