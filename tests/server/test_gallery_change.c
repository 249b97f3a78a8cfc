/* SPDX-License-Identifier: Apache-2.0
 * Galleries that change: whatever the way, the version is that of indexing the last items from nothing; lists hold the items
 * that are there, and no others. */
#define _XOPEN_SOURCE 700
#include "tools/builder_support.h"

#include "gallery_support.h"

static struct setup classes, single, own;

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- what a version holds ---- */

struct holding {
    const struct setup *setup;
    const struct model *model;
    unsigned seen[UNIVERSE];
};

static size_t which_of(uint64_t item)
{
    for (size_t i = 0; i < UNIVERSE; i++)
        if (number_of(i) == item)
            return i;
    TEST_FAIL_MESSAGE("an item that never was");
    return 0;
}

static pml_outcome check_list(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    struct holding *holding = context;
    struct pml_list list;
    struct pml_candidate candidate;
    (void)index;
    TEST_ASSERT_TRUE(pml_list_open(&list, &holding->setup->built.info, bytes, size, 0));
    while (pml_list_next(&list, &candidate)) {
        const size_t which = which_of(candidate.item);
        const unsigned edition = holding->model->edition[which];
        uint8_t payload[PAYLOAD_MOST];
        float row[COLUMNS];
        int8_t quantised[COLUMNS], sketch[PML_SKETCH_MAX];
        const size_t payload_size = holding->setup->payloads ? payload_of(which, edition, payload) : 0;
        TEST_ASSERT_TRUE_MESSAGE(holding->model->there[which], "a removed item is listed");
        TEST_ASSERT_EQUAL_INT32(class_of(which, edition), candidate.label);
        TEST_ASSERT_EQUAL_UINT64(payload_size, candidate.payload_size);
        if (payload_size > 0)
            TEST_ASSERT_EQUAL_MEMORY(payload, candidate.payload, payload_size);
        row_of(which, edition, row);
        TEST_ASSERT_EQUAL(PML_OK, pml_quantise(row, COLUMNS, quantised));
        TEST_ASSERT_EQUAL(PML_OK, pml_sketch(&holding->setup->built.pack, NULL, quantised, sketch));
        TEST_ASSERT_EQUAL_MEMORY(sketch, candidate.sketch, candidate.sketch_size);
        holding->seen[which]++;
    }
    TEST_ASSERT_EQUAL_UINT32(0, list.left);
    return PML_DONE;
}

static pml_outcome check_places(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    struct pml_places *places = (struct pml_places *)context + index;
    return pml_places_read(bytes, size, places, NULL);
}

static void check_pages(struct pml_store *store, const struct pml_manifest *manifest, struct holding *holding)
{
    size_t items = 0;
    for (uint32_t s = 0; s < manifest->slots && manifest->dimensions > 0; s++) {
        struct pml_places places = {0};
        TEST_ASSERT_EQUAL(PML_DONE,
                          pml_store_get(store, PML_PARTS, &manifest->places[s].name, 1, check_places, &places));
        memset(holding->seen, 0, sizeof holding->seen);
        for (size_t i = 0; i < places.page_count; i++)
            TEST_ASSERT_EQUAL(PML_DONE, pml_store_get(store, PML_PARTS, &places.pages[i].name, 1, check_list, holding));
        for (size_t i = 0; i < places.count; i++)
            TEST_ASSERT_EQUAL_UINT32(1, holding->seen[which_of(places.items[i])]);
        items += places.count;
        pml_places_free(&places);
    }
    TEST_ASSERT_EQUAL_UINT64(manifest->dimensions > 0 ? manifest->items : 0, items);
}

