/* SPDX-License-Identifier: Apache-2.0 */
#include "golden_cases.h"
#include "memory_functions.h"
#include "privatemail_platform.h"

enum { MESSAGE_MAX = 128, ROWS_MAX = 32, MATCHES_MAX = 8 };

struct bench bench;

static const uint8_t owner[16] = "owner of budget";

static int scripted_entropy(void *context, uint8_t *out, size_t size)
{
    const struct bench *script = context;
    bench.entropy_calls++;
    memcpy(out, script->seed, size);
    return script->entropy_fails ? -1 : 0;
}

static int counting_persist(void *context, const uint8_t *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    bench.persist_calls++;
    return size == PML_BUDGET_SIZE ? 0 : -1;
}

int bench_note(enum call which, const unsigned char *here, int status)
{
    size_t depth = stack_meter_depth(here);
    if (depth > bench.depths[which])
        bench.depths[which] = depth;
    return status;
}

bool bench_open(unsigned pack, int mechanism, double epsilon, double delta)
{
    const struct golden_pack *golden = golden_packs + pack;
    static const pml_budget_caps caps = {.epsilon_response = 1000.0,
                                         .epsilon_gaussian = PML_WITH_GAUSSIAN ? 100.0 : 0.0,
                                         .delta = PML_WITH_GAUSSIAN ? 1e-5 : 0.0,
                                         .epsilon_floor = 1000.0};
    bench.config = (pml_config){.mechanism = (pml_mechanism)mechanism,
                                .kernels = pml_platform_kernels(),
                                .epsilon = epsilon,
                                .delta = delta,
                                .entropy = scripted_entropy,
                                .entropy_context = &bench,
                                .persist = counting_persist};
    bench.entropy_fails = false;
    return MEASURED(CALL_OPEN, pml_pack_open(&bench.pack, golden->bytes, golden->size, golden->id, NULL)) == PML_OK &&
           pml_budget_create(&bench.budget, owner, &caps) == PML_OK;
}

bool bench_can(void)
{
    return pml_client_size(&bench.pack, &bench.config) > 0;
}

bool bench_init(void)
{
    return MEASURED(CALL_INIT, pml_client_init(&bench.client, bench.memory, sizeof bench.memory, &bench.pack,
                                               &bench.config)) == PML_OK;
}

void bench_features(const uint32_t *bits, size_t count)
{
    memcpy(bench.features, bits, count * sizeof *bits);
}

static bool rows_are_golden(const struct golden_release *golden)
{
    static float rows[ROWS_MAX];
    return golden->row_count <= ROWS_MAX &&
           MEASURED(CALL_ROWS, pml_release_rows(&bench.pack, golden->release, golden->release_size, rows,
                                                golden->row_count)) == PML_OK &&
           memcmp(rows, golden->rows, golden->row_count * sizeof *rows) == 0;
}

bool release_is_golden(const struct golden_release *golden, uint8_t flip)
{
    static uint8_t message[MESSAGE_MAX];
    const pml_query query = {
        .features = bench.features, .count = golden->d, .label = golden->label, .modality = golden->modality};
    bench.config.value_bytes = (unsigned)golden->value_bytes;
    bench.seed = golden->seed;
    if (golden->d > CASE_FEATURES || !bench_init())
        return false;
    bench_features(golden->bits, golden->d);
    if (MEASURED(CALL_ARM, pml_client_arm(bench.client, &bench.budget)) != PML_OK ||
        MEASURED(CALL_RELEASE, pml_client_release(bench.client, &query, message, sizeof message)) != PML_OK)
        return false;
    const size_t size = pml_client_release_size(bench.client);
    message[size - 1] ^= flip;
    return size == golden->release_size && memcmp(message, golden->release, size) == 0 &&
           (golden->row_count == 0 || rows_are_golden(golden));
}

