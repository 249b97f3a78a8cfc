/* SPDX-License-Identifier: Apache-2.0
 * Bundles of a crowd: what they cost, that nothing but the own messages depends on the query, the public list, and the
 * forms of release and answer that a crowd adds. */
#include "golden/vectors.h"
#include "privacy/draws.h"
#include "stages/stages.h"
#include "support/answer_writer.h"

#if PML_WITH_CROWD
#include "support/crowd_support.h"

void setUp(void)
{
    prepare_crowd(PACK_CLASS, 8.0);
}

void tearDown(void)
{
    teardown_fixture(&f);
}

/* ---- what it costs ---- */

static void test_what_bundles_cost(void)
{
    const double mu2 = 2 * 0.03 * 0.03, delta0 = 2e-12;
    write_bundle(PML_BUNDLE_QUERY, &asked, &first);
    TEST_ASSERT_EQUAL_MEMORY(f.budget.bytes, f.store.bytes, PML_BUDGET_SIZE);
    pml_budget_left left = left_of(&f.budget);
    TEST_ASSERT_EQUAL_DOUBLE(8.0, left.floor_spent);
    TEST_ASSERT_TRUE(left.crowd_mu2_spent >= mu2 && left.crowd_mu2_spent < mu2 + 0x1p-38);
    TEST_ASSERT_TRUE(left.crowd_delta0_spent >= delta0 && left.crowd_delta0_spent < delta0 + 0x1p-60);
    TEST_ASSERT_EQUAL_DOUBLE(0.0, left.epsilon_spent + left.mu2_spent);
    write_bundle(PML_BUNDLE_KEPT, &kept_content, &first);
    left = left_of(&f.budget);
    TEST_ASSERT_EQUAL_DOUBLE(8.0, left.floor_spent);
    TEST_ASSERT_TRUE(left.crowd_mu2_spent >= 2 * mu2 && left.crowd_delta0_spent >= 2 * delta0);
    const pml_budget before = f.budget;
    write_bundle(PML_BUNDLE_IDLE, NULL, &first);
    TEST_ASSERT_EQUAL_MEMORY(&before, &f.budget, sizeof before);
    for (size_t i = 0; i < first.count; i++)
        TEST_ASSERT_EQUAL(0, first.own[i]);
}

static void test_when_nothing_can_be_paid_nothing_leaves(void)
{
    const pml_budget full = f.budget;
    static const pml_budget_caps poor[] = {
        {.epsilon_floor = 7.9, .epsilon_crowd = 1, .delta_crowd = 1e-6},
        {.epsilon_floor = 100, .epsilon_crowd = 0.01, .delta_crowd = 1e-6},
        {.epsilon_floor = 100, .epsilon_crowd = 1, .delta_crowd = 2e-12},
        {.epsilon_response = 100},
    };
    for (size_t i = 0; i < sizeof poor / sizeof *poor; i++) {
        TEST_ASSERT_EQUAL(PML_OK, pml_budget_create(&f.budget, test_owner, &poor[i]));
        TEST_ASSERT_EQUAL(PML_ERROR_SPENT, arm(PML_BUNDLE_QUERY));
        TEST_ASSERT_EQUAL(0, f.script.calls + f.store.calls);
        refuses_in_every_other_state(CLIENT_IDLE);
    }
    pml_crowd unpromised = policy; /* only the floor: a budget that keeps a promise refuses it */
    unpromised.mu = unpromised.delta0 = 0;
    f.config.crowd = &unpromised;
    TEST_ASSERT_EQUAL(PML_OK, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
    f.budget = full;
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, arm(PML_BUNDLE_QUERY));
    TEST_ASSERT_EQUAL(PML_ERROR_SPENT, arm(PML_BUNDLE_KEPT));
    TEST_ASSERT_EQUAL(PML_OK, arm(PML_BUNDLE_IDLE));
    pml_client_wipe(f.client);
    f.script.fail_at = f.script.calls + 1;
    TEST_ASSERT_EQUAL(PML_ERROR_ENTROPY, arm(PML_BUNDLE_IDLE));
    f.store.fail_at = f.store.calls + 1;
    TEST_ASSERT_EQUAL(PML_ERROR_PERSIST, arm(PML_BUNDLE_IDLE));
    TEST_ASSERT_TRUE(is_zero(&f.client->crowd->bundle, sizeof f.client->crowd->bundle));
    TEST_ASSERT_EQUAL_MEMORY(&full, &f.budget, sizeof full);
}

