/* SPDX-License-Identifier: Apache-2.0
 * What a server believes (PRIVACY, section 12). Real clients make messages about items that are drawn by lot. A belief is
 * right when it is calibrated: of what it holds likely, as much happens as it says. tests/lab/bayes.py compares the numbers
 * themselves. */
#define _POSIX_C_SOURCE 200809L
#include "tools/builder_support.h"

#include "core/stages/stages.h"
#include "lab/belief/belief.h"

#include <math.h>

const char command_program[] = "test_belief"; /* what messages begin with */

enum { ITEMS = 48, COLUMNS = 8, CLASSES = 3, CELLS = 4, SYMBOLS = CLASSES * CELLS, TRIALS = 1500, RELEASE = 256 };
#define DELTA 1e-3

static struct input input;
static struct built built;
static struct pml_rows rows;
static struct belief_items items;
static struct script script;
static double posterior[ITEMS];
static double excess, variance; /* of all trials together */
static uint64_t lot;

void setUp(void)
{
    size_t bad;
    input = make_input(ITEMS, COLUMNS, CLASSES);
    input.options.cells = CELLS;
    built = build(&input);
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_allocate(&rows, ITEMS, COLUMNS));
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_quantise(&rows, input.features.values, 1, NULL, &bad));
    TEST_ASSERT_EQUAL(PML_DONE, belief_items_make(&items, &built.pack, &rows, input.labels.values, 1, &said));
    memset(&script, 0, sizeof script);
    excess = variance = 0.0;
    lot = 1;
}

void tearDown(void)
{
    belief_items_free(&items);
    pml_rows_free(&rows);
    free(built.bytes);
    free_input(&input);
}

static int keep_nothing(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

/* An item by lot. */
static size_t draw_item(void)
{
    lot = lot * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(lot >> 33) % ITEMS;
}

static pml_query query_of(size_t item)
{
    return (pml_query){
        .features = input.features.values + item * COLUMNS, .count = COLUMNS, .label = input.labels.values[item]};
}

static pml_client *make_client(pml_config *config, void *memory, size_t size)
{
    pml_client *client = NULL;
    config->entropy = script_entropy;
    config->entropy_context = &script;
    config->persist = keep_nothing;
    TEST_ASSERT_EQUAL(PML_OK, pml_client_init(&client, memory, size, &built.pack, config));
    return client;
}

static pml_budget paying(void)
{
    const pml_budget_caps caps = {.epsilon_response = 1000.0,
                                  .epsilon_gaussian = PML_WITH_GAUSSIAN ? 256.0 : 0.0,
                                  .delta = PML_WITH_GAUSSIAN ? 0.5 : 0.0,
                                  .epsilon_floor = 1000.0};
    pml_budget budget;
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_create(&budget, test_owner, &caps));
    return budget;
}

/* How much the truth was believed, against how much that is worth by the belief itself. */
static void score(size_t truth)
{
    double sum = 0.0, squares = 0.0, cubes = 0.0;
    for (size_t i = 0; i < ITEMS; i++) {
        TEST_ASSERT_TRUE(posterior[i] >= 0.0 && posterior[i] <= 1.0);
        sum += posterior[i];
        squares += posterior[i] * posterior[i];
        cubes += posterior[i] * posterior[i] * posterior[i];
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1.0, sum);
    excess += posterior[truth] - squares;
    variance += cubes - squares * squares;
}

static void check_calibrated(void)
{
    TEST_ASSERT_TRUE(variance > 0.0);
    TEST_ASSERT_DOUBLE_WITHIN(4.0 * sqrt(variance), 0.0, excess);
}

/* ---- alone ---- */

static pml_release_view release(pml_config *config, size_t item, uint8_t bytes[RELEASE])
{
    uint64_t memory[1024];
    pml_budget budget = paying();
    pml_client *client = make_client(config, memory, sizeof memory);
    const pml_query query = query_of(item);
    pml_release_view view;
    TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(client, &budget));
    TEST_ASSERT_EQUAL(PML_OK, pml_client_release(client, &query, bytes, RELEASE));
    TEST_ASSERT_EQUAL(PML_OK, pml_release_parse(&built.pack, bytes, pml_client_release_size(client), &view));
    return view;
}

#if PML_WITH_RESPONSE
static void check_response(double epsilon)
{
    for (int trial = 0; trial < TRIALS; trial++) {
        uint8_t bytes[RELEASE];
        const size_t truth = draw_item();
        const pml_release_view view = release(&(pml_config){.epsilon = epsilon}, truth, bytes);
        TEST_ASSERT_EQUAL(PML_DONE, belief_response(&items, &view, epsilon, posterior, &said));
        score(truth);
    }
    check_calibrated();
}

