/* SPDX-License-Identifier: Apache-2.0
 * Run under valgrind: marks everything secret as undefined and goes through the calls that see it. Memcheck then reports
 * every branch and every address that depends on a secret (tests/check_secrets.sh). `secrets MODE...`, with each set of
 * kernels that the CPU runs, as valgrind shows it; mode `leak` plants one such branch, to show that it would be found. */
#include "golden/head_vectors.h"
#include "golden/vectors.h"
#include "pipeline_crowd.h"
#include "query.h"
#include "stages/answer.h"
#include "stages/stages.h"
#include "support/kernel_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define SECRET(place, size) (void)VALGRIND_MAKE_MEM_UNDEFINED(place, size)
#define PUBLIC(place, size) (void)VALGRIND_MAKE_MEM_DEFINED(place, size)

/* The golden packs with class slots and all sections, and with fronts of every kind. */
enum { PACK = 1, FRONTS = 13, MAX_FEATURES = 64 };

static int entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(17 * i + 3);
    return 0;
}

static int persist(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

static void need(int status)
{
    if (status != PML_OK) {
        fprintf(stderr, "secrets: %s\n", pml_status_text(status));
        exit(2);
    }
}

/* An armed client; `substitute` leaves no public verdict on the input. */
static pml_client *armed(unsigned index, pml_pack *pack, pml_mechanism mechanism, const struct pml_kernels *kernels,
                         const pml_crowd *crowd)
{
    static const uint8_t owner[16] = "secrets";
    pml_config config = {.mechanism = mechanism,
                         .epsilon = 1.0,
                         .delta = mechanism == PML_GAUSSIAN ? 1e-5 : 0.0,
                         .substitute = true,
                         .entropy = entropy,
                         .persist = persist,
                         .crowd = crowd,
                         .kernels = kernels};
    pml_budget budget;
    pml_client *client;
    need(pml_pack_open(pack, golden_packs[index].bytes, golden_packs[index].size, NULL, NULL));
    size_t size = pml_client_size(pack, &config);
    need(pml_client_init(&client, malloc(size), size, pack, &config));
    const pml_budget_caps caps = {.epsilon_response = 10.0,
                                  .epsilon_gaussian = mechanism == PML_GAUSSIAN ? 10.0 : 0.0,
                                  .delta = mechanism == PML_GAUSSIAN ? 1e-5 : 0.0,
                                  .epsilon_floor = 10.0};
    need(pml_budget_create(&budget, owner, &caps));
#if PML_WITH_CROWD
    if (crowd)
        need(pml_crowd_arm(client, &budget, PML_BUNDLE_QUERY));
#endif
    if (!crowd)
        need(pml_client_arm(client, &budget));
    return client;
}

static void make_query(float *features, int32_t *label)
{
    for (int i = 0; i < MAX_FEATURES; i++)
        features[i] = (float)((i * 37) % 11) - 4.0f;
    *label = 3;
    SECRET(features, MAX_FEATURES * sizeof *features);
    SECRET(label, sizeof *label);
}

#if PML_WITH_RESPONSE
/* The whole path, from features to bytes; the noise is secret too. */
static void response(const struct pml_kernels *kernels, bool leak)
{
    pml_pack pack;
    pml_client *client = armed(PACK, &pack, PML_RESPONSE, kernels, NULL);
    float features[MAX_FEATURES];
    int32_t label;
    uint8_t out[256];
    make_query(features, &label);
    const pml_query query = {.features = features, .count = pack.features, .label = label};
    SECRET(client->others, sizeof *client->others * pack.slots);
    SECRET(&client->shift, sizeof client->shift);
    need(pml_client_release(client, &query, out, sizeof out));
    int8_t row[MAX_FEATURES];
    pml_quantise_row(features, pack.features, row, kernels);
    if (leak && pml_prototypes_cell(&pack, kernels, row, 0) == 1)
        fputs("planted\n", stderr);
    PUBLIC(out, sizeof out);
    free(client);
}

#endif

#if PML_WITH_CROWD
/* From features to the last message. What the messages are is secret, and in which order they come: only that there are
 * so many is known. The words of the order are rejected, or not, before they meet anything (SPEC 5.16). */
static void crowd(const struct pml_kernels *kernels)
{
    static const pml_crowd policy = {.clients = 9, .clusters = 4.0, .copies = 8, .own = 5};
    pml_pack pack;
    pml_client *client = armed(PACK, &pack, PML_RESPONSE, kernels, &policy);
    float features[MAX_FEATURES];
    int32_t label;
    uint8_t out[64];
    unsigned own;
    make_query(features, &label);
    const pml_query query = {.features = features, .count = pack.features, .label = label};
    const pml_crowd_content content = {.query = &query};
    SECRET(&client->shift, sizeof client->shift);
    SECRET(client->crowd->bundle.symbol, sizeof client->crowd->bundle.symbol);
    SECRET(client->crowd->bundle.left, sizeof client->crowd->bundle.left);
    need(pml_crowd_begin(client, &content));
    while (pml_crowd_left(client) > 0)
        need(pml_crowd_next(client, out, sizeof out, &own));
    free(client);
}
#endif

/* Ranking: begin and feed; the list is the device's own and may be looked at after finish. */
static void answer(const struct pml_kernels *kernels)
{
    static uint8_t memory[PML_RANKING_MEMORY(MAX_FEATURES, PML_SKETCH_MAX, PML_DIRECTIONS_MAX)];
    pml_pack pack;
    float features[MAX_FEATURES];
    int32_t label;
    pml_match matches[8];
    const pml_ranking_config config = {.matches = matches, .capacity = 8, .substitute = true, .kernels = kernels};
    need(pml_pack_open(&pack, golden_packs[PACK].bytes, golden_packs[PACK].size, NULL, NULL));
    for (size_t i = 0; i < GOLDEN_ANSWER_COUNT; i++) {
        const struct golden_answer *g = golden_answers + i;
        pml_answer_summary summary;
        if (g->pack != PACK)
            continue;
        make_query(features, &label);
        const pml_query query = {.features = features, .count = pack.features, .label = label};
        pml_ranking *ranking;
        need(pml_ranking_begin(&ranking, memory, sizeof memory, &pack, &query, &config));
        need(pml_ranking_feed(ranking, g->bytes, g->size));
        PUBLIC(matches, sizeof matches);
        need(pml_ranking_finish(ranking, &summary));
    }
}

#if PML_WITH_GAUSSIAN
/* Quantising, the search for neighbours and their weights; then, from the finished row on, the release. */
static void gaussian(const struct pml_kernels *kernels)
{
    pml_pack pack;
    pml_client *client = armed(PACK, &pack, PML_GAUSSIAN, kernels, NULL);
    const pml_pack *v = &pack;
    float features[MAX_FEATURES];
    int32_t label;
    int8_t row[MAX_FEATURES];
    uint64_t keys[PML_NEIGHBOURS_MAX];
    int32_t update[PML_DIMENSIONS_MAX];
    uint32_t slot = 3;
    uint8_t out[256];
    make_query(features, &label);
    pml_quantise_row(features, v->features, row, kernels);
    pml_neighbours_find(v, kernels, row, keys);
    for (size_t i = 0; i < v->neighbours; i++)
        (void)pml_weights_of(neighbour_score(keys[i]), pml_inverse_norm(row, v->features), v->lambda, 1);
    PUBLIC(features, sizeof features);
    PUBLIC(&label, sizeof label);
    need(pml_quantise(features, v->features, client->row));
    pml_place_gaussian(client, slot, update);
    SECRET(update, sizeof update);
    SECRET(&slot, sizeof slot);
    SECRET(client->noise, sizeof *client->noise * v->slots * v->dimensions);
    pml_gaussian_emit(client->noise, client->centres, update, slot, v->slots, v->dimensions,
                      client->calibration.coarsen, client->config.value_bytes, out);
    PUBLIC(out, sizeof out);
    free(client);
}
#endif

#if PML_WITH_FRONT && PML_WITH_RESPONSE
static void read_piece(void *context, size_t first, size_t count, float *out)
{
    memcpy(out, (const float *)context + first, count * sizeof *out);
}

/* Every kind of front, without and with roots, from features to bytes: from an array, and in pieces. */
static void front(const struct pml_kernels *kernels, bool leak)
{
    pml_pack pack;
    for (uint32_t modality = 0; modality < PML_MODALITIES_MAX; modality++)
        for (int pieces = 0; pieces < 2; pieces++) {
            pml_client *client = armed(FRONTS, &pack, PML_RESPONSE, kernels, NULL);
            pml_front view;
            float features[MAX_FEATURES];
            int32_t label;
            uint8_t out[256];
            int8_t row[MAX_FEATURES];
            int64_t scratch[PML_FRONT_MEMORY(MAX_FEATURES, MAX_FEATURES) / 8];
            make_query(features, &label);
            need(pml_pack_front(&pack, modality, &view));
            pml_query query = {
                .features = pieces ? NULL : features, .count = view.inputs, .label = label, .modality = modality};
            query.read = pieces ? read_piece : NULL;
            query.read_context = features;
            need(pml_client_release(client, &query, out, sizeof out));
            (void)pml_query_map(&query, &view, kernels, row, scratch);
            if (leak && modality == 6 && row[3] > 5)
                fputs("planted\n", stderr);
            PUBLIC(out, sizeof out);
            free(client);
        }
}
#endif

#if PML_WITH_HEAD
/* The verdict on the features is public once it is returned. */
static void need_later(pml_status status)
{
    PUBLIC(&status, sizeof status);
    need(status);
}

/* Guesses behind every front; looks of few features and of more than 4096. */
static void head(const struct pml_kernels *kernels, bool leak)
{
    static uint8_t memory[4096], looks_memory[PML_LOOKS_MEMORY(4100)];
    static float many[4100], mean[4100];
    pml_pack pack;
    need(pml_pack_open(&pack, golden_heads[1].bytes, golden_heads[1].size, NULL, NULL));
    for (uint32_t modality = 0; modality < PML_MODALITIES_MAX; modality++) {
        pml_front view;
        float features[MAX_FEATURES];
        int32_t label;
        pml_guess guesses[5];
        make_query(features, &label);
        need(pml_pack_front(&pack, modality, &view));
        const pml_query query = {.features = features, .count = view.inputs, .label = label, .modality = modality};
        need_later(pml_pack_guess(&pack, kernels, &query, memory, sizeof memory, guesses, 5));
        if (leak && modality == 4 && guesses[0].label > 0)
            fputs("planted\n", stderr);
    }
    for (int large = 0; large < 2; large++) {
        const size_t count = large ? 4100 : MAX_FEATURES;
        pml_looks *looks;
        int32_t label;
        make_query(many, &label);
        need(pml_looks_begin(&looks, looks_memory, sizeof looks_memory, count));
        for (int look = 0; look < 3; look++) {
            need_later(pml_looks_add(looks, many, count));
            PUBLIC(looks, 8); /* how many there are */
        }
        need_later(pml_looks_mean(looks, mean, count));
    }
}
#endif

/* Whole steps, what is left over, rows left over; lists that fit registers and longer ones; roots. */
static void of_kernels(const struct pml_kernels *kernels)
{
    enum { COUNT = 333, ROWS = 45 };
    static float features[COUNT];
    static int8_t query[COUNT], rows[ROWS * COUNT] = {1};
    int32_t dots[15];
    for (size_t i = 0; i < COUNT; i++)
        features[i] = (float)i - 100.5f;
    SECRET(features, sizeof features);
    struct scale scale;
    const uint64_t valid = pml_quantise_scale(PML_KERNEL(kernels, quantise_top)(features, COUNT, 0), &scale);
    PML_KERNEL(kernels, quantise_values)(&scale, valid, true, features, COUNT, query);
    pml_quantise_row(features, COUNT, query, kernels);
    kernels->dots_s8(query, rows, COUNT, 15, dots);
#if PML_WITH_GAUSSIAN && PML_KERNELS_WIDE
    static uint8_t inverse[4 * ROWS] = {1};
    uint64_t list[PML_NEIGHBOURS_MAX];
    if (kernels->nearest) {
        kernels->nearest(query, rows, inverse, COUNT, ROWS, list, 10);
        kernels->nearest(query, rows, inverse, COUNT, ROWS, list, PML_NEIGHBOURS_MAX);
    }
#endif
}

static bool run(const char *mode, const struct pml_kernels *kernels)
{
    if (strcmp(mode, "kernels") == 0)
        return of_kernels(kernels), true;
#if PML_WITH_RESPONSE
    if (strcmp(mode, "response") == 0 || strcmp(mode, "leak") == 0)
        return response(kernels, mode[0] == 'l'), true;
#endif
#if PML_WITH_CROWD
    if (strcmp(mode, "crowd") == 0)
        return crowd(kernels), true;
#endif
#if PML_WITH_FRONT && PML_WITH_RESPONSE
    if (strcmp(mode, "front") == 0 || strcmp(mode, "front-leak") == 0)
        return front(kernels, mode[5] == '-'), true;
#endif
#if PML_WITH_HEAD
    if (strcmp(mode, "head") == 0 || strcmp(mode, "head-leak") == 0)
        return head(kernels, mode[4] == '-'), true;
#endif
    if (strcmp(mode, "answer") == 0)
        return answer(kernels), true;
#if PML_WITH_GAUSSIAN
    if (strcmp(mode, "gaussian") == 0)
        return gaussian(kernels), true;
#endif
    return false;
}

int main(int argc, char **argv)
{
    const struct kernel_sets sets = kernel_sets_of_cpu();
    bool known = argc > 1;
    for (int mode = 1; mode < argc && known; mode++)
        for (size_t i = 0; i < sets.count && known; i++)
            known = run(argv[mode], sets.of[i]);
    if (!known) {
        fprintf(stderr, "usage: secrets kernels|response|crowd|front|head|answer|gaussian|leak ...\n");
        return 2;
    }
    printf("%s\n", sets.of[sets.count - 1]->name);
    return 0;
}