/* ---- what does not depend on the query ---- */

/* With the same entropy, another query changes the own messages' symbols and nothing else. */
static void test_fakes_order_and_number_do_not_depend_on_the_query(void)
{
    unsigned changed = 0;
    const pml_budget full = f.budget;
    for (uint32_t salt = 0; salt < 200; salt++) {
        uint32_t slot;
        f.budget = full;
        const unsigned calls = f.script.calls;
        make_features(&f.pack, salt, features);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&f.pack, salt % f.pack.classes, &query.label, &slot));
        write_bundle(PML_BUNDLE_QUERY, &asked, &first);
        f.script.calls = calls;
        make_features(&f.pack, salt + 1000, features);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_class(&f.pack, (salt + 1) % f.pack.classes, &query.label, &slot));
        write_bundle(PML_BUNDLE_QUERY, &asked, &second);
        TEST_ASSERT_EQUAL(first.count, second.count);
        for (size_t i = 0; i < first.count; i++) {
            TEST_ASSERT_EQUAL(first.own[i], second.own[i]);
            changed += first.own[i] > 0 && first.symbol[i] != second.symbol[i];
            TEST_ASSERT_TRUE(first.own[i] > 0 || first.symbol[i] == second.symbol[i]);
        }
    }
    TEST_ASSERT_TRUE(changed > 200);
}

