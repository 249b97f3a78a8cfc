/* SPDX-License-Identifier: Apache-2.0
 * The relay's noise: its law, its plan, and that its messages open as a client's do. */
#define _POSIX_C_SOURCE 200809L
#include "core/base/sha256.h"
#include "privacy/draws.h"
#include "privacy/statistics.h"
#include "privatemail_crowd.h"
#include "privatemail_transport.h"
#include "server/gateway/crypto_openssl.h"
#include "server/mixing/relay_clusters.h"
#include "server/relay/relay_noise.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

enum { EPOCHS = 20000, SYMBOLS = 10, MOST = 400 };

static void key_of(uint64_t number, uint8_t key[32])
{
    pml_sha256((const uint8_t *)&number, sizeof number, key);
}

struct counts {
    double clusters, sizes[65], symbols[SYMBOLS];
    uint32_t cell[SYMBOLS]; /* messages per symbol in this epoch */
};

static pml_outcome count(void *context, uint32_t symbol, uint32_t copies)
{
    struct counts *counts = context;
    TEST_ASSERT_TRUE(symbol < SYMBOLS && copies >= 1 && copies <= 64);
    counts->clusters++;
    counts->sizes[copies]++;
    counts->symbols[symbol]++;
    counts->cell[symbol] += copies;
    return PML_DONE;
}

/* The compound Poisson law of the fakes in one cell: π of PRIVACY.md, section 11. */
static void law_of(double lambda, uint32_t copies, uint32_t most, double *law)
{
    law[0] = exp(-lambda);
    for (uint32_t k = 1; k <= most; k++) {
        law[k] = 0;
        for (uint32_t c = 1; c <= copies && c <= k; c++)
            law[k] += lambda / copies * c / k * law[k - c];
    }
}

/* Bins of at least ten expected. */
static double share_of_law(const double *seen, const double *law, double total)
{
    double observed[MOST + 2] = {0}, expected[MOST + 2] = {0}, left = total, left_seen = total;
    size_t bins = 0;
    for (size_t k = 0; k <= MOST; k++) {
        observed[bins] += seen[k];
        expected[bins] += total * law[k];
        left -= total * law[k];
        left_seen -= seen[k];
        if (expected[bins] >= 10 && left >= 10)
            bins++;
    }
    observed[bins] += left_seen;
    expected[bins] += left;
    return share_of_chi_square(observed, expected, bins + 1);
}

static void check_law(double clusters, uint32_t copies)
{
    const struct relay_law noise = {clusters, copies, SYMBOLS};
    const uint64_t epochs = rounds(EPOCHS);
    struct counts counts = {0};
    double seen[2][MOST + 1] = {{0}}, law[MOST + 1], together = 0, squares[2] = {0}, worst = 0;
    law_of(clusters / (double)SYMBOLS, copies, MOST, law);
    const double mean = clusters / (double)SYMBOLS * (copies + 1) / 2.0;
    for (uint64_t i = 0; i < epochs; i++) {
        uint8_t key[32];
        memset(counts.cell, 0, sizeof counts.cell);
        key_of(i * 64 + copies, key);
        TEST_ASSERT_EQUAL_INT(PML_DONE, relay_clusters_draw(&noise, key, count, &counts));
        for (size_t c = 0; c < 2; c++) {
            const size_t cell = c == 0 ? 0 : SYMBOLS - 1;
            TEST_ASSERT_TRUE(counts.cell[cell] <= MOST);
            seen[c][counts.cell[cell]]++;
            squares[c] += (counts.cell[cell] - mean) * (counts.cell[cell] - mean);
        }
        together += (counts.cell[0] - mean) * (counts.cell[SYMBOLS - 1] - mean);
    }
    double expected[SYMBOLS], sizes[65];
    for (size_t i = 0; i < SYMBOLS; i++)
        expected[i] = counts.clusters / (double)SYMBOLS;
    for (size_t i = 0; i < copies; i++)
        sizes[i] = counts.clusters / copies;
    worst = larger(worst, share_of_chi_square(counts.symbols, expected, SYMBOLS));
    if (copies > 1)
        worst = larger(worst, share_of_chi_square(counts.sizes + 1, sizes, copies));
    worst = larger(worst, share_of_law(seen[0], law, (double)epochs));
    worst = larger(worst, share_of_law(seen[1], law, (double)epochs));
    worst =
        larger(worst, share_of_normal((counts.clusters - (double)epochs * clusters) / sqrt((double)epochs * clusters)));
    /* Poisson splitting: cells are independent */
    worst = larger(worst, share_of_normal(together / sqrt(squares[0] * squares[1]) * sqrt((double)epochs)));
    printf("    R = %g, V = %u: %.2f of the limit\n", clusters, (unsigned)copies, worst);
    TEST_ASSERT_TRUE(worst < 1.0);
}

