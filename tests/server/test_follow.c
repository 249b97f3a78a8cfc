/* SPDX-License-Identifier: Apache-2.0
 * A gallery that lives: every answer is of exactly one version, whatever changes meanwhile; what is removed is gone; a
 * version that cannot be served leaves the old one; and nothing that does not fit its name is ever sent. */
#define _XOPEN_SOURCE 700
#include "version_support.h"

#include "server/store/store_kind.h"

#include <pthread.h>
#include <time.h>

enum { VERSIONS = 3, THREADS = 3, SWITCHES = 1000 };

/* The second lacks items of the first and has others; the third lacks all but a few. */
static const struct recipe recipes[VERSIONS] = {
    {.first = 0, .count = ITEMS}, {.first = 1, .count = ITEMS - 3}, {.first = 40, .count = 9}};

static struct pml_name names[VERSIONS];
static struct pml_follow *follow;

/* ---- a store whose pointer changes while it is read ----
 *
 * The store in memory may be read by many only while nobody writes. Here the blobs stay as they are, and the pointer is one
 * number. What is asked for can be taken away or damaged on the way. */

struct living {
    struct pml_store base;
    struct pml_store *blobs;
    atomic_uint version;
    atomic_bool down;
    atomic_uint damage;     /* 1: bytes that do not fit their names; 2: parts are missing, but not manifests */
    struct pml_name broken; /* a manifest that is missing */
    bool breaks;
};

struct passing {
    struct living *living;
    pml_blob_fn take;
    void *context;
};

static pml_outcome pass(void *context, size_t index, const uint8_t *bytes, size_t size)
{
    const struct passing *passing = context;
    uint8_t copy[4096];
    if (atomic_load(&passing->living->damage) != 1 || size > sizeof copy)
        return passing->take(passing->context, index, bytes, size);
    memcpy(copy, bytes, size);
    copy[size / 2] ^= 4;
    return passing->take(passing->context, index, copy, size);
}

static bool is_version(const struct pml_name *name)
{
    for (size_t i = 0; i < VERSIONS; i++)
        if (pml_name_same(name, &names[i]))
            return true;
    return false;
}

static pml_outcome living_get(struct pml_store *base, enum pml_shelf shelf, const struct pml_name *wanted, size_t count,
                              pml_blob_fn take, void *context)
{
    struct living *living = (struct living *)base;
    struct passing passing = {living, take, context};
    if (atomic_load(&living->down))
        return PML_UNAVAILABLE;
    for (size_t i = 0; i < count; i++)
        if ((atomic_load(&living->damage) == 2 && !is_version(&wanted[i])) ||
            (living->breaks && pml_name_same(&wanted[i], &living->broken)))
            return PML_ABSENT;
    return living->blobs->kind->get(living->blobs, shelf, wanted, count, pass, &passing);
}

static pml_outcome living_packs(struct pml_store *base, const uint8_t *pack, pml_pack_fn take, void *context)
{
    struct living *living = (struct living *)base;
    const struct pml_pointer pointer = {.version = names[atomic_load(&living->version)]};
    if (atomic_load(&living->down))
        return PML_UNAVAILABLE;
    return pack && memcmp(pack, built.info.id, PML_ID_SIZE) != 0 ? PML_DONE : take(context, built.info.id, &pointer);
}

static const struct pml_store_kind living_kind = {.get = living_get, .packs = living_packs};
static struct living living;

static void open_follow(struct pml_cache *cache)
{
    const struct pml_follow_options options = {.service = {.nearest = NEAREST, .threads = 1, .cache = cache}};
    TEST_ASSERT_EQUAL_MESSAGE(0, pml_follow_open(&follow, &built.pack, &living.base, &options, &said), said.text);
}

void setUp(void)
{
    memset(&said, 0, sizeof said);
    make_pack();
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_memory_open(&store));
    for (size_t i = 0; i < VERSIONS; i++)
        names[i] = put_version(&recipes[i]);
    living = (struct living){.base = {.kind = &living_kind, .use = PML_STORE_READ}, .blobs = store};
}

void tearDown(void)
{
    pml_follow_close(follow);
    follow = NULL;
    pml_store_close(store);
    store = NULL;
    free_pack();
}

static size_t version_of(const struct pml_service *service)
{
    size_t version = 0;
    while (version < VERSIONS && !pml_name_same(&names[version], pml_service_version(service)))
        version++;
    TEST_ASSERT_LESS_THAN_UINT64(VERSIONS, version);
    return version;
}

