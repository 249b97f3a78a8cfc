/* SPDX-License-Identifier: Apache-2.0
 * An attack on the certified sensitivity: looks for two queries whose rows lie further apart than Δ. It may choose any
 * K anchors and any weights in [B, 65536], which is more than any image can reach, and compares in exact integers. */
#include "client.h"
#include "golden/vectors.h"
#include "support/support.h"
#if defined(__SIZEOF_INT128__) && PML_WITH_GAUSSIAN
#define EXACT_DISTANCES 1 /* compared as products of more than 64 bits */
#else
#define EXACT_DISTANCES 0
#endif
#if EXACT_DISTANCES
#include "attack.h"
#endif

#include <math.h>
#include <stdio.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if EXACT_DISTANCES

/* ---- the claim ---- */

static wide size_of(wide v)
{
    return v < 0 ? -v : v;
}

/* Σ parts² ≤ limit². Exact for one part and while squares fit; beyond that rounded against the claim. */
static bool are_within(const wide *parts, size_t count, wide limit, long double *share)
{
    wide largest = limit, sum = 0;
    long double square = 0;
    int shift = 0;
    for (size_t i = 0; i < count; i++) {
        largest = size_of(parts[i]) > largest ? size_of(parts[i]) : largest;
        square += (long double)parts[i] * (long double)parts[i];
    }
    while (largest >> shift >= (wide)1 << 61)
        shift++;
    for (size_t i = 0; i < count; i++) {
        wide part = (size_of(parts[i]) + ((wide)1 << shift) - 1) >> shift;
        sum += part * part;
    }
    long double found = sqrtl(square) / (long double)limit;
    *share = found > *share ? found : *share;
    return count == 1 ? size_of(parts[0]) <= limit : sum <= (limit >> shift) * (limit >> shift);
}

/* 512·degree·(row − centre)·32: how far the row is from the centre of its slot */
static wide from_centre(const struct target *t, const struct place *p, size_t i)
{
    wide code = slot_code(t, p->slot, i);
    return 32 * (256 * code * p->degree + p->moved[i]) -
           t->centres[(size_t)p->slot * t->pack->dimensions + i] * p->degree;
}

static void check_pair(struct target *t, const struct place *a, const struct place *b)
{
    wide parts[2 * PML_DIMENSIONS_MAX];
    size_t k = t->pack->dimensions;
    bool within;
    if (a->slot == b->slot) {
        for (size_t i = 0; i < k; i++)
            parts[i] = a->moved[i] * b->degree - b->moved[i] * a->degree;
        within = are_within(parts, k, 2 * t->delta * a->degree * b->degree, &t->closest_same);
    } else {
        for (size_t i = 0; i < k; i++) {
            parts[i] = from_centre(t, a, i) * b->degree;
            parts[k + i] = from_centre(t, b, i) * a->degree;
        }
        within = are_within(parts, 2 * k, 64 * t->delta * a->degree * b->degree, &t->closest_other);
    }
    TEST_ASSERT_TRUE_MESSAGE(within, t->name);
}

/* g·√squares ≤ Δ + g·√changed, in integers */
static bool is_within_on_grid(const struct target *t, wide squares, wide changed, wide grid)
{
    wide left = (squares - changed) * (256 * grid) * (256 * grid) - t->delta * t->delta;
    wide right = 2 * t->delta * 256 * grid;
    return left <= 0 || left * left <= right * right * changed;
}

static void check_pair_on_grid(const struct target *t, const struct place *a, const struct place *b, uint32_t grid,
                               const int64_t *centres)
{
    int32_t left[PML_DIMENSIONS_MAX], right[PML_DIMENSIONS_MAX];
    size_t k = t->pack->dimensions, at = a->slot * k, bt = b->slot * k;
    wide squares = 0;
    pml_update_row(t->pack, a->slot, t->label_rows + at, a->indices, a->weights, grid, left);
    pml_update_row(t->pack, b->slot, t->label_rows + bt, b->indices, b->weights, grid, right);
    for (size_t i = 0; i < k; i++) {
        wide one = left[i] - (a->slot == b->slot ? right[i] : centres[at + i]);
        wide other = a->slot == b->slot ? 0 : right[i] - centres[bt + i];
        squares += one * one + other * other;
        TEST_ASSERT_TRUE((wide)left[i] * grid <= t->row_bound + grid &&
                         (wide)left[i] * grid >= -t->row_bound - (wide)grid);
    }
    TEST_ASSERT_TRUE_MESSAGE(is_within_on_grid(t, squares, (wide)(a->slot == b->slot ? k : 2 * k), grid), t->name);
}