static void test_fakes_per_cell_are_compound_poisson(void)
{
    check_law(0.3, 1);
    check_law(3.0, 4);
    check_law(17.25, 8);
    check_law(60.0, 20);
}

/* δ at ε, counted in what a server sees of many epochs, is not above what the plan promises (theorem A). */
static void test_the_plan_keeps_its_promise(void)
{
    const pml_pack_info info = {.slots = 1, .cells = SYMBOLS};
    const struct pml_relay_noise wanted = {.copies = 8, .epsilon = 0.5, .delta = 0.01};
    double clusters, law[MOST + 1], delta = 0;
    uint32_t copies;
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_noise_plan(&wanted, &info, &clusters, &copies));
    TEST_ASSERT_TRUE(copies >= 1 && copies <= 8 && clusters > 0);
    law_of(clusters / (double)SYMBOLS, copies, MOST, law);
    for (size_t i = 1; i <= MOST; i++)
        for (size_t j = 0; j <= MOST; j++) {
            const double gain = law[i - 1] * law[j] - exp(0.5) * law[i] * (j > 0 ? law[j - 1] : 0.0);
            delta += gain > 0 ? gain : 0;
        }
    printf("    R = %.2f, V = %u: delta %.5f\n", clusters, (unsigned)copies, delta);
    TEST_ASSERT_TRUE(delta <= 0.01 && delta > 0.008);
    const struct pml_relay_noise given = {.clusters = 12.5, .copies = 3};
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_noise_plan(&given, &info, &clusters, &copies));
    TEST_ASSERT_TRUE(clusters == 12.5 && copies == 3);
}

/* ---- what the server sees of a small service ---- */

enum { CELLS = 125, VIEWS = 10000, COUNT_MAX = 1500 };

static pml_outcome count_two(void *context, uint32_t symbol, uint32_t copies)
{
    uint32_t *cells = context;
    if (symbol < 2)
        cells[symbol] += copies;
    return PML_DONE;
}

/* Whether the view speaks for "the message was in cell 0" rather than "in cell 1". */
static bool speaks_for_first(const double *law, const uint32_t *cells)
{
    const double first = (cells[0] > 0 ? law[cells[0] - 1] : 0.0) * law[cells[1]];
    const double second = law[cells[0]] * (cells[1] > 0 ? law[cells[1] - 1] : 0.0);
    return first > second;
}

/* The best test there is, by the likelihood, on 10^4 epochs of each kind with the noise of the plan: it is right as often as
 * the law says, and proves no ε beyond the promised one. */
static void test_the_servers_view_of_many_epochs(void)
{
    static double law[COUNT_MAX + 1];
    const pml_pack_info info = {.slots = 1, .cells = CELLS};
    const struct pml_relay_noise wanted = {.copies = 20, .epsilon = 0.1, .delta = 1e-6};
    struct relay_law noise = {.symbols = CELLS};
    const uint64_t views = rounds(VIEWS);
    double hits[2] = {0}, exact[2] = {0};
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_noise_plan(&wanted, &info, &noise.clusters, &noise.copies));
    law_of(noise.clusters / (double)CELLS, noise.copies, COUNT_MAX, law);
    for (uint32_t world = 0; world < 2; world++)
        for (uint64_t i = 0; i < views; i++) {
            uint8_t key[32];
            uint32_t cells[2] = {0};
            key_of((uint64_t)1 << 40 | i << 1 | world, key);
            TEST_ASSERT_EQUAL_INT(PML_DONE, relay_clusters_draw(&noise, key, count_two, cells));
            cells[world]++;
            TEST_ASSERT_TRUE(cells[0] <= COUNT_MAX && cells[1] <= COUNT_MAX);
            hits[world] += speaks_for_first(law, cells);
        }
    for (uint32_t i = 0; i < COUNT_MAX; i++)
        for (uint32_t j = 0; j < COUNT_MAX; j++) {
            const uint32_t first[2] = {i + 1, j}, second[2] = {i, j + 1};
            exact[0] += law[i] * law[j] * speaks_for_first(law, first);
            exact[1] += law[i] * law[j] * speaks_for_first(law, second);
        }
    const double share =
        larger(share_of_count(hits[0], (double)views, exact[0]), share_of_count(hits[1], (double)views, exact[1]));
    const double error = 2.33 * sqrt(0.25 / (double)views); /* each side at 99 % */
    const double proved = log((hits[0] / (double)views - error) / (hits[1] / (double)views + error));
    printf(
        "    %.0f clusters of up to %u: right %.4f and %.4f of the time (exact %.4f, %.4f), epsilon of at least %.3f\n",
        noise.clusters, (unsigned)noise.copies, hits[0] / (double)views, 1 - hits[1] / (double)views, exact[0],
        1 - exact[1], proved);
    TEST_ASSERT_TRUE(share < 1.0);
    TEST_ASSERT_TRUE(proved <= 0.1);
}

