/* SPDX-License-Identifier: Apache-2.0
 * Embeddings, items and releases for the tests of the embedding. */
#ifndef TEST_EMBEDDING_SUPPORT_H
#define TEST_EMBEDDING_SUPPORT_H

#include "golden/vectors.h"
#include "server/embedding/embedding.h"
#include "tools/builder_support.h"

#define ITEMS 130u /* two tiles and a bit */

static uint64_t draws = 60;

static inline bool has_anchors(const pml_pack *pack)
{
    pml_pack_info info;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(pack, &info));
    return info.anchors > 0;
}

static inline struct pml_embedding *make_embedding(const pml_pack *pack, unsigned iterations, unsigned threads)
{
    struct pml_embedding *embedding;
    memset(&said, 0, sizeof said);
    int status = pml_embedding_make(&embedding, pack, iterations, threads, NULL, &said);
    TEST_ASSERT_EQUAL_MESSAGE(0, status, said.text);
    return embedding;
}

/* Rows of any direction, anchors themselves among them; slots of any kind. */
static inline struct pml_rows draw_items(const pml_pack *pack, const pml_pack_info *info, uint32_t *slots)
{
    struct pml_rows rows;
    TEST_ASSERT_EQUAL(0, pml_rows_allocate(&rows, ITEMS, info->features));
    for (size_t i = 0; i < ITEMS; i++) {
        int8_t *row = rows.values + i * rows.columns;
        if (i % 4 == 0)
            memcpy(row, pml_pack_anchor(pack, i % info->anchors), rows.columns);
        for (size_t c = 0; i % 4 && c < rows.columns; c++)
            row[c] = (int8_t)(c == 0 ? 127 : draw_between(&draws, -127, 127));
        pml_rows_measure(&rows, i);
        slots[i] = (uint32_t)draw_below(&draws, info->slots);
    }
    return rows;
}

static inline void draw_released(const pml_pack_info *info, float *released)
{
    for (size_t i = 0; i < (size_t)info->slots * info->dimensions; i++)
        released[i] = (float)draw_between(&draws, -40000, 40000);
}

#endif
