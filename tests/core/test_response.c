/* SPDX-License-Identifier: Apache-2.0
 * Randomized response: its draws against their exact probabilities, and whole releases against the ε they promise. */
#include "base/random.h"
#include "privacy/draws.h"
#include "privacy/statistics.h"
#include "stages/stages.h"
#include "support/support.h"

#include <stdio.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_RESPONSE

#define KEEP_ONE ((uint64_t)1 << 40)

/* ---- the draw ---- */

/* Words lo, hi, then the word that names the other symbol, then one for the slot. */
static pml_random scripted_draw(uint64_t v, uint32_t other, uint32_t slot)
{
    pml_random random = {.used = 12};
    random.block[12] = (uint32_t)(v << 24);
    random.block[13] = (uint32_t)(v >> 8);
    random.block[14] = other;
    random.block[15] = slot;
    return random;
}

static void test_the_true_symbol_is_kept_exactly_below_the_threshold(void)
{
    const uint32_t counts[] = {2, 3, 6, 100, 65536};
    const double epsilons[] = {PML_EPSILON_MIN, 0.5, 4.0, 16.0};
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 4; j++) {
            uint64_t keep = pml_response_keep(epsilons[j], counts[i]);
            uint32_t m = counts[i];
            uint16_t slot;
            TEST_ASSERT_TRUE(keep > 0 && keep < KEEP_ONE);
            const uint64_t values[] = {0, keep - 1, keep, KEEP_ONE - 1};
            for (size_t v = 0; v < 4; v++) {
                pml_random random = scripted_draw(values[v], m - 2, m - 1);
                uint32_t shift = pml_response_draw(&random, keep, m, 1, &slot);
                TEST_ASSERT_EQUAL_UINT32(values[v] < keep ? 0 : m - 1, shift);
                TEST_ASSERT_EQUAL_UINT16(m - 1, slot);
                TEST_ASSERT_EQUAL_UINT32(16, random.used); /* as many words whether kept or not */
            }
        }
}

#define SLOTS 3u
#define SYMBOLS_MAX 16u

static void check_draws(double epsilon, uint32_t m)
{
    const size_t count = rounds(200000);
    const double kept = (double)pml_response_keep(epsilon, m) / (double)KEEP_ONE;
    double shifts[SYMBOLS_MAX] = {0}, right[SYMBOLS_MAX], even[SYMBOLS_MAX], slots[SLOTS][SYMBOLS_MAX] = {{0}};
    double joint[SYMBOLS_MAX * SYMBOLS_MAX] = {0}, product[SYMBOLS_MAX * SYMBOLS_MAX];
    double pairs[SYMBOLS_MAX * SYMBOLS_MAX] = {0}, flat[SYMBOLS_MAX * SYMBOLS_MAX];
    uint8_t seed[32] = {0};
    pml_random random;
    store_le32(seed, m);
    store_le64(seed + 4, (uint64_t)(epsilon * 1000.0));
    pml_random_start(&random, seed);
    for (size_t i = 0; i < count; i++) {
        uint16_t others[SLOTS];
        uint32_t shift = pml_response_draw(&random, pml_response_keep(epsilon, m), m, SLOTS, others);
        TEST_ASSERT_TRUE(shift < m);
        shifts[shift] += 1.0;
        joint[shift * m + others[1]] += 1.0;
        pairs[others[0] * m + others[2]] += 1.0;
        for (size_t c = 0; c < SLOTS; c++) {
            TEST_ASSERT_TRUE(others[c] < m);
            slots[c][others[c]] += 1.0;
        }
    }
    for (uint32_t a = 0; a < m; a++) {
        right[a] = (double)count * (a == 0 ? kept : (1.0 - kept) / (m - 1));
        even[a] = (double)count / m;
        for (uint32_t b = 0; b < m; b++) {
            product[a * m + b] = right[a] / m;
            flat[a * m + b] = even[a] / m;
        }
    }
    TEST_ASSERT_TRUE(share_of_count(shifts[0], (double)count, kept) <= 1.0);
    TEST_ASSERT_TRUE(share_of_chi_square(shifts, right, m) <= 1.0);
    TEST_ASSERT_TRUE(share_of_chi_square(joint, product, (size_t)m * m) <= 1.0);
    TEST_ASSERT_TRUE(share_of_chi_square(pairs, flat, (size_t)m * m) <= 1.0);
    for (size_t c = 0; c < SLOTS; c++)
        TEST_ASSERT_TRUE(share_of_chi_square(slots[c], even, m) <= 1.0);
    right[0] *= 1.25; /* the tester can fail: a probability that is a quarter off is refuted, however few the draws */
    TEST_ASSERT_TRUE(share_of_chi_square(shifts, right, m) > 1.0);
}