static void check_version(struct pml_store *store, const struct model *model, const struct setup *setup)
{
    struct pml_gallery_about about;
    struct holding holding = {.setup = setup, .model = model};
    size_t count = 0;
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_gallery_look(store, setup->built.info.id, &about, &said), said.text);
    const struct pml_manifest *manifest = &about.manifest;
    for (size_t i = 0; i < UNIVERSE; i++)
        count += model->there[i];
    TEST_ASSERT_EQUAL_UINT64(count, manifest->items);
    TEST_ASSERT_TRUE(pml_manifest_fits(manifest, &setup->built.info));
    TEST_ASSERT_EQUAL_UINT32(setup->settings.list, manifest->list);
    for (size_t i = 0; i < (size_t)manifest->slots * manifest->cells; i++)
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_get(store, PML_PARTS, &manifest->parts[i].name, 1, check_list, &holding));
    for (size_t i = 0; i < UNIVERSE && setup->settings.list == 0; i++)
        TEST_ASSERT_EQUAL_UINT32(model->there[i] ? setup->settings.cells_per_item : 0, holding.seen[i]);
    check_pages(store, manifest, &holding);
    pml_gallery_about_free(&about);
}

/* ---- changes ---- */

struct step {
    struct coming coming;
    uint64_t removed[UNIVERSE];
    size_t removed_count;
};

/* A few items come, are replaced or go. `model` becomes what is there after it. */
static struct step draw_step(struct model *model, uint64_t *state, size_t most)
{
    struct step step = {0};
    const size_t changes = 1 + (size_t)draw_below(state, most);
    bool touched[UNIVERSE] = {false};
    for (size_t i = 0; i < changes; i++) {
        const size_t which = (size_t)draw_below(state, UNIVERSE);
        if (touched[which])
            continue;
        touched[which] = true;
        if (model->there[which] && draw_below(state, 2) == 0) {
            step.removed[step.removed_count++] = number_of(which);
            model->there[which] = false;
            if (draw_below(state, 4) != 0)
                continue; /* else it comes again at once */
        }
        model->edition[which] += draw_below(state, 3) > 0;
        model->there[which] = true;
        add_coming(&step.coming, which, model->edition[which]);
    }
    return step;
}

static pml_outcome try_change(struct pml_store *store, struct step *step, const struct setup *setup,
                              struct pml_change_report *report)
{
    struct pml_change_job job = {.pack = &setup->built.pack,
                                 .removed = step->removed,
                                 .removed_count = step->removed_count,
                                 .working = working_of(setup)};
    if (step->coming.count > 0)
        job.items = as_newcomers(&step->coming, setup);
    const pml_outcome outcome = pml_gallery_change(store, &job, report, &said);
    pml_rows_free(&step->coming.rows);
    return outcome;
}

static struct model draw_model(uint64_t seed, unsigned share)
{
    struct model model = {0};
    for (size_t i = 0; i < UNIVERSE; i++)
        model.there[i] = draw_below(&seed, 100) < share;
    model.there[7] = true;
    return model;
}

static void check_sequence(const struct setup *setup, uint64_t seed, unsigned share, size_t steps, size_t most)
{
    struct model model = draw_model(seed, share);
    struct pml_store *store = open_memory();
    uint64_t state = seed;
    index_model(store, &model, setup);
    check_version(store, &model, setup);
    for (size_t i = 0; i < steps; i++) {
        struct pml_change_report report;
        struct step step = draw_step(&model, &state, most);
        TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, try_change(store, &step, setup, &report), said.text);
        TEST_ASSERT_EQUAL_STRING("", report.unswept.text);
        TEST_ASSERT_EQUAL_UINT64(step.coming.count, report.added + report.replaced);
        check_version(store, &model, setup);
        const struct pml_name expected = version_of(&model, setup);
        assert_same_name(&expected, &report.version);
    }
    pml_store_close(store);
}

static void test_any_way_leads_to_the_same_version(void)
{
    for (uint64_t seed = 1; seed < 5; seed++) {
        check_sequence(&classes, seed, 40, 8, 12);
        check_sequence(&single, seed, 30, 8, 12);
        check_sequence(&own, seed, 30, 4, 12);
    }
}

/* Slots with fewer items than an item has neighbours, and from few items to many. */
static void test_small_galleries_grow_and_shrink(void)
{
    check_sequence(&classes, 11, 3, 10, 6);
    check_sequence(&classes, 12, 1, 6, 200);
    check_sequence(&single, 13, 4, 10, 40);
}

