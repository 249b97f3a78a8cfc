/* SPDX-License-Identifier: Apache-2.0
 * Looks for 8 bytes in a row of a secret. What the host's tests do for all calls (tests/support/residue.h) is repeated here
 * for the ones that matter most, because what a compiler leaves behind differs from processor to processor. */
#include "residue_checks.h"
#include "golden_cases.h"

#include "firmware.h"
#include "memory_functions.h"
#include "report.h"

#include <privatemail_public.h>

enum { WINDOW = 8, SEED_SIZE = 32 };

static bool holds(const unsigned char *place, const unsigned char *end, const void *secret, size_t size)
{
    const unsigned char *bytes = secret;
    for (; place + WINDOW <= end; place++)
        for (size_t i = 0; i + WINDOW <= size; i++)
            if (memcmp(place, bytes + i, WINDOW) == 0)
                return true;
    return false;
}

/* Of everything free below the caller's frame, and of the client's memory. */
static bool is_left(const void *secret, size_t size, const unsigned char *here)
{
    return holds(firmware_stack_limit, here, secret, size) ||
           holds(bench.memory, bench.memory + sizeof bench.memory, secret, size);
}

/* What a careless function does: works on a copy and returns. The copy lies deeper than the search's own frames. */
__attribute__((noinline)) static void leave_on_stack(const int8_t *secret)
{
    int8_t frame[512];
    for (size_t i = 0; i < WINDOW; i++)
        frame[i] = secret[i];
    __asm__ volatile("" : : "r"(frame) : "memory"); /* somebody may read it: the copy is made */
}

void check_residue(const struct golden_release *golden)
{
    static int8_t row[CASE_FEATURES];
    bench.seed = golden->seed;
    bench_features(golden->bits, golden->d);
    bool ready = bench_open(golden->pack, golden->mechanism, golden->epsilon, golden->delta) && bench_init() &&
                 pml_quantise(bench.features, golden->d, row) == PML_OK;
    stack_meter_paint();
    ready = ready && pml_client_arm(bench.client, &bench.budget) == PML_OK;
    report_check(ready && !is_left(golden->seed, SEED_SIZE, stack_meter_here()), "arm leaves nothing of the entropy");

    static const pml_query no_query;
    static pml_query query; /* the caller's own: not on the stack that is searched */
    static uint8_t message[128];
    query = (pml_query){
        .features = bench.features, .count = golden->d, .label = golden->label, .modality = golden->modality};
    ready = ready && pml_client_release(bench.client, &query, message, sizeof message) == PML_OK;
    report_check(ready && !is_left(golden->bits, golden->d * sizeof *golden->bits, stack_meter_here()) &&
                     !is_left(row, golden->d, stack_meter_here()),
                 "release leaves nothing of the features");

    ready = ready && pml_client_arm(bench.client, &bench.budget) == PML_OK;
    pml_client_wipe(bench.client);
    report_check(ready && pml_client_release(bench.client, &no_query, message, sizeof message) == PML_ERROR_STATE,
                 "a wiped client releases nothing");

    /* The search must see what is there. */
    leave_on_stack(row);
    bool on_stack = is_left(row, golden->d, stack_meter_here());
    stack_meter_paint();
    bool painted_over = !is_left(row, golden->d, stack_meter_here());
    for (size_t i = 0; i < WINDOW; i++)
        bench.memory[sizeof bench.memory - WINDOW + i] = (uint8_t)row[5 + i];
    report_check(on_stack && painted_over && is_left(row, golden->d, stack_meter_here()),
                 "the search finds what is left on purpose, on the stack and in memory");
}