static void test_draws_have_their_probabilities(void)
{
    check_draws(0.5, 2);
    check_draws(1.0, 3);
    check_draws(1.0, 6);
    check_draws(3.0, 16);
}

/* ---- whole releases ---- */

#define RELEASE_SLOTS 4u
#define RELEASE_SYMBOLS 6u

struct query {
    uint32_t slot, nearest;
    int32_t label;
    float features[64];
};

/* The prototype itself is the query: it is its own nearest. */
static struct query query_of(const pml_pack *pack, uint32_t slot, uint32_t prototype)
{
    const pml_pack *v = pack;
    struct query q = {.slot = slot};
    const int8_t *row = pml_pack_prototype(pack, slot, prototype);
    int8_t quantised[64];
    uint32_t found;
    TEST_ASSERT_TRUE(v->features <= 64 && v->slots == RELEASE_SLOTS && v->cells == RELEASE_SYMBOLS);
    for (size_t i = 0; i < v->features; i++)
        q.features[i] = row[i];
    TEST_ASSERT_EQUAL(PML_OK, pml_quantise(q.features, v->features, quantised));
    q.nearest = pml_prototypes_cell(pack, &pml_kernels_portable, quantised, slot);
    TEST_ASSERT_EQUAL_UINT32(prototype, q.nearest);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(pack, slot, &q.label, &found));
    TEST_ASSERT_EQUAL_UINT32(slot, found);
    return q;
}

struct releases {
    size_t count;
    uint8_t (*symbols)[RELEASE_SLOTS];
};

static void make_release(struct fixture *f, const struct query *q, uint8_t *symbols)
{
    uint8_t out[128];
    size_t written;
    pml_release_view view;
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f->client, &f->budget));
    TEST_ASSERT_EQUAL(PML_OK, release_query(f->client, q->features, f->pack.features, q->label, out, sizeof out));
    written = pml_client_release_size(f->client);
    TEST_ASSERT_EQUAL(PML_OK, pml_release_parse(&f->pack, out, written, &view));
    for (size_t c = 0; c < RELEASE_SLOTS; c++)
        symbols[c] = (uint8_t)pml_release_symbol(&view, c);
}

/* `salt` keeps the entropy of two samples apart. */
static struct releases make_releases(double epsilon, const struct query *q, unsigned salt)
{
    struct releases r = {.count = rounds(40000)};
    struct fixture f;
    setup_fixture(&f, PACK_CLASS, PML_RESPONSE, epsilon);
    setup_client(&f);
    const pml_budget fresh = f.budget;
    f.script.calls = salt << 24;
    r.symbols = malloc(r.count * sizeof *r.symbols);
    TEST_ASSERT_NOT_NULL(r.symbols);
    for (size_t i = 0; i < r.count; i++) {
        f.budget = fresh;
        make_release(&f, q, r.symbols[i]);
    }
    teardown_fixture(&f);
    return r;
}

static void test_symbols_of_other_slots_are_uniform_and_of_the_own_slot_as_promised(void)
{
    pml_pack pack = open_golden(PACK_CLASS);
    struct query q = query_of(&pack, 2, 4);
    struct releases r = make_releases(1.0, &q, 1);
    const double kept = (double)pml_response_keep(1.0, RELEASE_SYMBOLS) / (double)KEEP_ONE;
    for (uint32_t c = 0; c < RELEASE_SLOTS; c++) {
        double seen[RELEASE_SYMBOLS] = {0}, expected[RELEASE_SYMBOLS];
        double joint[RELEASE_SYMBOLS * RELEASE_SYMBOLS] = {0}, product[RELEASE_SYMBOLS * RELEASE_SYMBOLS];
        for (uint32_t a = 0; a < RELEASE_SYMBOLS; a++) {
            double own = a == q.nearest ? kept : (1.0 - kept) / (RELEASE_SYMBOLS - 1);
            expected[a] = (double)r.count * (c == q.slot ? own : 1.0 / RELEASE_SYMBOLS);
            for (uint32_t b = 0; b < RELEASE_SYMBOLS; b++)
                product[a * RELEASE_SYMBOLS + b] = (double)r.count * own / RELEASE_SYMBOLS;
        }
        for (size_t i = 0; i < r.count; i++) {
            seen[r.symbols[i][c]] += 1.0;
            joint[r.symbols[i][q.slot] * RELEASE_SYMBOLS + r.symbols[i][c]] += 1.0;
        }
        TEST_ASSERT_TRUE(share_of_chi_square(seen, expected, RELEASE_SYMBOLS) <= 1.0);
        TEST_ASSERT_TRUE(c == q.slot || share_of_chi_square(joint, product, sizeof joint / sizeof joint[0]) <= 1.0);
    }
    free(r.symbols);
}

