/* SPDX-License-Identifier: Apache-2.0
 * Nothing secret stays behind: after every call that sees a secret, whatever its outcome, the memory of client
 * and ranking and the stack that the calls used are searched. The calls run on a stack of their own, filled with a pattern. Two searches:
 *
 *   windows      8 bytes in a row of seed, key stream, features, row, sketch or update, of a front's quantised input; 16
 *                of noise and of a front's sums, whose values are smaller. There are less than 2^9 windows of 2^40 and more likely values each (and 2^10 of the key
 *                stream, of 2^64), and less than 2^10 bytes on the stack that are neither zero nor pattern: a false
 *                alarm has a probability below 2^-21. The few windows of update and response symbols have about 2^20
 *                values, but hardly a place on the stack looks like rows of small numbers: below 2^-14. Seeds are fixed,
 *                so what passed once passes again.
 *   differences  the same calls with other secrets must leave the same bytes. This needs no entropy, sees single
 *                bytes and raises no false alarm.
 *
 * Excluded are the caller's own: the array of features and the list of matches; and registers, which C cannot name. */
#ifndef TEST_RESIDUE_H
#define TEST_RESIDUE_H

#if defined(__linux__)
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <ucontext.h>
#endif

#include "answer_writer.h"
#include "base/chacha20.h"
#include "pipeline_crowd.h"
#include "privacy/draws.h"
#include "stages/stages.h"

#include <math.h>
#include <stdio.h>

/* Sanitisers give every frame zones of their own, so that the depth is another; memory is searched all the same. */
#if defined(__linux__) && !SANITISED
#define OWN_STACK 1
#else
#define OWN_STACK 0
#endif

/* Valgrind takes a stack that has been left for lost. */
#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif
#ifndef VALGRIND_MAKE_MEM_DEFINED
#define VALGRIND_MAKE_MEM_DEFINED(place, size) 0
#endif

enum {
    STACK_SIZE = 32768,
    PATTERN = 0xA5,
    SETS = 3,
    BLOCKS = 16,
    MATCHES = 4,
    MEMORY_MAX = 8192,
    SECRETS = 8 + (PML_WITH_CROWD ? 2 : 0) + (PML_WITH_FRONT ? 2 : 0)
};

/* ---- secrets ---- */

static struct fixture f;
static const pml_pack *pack;
static struct writer answer;
static pml_match matches[MATCHES];
static pml_answer_summary summary;

struct query {
    float features[64];
    int32_t label;
    uint8_t seed[32];
};
static struct query query; /* of the set at hand */
static pml_query given;    /* what a call gets: the caller's, so not on the stack that is searched */

/* Whose features they are, how many, and whether they come in pieces. */
static struct {
    uint32_t modality;
    size_t count;
    bool pieces;
} asked;

static void read_piece(void *context, size_t first, size_t count, float *out)
{
    memcpy(out, (const float *)context + first, count * sizeof *out);
}

/* What a finished call may keep in memory (never on the stack). */
enum { NOISE = 1, SKETCH = 2 };

struct secret {
    const char *name;
    const void *bytes;
    size_t size, window;
    int kind;
};
static struct secret secrets[SECRETS];

static uint32_t key_stream[BLOCKS][16];
static int8_t row[64], sketch[PML_SKETCH_MAX];
static int32_t noise[64], update[PML_DIMENSIONS_MAX];
static uint16_t others[64];
#if PML_WITH_FRONT
static int8_t inputs[64];
static int64_t sums[PML_FRONT_MEMORY(64, 64) / 8];
static size_t input_count, sum_count; /* 0 where the row is the quantised input */
#endif
#if PML_WITH_CROWD
static const pml_crowd policy = {.clients = 1000, .clusters = 4.0, .copies = 8, .own = 4, .cover = true};
static struct bundle bundle;
static size_t most_clusters; /* of a set: four make a window */
#endif

static void draw_query(unsigned set)
{
    uint64_t state = 0x5EC2E7 + set;
    uint32_t slot;
    for (size_t i = 0; i < asked.count; i++)
        query.features[i] = (float)draw_between(&state, -(1 << 24), 1 << 24);
    for (size_t i = 0; i < sizeof query.seed; i++)
        query.seed[i] = (uint8_t)draw64(&state);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&f.pack, set % pack->classes, &query.label, &slot));
    given = (pml_query){.features = asked.pieces ? NULL : query.features,
                        .count = asked.count,
                        .label = query.label,
                        .modality = asked.modality,
                        .read = asked.pieces ? read_piece : NULL,
                        .read_context = query.features};
    f.script = (struct script){.seed = query.seed};
    f.store = (struct store){.calls = 0};
    const pml_budget_caps caps = {.epsilon_response = 10.0,
                                  .epsilon_gaussian = PML_WITH_GAUSSIAN ? 100.0 : 0.0,
                                  .delta = PML_WITH_GAUSSIAN ? 1e-5 : 0.0,
                                  .epsilon_floor = 10.0};
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_create(&f.budget, test_owner, &caps));
}

