/* SPDX-License-Identifier: Apache-2.0
 * One client and one ranking at a time over the golden packs, in static memory, each call's stack measured. */
#ifndef GOLDEN_CASES_H
#define GOLDEN_CASES_H

#include "stack_meter.h"

#include <privatemail.h>

#include "golden/vectors.h"

enum call { CALL_OPEN, CALL_INIT, CALL_ARM, CALL_RELEASE, CALL_ROWS, CALL_ANSWER, CALL_COUNT };

/* The largest of the golden packs; exactly pack k where there is only response, as on a chip with 16 KiB of RAM. A crowd
 * needs more than response, and less than the Gaussian. */
#define CASE_FEATURES 64
#define CASE_FRONT (GOLDEN_FRONTS ? PML_FRONT_MEMORY(16, 24) : 0)
#if PML_WITH_GAUSSIAN
#define CASE_MEMORY PML_GAUSSIAN_MEMORY(CASE_FEATURES, 10, 12, 2)
#elif PML_WITH_CROWD
#define CASE_MEMORY PML_CROWD_MEMORY(CASE_FEATURES)
#else
#define CASE_MEMORY PML_RESPONSE_MEMORY(CASE_FEATURES, 10)
#endif

struct bench {
    uint8_t memory[CASE_MEMORY + CASE_FRONT];
    uint8_t ranking[PML_RANKING_MEMORY(CASE_FEATURES, PML_SKETCH_MAX, PML_DIRECTIONS_MAX) + CASE_FRONT];
    pml_pack pack;
    pml_config config;
    pml_client *client;
    pml_budget budget;
    float features[CASE_FEATURES];
    const uint8_t *seed; /* what the entropy callback hands out */
    bool entropy_fails;
    unsigned entropy_calls, persist_calls;
    size_t depths[CALL_COUNT]; /* deepest stack of each kind of call */
};

extern struct bench bench;

/* Paints the stack, makes the call, notes how deep it went. */
#define MEASURED(which, call) (stack_meter_paint(), bench_note(which, stack_meter_here(), (call)))
int bench_note(enum call which, const unsigned char *here, int status);

/* Opens the pack, fills configuration and budget. */
bool bench_open(unsigned pack, int mechanism, double epsilon, double delta);

/* False when this build, or the pack, lacks the mechanism. */
bool bench_can(void);

bool bench_init(void);
void bench_features(const uint32_t *bits, size_t count);

/* Whether all came out as in the vectors. `flip` is put over the last byte of the release. */
bool release_is_golden(const struct golden_release *golden, uint8_t flip);
#if PML_WITH_CROWD
bool bundle_is_golden(const struct golden_bundle *golden);
#endif
bool answer_is_golden(const struct golden_answer *golden, size_t piece);
bool budget_is_golden(const struct golden_budget *golden);

#endif