static void check_bound(const struct target *t, const struct place *p)
{
    for (size_t i = 0; i < t->pack->dimensions; i++) {
        wide row = 256 * (wide)slot_code(t, p->slot, i) * p->degree + p->moved[i];
        TEST_ASSERT_TRUE_MESSAGE(size_of(row) <= 512 * p->degree * t->row_bound, t->name);
    }
}

/* ---- the attack ---- */

static void attack(struct target *t)
{
    struct pool pool = gather(t);
    for (size_t i = 0; i < pool.count; i++) {
        check_bound(t, pool.places + i);
        for (size_t j = 0; j < i; j++)
            check_pair(t, pool.places + i, pool.places + j);
    }
    free(pool.places);
}

static void test_no_two_rows_are_further_apart_than_certified(void)
{
    for (unsigned p = 0; p < GOLDEN_PACK_COUNT; p++) {
        pml_pack pack = open_golden(p);
        struct target t;
        if (pack.anchors == 0)
            continue;
        aim(&t, golden_packs[p].name, &pack);
        attack(&t);
        printf("    %-70s sensitivity %8.1f, reached %.4f of it in a slot, %.4f between slots\n", t.name,
               (double)t.delta / 256.0, (double)t.closest_same, (double)t.closest_other);
        /* Elsewhere in more than two coordinates codes are random, and rows reach neither a box's diagonal nor a ball. */
        bool anywhere = t.pack->dimensions > 2 && p != PACK_SPHERE;
        TEST_ASSERT_TRUE_MESSAGE(anywhere || t.closest_same >= (t.pack->alpha == 0 ? 0.99L : 0.9L), t.name);
        release_target(&t);
    }
}

/* ---- balls ---- */

enum { BALL_ANCHORS = 24, BALL_SLOTS = 3 };

/* A pack of nothing but codes: most anchors near two opposite poles, the others anywhere on the sphere. */
struct ball_pack {
    uint8_t anchors[2 * BALL_ANCHORS * PML_DIMENSIONS_MAX], slots[2 * BALL_SLOTS * PML_DIMENSIONS_MAX];
    uint8_t starts[4 * (BALL_SLOTS + 1)];
    pml_pack pack;
};

static void store_code(uint8_t *codes, size_t at, long double value)
{
    const int32_t code = (int32_t)truncl(value);
    codes[2 * at] = (uint8_t)((uint32_t)code & 0xFF);
    codes[2 * at + 1] = (uint8_t)((uint32_t)code >> 8 & 0xFF);
}

static void make_ball(struct ball_pack *ball, uint16_t dimensions, uint16_t alpha, uint32_t lambda, uint64_t *state)
{
    long double pole[PML_DIMENSIONS_MAX];
    memset(ball, 0, sizeof *ball);
    ball->pack = (pml_pack){.anchors = BALL_ANCHORS, .neighbours = 4, .dimensions = dimensions, .slots = BALL_SLOTS};
    ball->pack.lambda = lambda;
    ball->pack.alpha = alpha;
    ball->pack.section[PML_SECTION_ANCHOR_CODES] = ball->anchors;
    ball->pack.section[PML_SECTION_SLOT_CODES] = ball->slots;
    ball->pack.section[PML_SECTION_ANCHOR_STARTS] = ball->starts;
    for (uint32_t s = 0; s <= BALL_SLOTS; s++)
        store_le32(ball->starts + (size_t)4 * s, s * BALL_ANCHORS / BALL_SLOTS);
    for (size_t i = 0; i < dimensions; i++)
        pole[i] = (long double)draw_between(state, -1000, 1000);
    for (size_t j = 0; j < BALL_ANCHORS; j++) {
        long double place[PML_DIMENSIONS_MAX], length = 0, radius = j == 0 ? 20000 : 24000;
        for (size_t i = 0; i < dimensions; i++) {
            place[i] = j % 8 < 6 ? (j % 2 == 0 ? pole[i] : -pole[i]) : (long double)draw_between(state, -1000, 1000);
            length += place[i] * place[i];
        }
        for (size_t i = 0; i < dimensions; i++)
            store_code(ball->anchors, j * dimensions + i, radius * place[i] / sqrtl(length));
    }
    for (size_t s = 0; s < BALL_SLOTS; s++)
        for (size_t i = 0; i < dimensions; i++)
            store_code(ball->slots, s * dimensions + i, (long double)(s + 1) * 3 * pole[i]);
}