/* The row of the query at hand, and what a front makes on the way to it. */
static void learn_row(void)
{
#if PML_WITH_FRONT
    pml_front front;
    struct scale scale;
    const uint64_t valid = pml_quantise_scale(pml_quantise_top_portable(query.features, asked.count, 0), &scale);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_front(&f.pack, asked.modality, &front));
    pml_quantise_values_portable(&scale, valid, front.root, query.features, asked.count, inputs);
    TEST_ASSERT_EQUAL(PML_OK, pml_front_map(&front, f.config.kernels, query.features, asked.count, sums, row));
    input_count = front.kind == PML_FRONT_NONE ? 0 : front.inputs;
    sum_count = front.kind == PML_FRONT_NONE ? 0 : front.outputs;
#else
    TEST_ASSERT_EQUAL(PML_OK, pml_quantise(query.features, pack->features, row));
#endif
}

/* Computes everything that must not be found; the dynamic linker, which saves registers, gets its work done too. */
static void learn(void)
{
    static const uint8_t nonce[12];
    const bool gaussian = f.config.mechanism == PML_GAUSSIAN, crowd = f.config.crowd != NULL;
    const int key = crowd ? NOISE : 0; /* the order of a bundle is drawn as it is written */
    for (uint32_t i = 0; i < BLOCKS; i++)
        pml_chacha20_block(query.seed, i, nonce, key_stream[i]);
    learn_row();
    TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&f.pack, NULL, row, sketch));
    pml_client_wipe(f.client);
#if PML_WITH_CROWD
    if (crowd) {
        const pml_crowd_content content = {.query = &given};
        TEST_ASSERT_EQUAL(PML_OK, pml_crowd_arm(f.client, &f.budget, PML_BUNDLE_QUERY));
        TEST_ASSERT_EQUAL(PML_OK, pml_crowd_begin(f.client, &content));
        bundle = f.client->crowd->bundle;
    }
    size_t clusters = 0;
    while (bundle.left[PML_CROWD_OWN_MAX + clusters] > 0)
        clusters++;
    most_clusters = clusters > most_clusters ? clusters : most_clusters;
#endif
    if (!crowd)
        TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    const size_t count = gaussian ? (size_t)pack->slots * pack->dimensions : pack->slots;
#if PML_WITH_GAUSSIAN
    if (gaussian)
        true_row(f.client, &given, update);
#endif
    if (gaussian)
        memcpy(noise, f.client->noise, count * sizeof *noise);
    else if (!crowd)
        memcpy(others, f.client->others, count * sizeof *others);
    pml_client_wipe(f.client);
    const struct secret known[SECRETS] = {
        {"seed", query.seed, sizeof query.seed, 8, key},
        {"key stream", key_stream, sizeof key_stream, 8, key},
        {"features", query.features, asked.count * sizeof *query.features, 8, 0},
        {"row", row, pack->features, 8, 0},
        {"sketch", sketch, pack->sketch, 8, SKETCH},
        {"noise", noise, gaussian ? count * sizeof *noise : 0, 16, NOISE},
        {"others", others, gaussian || crowd ? 0 : count * sizeof *others, 16, NOISE},
#if PML_WITH_CROWD
        {"own messages", bundle.symbol, crowd ? policy.own * sizeof *bundle.symbol : 0, 16, NOISE},
        {"clusters", bundle.symbol + PML_CROWD_OWN_MAX, crowd ? clusters * sizeof *bundle.symbol : 0, 16, NOISE},
#endif
#if PML_WITH_FRONT
        {"quantised input", inputs, input_count, 8, 0},
        {"sums", sums, sum_count * sizeof *sums, 16, 0},
#endif
        {"update", update, gaussian ? pack->dimensions * sizeof *update : 0, 8, 0},
    };
    memcpy(secrets, known, sizeof secrets);
}

/* ---- a stack of its own ---- */

static _Alignas(16) uint8_t stack[STACK_SIZE];
static void (*calls)(void);

#if OWN_STACK
static ucontext_t here, there;

static void enter(void)
{
    calls();
}

static void run(void (*function)(void))
{
    calls = function;
    memset(stack, PATTERN, sizeof stack);
    if (!there.uc_link) /* once: it takes the registers, and the calls push them */
        TEST_ASSERT_EQUAL(0, getcontext(&there));
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    makecontext(&there, enter, 0);
    TEST_ASSERT_EQUAL(0, swapcontext(&here, &there));
    (void)VALGRIND_MAKE_MEM_DEFINED(stack, sizeof stack);
}
#else
static void run(void (*function)(void))
{
    calls = function;
    calls();
}
#endif

