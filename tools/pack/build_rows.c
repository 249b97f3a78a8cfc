/* SPDX-License-Identifier: Apache-2.0
 * Maps the public rows. Integers only, so a pack's bytes do not depend on the machine. */
#include "build_rows.h"

#include <stdlib.h>
#include <string.h>

static const struct pml_fronts no_fronts;

static const struct pml_fronts *fronts_of(const struct pml_build_options *options)
{
    return options->fronts ? options->fronts : &no_fronts;
}

/* The further rows of a modality; NULL: there are none. */
static const struct pml_features *with_of(const struct pml_build_options *options, size_t modality)
{
    return options->with && options->with[modality].rows > 0 ? &options->with[modality] : NULL;
}

/* ---- checks ---- */

static pml_outcome check_columns(const struct pml_named_front *front, const struct pml_features *features,
                                 struct pml_message *message)
{
    if (features->columns == front->front.inputs)
        return PML_DONE;
    return pml_say(message,
                   "The rows of the modality %s have %zu features, but its front takes %lu: give the features that it "
                   "was trained with.",
                   front->name, features->columns, (unsigned long)front->front.inputs);
}

pml_outcome pml_build_rows_check(const struct pml_build_options *options, const struct pml_features *features,
                                 struct pml_message *message)
{
    const struct pml_fronts *fronts = fronts_of(options);
    if (fronts->count > 0 && options->modality >= fronts->count)
        return pml_say(message, "The features are of a modality that has no front: change --modality.");
    pml_outcome outcome =
        fronts->count > 0 ? check_columns(&fronts->list[options->modality], features, message) : PML_DONE;
    for (size_t v = 0; v < fronts->count && outcome == PML_DONE; v++) {
        const struct pml_features *with = with_of(options, v);
        if (!with)
            continue;
        outcome = check_columns(&fronts->list[v], with, message);
        if (outcome == PML_DONE && options->slots != PML_SLOTS_ONE && with->rows != features->rows)
            outcome = pml_say(message,
                              "There are %zu rows of the modality %s for %zu of the features: with slots by class, the "
                              "i-th row of each has the i-th class, so give as many.",
                              with->rows, fronts->list[v].name, features->rows);
    }
    return outcome;
}

/* ---- rows ---- */

size_t pml_build_rows_count(const struct pml_build_options *options, const struct pml_features *features)
{
    size_t count = features->rows;
    for (size_t v = 0; v < fronts_of(options)->count; v++)
        count += with_of(options, v) ? with_of(options, v)->rows : 0;
    return count;
}

size_t pml_build_rows_columns(const struct pml_build_options *options, const struct pml_features *features)
{
    return pml_fronts_of(fronts_of(options), options->modality, features->columns).outputs;
}

/* Fills the rows from number `first` on. */
static pml_outcome map_rows(struct pml_rows *rows, size_t first, const struct pml_build_options *options,
                            size_t modality, const struct pml_features *features, const struct pml_progress *progress,
                            struct pml_message *message)
{
    const pml_front front = pml_fronts_of(fronts_of(options), modality, features->columns);
    struct pml_rows slice = pml_rows_slice(rows, first, features->rows);
    size_t bad;
    if (pml_rows_map(&slice, &front, features->values, options->threads, progress, &bad) != PML_DONE)
        return pml_say_memory(message);
    if (bad == features->rows)
        return PML_DONE;
    return pml_say(message,
                   "Row %zu of the features (counting from 0)%s%s is all zero%s, or holds a NaN or an infinite value: "
                   "leave it out, or correct it.",
                   bad, front.kind == PML_FRONT_NONE ? "" : " of ",
                   front.kind == PML_FRONT_NONE ? "" : fronts_of(options)->list[modality].name,
                   front.kind == PML_FRONT_NONE ? "" : ", or becomes so in its front");
}

pml_outcome pml_build_rows(struct pml_rows *rows, const struct pml_build_options *options,
                           const struct pml_features *features, const struct pml_progress *progress,
                           struct pml_message *message)
{
    size_t first = features->rows;
    if (pml_rows_allocate(rows, pml_build_rows_count(options, features), pml_build_rows_columns(options, features)) !=
        PML_DONE)
        return pml_say_memory(message);
    pml_outcome outcome = map_rows(rows, 0, options, options->modality, features, progress, message);
    for (size_t v = 0; v < fronts_of(options)->count && outcome == PML_DONE; v++) {
        const struct pml_features *with = with_of(options, v);
        if (!with)
            continue;
        outcome = map_rows(rows, first, options, v, with, progress, message);
        first += with->rows;
    }
    return outcome;
}

pml_outcome pml_build_rows_labels(struct pml_labels *all, const struct pml_build_options *options,
                                  const struct pml_features *features, const struct pml_labels *labels)
{
    const size_t count = pml_build_rows_count(options, features);
    *all = (struct pml_labels){malloc(count * sizeof *all->values), count};
    if (!all->values)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        all->values[i] = labels->values[i % features->rows];
    return PML_DONE;
}