#if PML_WITH_CROWD
bool bundle_is_golden(const struct golden_bundle *golden)
{
    static uint8_t message[MESSAGE_MAX];
    static pml_crowd policy;
    const pml_query query = {
        .features = bench.features, .count = golden->d, .label = golden->label, .modality = golden->modality};
    const pml_crowd_content content = {golden->bits ? &query : NULL, golden->kept, golden->kept_size};
    unsigned own;
    policy = (pml_crowd){.clients = 1000,
                         .clusters = golden->clusters,
                         .copies = golden->copies,
                         .own = golden->own_messages,
                         .cover = golden->cover != 0};
    bench.config.crowd = &policy;
    bench.seed = golden->seed;
    if (golden->d > CASE_FEATURES || !bench_init())
        return false;
    if (golden->bits)
        bench_features(golden->bits, golden->d);
    const size_t length = pml_client_release_size(bench.client);
    if (MEASURED(CALL_ARM, pml_crowd_arm(bench.client, &bench.budget, (pml_bundle)golden->kind)) != PML_OK ||
        MEASURED(CALL_RELEASE, pml_crowd_begin(bench.client, &content)) != PML_OK ||
        pml_crowd_left(bench.client) != golden->count || golden->size != golden->count * length)
        return false;
    for (size_t i = 0; i < golden->count; i++)
        if (MEASURED(CALL_RELEASE, pml_crowd_next(bench.client, message, sizeof message, &own)) != PML_OK ||
            own != golden->own[i] || memcmp(message, golden->bytes + i * length, length) != 0)
            return false;
    return pml_crowd_left(bench.client) == 0;
}
#endif

static bool is_match(const struct golden_match *golden, const pml_match *match)
{
    return golden->item == match->item && golden->label == match->label && golden->slot == match->slot &&
           golden->score == match->score && golden->payload_offset == match->payload_offset &&
           golden->payload_size == match->payload_size;
}

static pml_status feed(pml_ranking *ranking, const struct golden_answer *golden, size_t piece)
{
    pml_status status = PML_OK;
    for (size_t at = 0; at < golden->size && status == PML_OK; at += piece)
        status = pml_ranking_feed(ranking, golden->bytes + at, golden->size - at < piece ? golden->size - at : piece);
    return status;
}

bool answer_is_golden(const struct golden_answer *golden, size_t piece)
{
    static pml_match matches[MATCHES_MAX];
    pml_answer_summary summary;
    const pml_query query = {
        .features = bench.features, .count = golden->d, .label = golden->label, .modality = golden->modality};
    const pml_ranking_config config = {.matches = matches,
                                       .capacity = golden->limit,
                                       .scope = golden->all_slots ? PML_ALL_SLOTS : PML_OWN_SLOT,
                                       .kernels = bench.config.kernels};
    pml_ranking *ranking;
    if (golden->limit > MATCHES_MAX || golden->d > CASE_FEATURES)
        return false;
    bench_features(golden->bits, golden->d);
    int begun = MEASURED(
        CALL_ANSWER, pml_ranking_begin(&ranking, bench.ranking, sizeof bench.ranking, &bench.pack, &query, &config));
    if (begun == PML_ERROR_SECTION)
        return golden_packs[golden->pack].bytes[78] == 0; /* rightly so: L, the pack has no sketches (SPEC 1) */
    if (begun != PML_OK || MEASURED(CALL_ANSWER, feed(ranking, golden, piece)) != PML_OK ||
        MEASURED(CALL_ANSWER, pml_ranking_finish(ranking, &summary)) != PML_OK)
        return false;
    bool same = summary.found == golden->match_count && summary.bytes == golden->size;
    for (size_t i = 0; same && i < golden->match_count; i++)
        same = is_match(golden->matches + i, matches + i);
    return same;
}

bool budget_is_golden(const struct golden_budget *golden)
{
    pml_budget budget;
    pml_budget_left left;
    return pml_budget_restore(&budget, golden->owner, golden->bytes, golden->size) == PML_OK &&
           memcmp(budget.bytes, golden->current, sizeof budget.bytes) == 0 &&
           pml_budget_remaining(&budget, &left) == PML_OK && left.epsilon_cap == golden->response_cap * 0x1p-20 &&
           left.epsilon_spent == golden->response_spent * 0x1p-20 &&
           left.mu2_cap == (double)golden->gaussian_cap * 0x1p-40 &&
           left.mu2_spent == (double)golden->gaussian_spent * 0x1p-40 &&
           left.delta == (double)golden->delta * 0x1p-64 && left.floor_spent == golden->floor_spent * 0x1p-20 &&
           left.crowd_mu2_spent == (double)golden->crowd_spent * 0x1p-40 &&
           left.crowd_delta0_spent == (double)golden->delta0_spent * 0x1p-64;
}
