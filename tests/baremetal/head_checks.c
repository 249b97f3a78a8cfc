/* SPDX-License-Identifier: Apache-2.0 */
#include "head_checks.h"

#if PML_WITH_HEAD
#include "golden/head_vectors.h"
#include "golden_cases.h"
#include "memory_functions.h"
#include "privatemail_platform.h"
#include "report.h"

static bool guess_is_golden(const struct golden_guess *golden)
{
    static pml_guess guesses[PML_GUESSES_MAX];
    const struct golden_head *head = golden_heads + golden->pack;
    const size_t count = golden->count < PML_GUESSES_MAX ? golden->count : PML_GUESSES_MAX;
    const pml_query query = {.features = bench.features, .count = golden->d, .modality = golden->modality};
    bench_features(golden->bits, golden->d);
    if (pml_pack_open(&bench.pack, head->bytes, head->size, NULL, NULL) != PML_OK ||
        pml_pack_guess(&bench.pack, pml_platform_kernels(), &query, bench.ranking, sizeof bench.ranking, guesses,
                       count) != PML_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (guesses[i].label != golden->labels[i] || guesses[i].score != golden->scores[i])
            return false;
    return true;
}

/* Of looks that fit into the bench's memory. */
static bool mean_is_golden(const struct golden_looks *golden)
{
    pml_looks *looks;
    if (pml_looks_begin(&looks, bench.memory, sizeof bench.memory, golden->d) != PML_OK)
        return false;
    for (size_t i = 0; i < golden->looks; i++) {
        bench_features(golden->bits + i * golden->d, golden->d);
        for (size_t t = 0; t < golden->times; t++)
            if (pml_looks_add(looks, bench.features, golden->d) != PML_OK)
                return false;
    }
    if (!golden->mean)
        return pml_looks_mean(looks, bench.features, golden->d) == PML_ERROR_FEATURES;
    return pml_looks_mean(looks, bench.features, golden->d) == PML_OK &&
           memcmp(bench.features, golden->mean, golden->d * sizeof *bench.features) == 0;
}

void check_heads(void)
{
    size_t good = 0, all = 0;
    for (size_t i = 0; i < GOLDEN_GUESS_COUNT; i++)
        good += guess_is_golden(golden_guesses + i);
    report_share(good, GOLDEN_GUESS_COUNT, "guesses");
    good = 0;
    for (size_t i = 0; i < GOLDEN_LOOKS_COUNT; i++) {
        const struct golden_looks *golden = golden_looks_cases + i;
        if (golden->d != golden->period || golden->d > CASE_FEATURES)
            continue;
        good += mean_is_golden(golden);
        all++;
    }
    report_share(good, all, "means of looks");
}
#else
void check_heads(void)
{
}
#endif