/* ---- sealed ---- */

static struct relay_fakes fakes_of(const pml_pack_info *info, const struct relay_spool *spool, size_t release)
{
    static atomic_bool never;
    return (struct relay_fakes){.epoch = 1800000000,
                                .pack = info,
                                .clusters = 30,
                                .copies = 5,
                                .message_size = (uint32_t)pml_message_size(release),
                                .spool = spool,
                                .stop = &never};
}

static void check_sealed(unsigned which)
{
    const pml_pack pack = open_golden(which);
    pml_pack_info info;
    struct relay_spool spool;
    uint8_t keys[PML_KEY_CONFIGURATION_SIZE], message[256];
    pml_private_key secret = {.id = 3, .secret = {7, 1, 2, 3}};
    double seen = 0;
    TEST_ASSERT_EQUAL_INT(PML_OK, pml_pack_describe(&pack, &info));
    TEST_ASSERT_EQUAL_INT(PML_OK, pml_key_complete(pml_crypto_openssl(), &secret));
    TEST_ASSERT_EQUAL_INT(PML_OK, pml_keys_write(secret.id, secret.public_key, keys, sizeof keys));
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_spool_open(&spool, "/tmp", NULL));
    uint32_t bits = 1;
    while ((1u << bits) < info.slots * info.cells)
        bits++;
    struct relay_fakes fakes = fakes_of(&info, &spool, 25 + (bits + 7) / 8);
    TEST_ASSERT_EQUAL_INT(PML_DONE, relay_noise_draw(&fakes, keys, sizeof keys));
    TEST_ASSERT_TRUE(fakes.count > 8 && fakes.count < 300); /* about 100; others come once in 10^9 draws */
    for (uint32_t i = 0; i < fakes.count; i++) {
        pml_opened opened;
        pml_release_view view;
        TEST_ASSERT_EQUAL_INT(PML_DONE,
                              relay_spool_read(&spool, message, fakes.message_size, (uint64_t)i * fakes.message_size));
        TEST_ASSERT_EQUAL_INT(PML_OK, pml_message_open(pml_crypto_openssl(), &secret, fakes.epoch, info.id, message,
                                                       fakes.message_size, &opened));
        TEST_ASSERT_EQUAL_UINT(200, opened.status);
        TEST_ASSERT_EQUAL_INT(PML_OK, pml_release_parse(&pack, opened.content.bytes, opened.content.size, &view));
        TEST_ASSERT_EQUAL_INT(info.slots == 1 ? PML_RESPONSE : PML_CROWD, view.mechanism);
        seen += pml_release_symbol(&view, 0);
    }
    const double mean = seen / fakes.count / (info.slots * info.cells - 1.0); /* ½, but for clusters of five */
    TEST_ASSERT_TRUE(mean > 0.1 && mean < 0.9);
    fakes.message_size++;
    TEST_ASSERT_EQUAL_INT(PML_REFUSED, relay_noise_draw(&fakes, keys, sizeof keys)); /* no client has such messages */
    fakes.message_size--;
    TEST_ASSERT_EQUAL_INT(PML_REFUSED, relay_noise_draw(&fakes, keys, sizeof keys - 1));
    relay_spool_close(&spool);
}

static void test_fakes_open_as_messages_do(void)
{
    check_sealed(PACK_ONE);
    check_sealed(PACK_CLASS);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_fakes_per_cell_are_compound_poisson);
    RUN_TEST(test_the_plan_keeps_its_promise);
    RUN_TEST(test_the_servers_view_of_many_epochs);
    RUN_TEST(test_fakes_open_as_messages_do);
    return UNITY_END();
}