/* ---- audit: what an observer of many releases can prove about ε ---- */

/* Wilson's interval (1927) around seen/count, NORMAL_LIMIT wide; sign −1 for its lower end, 1 for its upper. */
static double bound_of(double seen, double count, double sign)
{
    const double z = NORMAL_LIMIT, p = seen / count, stretch = 1.0 + z * z / count;
    return (p + z * z / (2.0 * count) + sign * z * sqrt(p * (1.0 - p) / count + z * z / (4.0 * count * count))) /
           stretch;
}

/* Does a release belong to the event? `kind` 0: symbol of a slot; 1: both symbols; 2: this one and not that one. */
struct event {
    int kind;
    uint32_t slot, symbol, other_slot, other_symbol;
};

static double times(const struct releases *r, const struct event *e)
{
    double count = 0;
    for (size_t i = 0; i < r->count; i++) {
        bool first = r->symbols[i][e->slot] == e->symbol, second = r->symbols[i][e->other_slot] == e->other_symbol;
        count += first && (e->kind == 0 || (e->kind == 1) == second);
    }
    return count;
}

/* The largest ε that some event proves, with all but a millionth of certainty. */
static double proven_epsilon(const struct releases *a, const struct releases *b, const struct query *p,
                             const struct query *q)
{
    double best = 0.0;
    for (int kind = 0; kind < 3; kind++)
        for (uint32_t i = 0; i < RELEASE_SYMBOLS * RELEASE_SYMBOLS; i++)
            for (int turn = 0; turn < 2; turn++) {
                struct event e = {kind, p->slot, i / RELEASE_SYMBOLS, q->slot, i % RELEASE_SYMBOLS};
                if (turn == 1)
                    e = (struct event){kind, q->slot, i / RELEASE_SYMBOLS, p->slot, i % RELEASE_SYMBOLS};
                const struct releases *much = turn == 0 ? a : b, *little = turn == 0 ? b : a;
                double low = bound_of(times(much, &e), (double)much->count, -1.0);
                double high = bound_of(times(little, &e), (double)little->count, 1.0);
                best = low > 0.0 ? larger(best, log(low / high)) : best;
            }
    return best;
}

static double audit(double epsilon, const struct query *p, const struct query *q)
{
    struct releases a = make_releases(epsilon, p, 2), b = make_releases(epsilon, q, 3);
    double proven = proven_epsilon(&a, &b, p, q);
    free(a.symbols);
    free(b.symbols);
    return proven;
}

static void test_no_event_proves_more_than_epsilon(void)
{
    pml_pack pack = open_golden(PACK_CLASS);
    struct query first = query_of(&pack, 1, 0), same_slot = query_of(&pack, 1, 3), other_slot = query_of(&pack, 3, 2);
    double within = audit(1.0, &first, &same_slot), between = audit(1.0, &first, &other_slot);
    printf("    epsilon 1: proven %.3f in a slot, %.3f between slots\n", within, between);
    TEST_ASSERT_TRUE(within <= 1.0 && between <= 1.0);
    TEST_ASSERT_TRUE(within > 0.5 && between > 0.5);        /* the audit has power … */
    TEST_ASSERT_TRUE(audit(1.6, &first, &same_slot) > 1.0); /* … and refutes a promise that is broken */
    TEST_ASSERT_TRUE(audit(1.6, &first, &other_slot) > 1.0);
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_RESPONSE
    RUN_TEST(test_the_true_symbol_is_kept_exactly_below_the_threshold);
    RUN_TEST(test_draws_have_their_probabilities);
    RUN_TEST(test_symbols_of_other_slots_are_uniform_and_of_the_own_slot_as_promised);
    RUN_TEST(test_no_event_proves_more_than_epsilon);
#endif
    return UNITY_END();
}