static void look_for(size_t version, bool comes)
{
    bool switched;
    atomic_store(&living.version, (unsigned)version);
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_follow_look(follow, &switched, &said), said.text);
    TEST_ASSERT_EQUAL(comes, switched);
}

/* ---- one thread ---- */

/* The answer to a release, or its outcome; checks that it is that of the version it says. */
static pml_outcome ask(const uint8_t *release, size_t size, const struct pml_bytes *expected, size_t *version)
{
    struct pml_service *service;
    struct pml_parts parts;
    pml_release_view view;
    TEST_ASSERT_EQUAL(PML_OK, pml_follow_read(follow, release, size, &view));
    const pml_outcome outcome = pml_follow_answer(follow, &view, &service, &parts);
    if (outcome != PML_DONE) {
        TEST_ASSERT_NULL(service);
        TEST_ASSERT_EQUAL_UINT64(0, parts.count);
        return outcome;
    }
    *version = version_of(service);
    TEST_ASSERT_TRUE(parts_are(&parts, &expected[*version]));
    pml_parts_free(&parts);
    pml_service_unref(service);
    return PML_DONE;
}

static void expect_response(unsigned symbols, struct pml_bytes expected[VERSIONS])
{
    for (size_t i = 0; i < VERSIONS; i++)
        expected[i] = expected_response(&recipes[i], symbols);
}

static void free_expected(struct pml_bytes expected[VERSIONS])
{
    for (size_t i = 0; i < VERSIONS; i++)
        pml_bytes_free(&expected[i]);
}

static void test_it_goes_from_version_to_version(void)
{
    uint8_t release[RELEASE_MAX];
    struct pml_bytes expected[VERSIONS];
    const size_t size = write_response(release, 0x1B);
    const size_t order[] = {0, 1, 1, 2, 0};
    size_t version, switches = 0;
    expect_response(0x1B, expected);
    open_follow(NULL);
    for (size_t i = 0; i < 5; i++) {
        const bool comes = i > 0 && order[i] != order[i - 1];
        look_for(order[i], comes);
        switches += comes;
        TEST_ASSERT_EQUAL(PML_DONE, ask(release, size, expected, &version));
        TEST_ASSERT_EQUAL_UINT64(order[i], version);
    }
    TEST_ASSERT_EQUAL_UINT64(switches, pml_follow_count(follow).switches);
    TEST_ASSERT_EQUAL_UINT64(0, pml_follow_count(follow).failures);
    TEST_ASSERT_EQUAL_UINT64(5, pml_follow_count(follow).queries);
    free_expected(expected);
}

static void test_a_version_lives_as_long_as_somebody_has_it(void)
{
    uint8_t release[RELEASE_MAX];
    const size_t size = write_response(release, 0x2A);
    struct pml_bytes expected = expected_response(&recipes[0], 0x2A);
    struct pml_parts parts;
    pml_release_view view;
    open_follow(NULL);
    struct pml_service *first = pml_follow_take(follow);
    for (size_t i = 0; i < 6; i++)
        look_for(1 + i % 2, true);
    TEST_ASSERT_EQUAL(PML_OK, pml_service_read(first, release, size, &view));
    TEST_ASSERT_EQUAL(PML_DONE, pml_service_parts(first, &view, &parts));
    TEST_ASSERT_TRUE(parts_are(&parts, &expected));
    pml_parts_free(&parts);
    pml_service_unref(first);
    pml_bytes_free(&expected);
}

/* Item 0 is in no answer of the second version, whatever is asked. */
static void test_what_is_removed_is_gone(void)
{
    struct drawn removed;
    size_t before = 0;
    draw_item(0, &removed);
    open_follow(NULL);
    for (size_t version = 0; version < 2; version++) {
        look_for(version, version > 0);
        size_t found = 0;
        for (unsigned symbols = 0; symbols < 64; symbols++) {
            uint8_t release[RELEASE_MAX];
            struct pml_service *service;
            struct pml_parts parts;
            pml_release_view view;
            TEST_ASSERT_EQUAL(PML_OK,
                              pml_follow_read(follow, release, write_response(release, (uint8_t)symbols), &view));
            TEST_ASSERT_EQUAL(PML_DONE, pml_follow_answer(follow, &view, &service, &parts));
            for (size_t i = 1; i < parts.count; i++) {
                struct pml_candidate candidate;
                struct pml_list list;
                TEST_ASSERT_TRUE(pml_list_open(&list, &built.info, parts.parts[i]->bytes, parts.parts[i]->size, 0));
                while (pml_list_next(&list, &candidate))
                    found += candidate.item == removed.candidate.item;
            }
            pml_parts_free(&parts);
            pml_service_unref(service);
        }
        TEST_ASSERT_TRUE(version == 0 ? found > 0 : found == 0);
        before += found;
    }
    TEST_ASSERT_TRUE(before > 0);
}