/* Neither threads nor what is held at once change a byte; lists that are not exact work too. */
static void test_how_it_works_does_not_matter(void)
{
    const struct model model = draw_model(5, 60);
    struct setup other = classes;
    const struct pml_name expected = version_of(&model, &classes);
    other.threads = 1;
    other.held = 1;
    struct pml_name found = version_of(&model, &other);
    assert_same_name(&expected, &found);
    other.held = 3000;
    found = version_of(&model, &other);
    assert_same_name(&expected, &found);
    other.exact = 20;
    other.looked_at = 30;
    struct model changed = model;
    struct pml_store *store = open_memory();
    struct pml_change_report report;
    uint64_t state = 9;
    index_model(store, &model, &other);
    struct step step = draw_step(&changed, &state, 30);
    TEST_ASSERT_EQUAL(PML_DONE, try_change(store, &step, &other, &report));
    check_version(store, &changed, &other);
    pml_store_close(store);
}

/* Nothing that stays is written again. */
static void test_a_small_change_writes_little(void)
{
    const struct model model = draw_model(5, 60);
    struct pml_store *store = open_memory();
    struct pml_change_report report;
    index_model(store, &model, &single);
    struct step step = {0};
    add_coming(&step.coming, 7, 0); /* as it was */
    TEST_ASSERT_EQUAL(PML_DONE, try_change(store, &step, &single, &report));
    TEST_ASSERT_EQUAL_UINT64(0, report.parts.added);
    TEST_ASSERT_EQUAL_UINT64(1, report.replaced);
    check_version(store, &model, &single);
    struct step gone = {.removed = {number_of(7)}, .removed_count = 1};
    TEST_ASSERT_EQUAL(PML_DONE, try_change(store, &gone, &single, &report));
    TEST_ASSERT_TRUE(report.parts.added > 0 && report.parts.added < report.parts.parts);
    TEST_ASSERT_EQUAL_UINT64(1, report.removed);
    pml_store_close(store);
}

/* ---- what is refused ---- */

static void assert_refused(struct pml_store *store, struct step *step, const char *words)
{
    struct pml_pointer before, after;
    struct pml_change_report report;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(store, single.built.info.id, &before));
    TEST_ASSERT_EQUAL(PML_REFUSED, try_change(store, step, &single, &report));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said.text, words), said.text);
    TEST_ASSERT_TRUE(report.inputs_at_fault);
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_pointer(store, single.built.info.id, &after));
    TEST_ASSERT_EQUAL_MEMORY(&before, &after, sizeof before);
}

static void test_refusals_change_nothing(void)
{
    struct model model = {0};
    struct pml_change_report report;
    model.there[7] = model.there[9] = true;
    struct pml_store *store = open_memory();
    struct step nothing = {0};
    TEST_ASSERT_EQUAL(PML_REFUSED, try_change(store, &nothing, &single, &report));
    TEST_ASSERT_NOT_NULL(strstr(said.text, "no finished gallery"));
    index_model(store, &model, &single);
    assert_refused(store, &(struct step){.removed = {number_of(8)}, .removed_count = 1}, "not in the gallery");
    assert_refused(store, &(struct step){.removed = {number_of(7), number_of(7)}, .removed_count = 2}, "twice");
    assert_refused(store, &(struct step){.removed = {number_of(9), number_of(7)}, .removed_count = 2},
                   "no item would be left");
    TEST_ASSERT_EQUAL(PML_REFUSED, try_index(store, &model, &single, false, &report));
    TEST_ASSERT_NOT_NULL(strstr(said.text, "--force"));
    TEST_ASSERT_EQUAL(PML_DONE, try_index(store, &model, &single, true, &report));
    uint64_t last;
    TEST_ASSERT_EQUAL(PML_DONE, pml_gallery_last(store, single.built.info.id, &last, &said));
    TEST_ASSERT_EQUAL_UINT64(number_of(9), last);
    pml_store_close(store);
}

