/* SPDX-License-Identifier: Apache-2.0
 * A PostgreSQL and its streaming replica (tests/cli/postgres.py --replica): reading goes on when the first is stopped, and
 * nothing that is read is wrong. */
#define _XOPEN_SOURCE 700
#include "common/clock.h"
#include "store_support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define GAP_MAX 30.0 /* seconds without an answer; they are some milliseconds where nothing else runs */

void setUp(void)
{
    make_stores();
}

void tearDown(void)
{
    remove_stores();
}

static void rest(double seconds)
{
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
}

static void shell(const char *variable)
{
    TEST_ASSERT_EQUAL_MESSAGE(0, system(getenv(variable)), variable);
}

static struct pml_store *open_hosts(enum pml_store_use use)
{
    struct pml_store *store = NULL;
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_store_open(&store, getenv("PML_TEST_HOSTS"), use, &said), said.text);
    return store;
}

static void write_generation(uint64_t generation)
{
    struct manifest manifest;
    struct pml_pointer pointer;
    struct pml_store *writer = open_hosts(PML_STORE_WRITE);
    put_generation(writer, generation, &manifest, &pointer);
    switch_to(writer, &pointer);
    pml_store_close(writer);
}

/* Waits until a reader sees the generation. */
static void wait_for(struct pml_store *reader, uint64_t wanted)
{
    uint64_t generation = 0;
    for (int i = 0; i < 3000 && (try_generation(reader, &generation) != PML_DONE || generation < wanted); i++)
        rest(0.02);
    TEST_ASSERT_EQUAL_UINT64(wanted, generation);
}

static void wait_for_replica(uint64_t wanted)
{
    char uri[600];
    struct pml_store *reader = NULL;
    snprintf(uri, sizeof uri, "postgres:%s", getenv("PML_TEST_REPLICA"));
    for (int i = 0; i < 3000 && pml_store_open(&reader, uri, PML_STORE_READ, &said) != PML_DONE; i++)
        rest(0.02);
    TEST_ASSERT_NOT_NULL_MESSAGE(reader, said.text);
    wait_for(reader, wanted);
    pml_store_close(reader);
}

/* ---- load ---- */

struct load {
    pthread_t thread;
    double last, gap;
    unsigned answers, failures, wrong;
    atomic_uint phase; /* in which its last answer was asked for */
};

static struct pml_store *shared;
static atomic_bool ended;
static atomic_uint phase;

static void *read_on(void *context)
{
    struct load *load = context;
    uint64_t generation, before = 0;
    load->last = pml_clock_now();
    while (!atomic_load(&ended)) {
        const unsigned asked = atomic_load(&phase);
        const pml_outcome outcome = try_generation(shared, &generation);
        const double now = pml_clock_now();
        if (outcome == PML_UNAVAILABLE) {
            load->failures++;
            rest(0.001);
            continue;
        }
        load->wrong += outcome != PML_DONE || generation < before;
        before = generation;
        load->answers++;
        load->gap = now - load->last > load->gap ? now - load->last : load->gap;
        load->last = now;
        atomic_store(&load->phase, asked);
    }
    return NULL;
}

static void test_reading_goes_on_without_the_primary(void)
{
    enum { THREADS = 6 };
    struct load loads[THREADS] = {0};
    struct pml_store *refused;
    write_generation(1);
    wait_for_replica(1);
    shared = open_hosts(PML_STORE_READ);
    atomic_store(&ended, false);
    atomic_store(&phase, 0);
    for (size_t i = 0; i < THREADS; i++)
        TEST_ASSERT_EQUAL(0, pthread_create(&loads[i].thread, NULL, read_on, &loads[i]));
    rest(1.0);
    shell("PML_TEST_STOP");
    rest(2.0);
    atomic_store(&phase, 1); /* the primary has been gone for a while */
    const double gone = pml_clock_now();
    for (size_t i = 0; i < THREADS; i++)
        while (atomic_load(&loads[i].phase) == 0 && pml_clock_now() < gone + GAP_MAX)
            rest(0.02);
    atomic_store(&ended, true);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(loads[i].thread, NULL);
        printf("thread %zu: %u answers, %u failures, longest gap %.0f ms\n", i, loads[i].answers, loads[i].failures,
               1000.0 * loads[i].gap);
        TEST_ASSERT_EQUAL_UINT(0, loads[i].wrong);
        TEST_ASSERT_TRUE(loads[i].gap < GAP_MAX && atomic_load(&loads[i].phase) == 1); /* it went on to the end */
    }
    const pml_outcome outcome = pml_store_open(&refused, getenv("PML_TEST_HOSTS"), PML_STORE_WRITE, &said);
    shell("PML_TEST_START"); /* then writing goes on, and those who read the replica see it */
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, outcome);
    assert_said("PostgreSQL cannot be reached");
    write_generation(2);
    wait_for(shared, 2);
    pml_store_close(shared);
}

/* Whichever comes first in the URI. */
static void test_writers_find_the_primary(void)
{
    char uri[700];
    struct pml_store *writer = NULL;
    snprintf(uri, sizeof uri, "postgres:%s", getenv("PML_TEST_REPLICA"));
    TEST_ASSERT_EQUAL(PML_UNAVAILABLE, pml_store_open(&writer, uri, PML_STORE_WRITE, &said));
    const char *hosts = getenv("PML_TEST_HOSTS"); /* postgres://tests@FIRST,SECOND/postgres */
    const char *first = strchr(hosts, '@') + 1, *second = strchr(hosts, ',') + 1;
    snprintf(uri, sizeof uri, "postgres://tests@%.*s,%.*s/postgres", (int)(strrchr(hosts, '/') - second), second,
             (int)(second - 1 - first), first);
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_store_open(&writer, uri, PML_STORE_WRITE, &said), said.text);
    put_blob(writer, PML_PARTS, 1, 10);
    switch_to(writer, &(struct pml_pointer){{{1}}, {{0}}, {{0}}});
    pml_store_close(writer);
}

int main(void)
{
    UNITY_BEGIN();
    kind = POSTGRES;
    if (getenv("PML_TEST_HOSTS")) {
        RUN_TEST(test_reading_goes_on_without_the_primary);
        RUN_TEST(test_writers_find_the_primary);
    }
    return UNITY_END();
}