/* Versions have in common what did not change. */
static void test_kept_parts_stay_good(void)
{
    uint8_t release[RELEASE_MAX];
    struct pml_bytes expected[VERSIONS];
    struct pml_cache *cache = pml_cache_open(1 << 20);
    const size_t size = write_response(release, 0x00);
    size_t version;
    expect_response(0x00, expected);
    open_follow(cache);
    TEST_ASSERT_EQUAL(PML_DONE, ask(release, size, expected, &version));
    look_for(1, true);
    TEST_ASSERT_EQUAL(PML_DONE, ask(release, size, expected, &version));
    look_for(0, true);
    const uint64_t misses = pml_cache_count(cache).misses, touched = pml_follow_count(follow).touched;
    TEST_ASSERT_EQUAL(PML_DONE, ask(release, size, expected, &version));
    TEST_ASSERT_EQUAL_UINT64(misses, pml_cache_count(cache).misses);
    TEST_ASSERT_EQUAL_UINT64(touched, pml_follow_count(follow).touched);
    pml_follow_close(follow);
    follow = NULL;
    pml_cache_close(cache);
    free_expected(expected);
}

/* ---- what goes wrong ---- */

static void test_a_broken_version_leaves_the_old_one(void)
{
    uint8_t release[RELEASE_MAX];
    struct pml_bytes expected[VERSIONS];
    const size_t size = write_response(release, 0x1B);
    size_t version;
    bool switched = true;
    expect_response(0x1B, expected);
    open_follow(NULL);
    living.broken = names[1];
    living.breaks = true;
    atomic_store(&living.version, 1);
    for (uint64_t i = 1; i < 4; i++) {
        TEST_ASSERT_EQUAL(PML_ABSENT, pml_follow_look(follow, &switched, &said));
        assert_said("not in the store");
        TEST_ASSERT_FALSE(switched);
        TEST_ASSERT_EQUAL_UINT64(i, pml_follow_count(follow).failures);
        TEST_ASSERT_EQUAL(PML_DONE, ask(release, size, expected, &version));
        TEST_ASSERT_EQUAL_UINT64(0, version);
    }
    struct recipe bad = recipes[1];
    bad.foreign = true;
    names[1] = put_version(&bad);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_follow_look(follow, &switched, &said));
    assert_said("another pack");
    names[1] = (struct pml_name){{0}};
    TEST_ASSERT_EQUAL(PML_ABSENT, pml_follow_look(follow, &switched, &said));
    assert_said("no longer names");
    atomic_store(&living.down, true);
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, pml_follow_look(follow, &switched, &said));
    assert_said("cannot be asked");
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, pml_follow_ping(follow));
    atomic_store(&living.down, false);
    TEST_ASSERT_EQUAL(PML_DONE, pml_follow_ping(follow));
    TEST_ASSERT_EQUAL_UINT64(4, pml_follow_count(follow).failures); /* a store that is down has no bad version */
    look_for(2, true);                                              /* a good one comes after all */
    free_expected(expected);
}

static pml_outcome refuse(void *context, const struct pml_service *version, struct pml_message *message)
{
    ++*(unsigned *)context;
    return pml_service_manifest(version)->items == recipes[1].count ? pml_say(message, "not that one. Take another.")
                                                                    : PML_DONE;
}

static void test_a_version_is_prepared_before_it_is_served(void)
{
    unsigned asked = 0;
    const struct pml_follow_options options = {.service = {.threads = 1}, .prepare = refuse, .context = &asked};
    bool switched;
    TEST_ASSERT_EQUAL(PML_DONE, pml_follow_open(&follow, &built.pack, &living.base, &options, &said));
    atomic_store(&living.version, 1);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_follow_look(follow, &switched, &said));
    assert_said("not that one");
    struct pml_service *service = pml_follow_take(follow);
    TEST_ASSERT_EQUAL_UINT64(0, version_of(service));
    pml_service_unref(service);
    look_for(2, true);
    TEST_ASSERT_EQUAL(3, asked);
    pml_follow_close(follow);
    atomic_store(&living.version, 1);
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_follow_open(&follow, &built.pack, &living.base, &options, &said));
}