/* ---- versions ---- */

static void test_old_versions_are_kept_whole(void)
{
    struct pml_store *store = open_memory();
    struct pml_gallery_about about;
    struct pml_change_report report;
    const uint8_t *pack = classes.built.info.id;
    struct model models[4] = {draw_model(3, 40)};
    struct pml_name versions[4] = {index_model(store, &models[0], &classes)};
    uint64_t state = 4, swept;
    for (size_t i = 1; i < 4; i++) {
        models[i] = models[i - 1];
        struct step step = draw_step(&models[i], &state, 20);
        TEST_ASSERT_EQUAL(PML_DONE, try_change(store, &step, &classes, &report));
        versions[i] = report.version;
    }
    TEST_ASSERT_EQUAL(PML_DONE, pml_gallery_look(store, pack, &about, &said));
    TEST_ASSERT_EQUAL_UINT32(2, about.record.count); /* as try_index keeps */
    assert_same_name(&versions[3], &about.record.history[0].version);
    assert_same_name(&versions[2], &about.record.history[1].version);
    pml_gallery_about_free(&about);
    TEST_ASSERT_EQUAL(PML_ABSENT, pml_gallery_switch(store, pack, &versions[1], &said));
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_gallery_switch(store, pack, &versions[2], &said), said.text);
    check_version(store, &models[2], &classes);
    state = 77; /* a change starts from what is served */
    struct step step = draw_step(&models[2], &state, 20);
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, try_change(store, &step, &classes, &report), said.text);
    const struct pml_name expected = version_of(&models[2], &classes);
    assert_same_name(&expected, &report.version);
    check_version(store, &models[2], &classes);
    TEST_ASSERT_EQUAL(PML_DONE, pml_gallery_sweep(store, NULL, &swept, &said));
    TEST_ASSERT_EQUAL_UINT64(0, swept); /* nothing was left behind */
    TEST_ASSERT_EQUAL(PML_DONE, pml_gallery_keep(store, pack, 1, &swept, &said));
    TEST_ASSERT_TRUE(swept > 0);
    check_version(store, &models[2], &classes);
    pml_store_close(store);
}

static size_t count_names(struct pml_store *store, enum pml_shelf shelf)
{
    struct pml_name_set set = {0};
    TEST_ASSERT_EQUAL(PML_DONE, pml_name_set_read(&set, store, shelf, &said));
    const size_t count = set.count;
    pml_name_set_free(&set);
    return count;
}

static void test_copies(void)
{
    struct pml_store *store = open_memory(), *copy = open_memory(), *twin = open_memory();
    struct pml_publish_report published;
    struct pml_change_report report;
    const uint8_t *pack = classes.built.info.id;
    struct model model = draw_model(3, 40);
    uint64_t state = 4;
    index_model(store, &model, &classes);
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_gallery_publish(store, copy, pack, false, &published, &said), said.text);
    TEST_ASSERT_TRUE(published.copied == published.blobs && published.bytes > 0);
    check_version(copy, &model, &classes);
    TEST_ASSERT_EQUAL_UINT64(0, count_names(copy, PML_PRIVATE));
    struct model changed = model;
    struct step step = draw_step(&changed, &state, 10);
    TEST_ASSERT_EQUAL(PML_REFUSED, try_change(copy, &step, &classes, &report));
    TEST_ASSERT_NOT_NULL(strstr(said.text, "published without"));
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_gallery_publish(store, twin, pack, true, &published, &said), said.text);
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, try_change(twin, &step, &classes, &report), said.text);
    const struct pml_name expected = version_of(&changed, &classes);
    assert_same_name(&expected, &report.version);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_gallery_publish(store, twin, pack, false, &published, &said));
    TEST_ASSERT_EQUAL(PML_DONE, try_change(store, &step, &classes, &report));
    TEST_ASSERT_EQUAL(PML_DONE, pml_gallery_publish(store, copy, pack, false, &published, &said));
    TEST_ASSERT_TRUE(published.copied < published.blobs && published.swept == 0); /* the version before stays */
    check_version(copy, &changed, &classes);
    step = draw_step(&changed, &state, 10);
    TEST_ASSERT_EQUAL(PML_DONE, try_change(store, &step, &classes, &report));
    TEST_ASSERT_EQUAL(PML_DONE, pml_gallery_publish(store, copy, pack, false, &published, &said));
    TEST_ASSERT_TRUE(published.swept > 0);
    check_version(copy, &changed, &classes);
    pml_store_close(store);
    pml_store_close(copy);
    pml_store_close(twin);
}

