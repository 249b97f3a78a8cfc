/* SPDX-License-Identifier: Apache-2.0
 * Sorts labels and finds them again. */
#include "classes.h"

#include <stdlib.h>
#include <string.h>

static int by_label(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

pml_outcome pml_classes_find(const int32_t *labels, size_t rows, int32_t **classes, size_t *count)
{
    int32_t *found = malloc(rows * sizeof *found);
    *classes = found;
    *count = 0;
    if (!found)
        return PML_NO_MEMORY;
    memcpy(found, labels, rows * sizeof *found);
    qsort(found, rows, sizeof *found, by_label);
    for (size_t i = 0; i < rows; i++)
        if (i == 0 || found[i] != found[i - 1])
            found[(*count)++] = found[i];
    return PML_DONE;
}

uint32_t pml_classes_of(const int32_t *classes, size_t count, int32_t label)
{
    const int32_t *found = bsearch(&label, classes, count, sizeof *classes, by_label);
    return (uint32_t)(found - classes);
}