static void test_a_response_is_believed_as_far_as_it_is_true(void)
{
    check_response(0.5);
}

static void test_a_response_of_large_epsilon_is_too(void)
{
    check_response(6.0);
}

/* Theorem 7: no item becomes more than e^ε times as likely as another. */
static void test_a_response_shows_no_more_than_epsilon(void)
{
    uint8_t bytes[RELEASE];
    const pml_release_view view = release(&(pml_config){.epsilon = 2.0}, 5, bytes);
    double least = 1.0;
    TEST_ASSERT_EQUAL(PML_DONE, belief_response(&items, &view, 2.0, posterior, &said));
    for (size_t i = 0; i < ITEMS; i++)
        least = posterior[i] < least ? posterior[i] : least;
    const struct belief_summary summary = belief_summarise(posterior, ITEMS);
    TEST_ASSERT_TRUE(summary.largest / least <= exp(2.0) && summary.largest / least > exp(2.0) * 0.999999);
    TEST_ASSERT_TRUE(summary.entropy < log2(ITEMS) && summary.entropy > log2(ITEMS) - 1.0);
}
#endif

#if PML_WITH_GAUSSIAN
static void check_gaussian(double epsilon, unsigned value_bytes)
{
    for (int trial = 0; trial < TRIALS; trial++) {
        uint8_t bytes[RELEASE];
        const size_t truth = draw_item();
        pml_config config = {.mechanism = PML_GAUSSIAN, .epsilon = epsilon, .delta = DELTA, .value_bytes = value_bytes};
        const pml_release_view view = release(&config, truth, bytes);
        TEST_ASSERT_EQUAL(PML_DONE, belief_gaussian(&items, &view, epsilon, DELTA, posterior, &said));
        score(truth);
    }
    check_calibrated();
}

static void test_a_gaussian_release_is_believed_as_far_as_it_is_true(void)
{
    check_gaussian(8.0, 1);
}

static void test_one_of_two_bytes_per_value_is_too(void)
{
    check_gaussian(3.0, 2);
}

static void test_another_epsilon_is_noticed(void)
{
    uint8_t bytes[RELEASE];
    pml_config config = {.mechanism = PML_GAUSSIAN, .epsilon = 8.0, .delta = DELTA};
    const pml_release_view view = release(&config, 5, bytes);
    TEST_ASSERT_EQUAL(PML_REFUSED, belief_gaussian(&items, &view, 1.0, DELTA, posterior, &said));
    TEST_ASSERT_NOT_NULL(strstr(said.text, "step"));
}

/* What the page gets are the device's rows, before the grid. */
static void test_places_are_those_of_the_device(void)
{
    double places[ITEMS * PML_DIMENSIONS_MAX], centres[CLASSES * PML_DIMENSIONS_MAX];
    const size_t k = built.info.dimensions;
    int64_t scratch[CLASSES * PML_DIMENSIONS_MAX + 2 * PML_NEIGHBOURS_MAX];
    pml_certificate certificate;
    TEST_ASSERT_EQUAL(PML_DONE, belief_places(&items, places, centres, &said));
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_certify(&built.pack, scratch, sizeof scratch / sizeof scratch[0], &certificate));
    for (size_t i = 0; i < ITEMS; i++) {
        double apart = 0.0;
        for (size_t t = 0; t < k; t++) {
            const double step = places[i * k + t] - centres[items.slots[i] * k + t];
            TEST_ASSERT_TRUE(fabs(places[i * k + t]) <= certificate.row_bound);
            apart += step * step;
        }
        TEST_ASSERT_TRUE(sqrt(apart) <= certificate.sensitivity);
    }
}
#endif

/* ---- in a crowd ---- */

#if PML_WITH_CROWD
/* Adds the messages of one client to the counts; NULL: it is idle. */
static void add_bundle(const pml_crowd *crowd, double floor, const pml_query *query, uint32_t *counts)
{
    uint64_t memory[1024];
    pml_config config = {.epsilon = floor, .crowd = crowd};
    pml_budget budget = paying();
    pml_client *client = make_client(&config, memory, sizeof memory);
    const pml_crowd_content content = {.query = query};
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_arm(client, &budget, query ? PML_BUNDLE_QUERY : PML_BUNDLE_IDLE));
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_begin(client, query ? &content : NULL));
    while (pml_crowd_left(client) > 0) {
        uint8_t bytes[RELEASE];
        unsigned own;
        pml_release_view view;
        TEST_ASSERT_EQUAL(PML_OK, pml_crowd_next(client, bytes, sizeof bytes, &own));
        TEST_ASSERT_EQUAL(PML_OK, pml_release_parse(&built.pack, bytes, pml_client_release_size(client), &view));
        counts[pml_release_symbol(&view, 0)]++;
    }
}

