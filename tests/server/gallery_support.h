/* SPDX-License-Identifier: Apache-2.0
 * A gallery as a test keeps it: which items there are, and with what. Include tools/builder_support.h before. */
#ifndef TEST_GALLERY_SUPPORT_H
#define TEST_GALLERY_SUPPORT_H

#include "server/gallery/answer_list.h"
#include "server/gallery/places.h"
#include "server/index/gallery_change.h"
#include "server/index/gallery_sweep.h"
#include "server/index/gallery_versions.h"
#include "server/store/store_kind.h"
#include "server/store/store.h"

enum { UNIVERSE = 260, COLUMNS = 12, CLASSES = 3, PAYLOAD_MOST = 40, VOTERS = 30 };

/* Numbers are far apart; `edition` counts how often the item was replaced. */
struct model {
    bool there[UNIVERSE];
    unsigned edition[UNIVERSE];
};

struct setup {
    struct built built;
    struct pml_settings settings;
    struct pml_voters voters;
    bool payloads;
    size_t exact, looked_at, held;
    unsigned threads;
};

static inline uint64_t number_of(size_t which)
{
    return which * which * 77 + which;
}

/* The row of an item's edition: a fourth of them are like those of another. */
static inline void row_of(size_t which, unsigned edition, float *row)
{
    uint64_t state = 1000 * (which % 4 == 1 ? which - 1 : which) + edition;
    draw64(&state);
    for (size_t i = 0; i < COLUMNS; i++)
        row[i] = (float)draw_between(&state, -100, 100) + (i == which % CLASSES ? 120.0f : 0.0f);
}

static inline int32_t class_of(size_t which, unsigned edition)
{
    return label_of((which % 11 == 0 ? 1 : edition % 2 ? 2 : which % 7 == 0 ? 1 : 0), CLASSES);
}

static inline size_t payload_of(size_t which, unsigned edition, uint8_t *bytes)
{
    const size_t size = which % 5 == 0 ? 0 : (which * 3 + edition) % PAYLOAD_MOST;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(which + 31 * edition + i);
    return size;
}

/* Items that come, as a job wants them. */
struct coming {
    size_t which[UNIVERSE];
    unsigned edition[UNIVERSE];
    size_t count;
    uint64_t items[UNIVERSE];
    int32_t labels[UNIVERSE];
    uint32_t slots[UNIVERSE];
    struct pml_rows rows;
    uint8_t payload[PAYLOAD_MOST];
    size_t fail_at; /* row whose payload cannot be read */
};

static inline pml_outcome read_coming(void *context, size_t row, const uint8_t **bytes, size_t *size,
                                      struct pml_message *message)
{
    struct coming *coming = context;
    if (row == coming->fail_at)
        return pml_say(message, "this payload is gone.");
    *size = payload_of(coming->which[row], coming->edition[row], coming->payload);
    *bytes = coming->payload;
    return PML_DONE;
}

static inline void add_coming(struct coming *coming, size_t which, unsigned edition)
{
    coming->which[coming->count] = which;
    coming->edition[coming->count++] = edition;
}

static inline struct pml_newcomers as_newcomers(struct coming *coming, const struct setup *setup)
{
    static float values[UNIVERSE * COLUMNS];
    size_t bad;
    coming->fail_at = UNIVERSE;
    for (size_t i = 0; i < coming->count; i++) {
        coming->items[i] = number_of(coming->which[i]);
        coming->labels[i] = class_of(coming->which[i], coming->edition[i]);
        row_of(coming->which[i], coming->edition[i], values + i * COLUMNS);
        TEST_ASSERT_EQUAL(PML_OK, pml_pack_slot(&setup->built.pack, coming->labels[i], &coming->slots[i]));
    }
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_allocate(&coming->rows, coming->count, COLUMNS));
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_quantise(&coming->rows, values, 1, NULL, &bad));
    TEST_ASSERT_EQUAL_UINT64(coming->count, bad);
    return (struct pml_newcomers){
        &coming->rows, coming->items, coming->labels, coming->slots, setup->payloads ? read_coming : NULL, coming};
}

static inline struct pml_working working_of(const struct setup *setup)
{
    return (struct pml_working){setup->exact, setup->looked_at, setup->held, setup->threads, NULL, NULL};
}

/* All items of the model, in an order of their own. */
static inline struct coming all_coming(const struct model *model)
{
    struct coming coming = {0};
    for (size_t i = 0; i < UNIVERSE; i++) {
        const size_t which = i * 137 % UNIVERSE;
        if (model->there[which])
            add_coming(&coming, which, model->edition[which]);
    }
    return coming;
}

static inline pml_outcome try_index(struct pml_store *store, const struct model *model, const struct setup *setup,
                                    bool force, struct pml_change_report *report)
{
    struct coming coming = all_coming(model);
    struct pml_index_job job = {.pack = &setup->built.pack,
                                .items = as_newcomers(&coming, setup),
                                .voters = setup->voters.rows.count > 0 ? &setup->voters : NULL,
                                .settings = setup->settings,
                                .keep = 2,
                                .force = force,
                                .working = working_of(setup)};
    memcpy(job.inputs, coming.items, sizeof job.inputs);
    const pml_outcome outcome = pml_gallery_index(store, &job, report, &said);
    pml_rows_free(&coming.rows);
    return outcome;
}

static inline struct pml_name index_model(struct pml_store *store, const struct model *model, const struct setup *setup)
{
    struct pml_change_report report;
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, try_index(store, model, setup, false, &report), said.text);
    TEST_ASSERT_EQUAL_STRING("", report.unswept.text);
    return report.version;
}

static inline struct pml_store *open_memory(void)
{
    struct pml_store *store;
    TEST_ASSERT_EQUAL(PML_DONE, pml_store_memory_open(&store));
    return store;
}

/* The version that indexing the model from nothing makes. */
static inline struct pml_name version_of(const struct model *model, const struct setup *setup)
{
    struct pml_store *store = open_memory();
    const struct pml_name version = index_model(store, model, setup);
    pml_store_close(store);
    return version;
}

static inline void assert_same_name(const struct pml_name *expected, const struct pml_name *found)
{
    TEST_ASSERT_EQUAL_MEMORY(expected->bytes, found->bytes, PML_NAME_SIZE);
}

#endif