/* Own messages are there once each, and their symbols differ. */
static void test_no_cell_is_sent_twice(void)
{
    policy.own = 6;
    TEST_ASSERT_EQUAL(PML_OK, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
    for (uint32_t salt = 0; salt < 30; salt++) {
        unsigned seen[7] = {0};
        uint32_t symbols[7] = {0};
        make_features(&f.pack, salt, features);
        write_bundle(PML_BUNDLE_QUERY, &asked, &first);
        for (size_t i = 0; i < first.count; i++) {
            seen[first.own[i]]++;
            symbols[first.own[i]] = first.symbol[i];
        }
        for (unsigned i = 1; i <= 6; i++) {
            TEST_ASSERT_EQUAL(1, seen[i]);
            for (unsigned j = 1; j < i; j++)
                TEST_ASSERT_TRUE(symbols[i] != symbols[j]);
        }
    }
}

/* An idle bundle with cover has as many own messages as one with a query; without, an empty one is possible. */
static void test_idle_bundles(void)
{
    const unsigned calls = f.script.calls;
    write_bundle(PML_BUNDLE_QUERY, &asked, &first);
    f.script.calls = calls;
    write_bundle(PML_BUNDLE_IDLE, NULL, &second);
    TEST_ASSERT_EQUAL(first.count, second.count + policy.own);
    policy.cover = true;
    policy.clusters = 0;
    TEST_ASSERT_EQUAL(PML_OK, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
    write_bundle(PML_BUNDLE_IDLE, &(pml_crowd_content){0}, &first);
    TEST_ASSERT_EQUAL(policy.own, first.count);
    policy.cover = false;
    TEST_ASSERT_EQUAL(PML_OK, pml_client_init(&f.client, f.memory, f.memory_size, &f.pack, &f.config));
    TEST_ASSERT_EQUAL(PML_OK, arm(PML_BUNDLE_IDLE));
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_begin(f.client, NULL));
    refuses_in_every_other_state(CLIENT_IDLE); /* an empty bundle is over at once */
}

static void test_the_receipt(void)
{
    pml_receipt receipt;
    TEST_ASSERT_EQUAL(PML_OK, pml_client_receipt(f.client, &receipt));
    TEST_ASSERT_EQUAL(PML_CROWD, receipt.mechanism);
    TEST_ASSERT_EQUAL_DOUBLE(8.0, receipt.epsilon);
    TEST_ASSERT_EQUAL_DOUBLE(1e-12, receipt.delta);
    TEST_ASSERT_EQUAL_DOUBLE(0.03, receipt.mu);
    TEST_ASSERT_EQUAL(2 + 63 * 8, receipt.messages);
    TEST_ASSERT_EQUAL(pml_client_release_size(f.client), receipt.bytes);
    TEST_ASSERT_TRUE(receipt.keep > 0.991 && receipt.keep < 0.993); /* e^8/(e^8 + 23) */
    teardown_fixture(&f);
    prepare_crowd(PACK_ONE, 8.0);
    TEST_ASSERT_EQUAL(PML_OK, pml_client_receipt(f.client, &receipt));
    TEST_ASSERT_EQUAL(PML_RESPONSE, receipt.mechanism);
}

/* ---- the public list (SPEC 5.15), against one that sorts ---- */

struct ranked {
    bool has;
    int64_t score;
    uint32_t cell;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->has != y->has)
        return x->has ? -1 : 1;
    if (x->has && x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->cell < y->cell ? -1 : 1;
}

static int64_t score_of(const pml_pack *pack, const int8_t *from, uint32_t slot, uint32_t prototype)
{
    const int8_t *row = pml_pack_prototype(pack, slot, prototype);
    int64_t dot = 0;
    for (uint32_t i = 0; i < pack->features; i++)
        dot += from[i] * row[i];
    return dot * pml_inverse_norm(row, pack->features);
}

static void sorted_list(const pml_pack *pack, uint32_t symbol, uint32_t *list, uint32_t count)
{
    const uint32_t slot = symbol / pack->cells, own = symbol % pack->cells;
    struct ranked cells[64] = {{false, 0, 0}};
    uint32_t start = 0, norms[256], cell_of[256];
    const int8_t *rows;
    TEST_ASSERT_LESS_OR_EQUAL(256, pack->prototypes);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_prototypes(pack, slot, &rows, norms, cell_of));
    for (uint32_t p = pack->prototypes; p-- > 0;)
        start = cell_of[p] == own ? p : start;
    for (uint32_t c = 0; c < pack->cells; c++)
        cells[c].cell = c;
    for (uint32_t p = 0; p < pack->prototypes; p++) {
        const int64_t score = score_of(pack, pml_pack_prototype(pack, slot, start), slot, p);
        const uint32_t cell = cell_of[p];
        if (!cells[cell].has || score > cells[cell].score)
            cells[cell] = (struct ranked){true, score, cell};
    }
    cells[own] = cells[pack->cells - 1];
    qsort(cells, pack->cells - 1, sizeof *cells, by_rank);
    list[0] = symbol;
    for (uint32_t i = 1; i < count; i++)
        list[i] = slot * pack->cells + cells[i - 1].cell;
}

static void lists_agree(const pml_pack *pack)
{
    static int8_t row[64];
    for (uint32_t count = 1; count <= PML_CROWD_OWN_MAX && count <= pack->cells; count++)
        for (uint32_t symbol = 0; symbol < (uint32_t)pack->slots * pack->cells; symbol++) {
            uint32_t list[PML_CROWD_OWN_MAX] = {0}, wanted[PML_CROWD_OWN_MAX] = {0};
            pml_public_list(pack, f.config.kernels, symbol, row, list, count);
            sorted_list(pack, symbol, wanted, count);
            TEST_ASSERT_EQUAL_UINT32_ARRAY(wanted, list, count);
        }
}