static void test_what_is_damaged_or_missing_is_not_sent(void)
{
    uint8_t response[RELEASE_MAX], gaussian[RELEASE_MAX];
    struct pml_bytes expected[VERSIONS];
    uint64_t state = 4;
    const size_t response_size = write_response(response, 0x07), gaussian_size = write_gaussian(gaussian, &state);
    size_t version;
    expect_response(0x07, expected);
    open_follow(NULL);
    atomic_store(&living.damage, 1);
    TEST_ASSERT_EQUAL(PML_DAMAGED, ask(response, response_size, expected, &version));
    TEST_ASSERT_EQUAL(PML_DAMAGED, ask(gaussian, gaussian_size, expected, &version));
    atomic_store(&living.damage, 2);
    TEST_ASSERT_EQUAL(PML_ABSENT, ask(response, response_size, expected, &version));
    TEST_ASSERT_EQUAL(PML_ABSENT, ask(gaussian, gaussian_size, expected, &version));
    atomic_store(&living.damage, 0);
    atomic_store(&living.down, true);
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, ask(response, response_size, expected, &version));
    atomic_store(&living.down, false);
    TEST_ASSERT_EQUAL(PML_DONE, ask(response, response_size, expected, &version));
    free_expected(expected);
}

/* Nobody looked yet, and the parts of the old version are swept away. */
static void test_a_version_that_is_gone_is_followed_at_once(void)
{
    uint8_t release[RELEASE_MAX];
    struct pml_bytes expected[VERSIONS];
    const size_t size = write_response(release, 0x00);
    const struct pml_manifest *manifest;
    size_t version;
    expect_response(0x00, expected);
    open_follow(NULL);
    struct pml_service *first = pml_follow_take(follow);
    manifest = pml_service_manifest(first);
    for (uint32_t slot = 0; slot < CLASSES; slot++)
        TEST_ASSERT_EQUAL(PML_DONE, pml_store_remove(store, PML_PARTS, &manifest->parts[slot * CELLS].name, 1, &said));
    pml_service_unref(first);
    TEST_ASSERT_EQUAL(PML_ABSENT, ask(release, size, expected, &version));
    names[2] = put_version(&recipes[2]);
    atomic_store(&living.version, 2);
    TEST_ASSERT_EQUAL(PML_DONE, ask(release, size, expected, &version));
    TEST_ASSERT_EQUAL_UINT64(2, version);
    TEST_ASSERT_EQUAL_UINT64(1, pml_follow_count(follow).switches);
    free_expected(expected);
}

/* ---- parts by their names ---- */

static void assert_part(const struct pml_name *name, pml_outcome expected)
{
    struct pml_part *part;
    TEST_ASSERT_EQUAL(expected, pml_follow_part(follow, name, &part));
    if (expected == PML_DONE) {
        const struct pml_name own = pml_name_of(part->bytes, part->size);
        TEST_ASSERT_TRUE(pml_name_same(name, &own));
    }
    TEST_ASSERT_EQUAL(expected == PML_DONE, part != NULL);
    pml_part_unref(part);
}

static void test_parts_of_two_versions_are_given_out(void)
{
    struct pml_name privately;
    open_follow(NULL);
    struct pml_service *first = pml_follow_take(follow);
    const struct pml_manifest *manifest = pml_service_manifest(first);
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_put(store, PML_PARTS, "other", 5, &privately, &said));
    assert_part(&names[0], PML_DONE);
    assert_part(&names[1], PML_ABSENT);
    assert_part(&privately, PML_ABSENT); /* it is in the store, but of no version */
    for (size_t i = 0; i < pml_manifest_entries(manifest); i++)
        assert_part(&manifest->parts[i].name, PML_DONE);
    for (uint32_t slot = 0; slot < CLASSES; slot++) {
        const struct pml_places *places = pml_service_places(first, slot);
        for (size_t i = 0; i < places->page_count; i++)
            assert_part(&places->pages[i].name, PML_DONE);
    }
    look_for(1, true);
    assert_part(&names[0], PML_DONE);
    assert_part(&names[1], PML_DONE);
    look_for(2, true);
    assert_part(&names[0], PML_ABSENT);
    assert_part(&manifest->places[0].name, PML_ABSENT);
    atomic_store(&living.damage, 2);
    struct pml_service *third = pml_follow_take(follow);
    assert_part(&pml_service_manifest(third)->parts[0].name, PML_DAMAGED);
    pml_service_unref(third);
    pml_service_unref(first);
}

/* ---- many threads ---- */

enum { KINDS = 8 };

struct asker {
    struct pml_bytes expected[KINDS][VERSIONS]; /* of four response releases and four Gaussian ones */
    uint8_t releases[KINDS][RELEASE_MAX];
    size_t sizes[KINDS];
    atomic_bool over;
    atomic_ullong wrong, right[VERSIONS];
};

