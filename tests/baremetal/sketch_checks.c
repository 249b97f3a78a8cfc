/* SPDX-License-Identifier: Apache-2.0 */
#include "sketch_checks.h"

#include "golden/sketch_vectors.h"
#include "golden_cases.h"
#include "memory_functions.h"
#include "privatemail_platform.h"
#include "report.h"

static bool open_coded(unsigned index)
{
    const struct golden_coded_pack *golden = golden_coded_packs + index;
    bench.config.kernels = pml_platform_kernels();
    return MEASURED(CALL_OPEN, pml_pack_open(&bench.pack, golden->bytes, golden->size, golden->id, NULL)) == PML_OK;
}

static bool coded_is_golden(const struct golden_answer *golden)
{
    static const size_t pieces[] = {1, 7, 1000};
    bool same = open_coded(golden->pack);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        same = same && answer_is_golden(golden, pieces[i]);
    return same;
}

/* The status of an answer, whoever asks. */
static bool refusal_is_golden(const struct golden_refused_answer *golden)
{
    static pml_match match;
    pml_answer_summary summary;
    pml_ranking *ranking;
    if (!open_coded(golden->pack))
        return false;
    memset(bench.features, 0x3F, sizeof bench.features);                                /* each about 0.75 */
    const pml_query query = {.features = bench.features, .count = bench.pack.features}; /* all know class 0 */
    const pml_ranking_config config = {.matches = &match,
                                       .capacity = 1,
                                       .scope = PML_ALL_SLOTS,
                                       .crowd = golden->crowd != 0,
                                       .kernels = bench.config.kernels};
    if (pml_ranking_begin(&ranking, bench.ranking, sizeof bench.ranking, &bench.pack, &query, &config) != PML_OK)
        return false;
    const int fed = pml_ranking_feed(ranking, golden->bytes, golden->size);
    const int finished = MEASURED(CALL_ANSWER, pml_ranking_finish(ranking, &summary));
    return finished == golden->status && (fed == PML_OK || fed == finished);
}

void check_coded_answers(void)
{
    size_t good = 0, all = 0;
    for (size_t i = 0; i < GOLDEN_CODED_ANSWER_COUNT; i++) {
        const struct golden_answer *golden = golden_coded_answers + i;
        if (!GOLDEN_CODED_OPENS(golden_coded_packs[golden->pack].needs))
            continue;
        const bool same = coded_is_golden(golden);
        good += same;
        all++;
        if (!same)
            report_case(golden->name);
    }
    report_share(good, all, "answers of version 2");
    good = 0;
    for (size_t i = 0; i < GOLDEN_REFUSED_ANSWER_COUNT; i++) {
        const bool same = refusal_is_golden(golden_refused_answers + i);
        good += same;
        if (!same)
            report_case(golden_refused_answers[i].name);
    }
    report_share(good, GOLDEN_REFUSED_ANSWER_COUNT, "answers of version 2, taken or refused");
}