/* Also where cells have no prototype, or all prototypes are one: the cells of the golden packs are dealt out anew. */
static void test_the_public_list_is_the_sorted_one(void)
{
    uint64_t state = 7;
    for (unsigned index = 0; index < GOLDEN_PACK_COUNT; index++) {
        const pml_pack golden = open_golden(index);
        size_t size;
        if (golden.cells == 0)
            continue;
        lists_agree(&golden);
        for (int round = 0; round < 8; round++) {
            uint8_t *bytes = copy_golden(index, &size);
            uint8_t *cells = bytes + (golden.section[PML_SECTION_PROTOTYPE_CELLS] - golden.bytes);
            for (size_t i = 0; i < (size_t)golden.slots * golden.prototypes; i++)
                cells[2 * i] = (uint8_t)draw_below(&state, round < 4 ? golden.cells : 1 + (uint64_t)round % 2);
            seal_pack(bytes, size);
            pml_pack dealt;
            TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&dealt, bytes, size, NULL, NULL));
            lists_agree(&dealt);
            free(bytes);
        }
    }
}

/* ---- releases of mechanism 3 (SPEC 2) ---- */

static void test_messages_of_a_crowd_are_parsed_strictly(void)
{
    uint8_t bytes[MESSAGE + 1];
    pml_release_view view;
    float rows[2];
    write_bundle(PML_BUNDLE_QUERY, &asked, &first);
    const size_t length = pml_client_release_size(f.client), body = length - 1;
    const uint32_t symbols = (uint32_t)f.pack.slots * f.pack.cells; /* 24: 5 bits in one byte */
    memcpy(bytes, kept, length);
    for (unsigned value = 0; value < 256; value++) {
        bytes[body] = (uint8_t)value;
        TEST_ASSERT_EQUAL(value < symbols ? PML_OK : PML_ERROR_RELEASE,
                          pml_release_parse(&f.pack, bytes, length, &view));
        if (value >= symbols)
            continue;
        TEST_ASSERT_TRUE(view.mechanism == PML_CROWD && pml_release_symbol(&view, 0) == value);
        int16_t slot_code[2];
        const uint8_t *codes = f.pack.section[PML_SECTION_CELL_CODES];
        TEST_ASSERT_EQUAL(PML_OK, pml_release_rows(&f.pack, bytes, length, rows, 2));
        TEST_ASSERT_EQUAL(PML_ERROR_BUFFER, pml_release_rows(&f.pack, bytes, length, rows, 1));
        TEST_ASSERT_EQUAL(PML_OK, pml_release_rows(&f.pack, bytes, length, rows, 2));
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot_code(&f.pack, value / f.pack.cells, slot_code));
        for (size_t i = 0; i < 2; i++)
            TEST_ASSERT_EQUAL_DOUBLE(0.5 * (slot_code[i] + (int16_t)load_le16(codes + 4 * value + 2 * i)), rows[i]);
    }
    bytes[body] = 0;
    TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, pml_release_parse(&f.pack, bytes, length + 1, &view));
    TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, pml_release_parse(&f.pack, bytes, length - 1, &view));
}

/* One form: a pack with one slot has mechanism 1, and refuses 3. */
static void test_with_one_slot_it_is_a_response_release(void)
{
    pml_release_view view;
    teardown_fixture(&f);
    prepare_crowd(PACK_ONE, 8.0);
    write_bundle(PML_BUNDLE_QUERY, &asked, &first);
    const size_t length = pml_client_release_size(f.client);
    TEST_ASSERT_EQUAL(PML_OK, pml_release_parse(&f.pack, kept, length, &view));
    TEST_ASSERT_EQUAL(PML_RESPONSE, view.mechanism);
    kept[22] = PML_CROWD;
    TEST_ASSERT_EQUAL(PML_ERROR_RELEASE, pml_release_parse(&f.pack, kept, length, &view));
}