/* Free choice of anchors and weights: no pair may exceed Δ, and some must come close to it. */
static void test_rows_of_codes_on_a_sphere_reach_their_ball_and_no_more(void)
{
    const uint16_t dimensions[] = {3, 8, 16}, alphas[] = {0, 64, 400};
    const uint32_t lambdas[] = {1, 29127, 131072};
    uint64_t state = 18;
    for (size_t k = 0; k < 3; k++)
        for (size_t a = 0; a < 3; a++)
            for (size_t l = 0; l < 3; l++) {
                struct ball_pack ball;
                struct target t;
                make_ball(&ball, dimensions[k], alphas[a], lambdas[l], &state);
                aim(&t, "codes on a sphere", &ball.pack);
                attack(&t);
                printf("    sphere: %2u coordinates, alpha %4u, lambda %6u: sensitivity %8.1f, reached %.4f and %.4f\n",
                       dimensions[k], alphas[a], lambdas[l], (double)t.delta / 256.0, (double)t.closest_same,
                       (double)t.closest_other);
                TEST_ASSERT_TRUE(t.closest_same >= (alphas[a] == 0 ? 0.99L : 0.9L));
                /* Without the label term the radius, whatever the coordinates: the diagonal of a box would be more. */
                TEST_ASSERT_TRUE(alphas[a] != 0 || t.delta <= 24000 * 256 + 1);
                release_target(&t);
            }
}

/* The widest codes, the largest alpha; as the bandwidth falls, Δ grows until the pack is refused. */
static void test_hostile_packs_are_certified_soundly_or_refused(void)
{
    unsigned refused = 0, certified = 0;
    for (uint32_t lambda = 1000; lambda < 0x10000000; lambda += lambda / 2) {
        size_t size;
        uint8_t *bytes = copy_golden(PACK_CLASS, &size);
        pml_pack pack = open_golden(PACK_CLASS);
        uint8_t *codes = bytes + (pack.section[PML_SECTION_ANCHOR_CODES] - pack.bytes);
        for (size_t i = 0; i < (size_t)pack.anchors * pack.dimensions; i++) {
            codes[2 * i] = i % 3 == 0 ? 0x01 : 0xFF;
            codes[2 * i + 1] = i % 3 == 0 ? 0x80 : 0x7F;
        }
        store_le32(bytes + 72, lambda);
        bytes[76] = 0, bytes[77] = 4; /* alpha 1024 */
        seal_pack(bytes, size);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&pack, bytes, size, NULL, NULL));
        int64_t scratch[64];
        pml_certificate certificate;
        int status = pml_pack_certify(&pack, scratch, 64, &certificate);
        if (status == PML_OK) {
            struct target t;
            aim(&t, "hostile", &pack);
            attack(&t);
            release_target(&t);
            TEST_ASSERT_EQUAL_UINT(0, refused);
            certified++;
        } else {
            TEST_ASSERT_EQUAL(PML_ERROR_SENSITIVITY, status);
            refused++;
        }
        free(bytes);
    }
    TEST_ASSERT_TRUE(certified > 2 && refused > 2);
}

static void test_rows_on_the_grid_stay_within_sensitivity_and_pad(void)
{
    const double epsilons[] = {0.25, 1.0, 16.0};
    for (unsigned p = 0; p < GOLDEN_PACK_COUNT; p++)
        for (size_t e = 0; e < 3; e++) {
            struct fixture f;
            struct target t;
            setup_fixture(&f, p, PML_GAUSSIAN, epsilons[e]);
            if (f.pack.anchors == 0)
                continue;
            setup_client(&f);
            aim(&t, golden_packs[p].name, &f.pack);
            struct pool pool = gather(&t);
            for (size_t i = 0; i < pool.count; i++)
                for (size_t j = i % 7; j < i; j += 7)
                    check_pair_on_grid(&t, pool.places + i, pool.places + j, f.client->calibration.grid,
                                       f.client->centres);
            free(pool.places);
            release_target(&t);
            teardown_fixture(&f);
        }
}

