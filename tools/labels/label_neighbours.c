/* SPDX-License-Identifier: Apache-2.0
 * Finds nearest rows by products of blocks, and counts their labels. */
#include "label_neighbours.h"

#include "label_measures.h"

#include "common/rows/nearest.h"
#include "tools/algebra/algebra.h"

#include <stdlib.h>

enum { BLOCK = 128, MOST = 64 };

/* The labels of the rows in the list. */
static void vote(const struct pml_best *best, const uint8_t *marks, size_t labels, double *scores)
{
    for (unsigned r = 0; r < best->held; r++)
        for (size_t c = 0; c < labels; c++)
            scores[c] += marks[best->indices[r] * labels + c] / (double)best->held;
}

pml_outcome pml_label_votes_score(const struct pml_label_part *train, const struct pml_matrix *rows, size_t labels,
                                  size_t neighbours, struct pml_matrix *scores)
{
    double found[MOST];
    uint32_t indices[MOST];
    struct pml_matrix cosines = {0};
    if (pml_matrix_allocate(scores, rows->rows, labels) != PML_DONE ||
        pml_matrix_allocate(&cosines, BLOCK, train->rows.rows) != PML_DONE)
        return PML_NO_MEMORY;
    for (size_t first = 0; first < rows->rows; first += BLOCK) {
        const size_t count = rows->rows - first < BLOCK ? rows->rows - first : BLOCK;
        const struct pml_matrix block = {pml_matrix_row(rows, first), count, rows->columns};
        cosines.rows = count;
        pml_multiply(&block, PML_PLAIN, &train->rows, PML_TURNED, 1.0, 0.0, &cosines);
        for (size_t i = 0; i < count; i++) {
            struct pml_best best = {found, indices, (unsigned)neighbours, 0};
            for (size_t j = 0; j < train->rows.rows; j++)
                pml_best_offer(&best, pml_matrix_row(&cosines, i)[j], (uint32_t)j);
            vote(&best, train->marks, labels, pml_matrix_row(scores, first + i));
        }
    }
    pml_matrix_free(&cosines);
    return PML_DONE;
}

pml_outcome pml_label_votes_choose(const struct pml_label_part *train, const struct pml_label_part *validation,
                                   size_t labels, struct pml_label_votes *votes)
{
    pml_outcome outcome = PML_DONE;
    double best = -1.0;
    for (size_t neighbours = 4; neighbours <= MOST && outcome == PML_DONE; neighbours *= 2) {
        struct pml_matrix scores = {0};
        double threshold = 0.0, micro_f1 = 0.0;
        outcome = pml_label_votes_score(train, &validation->rows, labels, neighbours, &scores);
        if (outcome == PML_DONE)
            outcome = pml_label_threshold(&scores, validation->marks, &threshold, &micro_f1);
        if (outcome == PML_DONE && micro_f1 > best) {
            best = micro_f1;
            *votes = (struct pml_label_votes){neighbours, threshold};
        }
        pml_matrix_free(&scores);
    }
    return outcome;
}