/* ---- the searches ---- */

/* Windows that are all zero say nothing. Whether some other window of the secret begins with these two bytes: a bit for each pair. */
static uint8_t beginnings[65536 / 8];

static uint32_t pair_at(const uint8_t *bytes)
{
    return (uint32_t)(bytes[0] | bytes[1] << 8);
}

static bool window_is_at(const uint8_t *place, const struct secret *s)
{
    const uint8_t *secret = s->bytes;
    if (is_zero(place, s->window))
        return false;
    for (size_t i = 0; i + s->window <= s->size; i++)
        if (memcmp(place, secret + i, s->window) == 0)
            return true;
    return false;
}

static bool holds(const uint8_t *bytes, size_t size, const struct secret *s)
{
    const uint8_t *secret = s->bytes;
    memset(beginnings, 0, sizeof beginnings);
    for (size_t i = 0; i + s->window <= s->size; i++)
        if (!is_zero(secret + i, s->window))
            beginnings[pair_at(secret + i) / 8] |= (uint8_t)(1 << pair_at(secret + i) % 8);
    for (size_t at = 0; at + s->window <= size; at++)
        if ((beginnings[pair_at(bytes + at) / 8] >> pair_at(bytes + at) % 8 & 1) != 0 && window_is_at(bytes + at, s))
            return true;
    return false;
}

static unsigned found; /* secrets and differences of the scenario at hand */

static void look_for(const char *place, const uint8_t *bytes, size_t size, int kept)
{
    while (size > 0 && *bytes == PATTERN) /* the stack's unused part */
        bytes++, size--;
    for (size_t i = 0; i < SECRETS; i++)
        if ((secrets[i].kind & kept) == 0 && holds(bytes, size, secrets + i)) {
            printf("    %s: %s\n", place, secrets[i].name);
            found++;
        }
}

static void compare(const char *place, const uint8_t *before, const uint8_t *now, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += before[i] != now[i];
    if (count > 0) {
        printf("    %s: %zu bytes depend on a secret\n", place, count);
        found++;
    }
}

/* ---- a scenario: calls that must leave nothing ---- */

static unsigned surprises;

static void want(int wanted, int status)
{
    surprises += status != wanted;
}

struct scenario {
    const char *name;
    void (*calls)(void);
    int kept;
};

static unsigned search(const struct scenario *s)
{
    static uint8_t first_stack[STACK_SIZE], first_memory[MEMORY_MAX], first_ranking[sizeof f.ranking_memory];
    found = surprises = 0;
    TEST_ASSERT_TRUE(f.memory_size <= MEMORY_MAX);
    for (unsigned set = 0; set < SETS; set++) {
        draw_query(set);
        learn();
        draw_query(set);
        run(s->calls);
        TEST_ASSERT_EQUAL_MESSAGE(0, surprises, s->name);
        look_for("memory", f.memory, f.memory_size, s->kept);
        look_for("ranking", f.ranking_memory, sizeof f.ranking_memory, s->kept);
        if (OWN_STACK)
            look_for("stack", stack, sizeof stack, 0);
        if (set > 0 && s->kept == 0) {
            compare("memory", first_memory, f.memory, f.memory_size);
            compare("ranking", first_ranking, f.ranking_memory, sizeof f.ranking_memory);
        }
        if (set > 0 && OWN_STACK)
            compare("stack", first_stack, stack, sizeof stack);
        memcpy(first_stack, stack, sizeof stack);
        memcpy(first_memory, f.memory, f.memory_size);
        memcpy(first_ranking, f.ranking_memory, sizeof first_ranking);
        pml_client_wipe(f.client);
        pml_ranking_wipe(f.ranking);
    }
    return found;
}

static void write_answer(void)
{
    static const int8_t candidate[PML_SKETCH_MAX + 1] = {3, -1, 4, 1, -5, 9, 2, -6, 5, 3, 5, -8, 9};
    write_header(&answer, &f.pack, 100);
    for (uint32_t slot = 0; slot < pack->slots; slot++) {
        write_slot(&answer, slot, 2);
        for (uint64_t i = 0; i < 2; i++)
            write_candidate(&answer, 2 * slot + i, 1, candidate + i, pack->sketch, "payload", 7);
    }
}

/* PML_CROWD: a client of a crowd. */
static void prepare(unsigned index, int mechanism)
{
    setup_fixture(&f, index, mechanism == PML_CROWD ? PML_RESPONSE : mechanism, 1.0);
#if PML_WITH_CROWD
    f.config.crowd = mechanism == PML_CROWD ? &policy : NULL;
#endif
    setup_client(&f);
    pack = &f.pack;
    asked.modality = 0;
    asked.count = pack->features;
    asked.pieces = false;
    write_answer();
}

#endif