/* The tester can fail: a Δ that is 2 % too small is refuted. */
static void test_the_attack_refutes_a_sensitivity_slightly_too_small(void)
{
    pml_pack pack = open_golden(PACK_CLASS);
    struct target t;
    long double share = 0;
    unsigned refuted = 0;
    aim(&t, "too small", &pack);
    t.delta = t.delta * 98 / 100;
    for (uint32_t slot = 0; slot < t.pack->slots; slot++)
        for (size_t turn = 0; turn < 20; turn++) {
            long double direction[PML_DIMENSIONS_MAX];
            struct place pair[2];
            wide parts[PML_DIMENSIONS_MAX];
            draw_direction(&t, turn, direction);
            find_pair(&t, slot, direction, pair);
            for (size_t i = 0; i < t.pack->dimensions; i++)
                parts[i] = pair[0].moved[i] * pair[1].degree - pair[1].moved[i] * pair[0].degree;
            refuted += !are_within(parts, t.pack->dimensions, 2 * t.delta * pair[0].degree * pair[1].degree, &share);
        }
    TEST_ASSERT_TRUE(refuted > 0);
    release_target(&t);
}

/* ---- rows of real queries ---- */

static void check_query(const struct target *t, const int8_t *query, uint32_t slot)
{
    uint64_t keys[PML_NEIGHBOURS_MAX];
    int32_t row[PML_DIMENSIONS_MAX];
    struct place p = {.slot = slot};
    pml_neighbours_find(t->pack, &pml_kernels_portable, query, keys);
    for (size_t j = 0; j < t->pack->neighbours; j++) {
        p.indices[j] = neighbour_index(keys[j]);
        p.weights[j] = pml_weights_of(neighbour_score(keys[j]), pml_inverse_norm(query, t->pack->features),
                                      t->pack->lambda, t->floor);
        TEST_ASSERT_TRUE(p.weights[j] >= t->floor && p.weights[j] <= 65536);
    }
    settle(t, &p);
    check_bound(t, &p);
    for (uint32_t grid = 1; grid < 4000; grid = 3 * grid + 1) {
        int64_t bound = (t->row_bound + grid - 1) / grid; /* what the calibration leaves room for */
        pml_update_row(t->pack, slot, t->label_rows + (size_t)slot * t->pack->dimensions, p.indices, p.weights, grid,
                       row);
        for (size_t i = 0; i < t->pack->dimensions; i++)
            TEST_ASSERT_TRUE_MESSAGE(row[i] <= bound && row[i] >= -bound, t->name);
    }
}

static void test_rows_of_queries_stay_within_the_row_bound(void)
{
    for (unsigned p = 0; p < GOLDEN_PACK_COUNT; p++) {
        pml_pack pack = open_golden(p);
        struct target t;
        int8_t query[64];
        if (pack.anchors == 0)
            continue;
        aim(&t, golden_packs[p].name, &pack);
        for (size_t i = 0; i < rounds(2000); i++) {
            for (size_t j = 0; j < t.pack->features; j++)
                query[j] = (int8_t)draw_between(&t.state, -127, 127);
            if (i % 4 == 0)
                memcpy(query, pml_pack_anchor(&pack, draw_below(&t.state, t.pack->anchors)), t.pack->features);
            query[0] = query[0] == 0 ? 1 : query[0];
            check_query(&t, query, (uint32_t)draw_below(&t.state, t.pack->slots));
        }
        release_target(&t);
    }
}

/* ---- directions ---- */

/* A diameter lies within the half-angle of one of the 64 directions: its width there, divided by the direction's
 * length and that angle's cosine, bounds it. SPEC 5.7's factor must pay for the worst of both. */
static void test_the_factor_covers_the_gaps_between_directions(void)
{
    const long double pi = acosl(-1.0L);
    long double x[65], y[65], shortest = 4096, widest = 0;
    for (int i = 0; i <= 64; i++) {
        x[i] = roundl(4096 * cosl(pi * i / 64));
        y[i] = roundl(4096 * sinl(pi * i / 64));
        shortest = fminl(shortest, hypotl(x[i], y[i]));
    }
    for (int i = 0; i < 64; i++)
        widest = fmaxl(widest, atan2l(x[i] * y[i + 1] - x[i + 1] * y[i], x[i] * x[i + 1] + y[i] * y[i + 1]));
    TEST_ASSERT_TRUE(4096 / (shortest * cosl(widest / 2)) <= 1 + 28.0L / 65536);
}

