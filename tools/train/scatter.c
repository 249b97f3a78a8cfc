/* SPDX-License-Identifier: Apache-2.0
 * What every trainer begins with: rows in doubles, and which class each is of. */
#include "scatter.h"

#include "common/rows/rows.h"

#include <stdlib.h>
#include <string.h>

pml_outcome pml_scatter_units(const struct pml_rows *rows, struct pml_matrix *units)
{
    if (pml_matrix_allocate(units, rows->count, rows->columns) != PML_DONE)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < rows->count; i++)
        for (size_t j = 0; j < rows->columns; j++)
            pml_matrix_row(units, i)[j] = rows->values[i * rows->columns + j] * (rows->inverse[i] * 0x1p-30);
    return PML_DONE;
}

void pml_scatter_centre(struct pml_matrix *matrix, double *mean)
{
    memset(mean, 0, matrix->columns * sizeof *mean);
    for (size_t i = 0; i < matrix->rows; i++)
        for (size_t j = 0; j < matrix->columns; j++)
            mean[j] += pml_matrix_row(matrix, i)[j] / (double)matrix->rows;
    for (size_t i = 0; i < matrix->rows; i++)
        for (size_t j = 0; j < matrix->columns; j++)
            pml_matrix_row(matrix, i)[j] -= mean[j];
}

/* ---- classes ---- */

static int ascending(const void *left, const void *right)
{
    const int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

static size_t number_labels(const struct pml_train_set *set, int32_t *sorted, struct pml_classes *classes)
{
    size_t distinct = 0;
    for (size_t i = 0; i < set->count; i++)
        sorted[i] = set->labels[set->indices[i]];
    qsort(sorted, set->count, sizeof *sorted, ascending);
    for (size_t i = 0; i < set->count; i++)
        if (i == 0 || sorted[i] != sorted[distinct - 1])
            sorted[distinct++] = sorted[i];
    for (size_t i = 0; i < set->count; i++) {
        const int32_t *at = bsearch(&set->labels[set->indices[i]], sorted, distinct, sizeof *sorted, ascending);
        classes->of[i] = (uint32_t)(at - sorted);
        classes->sizes[classes->of[i]]++;
    }
    return distinct;
}

pml_outcome pml_classes_number(const struct pml_train_set *set, struct pml_classes *classes,
                               struct pml_message *message)
{
    *classes = (struct pml_classes){.of = malloc((set->count + 1) * sizeof *classes->of),
                                    .sizes = calloc(set->count + 1, sizeof *classes->sizes),
                                    .labels = malloc((set->count + 1) * sizeof *classes->labels)};
    pml_outcome outcome = PML_DONE;
    if (!classes->labels || !classes->of || !classes->sizes)
        outcome = pml_say_memory(message);
    else
        classes->count = number_labels(set, classes->labels, classes);
    if (outcome == PML_DONE && classes->count < 2)
        outcome =
            pml_say(message, "all rows are of one class, so there is nothing to tell apart: give rows of two classes "
                             "or more, or choose a method without labels, such as pca.");
    if (outcome != PML_DONE)
        pml_classes_free(classes);
    return outcome;
}

void pml_classes_free(struct pml_classes *classes)
{
    free(classes->of);
    free(classes->sizes);
    free(classes->labels);
    *classes = (struct pml_classes){0};
}

void pml_classes_sum(const struct pml_classes *classes, const struct pml_matrix *matrix, struct pml_matrix *sums)
{
    memset(sums->values, 0, sums->rows * sums->columns * sizeof *sums->values);
    for (size_t i = 0; i < matrix->rows; i++)
        for (size_t j = 0; j < matrix->columns; j++)
            pml_matrix_row(sums, classes->of[i])[j] += pml_matrix_row(matrix, i)[j];
}
