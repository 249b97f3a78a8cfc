/* SPDX-License-Identifier: Apache-2.0
 * Run under valgrind: marks everything secret as undefined and goes through the calls that see it. Memcheck then reports
 * every branch and every address that depends on a secret (tests/check_secrets.sh). `secrets MODE...`, with each set of
 * kernels that the CPU runs, as valgrind shows it; mode `leak` plants one such branch, to show that it would be found. */
#include "answer.h"
#include "client.h"
#include "golden/vectors.h"
#include "kernel_sets.h"
#include "stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define SECRET(place, size) (void)VALGRIND_MAKE_MEM_UNDEFINED(place, size)
#define PUBLIC(place, size) (void)VALGRIND_MAKE_MEM_DEFINED(place, size)

enum { PACK = 1, MAX_FEATURES = 64 }; /* the golden pack with class slots and all sections */

static size_t entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(17 * i + 3);
    return size;
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
static pml_client *armed(pml_pack *pack, int mechanism, const struct pml_kernels *kernels)
{
    static const uint8_t owner[16] = "secrets";
    pml_config config = {.mechanism = mechanism,
                         .epsilon = 1.0,
                         .delta = mechanism == PML_GAUSSIAN ? 1e-5 : 0.0,
                         .substitute = true,
                         .entropy = entropy,
                         .persist = persist,
                         .kernels = kernels};
    pml_budget budget;
    pml_client *client;
    need(pml_pack_open(pack, golden_packs[PACK].bytes, golden_packs[PACK].size, NULL, NULL));
    size_t size = pml_client_size(pack, &config);
    need(pml_client_init(&client, malloc(size), size, pack, &config));
    need(pml_budget_create(&budget, owner, 10.0, mechanism == PML_GAUSSIAN ? 10.0 : 0.0,
                           mechanism == PML_GAUSSIAN ? 1e-5 : 0.0));
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
    pml_client *client = armed(&pack, PML_RESPONSE, kernels);
    float features[MAX_FEATURES];
    int32_t label;
    uint8_t out[256];
    size_t written;
    make_query(features, &label);
    SECRET(client->others, sizeof *client->others * pack_view(&pack)->G);
    SECRET(&client->shift, sizeof client->shift);
    need(pml_client_load(client, features, pack_view(&pack)->d, label));
    if (leak && client->cell == 1)
        fputs("planted\n", stderr);
    need(pml_client_release(client, out, sizeof out, &written));
    PUBLIC(out, sizeof out);
    free(client);
}

/* Ranking: begin and feed; the list is the device's own and may be looked at after finish. */
static void answer(const struct pml_kernels *kernels)
{
    pml_pack pack;
    pml_client *client = armed(&pack, PML_RESPONSE, kernels);
    float features[MAX_FEATURES];
    int32_t label;
    pml_match matches[8];
    for (size_t i = 0; i < GOLDEN_ANSWER_COUNT; i++) {
        const struct golden_answer *g = golden_answers + i;
        pml_answer_summary summary;
        if (g->pack != PACK)
            continue;
        make_query(features, &label);
        need(pml_answer_begin(client, features, pack_view(&pack)->d, label, PML_OWN_SLOT, matches, 8));
        need(pml_answer_feed(client, g->bytes, g->size));
        PUBLIC(matches, sizeof matches);
        need(pml_answer_finish(client, &summary));
    }
    free(client);
}
#endif

#if PML_WITH_GAUSSIAN
/* Quantising and the search for neighbours; then, from the finished row on, the release. */
static void gaussian(const struct pml_kernels *kernels)
{
    pml_pack pack;
    pml_client *client = armed(&pack, PML_GAUSSIAN, kernels);
    const struct pack_view *v = pack_view(&pack);
    float features[MAX_FEATURES];
    int32_t label;
    int8_t row[MAX_FEATURES];
    uint64_t keys[PML_NEIGHBOURS_MAX];
    uint8_t out[256];
    size_t written;
    make_query(features, &label);
    pml_quantise_row(features, v->d, row);
    pml_neighbours_find(v, kernels, row, keys);
    PUBLIC(features, sizeof features);
    PUBLIC(&label, sizeof label);
    need(pml_client_load(client, features, v->d, label));
    SECRET(client->update, sizeof client->update);
    SECRET(&client->slot, sizeof client->slot);
    SECRET(client->noise, sizeof *client->noise * v->G * v->k);
    need(pml_client_release(client, out, sizeof out, &written));
    PUBLIC(out, sizeof out);
    free(client);
}
#endif

/* Whole steps, what is left over, rows left over; a list longer than registers hold. */
static void of_kernels(const struct pml_kernels *kernels)
{
    int8_t query[333], rows[7 * sizeof query] = {1};
    int32_t dots[7];
    memset(query, 5, sizeof query);
    SECRET(query, sizeof query);
    kernels->dots_s8(query, rows, sizeof query, 7, dots);
#if PML_WITH_GAUSSIAN
    uint64_t list[PML_NEIGHBOURS_MAX] = {0}, keys[PML_KERNEL_ROWS] = {0};
    for (size_t i = 0; i < 7; i++)
        keys[i] = (uint64_t)(int64_t)dots[i] << 20;
    kernels->keep_largest(list, PML_NEIGHBOURS_MAX, keys);
#endif
}

static bool run(const char *mode, const struct pml_kernels *kernels)
{
    if (strcmp(mode, "kernels") == 0)
        return of_kernels(kernels), true;
#if PML_WITH_RESPONSE
    if (strcmp(mode, "response") == 0 || strcmp(mode, "leak") == 0)
        return response(kernels, mode[0] == 'l'), true;
    if (strcmp(mode, "answer") == 0)
        return answer(kernels), true;
#endif
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
        fprintf(stderr, "usage: secrets kernels|response|answer|gaussian|leak ...\n");
        return 2;
    }
    printf("%s\n", sets.of[sets.count - 1]->name);
    return 0;
}
