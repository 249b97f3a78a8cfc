/* SPDX-License-Identifier: Apache-2.0
 * From the certificate to the noise of whole releases: enough of it for Δ and the grid, as much as the receipt says,
 * paid in full, and every number of it fresh. */
#include "client.h"
#include "golden/vectors.h"
#include "support/support.h"
#if PML_WITH_GAUSSIAN
#include "attack.h"
#include "statistics.h"
#endif

#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

#if PML_WITH_GAUSSIAN

/* ---- the numbers ---- */

/* Theorem 5: σ ≥ r·(Δ + g√c), and the price is that of a shift of Δ + g√c. */
static void check_calibration(const pml_pack *pack, const pml_certificate *certificate, const pml_calibration *c)
{
    const pml_pack *v = pack;
    long double changed = (long double)v->dimensions * (v->slots > 1 ? 2 : 1);
    long double shift = certificate->sensitivity + c->grid * sqrtl(changed), sigma = ldexpl(c->grid, (int)c->shift);
    TEST_ASSERT_TRUE(c->grid >= 1 && c->sigma == (double)sigma);
    TEST_ASSERT_TRUE(sigma >= c->ratio * shift);
    TEST_ASSERT_TRUE(c->mu >= shift / sigma);
    TEST_ASSERT_TRUE(c->mu * c->ratio <= 1.0 + 1e-6L); /* within what (ε, δ) allows */
}

static void test_noise_and_price_cover_sensitivity_and_grid(void)
{
    unsigned calibrated = 0, refused = 0;
    for (unsigned p = 0; p < GOLDEN_PACK_COUNT; p++) {
        pml_pack pack = open_golden(p);
        struct target t;
        if (pack.anchors == 0)
            continue;
        aim(&t, golden_packs[p].name, &pack);
        for (double epsilon = PML_EPSILON_MIN; epsilon <= 16.0; epsilon *= 2)
            for (double delta = 0x1p-50; delta < 0.1; delta *= 32)
                for (unsigned width = 1; width <= 2; width++) {
                    pml_certificate certificate = {.sensitivity = (double)t.delta / 256.0,
                                                   .row_bound = (double)t.row_bound,
                                                   .floor_weight = t.floor};
                    pml_calibration c;
                    int status = pml_pack_calibrate(&pack, &certificate, epsilon, delta, width, &c);
                    TEST_ASSERT_TRUE(status == PML_OK || (status == PML_ERROR_EPSILON && epsilon < 0.01));
                    if (status == PML_OK)
                        check_calibration(&pack, &certificate, &c), calibrated++;
                    else
                        refused++;
                }
        release_target(&t);
    }
    TEST_ASSERT_TRUE(calibrated > 100 && refused > 10);
}

/* What a client promises is what the certificate of its own rows' kernel says. */
static void test_a_client_has_the_certificate_of_its_pack(void)
{
    for (unsigned p = 0; p < GOLDEN_PACK_COUNT; p++) {
        struct fixture f;
        struct target t;
        pml_receipt receipt;
        setup_fixture(&f, p, PML_GAUSSIAN, 1.0);
        if (f.pack.anchors == 0)
            continue;
        setup_client(&f);
        aim(&t, golden_packs[p].name, &f.pack);
        TEST_ASSERT_EQUAL(PML_OK, pml_client_receipt(f.client, &receipt));
        TEST_ASSERT_EQUAL_DOUBLE((double)t.delta / 256.0, receipt.sensitivity);
        TEST_ASSERT_EQUAL_UINT32(t.floor, f.client->certificate.floor_weight);
        check_calibration(&f.pack, &f.client->certificate, &f.client->calibration);
        TEST_ASSERT_TRUE((double)pml_client_price(f.client).of[PML_LEDGER_GAUSSIAN] >=
                         receipt.mu * receipt.mu * 0x1p40);
        release_target(&t);
        teardown_fixture(&f);
    }
}

/* ---- rows ---- */

/* The row that theorem 1 speaks of: neighbours and weights of the query, label row of its own slot. */
static void check_row(const struct fixture *f, const struct target *t, const int8_t *query, uint32_t slot,
                      const int32_t *row)
{
    uint64_t keys[PML_NEIGHBOURS_MAX];
    struct place p = {.slot = slot};
    const wide grid = f->client->calibration.grid;
    pml_neighbours_find(t->pack, &pml_kernels_portable, query, keys);
    for (size_t j = 0; j < t->pack->neighbours; j++) {
        p.indices[j] = neighbour_index(keys[j]);
        p.weights[j] = pml_weights_of(neighbour_score(keys[j]), pml_inverse_norm(query, t->pack->features),
                                      t->pack->lambda, t->floor);
    }
    settle(t, &p);
    for (size_t i = 0; i < t->pack->dimensions; i++) {
        wide off = 512 * p.degree * grid * row[i] - (256 * (wide)slot_code(t, slot, i) * p.degree + p.moved[i]);
        TEST_ASSERT_TRUE_MESSAGE(off <= 256 * p.degree * grid && off >= -256 * p.degree * grid, t->name);
    }
}

