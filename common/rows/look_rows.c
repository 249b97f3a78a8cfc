/* SPDX-License-Identifier: Apache-2.0
 * Takes the means of looks, in place, as a device does. In: features that may be a person's. */
#include "look_rows.h"

#include <privatemail.h>

#include <stdlib.h>
#include <string.h>

static pml_status take_mean(pml_looks *looks, const float *rows, size_t count, size_t columns, float *mean)
{
    pml_status status = PML_OK;
    pml_looks_wipe(looks);
    for (size_t i = 0; i < count && status == PML_OK; i++)
        status = pml_looks_add(looks, rows + i * columns, columns);
    return status == PML_OK ? pml_looks_mean(looks, mean, columns) : status;
}

pml_outcome pml_look_rows(struct pml_features *features, size_t looks, const char *path, struct pml_message *message)
{
    const size_t columns = features->columns, size = pml_looks_size(columns);
    if (looks == 0 || looks > PML_LOOKS_MAX || features->rows % looks != 0)
        return pml_say(message,
                       "%s: %zu rows are not whole groups of %zu looks. Give 1 to %u looks at every photo, one "
                       "photo after the other.",
                       path, features->rows, looks, PML_LOOKS_MAX);
    void *memory = malloc(size + 1);
    float *mean = malloc((columns + 1) * sizeof *mean);
    pml_looks *sums = NULL;
    pml_outcome outcome = PML_DONE;
    if (!memory || !mean || pml_looks_begin(&sums, memory, size, columns) != PML_OK)
        outcome = pml_say_memory(message);
    for (size_t i = 0; i < features->rows / looks && outcome == PML_DONE; i++) {
        if (take_mean(sums, features->values + i * looks * columns, looks, columns, mean) != PML_OK)
            outcome = pml_say(message,
                              "%s: the looks at photo %zu (counting from 0) cancel each other. Give looks at "
                              "the same photo.",
                              path, i);
        else /* its place is before those that are still needed, or is theirs */
            memcpy(features->values + i * columns, mean, columns * sizeof *mean);
    }
    if (outcome == PML_DONE)
        features->rows /= looks;
    pml_looks_wipe(sums);
    if (mean)
        memset(mean, 0, columns * sizeof *mean);
    free(memory);
    free(mean);
    return outcome;
}