/* ---- interruptions ---- */

static struct pml_store_kind breaking;
static const struct pml_store_kind *whole;
static size_t writes_left;

static pml_outcome break_put(struct pml_store *store, enum pml_shelf shelf, const struct pml_name *name,
                             const void *bytes, size_t size, struct pml_message *message)
{
    if (writes_left == 0)
        return pml_say(message, "the power is gone.");
    writes_left--;
    return whole->put(store, shelf, name, bytes, size, message);
}

static pml_outcome break_switch(struct pml_store *store, const uint8_t pack[PML_ID_SIZE],
                                const struct pml_pointer *pointer, struct pml_message *message)
{
    if (writes_left == 0)
        return pml_say(message, "the power is gone.");
    writes_left--;
    return whole->switch_pointer(store, pack, pointer, message);
}

/* A store that fails after so many writes. */
static struct pml_store *open_breaking(void)
{
    struct pml_store *store = open_memory();
    whole = store->kind;
    breaking = *whole;
    breaking.put = break_put;
    breaking.switch_pointer = break_switch;
    store->kind = &breaking;
    return store;
}

/* The power is back: somebody opens the store again. */
static void mend(struct pml_store *store)
{
    store->failed = false;
    writes_left = SIZE_MAX;
}

static void test_an_index_goes_on_where_it_stopped(void)
{
    const struct model model = draw_model(5, 30), other = draw_model(6, 30);
    const struct pml_name expected = version_of(&model, &classes);
    unsigned resumed[3] = {0};
    bool broke = true;
    for (size_t writes = 0; broke; writes += 3) {
        struct pml_store *store = open_breaking();
        struct pml_change_report report;
        writes_left = writes;
        broke = try_index(store, &model, &classes, false, &report) != PML_DONE;
        mend(store);
        if (broke) {
            struct pml_gallery_about about;
            TEST_ASSERT_NOT_NULL(strstr(said.text, "the power is gone"));
            TEST_ASSERT_FALSE(report.inputs_at_fault);
            pml_outcome outcome = pml_gallery_look(store, classes.built.info.id, &about, &said);
            TEST_ASSERT_TRUE(outcome == PML_ABSENT || (outcome == PML_DONE && pml_name_none(&about.pointer.version)));
            pml_gallery_about_free(&about);
            TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, try_index(store, &model, &classes, false, &report), said.text);
            resumed[report.resumed]++;
        }
        assert_same_name(&expected, &report.version);
        check_version(store, &model, &classes);
        uint64_t swept;
        TEST_ASSERT_EQUAL(PML_DONE, pml_gallery_sweep(store, NULL, &swept, &said));
        TEST_ASSERT_EQUAL_UINT64(0, swept);
        pml_store_close(store);
    }
    TEST_ASSERT_TRUE(resumed[PML_STAGE_NONE] > 0 && resumed[PML_STAGE_ROWS] > 0 && resumed[PML_STAGE_NEIGHBOURS] > 0);
    struct pml_store *store = open_breaking();
    struct pml_change_report report;
    writes_left = 40;
    TEST_ASSERT_EQUAL(PML_REFUSED, try_index(store, &other, &classes, false, &report));
    mend(store);
    TEST_ASSERT_EQUAL(PML_DONE, try_index(store, &model, &classes, false, &report));
    TEST_ASSERT_TRUE(report.restarted && report.resumed == PML_STAGE_NONE);
    assert_same_name(&expected, &report.version);
    pml_store_close(store);
}