static void *ask_often(void *context)
{
    struct asker *asker = context;
    for (uint64_t state = (uint64_t)(uintptr_t)&state; !atomic_load(&asker->over);) {
        const size_t kind = (size_t)draw_below(&state, KINDS);
        struct pml_service *service;
        struct pml_parts parts;
        pml_release_view view;
        bool right = pml_follow_read(follow, asker->releases[kind], asker->sizes[kind], &view) == PML_OK &&
                     pml_follow_answer(follow, &view, &service, &parts) == PML_DONE;
        size_t version = 0;
        if (right) {
            while (version + 1 < VERSIONS && !pml_name_same(&names[version], pml_service_version(service)))
                version++;
            right = parts_are(&parts, &asker->expected[kind][version]);
            pml_parts_free(&parts);
            pml_service_unref(service);
        }
        atomic_fetch_add(right ? &asker->right[version] : &asker->wrong, 1);
    }
    return NULL;
}

static void prepare_asker(struct asker *asker)
{
    struct pml_embedding *embedding;
    uint64_t state = 77;
    TEST_ASSERT_EQUAL(0, pml_embedding_make(&embedding, &built.pack, ITERATIONS, 1, NULL, &said));
    for (size_t kind = 0; kind < KINDS; kind++) {
        float rows[2 * CLASSES];
        double places[2 * CLASSES];
        const unsigned symbols = (unsigned)draw_below(&state, 64);
        const bool gaussian = kind % 2 == 1;
        asker->sizes[kind] = gaussian ? write_gaussian(asker->releases[kind], &state)
                                      : write_response(asker->releases[kind], (uint8_t)symbols);
        if (!gaussian) {
            expect_response(symbols, asker->expected[kind]);
            continue;
        }
        TEST_ASSERT_EQUAL(PML_OK,
                          pml_release_rows(&built.pack, asker->releases[kind], asker->sizes[kind], rows, 2 * CLASSES));
        pml_embedding_place(embedding, rows, places);
        for (size_t i = 0; i < VERSIONS; i++)
            asker->expected[kind][i] = expected_gaussian(&recipes[i], places);
    }
    pml_embedding_free(embedding);
}

/* Until somebody has had an answer of it: threads may begin late. */
static void wait_for_answers(struct asker *asker, size_t version)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < 60000 && atomic_load(&asker->right[version]) == 0; i++)
        nanosleep(&moment, NULL);
}

static void test_every_answer_is_of_one_version(void)
{
    static struct asker asker;
    struct pml_cache *cache = pml_cache_open(1 << 14); /* little: parts come and go */
    pthread_t threads[THREADS];
    memset(&asker, 0, sizeof asker);
    prepare_asker(&asker);
    open_follow(cache);
    for (size_t i = 0; i < THREADS; i++)
        TEST_ASSERT_EQUAL(0, pthread_create(&threads[i], NULL, ask_often, &asker));
    for (size_t i = 1; i <= SWITCHES; i++) {
        look_for(i % VERSIONS, true);
        if (i > SWITCHES - VERSIONS)
            wait_for_answers(&asker, i % VERSIONS);
    }
    atomic_store(&asker.over, true);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    TEST_ASSERT_EQUAL_UINT64(0, asker.wrong);
    TEST_ASSERT_EQUAL_UINT64(SWITCHES, pml_follow_count(follow).switches);
    for (size_t i = 0; i < VERSIONS; i++)
        TEST_ASSERT_TRUE(asker.right[i] > 0);
    pml_follow_close(follow);
    follow = NULL;
    pml_cache_close(cache);
    for (size_t kind = 0; kind < KINDS; kind++)
        free_expected(asker.expected[kind]);
}

static void run_all(void)
{
    RUN_TEST(test_it_goes_from_version_to_version);
    RUN_TEST(test_a_version_lives_as_long_as_somebody_has_it);
    RUN_TEST(test_what_is_removed_is_gone);
    RUN_TEST(test_kept_parts_stay_good);
    RUN_TEST(test_a_broken_version_leaves_the_old_one);
    RUN_TEST(test_a_version_is_prepared_before_it_is_served);
    RUN_TEST(test_what_is_damaged_or_missing_is_not_sent);
    RUN_TEST(test_a_version_that_is_gone_is_followed_at_once);
    RUN_TEST(test_parts_of_two_versions_are_given_out);
    RUN_TEST(test_every_answer_is_of_one_version);
}

int main(void)
{
    UNITY_BEGIN();
    run_all();
    coded = true;
    run_all();
    return UNITY_END();
}