/* Two anchors on opposite sides: the rows are the two halves, and their distance is known at every angle. */
static void test_the_certificate_covers_every_angle(void)
{
    const long double pi = acosl(-1.0L);
    for (size_t i = 0; i < 8192; i++) {
        int64_t x = llroundl(32767 * cosl(pi * (long double)i / 8192));
        int64_t y = llroundl(32767 * sinl(pi * (long double)i / 8192));
        uint8_t anchors[8], slots[4] = {0};
        store_le32(anchors, (uint32_t)(x & 0xFFFF) | (uint32_t)(y & 0xFFFF) << 16);
        store_le32(anchors + 4, (uint32_t)(-x & 0xFFFF) | (uint32_t)(-y & 0xFFFF) << 16);
        pml_pack pack = {.anchors = 2, .neighbours = 1, .dimensions = 2, .slots = 1, .lambda = 1};
        pack.section[PML_SECTION_ANCHOR_CODES] = anchors;
        pack.section[PML_SECTION_SLOT_CODES] = slots;
        int64_t label_row[2] = {0, 0}, scratch[2];
        pml_certificate certificate;
        TEST_ASSERT_EQUAL(PML_OK, pml_certificate_of(&pack, 1, label_row, NULL, scratch, &certificate));
        wide delta = (wide)(certificate.sensitivity * 256.0), square = 65536 * ((wide)x * x + (wide)y * y);
        TEST_ASSERT_TRUE(delta * delta >= square);
        TEST_ASSERT_TRUE((delta - 2) * (delta - 2) <= square / 1000000 * 1002000); /* and not 0.1 % more */
    }
}

/* ---- refusals ---- */

static void test_a_pack_whose_codes_are_all_equal_is_refused(void)
{
    size_t size;
    uint8_t *bytes = copy_golden(PACK_ONE, &size);
    pml_pack pack = open_golden(PACK_ONE);
    const pml_pack *v = &pack;
    uint8_t *codes = bytes + (v->section[PML_SECTION_ANCHOR_CODES] - v->bytes);
    for (size_t i = v->dimensions; i < (size_t)v->anchors * v->dimensions; i++)
        memcpy(codes + 2 * i, codes + 2 * (i % v->dimensions), 2);
    seal_pack(bytes, size);
    struct fixture f;
    setup_fixture(&f, PACK_ONE, PML_GAUSSIAN, 1.0);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&f.pack, bytes, size, NULL, NULL));
    int64_t scratch[64];
    pml_certificate certificate;
    TEST_ASSERT_EQUAL(PML_ERROR_SENSITIVITY, pml_pack_certify(&f.pack, scratch, 64, &certificate));
    TEST_ASSERT_TRUE(is_zero(&certificate, sizeof certificate));
    f.memory_size = pml_client_size(&f.pack, &f.config);
    f.memory = malloc(f.memory_size);
    TEST_ASSERT_EQUAL(PML_ERROR_SENSITIVITY, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
    TEST_ASSERT_NULL(f.client);
    teardown_fixture(&f);
    free(bytes);
}
#elif PML_WITH_GAUSSIAN
static void test_distances_need_integers_of_128_bits(void)
{
    TEST_IGNORE_MESSAGE("this compiler has none");
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if EXACT_DISTANCES
    RUN_TEST(test_no_two_rows_are_further_apart_than_certified);
    RUN_TEST(test_rows_of_codes_on_a_sphere_reach_their_ball_and_no_more);
    RUN_TEST(test_hostile_packs_are_certified_soundly_or_refused);
    RUN_TEST(test_rows_on_the_grid_stay_within_sensitivity_and_pad);
    RUN_TEST(test_the_attack_refutes_a_sensitivity_slightly_too_small);
    RUN_TEST(test_rows_of_queries_stay_within_the_row_bound);
    RUN_TEST(test_the_factor_covers_the_gaps_between_directions);
    RUN_TEST(test_the_certificate_covers_every_angle);
    RUN_TEST(test_a_pack_whose_codes_are_all_equal_is_refused);
#elif PML_WITH_GAUSSIAN
    RUN_TEST(test_distances_need_integers_of_128_bits);
#endif
    return UNITY_END();
}
