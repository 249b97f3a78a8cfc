/* SPDX-License-Identifier: Apache-2.0
 * Golden packs of version 0.5: opened, changed, asked. */
#ifndef TEST_CODED_PACKS_H
#define TEST_CODED_PACKS_H

#include "golden/sketch_vectors.h"
#include "support.h"

#include <stdlib.h>

/* By what they are good for, in the order of sketch_vectors.h. */
enum { CODED_DEPTH_1, CODED_DEPTH_7 = 6, CODED_LONGEST = 13, CODED_CLASS, CODED_GROUP, CODED_FOUR_SLOTS };

static inline pml_pack open_coded(unsigned index)
{
    pml_pack pack;
    const struct golden_coded_pack *g = golden_coded_packs + index;
    TEST_ASSERT_EQUAL_MESSAGE(PML_OK, pml_pack_open(&pack, g->bytes, g->size, g->id, NULL), g->name);
    return pack;
}

static inline uint8_t *copy_coded(unsigned index)
{
    uint8_t *bytes = malloc(golden_coded_packs[index].size);
    TEST_ASSERT_NOT_NULL(bytes);
    memcpy(bytes, golden_coded_packs[index].bytes, golden_coded_packs[index].size);
    return bytes;
}

/* A ranking in memory of exactly its size, so that a write beyond it is seen. */
struct coded_ranking {
    pml_pack pack;
    void *memory; /* free() it */
    pml_ranking *ranking;
};

static inline void begin_coded(struct coded_ranking *r, const pml_query *query, const pml_ranking_config *config)
{
    const size_t size = pml_ranking_size(&r->pack);
    TEST_ASSERT_TRUE(size > 0);
    if (!r->memory)
        r->memory = malloc(size);
    TEST_ASSERT_NOT_NULL(r->memory);
    TEST_ASSERT_EQUAL(PML_OK, pml_ranking_begin(&r->ranking, r->memory, size, &r->pack, query, config));
}

#endif