static void test_every_row_of_a_client_is_in_the_certified_set(void)
{
    struct fixture f;
    struct target t;
    setup_fixture(&f, PACK_CLASS, PML_GAUSSIAN, 16.0);
    f.config.value_bytes = 2;
    setup_client(&f);
    aim(&t, "class", &f.pack);
    TEST_ASSERT_TRUE(t.pack->alpha != 0 && t.pack->slots > 1);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
    for (uint32_t anchor = 0; anchor < t.pack->anchors; anchor++)
        for (uint32_t c = 0; c < t.pack->classes; c++) {
            float features[64];
            int8_t query[64];
            int32_t label, row[PML_DIMENSIONS_MAX];
            uint32_t slot;
            for (size_t i = 0; i < t.pack->features; i++)
                features[i] = pml_pack_anchor(&f.pack, anchor)[i];
            TEST_ASSERT_EQUAL(PML_OK, pml_quantise(features, t.pack->features, query));
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&f.pack, c, &label, &slot));
            const pml_query asked = {.features = features, .count = f.pack.features, .label = label};
            true_row(f.client, &asked, row);
            check_row(&f, &t, query, slot, row);
        }
    release_target(&t);
    teardown_fixture(&f);
}

/* ---- the noise of whole releases ---- */

#define RELEASES 600u
#define VALUES_MAX 32u

struct sample {
    size_t values;
    uint8_t bytes[RELEASES][512];
    double noise[RELEASES][VALUES_MAX]; /* in standard deviations */
};

/* Releases of one query; what is not row or centre is noise. */
static void draw_sample(struct sample *sample)
{
    struct fixture f;
    float features[64];
    setup_fixture(&f, PACK_CLASS, PML_GAUSSIAN, 1.0);
    f.config.value_bytes = 2;
    setup_client(&f);
    make_features(&f.pack, 5, features);
    const pml_pack *v = &f.pack;
    const pml_budget fresh = f.budget;
    sample->values = (size_t)v->slots * v->dimensions;
    TEST_ASSERT_TRUE(sample->values <= VALUES_MAX);
    for (size_t r = 0; r < RELEASES; r++) {
        int32_t row[PML_DIMENSIONS_MAX], label;
        uint32_t slot;
        pml_release_view view;
        f.budget = fresh;
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&f.pack, 2, &label, &slot));
        TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f.client, &f.budget));
        const pml_query query = {.features = features, .count = f.pack.features, .label = label};
        true_row(f.client, &query, row);
        TEST_ASSERT_EQUAL(
            PML_OK, release_query(f.client, features, v->features, label, sample->bytes[r], sizeof *sample->bytes));
        TEST_ASSERT_EQUAL(PML_OK,
                          pml_release_parse(&f.pack, sample->bytes[r], pml_client_release_size(f.client), &view));
        for (size_t i = 0; i < sample->values; i++) {
            double place = i / v->dimensions == slot ? row[i % v->dimensions] : (double)f.client->centres[i];
            double value = (double)pml_release_value(&view, i) * view.step;
            sample->noise[r][i] = (value - place * f.client->calibration.grid) / f.client->calibration.sigma;
        }
    }
    teardown_fixture(&f);
}

static void test_noise_of_releases_is_as_large_as_promised_and_independent(void)
{
    struct sample *s = malloc(sizeof *s);
    TEST_ASSERT_NOT_NULL(s);
    draw_sample(s);
    for (size_t i = 0; i < s->values; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0, product = 0;
            for (size_t r = 0; r < RELEASES; r++) {
                sum += s->noise[r][i];
                product += s->noise[r][i] * s->noise[r][j];
            }
            double off = i == j ? (product - RELEASES) / sqrt(2.0 * RELEASES) : product / sqrt(RELEASES);
            TEST_ASSERT_TRUE(share_of_normal(sum / sqrt(RELEASES)) <= 1.0);
            TEST_ASSERT_TRUE(share_of_normal(off) <= 1.0);
        }
    free(s);
}

static void test_no_two_releases_have_the_same_noise(void)
{
    struct sample *s = malloc(sizeof *s);
    TEST_ASSERT_NOT_NULL(s);
    draw_sample(s);
    for (size_t a = 0; a < RELEASES; a++)
        for (size_t b = 0; b < a; b++)
            TEST_ASSERT_TRUE(memcmp(s->bytes[a], s->bytes[b], sizeof *s->bytes) != 0);
    free(s);
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_noise_and_price_cover_sensitivity_and_grid);
    RUN_TEST(test_a_client_has_the_certificate_of_its_pack);
    RUN_TEST(test_every_row_of_a_client_is_in_the_certified_set);
    RUN_TEST(test_noise_of_releases_is_as_large_as_promised_and_independent);
    RUN_TEST(test_no_two_releases_have_the_same_noise);
#endif
    return UNITY_END();
}