static void test_a_change_that_stops_changes_nothing(void)
{
    const struct model before = draw_model(5, 30);
    bool broke = true;
    for (size_t writes = 0; broke; writes += 2) {
        struct pml_store *store = open_breaking();
        struct pml_change_report report;
        struct model after = before;
        uint64_t state = 3;
        writes_left = SIZE_MAX;
        index_model(store, &before, &classes);
        struct step step = draw_step(&after, &state, 10);
        writes_left = writes;
        broke = try_change(store, &step, &classes, &report) != PML_DONE;
        mend(store);
        if (broke) {
            check_version(store, &before, &classes);
            TEST_ASSERT_EQUAL(PML_DONE, try_change(store, &step, &classes, &report));
        }
        check_version(store, &after, &classes);
        pml_store_close(store);
    }
    struct pml_store *store = open_memory();
    struct pml_change_report report;
    index_model(store, &before, &classes);
    struct coming coming = {0};
    add_coming(&coming, 8, 1);
    struct pml_change_job job = {
        .pack = &classes.built.pack, .items = as_newcomers(&coming, &classes), .working = working_of(&classes)};
    coming.fail_at = 0;
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_gallery_change(store, &job, &report, &said));
    TEST_ASSERT_TRUE(report.inputs_at_fault);
    TEST_ASSERT_NOT_NULL(strstr(said.text, "this payload is gone"));
    check_version(store, &before, &classes);
    pml_rows_free(&coming.rows);
    pml_store_close(store);
}

/* ---- setups ---- */

static struct built build_pack(int rule, bool gaussian)
{
    struct input input = make_input(300, COLUMNS, CLASSES);
    input.options.slots = rule;
    input.options.cells = 7;
    input.options.sketch = 8;
    input.options.gaussian = gaussian;
    struct built built = build(&input);
    free_input(&input);
    return built;
}

static struct pml_voters draw_voters(bool with_slots)
{
    struct pml_voters voters = {0};
    float values[VOTERS * COLUMNS];
    size_t bad;
    for (size_t i = 0; i < VOTERS; i++)
        row_of(1000 + i, 0, values + i * COLUMNS);
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_allocate(&voters.rows, VOTERS, COLUMNS));
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_quantise(&voters.rows, values, 1, NULL, &bad));
    voters.slots = with_slots ? calloc(VOTERS, sizeof *voters.slots) : NULL;
    for (size_t i = 0; i < VOTERS && with_slots; i++)
        voters.slots[i] = i % 5 == 4 ? PML_LISTS_NO_SLOT : (uint32_t)(i % CLASSES);
    return voters;
}

int main(void)
{
    UNITY_BEGIN();
    classes = (struct setup){.built = build_pack(PML_SLOTS_CLASS, true),
                             .settings = {.list = 9, .iterations = 1},
                             .voters = draw_voters(true),
                             .payloads = true,
                             .threads = 2};
    single = (struct setup){.built = build_pack(PML_SLOTS_ONE, false),
                            .settings = {.list = 14},
                            .voters = draw_voters(false),
                            .threads = 1};
    own = (struct setup){
        .built = build_pack(PML_SLOTS_CLASS, true), .settings = {.cells_per_item = 2}, .payloads = true, .threads = 2};
    RUN_TEST(test_any_way_leads_to_the_same_version);
    RUN_TEST(test_small_galleries_grow_and_shrink);
    RUN_TEST(test_how_it_works_does_not_matter);
    RUN_TEST(test_a_small_change_writes_little);
    RUN_TEST(test_refusals_change_nothing);
    RUN_TEST(test_old_versions_are_kept_whole);
    RUN_TEST(test_copies);
    RUN_TEST(test_an_index_goes_on_where_it_stopped);
    RUN_TEST(test_a_change_that_stops_changes_nothing);
    struct setup *const setups[] = {&classes, &single, &own};
    for (size_t i = 0; i < 3; i++) {
        free(setups[i]->built.bytes);
        pml_voters_free(&setups[i]->voters);
    }
    return UNITY_END();
}