/* ---- answers with one slot (SPEC 3) ---- */

static pml_status rank(const struct writer *answer, bool crowd, pml_scope scope, pml_answer_summary *summary)
{
    static pml_match matches[4];
    const pml_ranking_config config = {.matches = matches, .capacity = 4, .scope = scope, .crowd = crowd};
    TEST_ASSERT_EQUAL(
        PML_OK, pml_ranking_begin(&f.ranking, f.ranking_memory, sizeof f.ranking_memory, &f.pack, &query, &config));
    pml_status status = pml_ranking_feed(f.ranking, answer->bytes, answer->size);
    pml_status finished = pml_ranking_finish(f.ranking, summary);
    TEST_ASSERT_TRUE(status == finished || (status == PML_OK && finished == PML_ERROR_ANSWER));
    return finished;
}

static struct writer answer_of(uint64_t slots, uint64_t slot, unsigned candidates)
{
    static const int8_t sketch[PML_SKETCH_MAX] = {3, -1, 4, 1, -5};
    struct writer w = {0};
    write_header_of(&w, &f.pack, slots, 100);
    write_slot(&w, slot, candidates);
    for (unsigned i = 0; i < candidates; i++)
        write_candidate(&w, i, 1, sketch, f.pack.sketch, "payload", 7);
    return w;
}

static void test_answers_with_one_slot(void)
{
    pml_answer_summary summary;
    uint32_t own;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot(&f.pack, query.label, &own));
    for (uint64_t slot = 0; slot <= f.pack.slots; slot++) {
        struct writer w = answer_of(1, slot, 3);
        const bool known = slot < f.pack.slots;
        TEST_ASSERT_EQUAL(known ? PML_OK : PML_ERROR_ANSWER, rank(&w, true, PML_ALL_SLOTS, &summary));
        TEST_ASSERT_EQUAL(known ? 3 : 0, summary.found);
        TEST_ASSERT_EQUAL(known ? PML_OK : PML_ERROR_ANSWER, rank(&w, true, PML_OWN_SLOT, &summary));
        TEST_ASSERT_EQUAL(slot == own ? 3 : 0, summary.found);
        TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, rank(&w, false, PML_ALL_SLOTS, &summary)); /* only when told */
        w.size--;
        TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, rank(&w, true, PML_ALL_SLOTS, &summary));
        w.size++;
        write_slot(&w, slot + 1, 0); /* a second slot */
        TEST_ASSERT_EQUAL(PML_ERROR_ANSWER, rank(&w, true, PML_ALL_SLOTS, &summary));
        free(w.bytes);
    }
    for (uint64_t slots = 0; slots <= f.pack.slots + 1u; slots++) {
        struct writer w = answer_of(slots, 0, 1);
        TEST_ASSERT_EQUAL(slots == 1 ? PML_OK : PML_ERROR_ANSWER, rank(&w, true, PML_ALL_SLOTS, &summary));
        free(w.bytes);
    }
}

#else

void setUp(void)
{
}

void tearDown(void)
{
}
#endif

int main(void)
{
    UNITY_BEGIN();
#if PML_WITH_CROWD
    RUN_TEST(test_what_bundles_cost);
    RUN_TEST(test_when_nothing_can_be_paid_nothing_leaves);
    RUN_TEST(test_fakes_order_and_number_do_not_depend_on_the_query);
    RUN_TEST(test_no_cell_is_sent_twice);
    RUN_TEST(test_idle_bundles);
    RUN_TEST(test_the_receipt);
    RUN_TEST(test_the_public_list_is_the_sorted_one);
    RUN_TEST(test_messages_of_a_crowd_are_parsed_strictly);
    RUN_TEST(test_with_one_slot_it_is_a_response_release);
    RUN_TEST(test_answers_with_one_slot);
#endif
    return UNITY_END();
}
