/* SPDX-License-Identifier: Apache-2.0
 * Stage: the K nearest anchors (SPEC 5.3). In: a row. Out: K scores and indices, best first, ties by smaller index.
 * Exact: every score is an integer. Its time depends on the query (PRIVACY.md, what is not protected). */
#include "stages.h"

/* Keeps the list sorted; an equal score stays behind the earlier index. */
static void insert(int64_t *scores, uint32_t *indices, size_t count, int64_t score, uint32_t index)
{
    size_t at = count;
    for (; at > 0 && scores[at - 1] < score; at--) {
        scores[at] = scores[at - 1];
        indices[at] = indices[at - 1];
    }
    scores[at] = score;
    indices[at] = index;
}

void pml_neighbours_find(const struct pack_view *pack, const struct pml_kernels *kernels, const int8_t *row,
                         int64_t *scores, uint32_t *indices)
{
    const int8_t *rows = (const int8_t *)pack->section[PML_SECTION_ANCHORS];
    const uint8_t *norms = pack->section[PML_SECTION_ANCHOR_NORMS];
    int32_t dots[PML_KERNEL_ROWS];
    size_t held = 0;
    for (size_t at = 0; at < pack->n; at += PML_KERNEL_ROWS) {
        size_t count = pack->n - at < PML_KERNEL_ROWS ? pack->n - at : PML_KERNEL_ROWS;
        kernels->dots_s8(row, rows + at * pack->d, pack->d, count, dots);
        for (size_t i = 0; i < count; i++) {
            int64_t score = (int64_t)dots[i] * pack_u32(norms, at + i);
            if (held < pack->K)
                insert(scores, indices, held++, score, (uint32_t)(at + i));
            else if (scores[held - 1] < score)
                insert(scores, indices, held - 1, score, (uint32_t)(at + i));
        }
    }
    pml_wipe(dots, sizeof dots);
}