/* What everybody else asked is taken out already: they are idle. */
static void check_crowd(const pml_crowd *crowd, double floor)
{
    for (int trial = 0; trial < TRIALS; trial++) {
        uint32_t counts[SYMBOLS] = {0};
        const size_t truth = draw_item();
        const pml_query query = query_of(truth);
        add_bundle(crowd, floor, &query, counts);
        for (uint64_t client = 1; client < crowd->clients; client++)
            add_bundle(crowd, floor, NULL, counts);
        TEST_ASSERT_EQUAL(PML_DONE, belief_crowd(&items, counts, crowd, floor, posterior, &said));
        score(truth);
    }
    check_calibrated();
}

static void test_an_epoch_is_believed_as_far_as_it_is_true(void)
{
    check_crowd(&(pml_crowd){.clients = 6, .clusters = 2.0, .copies = 3, .own = 1}, 6.0);
}

static void test_an_epoch_with_lists_is_too(void)
{
    check_crowd(&(pml_crowd){.clients = 4, .clusters = 3.0, .copies = 4, .own = 2}, 3.0);
}

/* Without fakes the floor is all there is. */
static void test_nobody_else_is_there(void)
{
    check_crowd(&(pml_crowd){.clients = 1, .clusters = 0.0, .copies = 1, .own = 2}, 2.0);
}

static void test_an_epoch_without_a_query_is_noticed(void)
{
    const pml_crowd crowd = {.clients = 3, .clusters = 1.0, .copies = 2, .own = 1};
    const uint32_t counts[SYMBOLS] = {0};
    TEST_ASSERT_EQUAL(PML_REFUSED, belief_crowd(&items, counts, &crowd, 8.0, posterior, &said));
}

/* π(0) = e^−2000 is no double. Of such a crowd nothing is learnt. */
static void test_a_large_crowd_hides_everything(void)
{
    const pml_crowd crowd = {.clients = 6000, .clusters = 4.0, .copies = 8, .own = 1};
    uint32_t counts[SYMBOLS];
    for (size_t s = 0; s < SYMBOLS; s++)
        counts[s] = 9000 + 3 * (uint32_t)s;
    TEST_ASSERT_EQUAL(PML_DONE, belief_crowd(&items, counts, &crowd, 8.0, posterior, &said));
    TEST_ASSERT_TRUE(belief_summarise(posterior, ITEMS).largest * (double)ITEMS < 1.01);
}
#endif

static void test_classes_are_needed(void)
{
    struct belief_items none;
    TEST_ASSERT_EQUAL(PML_REFUSED, belief_items_make(&none, &built.pack, &rows, NULL, 1, &said));
    belief_items_free(&none);
    input.labels.values[7] = 12345;
    TEST_ASSERT_EQUAL(PML_REFUSED, belief_items_make(&none, &built.pack, &rows, input.labels.values, 1, &said));
    TEST_ASSERT_NOT_NULL(strstr(said.text, "row 7"));
    belief_items_free(&none);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_classes_are_needed);
#if PML_WITH_RESPONSE
    RUN_TEST(test_a_response_is_believed_as_far_as_it_is_true);
    RUN_TEST(test_a_response_of_large_epsilon_is_too);
    RUN_TEST(test_a_response_shows_no_more_than_epsilon);
#endif
#if PML_WITH_GAUSSIAN
    RUN_TEST(test_a_gaussian_release_is_believed_as_far_as_it_is_true);
    RUN_TEST(test_one_of_two_bytes_per_value_is_too);
    RUN_TEST(test_another_epsilon_is_noticed);
    RUN_TEST(test_places_are_those_of_the_device);
#endif
#if PML_WITH_CROWD
    RUN_TEST(test_an_epoch_is_believed_as_far_as_it_is_true);
    RUN_TEST(test_an_epoch_with_lists_is_too);
    RUN_TEST(test_nobody_else_is_there);
    RUN_TEST(test_an_epoch_without_a_query_is_noticed);
    RUN_TEST(test_a_large_crowd_hides_everything);
#endif
    return UNITY_END();
}
