/* SPDX-License-Identifier: Apache-2.0
 * A client of a crowd for tests: its policy, a query, and bundles read message by message as a server would. */
#ifndef TEST_CROWD_SUPPORT_H
#define TEST_CROWD_SUPPORT_H

#include "pipeline_crowd.h"
#include "support.h"

#if PML_WITH_CROWD

enum { MESSAGE = 40, MESSAGES_MAX = 8 + 63 * 64 };

static struct fixture f;
static pml_crowd policy;
static float features[64];
static pml_query query;
static pml_crowd_content asked, kept_content;
static uint8_t kept[MESSAGE];

/* A client of the class pack; entropy differs from arm to arm. */
static inline void prepare_crowd(unsigned pack, double epsilon)
{
    setup_fixture(&f, pack, PML_RESPONSE, epsilon);
    policy = (pml_crowd){
        .clients = 1000, .clusters = 2.0, .copies = 8, .own = 2, .cover = false, .delta0 = 1e-12, .mu = 0.03};
    f.config.crowd = &policy;
    setup_client(&f);
    make_features(&f.pack, 1, features);
    query = (pml_query){.features = features, .count = f.pack.features, .label = some_label(&f.pack)};
    asked = (pml_crowd_content){.query = &query};
    kept_content = (pml_crowd_content){.kept = kept, .kept_size = pml_client_release_size(f.client)};
}

static inline pml_status arm(pml_bundle bundle)
{
    return pml_crowd_arm(f.client, &f.budget, bundle);
}

struct written {
    size_t count;
    uint32_t symbol[MESSAGES_MAX];
    unsigned own[MESSAGES_MAX];
};
static struct written first, second;

/* All messages of a bundle that has begun, each read as a server would. */
static inline void read_all(struct written *w)
{
    const size_t length = pml_client_release_size(f.client);
    w->count = pml_crowd_left(f.client);
    TEST_ASSERT_TRUE(length <= MESSAGE && w->count <= policy.own + 63 * policy.copies);
    for (size_t i = 0; i < w->count; i++) {
        uint8_t out[MESSAGE];
        pml_release_view view;
        TEST_ASSERT_EQUAL(w->count - i, pml_crowd_left(f.client));
        TEST_ASSERT_EQUAL(PML_OK, pml_crowd_next(f.client, out, sizeof out, &w->own[i]));
        TEST_ASSERT_EQUAL(PML_OK, pml_release_parse(&f.pack, out, length, &view));
        TEST_ASSERT_TRUE(is_zero(out + length, sizeof out - length));
        w->symbol[i] = pml_release_symbol(&view, 0);
        if (w->own[i] == 1)
            memcpy(kept, out, length);
    }
}

static inline void write_bundle(pml_bundle bundle, const pml_crowd_content *content, struct written *w)
{
    TEST_ASSERT_EQUAL(PML_OK, arm(bundle));
    TEST_ASSERT_EQUAL(PML_OK, pml_crowd_begin(f.client, content));
    read_all(w);
}

static inline pml_budget_left left_of(const pml_budget *budget)
{
    pml_budget_left left;
    TEST_ASSERT_EQUAL(PML_OK, pml_budget_remaining(budget, &left));
    return left;
}

/* What the state does not allow changes nothing. */
static inline void refuses_in_every_other_state(enum client_state state)
{
    uint8_t out[MESSAGE];
    unsigned own;
    const pml_budget before = f.budget;
    if (state != CLIENT_IDLE)
        TEST_ASSERT_EQUAL(PML_ERROR_STATE, arm(PML_BUNDLE_QUERY));
    if (state != CLIENT_ARMED) {
        TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_crowd_begin(f.client, &asked));
        TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_client_disarm(f.client, &f.budget));
    }
    if (state != CLIENT_WRITING) {
        TEST_ASSERT_EQUAL(PML_ERROR_STATE, pml_crowd_next(f.client, out, sizeof out, &own));
        TEST_ASSERT_EQUAL(0, pml_crowd_left(f.client));
    }
    TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_client_arm(f.client, &f.budget));
    TEST_ASSERT_EQUAL(PML_ERROR_CROWD, pml_client_release(f.client, &query, out, sizeof out));
    TEST_ASSERT_EQUAL(state, f.client->state);
    TEST_ASSERT_EQUAL_MEMORY(&before, &f.budget, sizeof before);
}

#endif
#endif
