/* SPDX-License-Identifier: Apache-2.0
 * All golden vectors that this build can make, on the chip itself; what the calls refuse; what stack they take. */
#include "golden_cases.h"
#include "head_checks.h"
#include "report.h"
#include "residue_checks.h"
#include "sketch_checks.h"

#include "firmware.h"
#include "memory_functions.h"

/* The number of the release that is turned over by one bit, to prove that the comparison can fail. */
#ifndef FLIPPED_RELEASE
#define FLIPPED_RELEASE -1
#endif

static void check_memory_functions(void)
{
    static const uint8_t high[] = {0x80, 1}, low[] = {0x7F, 2};
    uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    memmove(bytes + 1, bytes, 4);     /* 1 1 2 3 4 6 7 8 */
    memmove(bytes + 3, bytes + 4, 4); /* 1 1 2 4 6 7 8 8 */
    memset(bytes, 0x1FF, 1);
    memcpy(bytes + 1, bytes + 6, 1);
    static const uint8_t wanted[] = {0xFF, 8, 2, 4, 6, 7, 8, 8};
    report_check(memcmp(bytes, wanted, sizeof wanted) == 0 && memcmp(high, low, 2) > 0 && memcmp(low, high, 2) < 0 &&
                     memcmp(high, low, 0) == 0,
                 "memcpy, memmove, memset, memcmp");
}

static void check_packs(void)
{
    size_t good = 0;
    for (unsigned i = 0; i < GOLDEN_PACK_COUNT; i++) {
        const uint8_t *bytes = golden_packs[i].bytes;
        good += bench_open(i, PML_RESPONSE, 1.0, 0.0) && bytes >= firmware_flash_start &&
                bytes + golden_packs[i].size <= firmware_flash_end;
    }
    report_share(good, GOLDEN_PACK_COUNT, "packs open, and lie in flash");
}

static void check_releases(void)
{
    size_t good = 0, all = 0;
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++) {
        const struct golden_release *golden = golden_releases + i;
        bool opened = bench_open(golden->pack, golden->mechanism, golden->epsilon, golden->delta);
        if (opened && !bench_can())
            continue;
        bool same = opened && release_is_golden(golden, (int)i == FLIPPED_RELEASE);
        good += same;
        all++;
        if (!same)
            report_case(golden->name);
    }
    report_share(good, all, "releases");
    report_check(bench.entropy_calls == all && bench.persist_calls == all, "one entropy call and one storing an arm");
}

#if PML_WITH_CROWD
static void check_bundles(void)
{
    size_t good = 0;
    for (size_t i = 0; i < GOLDEN_BUNDLE_COUNT; i++) {
        const struct golden_bundle *golden = golden_bundles + i;
        bool same = bench_open(golden->pack, PML_RESPONSE, golden->epsilon, 0.0) && bundle_is_golden(golden);
        good += same;
        if (!same)
            report_case(golden->name);
    }
    report_share(good, GOLDEN_BUNDLE_COUNT, "bundles");
}
#endif

static void check_answers(void)
{
    static const size_t pieces[] = {1, 7, 1000};
    size_t good = 0, all = 0;
    for (size_t i = 0; i < GOLDEN_ANSWER_COUNT; i++) {
        const struct golden_answer *golden = golden_answers + i;
        bool opened = bench_open(golden->pack, PML_RESPONSE, 1.0, 0.0);
        if (opened && !bench_can())
            opened = bench_open(golden->pack, PML_GAUSSIAN, 1.0, 1e-5);
        if (opened && !bench_can())
            continue;
        bool same = opened;
        for (size_t piece = 0; piece < sizeof pieces / sizeof pieces[0]; piece++)
            same = same && answer_is_golden(golden, pieces[piece]);
        good += same;
        all++;
        if (!same)
            report_case(golden->name);
    }
    report_share(good, all, "answers");
}

static void check_budgets(void)
{
    size_t good = 0;
    for (size_t i = 0; i < GOLDEN_BUDGET_COUNT; i++)
        good += budget_is_golden(golden_budgets + i);
    report_share(good, GOLDEN_BUDGET_COUNT, "budgets");
}

static void check_refusals(const struct golden_release *golden)
{
    bool opened = bench_open(golden->pack, golden->mechanism, golden->epsilon, golden->delta);
    size_t size = pml_client_size(&bench.pack, &bench.config);
    report_check(opened && size <= sizeof bench.memory &&
                     pml_client_init(&bench.client, bench.memory, size - 1, &bench.pack, &bench.config) ==
                         PML_ERROR_MEMORY &&
                     pml_client_init(&bench.client, bench.memory, size, &bench.pack, &bench.config) == PML_OK,
                 "memory one byte short is refused");

    pml_budget_left left = {.epsilon_spent = 1.0};
    unsigned stored = bench.persist_calls;
    bench.seed = golden->seed;
    bench.entropy_fails = true;
    report_check(pml_client_arm(bench.client, &bench.budget) == PML_ERROR_ENTROPY && bench.persist_calls == stored &&
                     pml_budget_remaining(&bench.budget, &left) == PML_OK && left.epsilon_spent == 0.0,
                 "entropy fails: not armed, nothing charged or stored");

#if !PML_WITH_GAUSSIAN
    bench.config.mechanism = PML_GAUSSIAN;
    bench.config.delta = 1e-5;
    report_check(!bench_can() && pml_client_init(&bench.client, bench.memory, sizeof bench.memory, &bench.pack,
                                                 &bench.config) == PML_ERROR_MECHANISM,
                 "a mechanism that was left out is refused");
#endif
}

static void report_depths(void)
{
    static const char *const names[CALL_COUNT] = {"stack-open",    "stack-init", "stack-arm",
                                                  "stack-release", "stack-rows", "stack-answer"};
    size_t deepest = 0;
    for (unsigned i = 0; i < CALL_COUNT; i++) {
        report_figure(names[i], bench.depths[i]);
        if (bench.depths[i] > deepest)
            deepest = bench.depths[i];
    }
    report_figure("stack-deepest", deepest);
    report_figure("client-memory", sizeof bench.memory);
}

int main(void)
{
    /* Of pack k, which has the most features: a search for few bytes proves little. */
    const struct golden_release *last = golden_releases + GOLDEN_RELEASE_COUNT - 1;
    while (last->d < CASE_FEATURES)
        last--;
    check_memory_functions();
    check_packs();
    check_releases();
#if PML_WITH_CROWD
    check_bundles();
#endif
    check_answers();
    check_budgets();
    check_heads();
    check_coded_answers();
    check_refusals(last);
    check_residue(last);
    report_depths();
    return report_end();
}
