/* SPDX-License-Identifier: Apache-2.0
 * Times calls that see a secret, for two very different kinds of secrets in random order: `timing CASE COUNT` prints a
 * line a measurement, its class (0 or 1) and its duration in ticks. tests/check_timing.py judges them. The cases
 * leak-… plant a leak in this tool, to show that it would be found. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* clock_gettime */
#endif
#include "client.h"
#include "golden/vectors.h"
#include "privacy/draws.h"
#include "stages/stages.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { PACK = 1, MAX_FEATURES = 64, WARM_UP = 2000 }; /* the golden pack with class slots and all sections */

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    _mm_lfence();
    uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

static void need(int status)
{
    if (status != PML_OK) {
        fprintf(stderr, "timing: %s\n", pml_status_text(status));
        exit(2);
    }
}

static uint64_t state = 1;

static int entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)draw64(&state);
    return 0;
}

static int persist(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

/* ---- what is timed ---- */

struct query {
    float features[MAX_FEATURES];
    int32_t label;
};

struct bench {
    pml_pack pack;
    const pml_pack *view;
    pml_client *client;
    pml_budget full, budget;
    struct query query;
    uint8_t out[256];
};

static void set_up(struct bench *b, pml_mechanism mechanism)
{
    static const uint8_t owner[16] = "timing";
    const bool gaussian = mechanism == PML_GAUSSIAN;
    pml_config config = {
        .mechanism = mechanism, .epsilon = 1.0, .delta = gaussian ? 1e-5 : 0.0, .entropy = entropy, .persist = persist};
    need(pml_pack_open(&b->pack, golden_packs[PACK].bytes, golden_packs[PACK].size, NULL, NULL));
    size_t size = pml_client_size(&b->pack, &config);
    need(pml_client_init(&b->client, malloc(size), size, &b->pack, &config));
    const pml_budget_caps caps = {
        .epsilon_response = 10.0, .epsilon_gaussian = gaussian ? 10.0 : 0.0, .delta = gaussian ? 1e-5 : 0.0};
    need(pml_budget_create(&b->full, owner, &caps));
    b->view = &b->pack;
}

static pml_status release(struct bench *b)
{
    const pml_query query = {.features = b->query.features, .count = b->view->features, .label = b->query.label};
    return pml_client_release(b->client, &query, b->out, sizeof b->out);
}

static uint64_t time_release(struct bench *b)
{
    uint64_t start = ticks();
    need(release(b));
    return ticks() - start;
}

/* Planted: the K nearest anchors by an insertion that stops early, as it is usually written. */
static uint64_t time_insertion(struct bench *b)
{
    int64_t best[PML_NEIGHBOURS_MAX];
    int8_t row[MAX_FEATURES];
    int32_t dots[64];
    pml_quantise_row(b->query.features, b->view->features, row, &pml_kernels_portable);
    uint64_t start = ticks();
    pml_kernels_portable.dots_s8(row, (const int8_t *)b->view->section[PML_SECTION_ANCHORS], b->view->features,
                                 b->view->anchors, dots);
    for (size_t i = 0; i < b->view->neighbours; i++)
        best[i] = INT64_MIN;
    for (size_t i = 0; i < b->view->anchors; i++) {
        size_t at = b->view->neighbours;
        for (; at > 0 && best[at - 1] < dots[i]; at--)
            if (at < b->view->neighbours)
                best[at] = best[at - 1];
        if (at < b->view->neighbours)
            best[at] = dots[i];
    }
    memcpy(b->out, best, sizeof best[0]);
    return ticks() - start;
}

/* Planted: 100 to 200 ns more when the first feature is positive. */
static uint64_t time_delay(struct bench *b)
{
    uint64_t start = ticks();
    need(release(b));
    if (b->query.features[0] > 0)
        for (volatile int i = 0; i < 200; i++)
            ;
    return ticks() - start;
}

/* ---- the two classes of secrets, prepared beforehand: choosing one must not differ but in its bytes ---- */

static void random_features(float *features)
{
    for (int i = 0; i < MAX_FEATURES; i++)
        features[i] = (float)draw_between(&state, -1000, 1000) + 0.5f;
}

/* One fixed query against random ones; `measure` draws them anew each time. */
static void fixed_or_random(const struct bench *b, struct query *queries)
{
    (void)b;
    random_features(queries[0].features);
    random_features(queries[1].features);
}

/* The first unit vector against its opposite: every score changes its sign, and the order of the anchors turns. */
static void opposite(const struct bench *b, struct query *queries)
{
    (void)b;
    queries[0].features[0] = 1.0f;
    queries[1].features[0] = -1.0f;
}

/* One picture in the first slot or in the last. */
static void first_or_last_slot(const struct bench *b, struct query *queries)
{
    uint32_t slot;
    random_features(queries[0].features);
    queries[1] = queries[0];
    need(pml_pack_class(&b->pack, 0, &queries[0].label, &slot));
    need(pml_pack_class(&b->pack, b->view->classes - 1, &queries[1].label, &slot));
}

static const struct {
    const char *name;
    pml_mechanism mechanism;
    uint64_t (*time)(struct bench *);
    void (*choose)(const struct bench *, struct query *);
} cases[] = {
    {"response-release-random", PML_RESPONSE, time_release, fixed_or_random},
    {"response-release-opposite", PML_RESPONSE, time_release, opposite},
    {"response-release-slot", PML_RESPONSE, time_release, first_or_last_slot},
    {"gaussian-release-random", PML_GAUSSIAN, time_release, fixed_or_random},
    {"gaussian-release-opposite", PML_GAUSSIAN, time_release, opposite},
    {"gaussian-release-slot", PML_GAUSSIAN, time_release, first_or_last_slot},
    {"leak-insertion", PML_GAUSSIAN, time_insertion, fixed_or_random},
    {"leak-delay", PML_RESPONSE, time_delay, opposite},
};

static bool is_built(pml_mechanism mechanism)
{
    return mechanism == PML_GAUSSIAN ? PML_WITH_GAUSSIAN : PML_WITH_RESPONSE;
}

static void measure(size_t index, size_t count)
{
    static struct bench b;
    static struct query queries[2];
    uint32_t slot;
    set_up(&b, cases[index].mechanism);
    for (int i = 0; i < 2; i++)
        need(pml_pack_class(&b.pack, 1, &queries[i].label, &slot));
    cases[index].choose(&b, queries);
    for (size_t i = 0; i < WARM_UP + count; i++) {
        unsigned class = (unsigned)(draw64(&state) >> 40 & 1);
        if (cases[index].choose == fixed_or_random)
            random_features(queries[1].features);
        pml_client_wipe(b.client);
        b.budget = b.full;
        need(pml_client_arm(b.client, &b.budget));
        b.query = queries[class];
        uint64_t duration = cases[index].time(&b);
        if (i >= WARM_UP)
            printf("%u %llu\n", class, (unsigned long long)duration);
    }
    free(b.client);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!is_built(cases[i].mechanism))
            continue;
        if (argc == 1)
            puts(cases[i].name);
        else if (argc == 3 && strcmp(argv[1], cases[i].name) == 0)
            return measure(i, strtoul(argv[2], NULL, 10)), 0;
    }
    if (argc == 1)
        return 0;
    fprintf(stderr, "usage: timing [CASE COUNT]\n");
    return 2;
}
