/* SPDX-License-Identifier: Apache-2.0
 * Counts what is right. */
#include "label_measures.h"

#include <stdlib.h>

/* Of a row, of a label, or of all. */
struct tally {
    double right, predicted, true_ones;
};

static double f1(const struct tally *tally)
{
    const double both = tally->predicted + tally->true_ones;
    return both > 0.0 ? 2.0 * tally->right / both : 1.0;
}

static void count(struct tally *tally, bool predicted, bool is_true)
{
    tally->right += predicted && is_true;
    tally->predicted += predicted;
    tally->true_ones += is_true;
}

struct pml_label_measures pml_label_measure(const struct pml_matrix *scores, const uint8_t *marks, double threshold)
{
    const size_t rows = scores->rows, labels = scores->columns;
    struct pml_label_measures measures = {0.0, 0.0, 0.0, 0.0};
    struct tally all = {0.0, 0.0, 0.0};
    double told_right = 0.0;
    for (size_t i = 0; i < rows; i++) {
        struct tally row = {0.0, 0.0, 0.0};
        for (size_t c = 0; c < labels; c++) {
            const bool predicted = pml_matrix_row(scores, i)[c] > threshold, is_true = marks[i * labels + c] != 0;
            count(&row, predicted, is_true);
            count(&all, predicted, is_true);
            told_right += predicted == is_true;
        }
        measures.example_f1 += f1(&row) / (double)rows;
    }
    for (size_t c = 0; c < labels; c++) {
        struct tally label = {0.0, 0.0, 0.0};
        for (size_t i = 0; i < rows; i++)
            count(&label, pml_matrix_row(scores, i)[c] > threshold, marks[i * labels + c] != 0);
        measures.macro_f1 += f1(&label) / (double)labels;
    }
    measures.micro_f1 = f1(&all);
    measures.hamming = told_right / (double)(rows * labels);
    return measures;
}

struct scored {
    double score;
    bool is_true;
};

static int compare(const void *left, const void *right)
{
    const double a = ((const struct scored *)left)->score, b = ((const struct scored *)right)->score;
    return a < b ? 1 : a > b ? -1 : 0;
}

pml_outcome pml_label_threshold(const struct pml_matrix *scores, const uint8_t *marks, double *threshold,
                                double *micro_f1)
{
    const size_t total = scores->rows * scores->columns;
    struct scored *sorted = malloc((total + 1) * sizeof *sorted);
    struct tally tally = {0.0, 0.0, 0.0};
    if (!sorted)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < total; i++) {
        sorted[i] = (struct scored){scores->values[i], marks[i] != 0};
        tally.true_ones += sorted[i].is_true;
    }
    qsort(sorted, total, sizeof *sorted, compare);
    *micro_f1 = -1.0;
    for (size_t i = 0; i < total; i++) {
        tally.predicted += 1.0;
        tally.right += sorted[i].is_true;
        const bool last = i + 1 == total;
        if ((last || sorted[i + 1].score < sorted[i].score) && f1(&tally) > *micro_f1) {
            *micro_f1 = f1(&tally);
            *threshold = last ? sorted[i].score - 1.0 : 0.5 * (sorted[i].score + sorted[i + 1].score);
        }
    }
    free(sorted);
    return PML_DONE;
}
