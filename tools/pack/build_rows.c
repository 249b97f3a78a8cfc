/* SPDX-License-Identifier: Apache-2.0
 * Maps the rows. Integers only, so a pack's bytes do not depend on the machine. */
#include "build_rows.h"
#include "thin_clusters.h"

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

/* Everybody who has the pack must not read a row of the gallery from it. */
static pml_outcome check_gallery(const struct pml_build_options *options, const struct pml_features *features,
                                 struct pml_message *message)
{
    const struct pml_fronts *fronts = fronts_of(options);
    const struct pml_features *gallery = options->gallery;
    if (!gallery || gallery->rows == 0)
        return PML_DONE;
    if (options->slots != PML_SLOTS_ONE)
        return pml_say(message, "Rows of a gallery can only be used with one slot: use --slots one, or leave --gallery "
                                "out.");
    if (options->rows_per_prototype == 1)
        return pml_say(message, "With --rows-per-prototype 1 everybody could read rows of the gallery from the pack: "
                                "leave it out, or leave --gallery out.");
    if (fronts->count > 0 && options->gallery_modality >= fronts->count)
        return pml_say(message, "The gallery is of a modality that has no front: change --modality.");
    if (fronts->count > 0)
        return check_columns(&fronts->list[options->gallery_modality], gallery, message);
    if (gallery->columns != features->columns)
        return pml_say(message, "The rows of the gallery have %zu features, but the public ones %zu: use one model.",
                       gallery->columns, features->columns);
    return PML_DONE;
}

pml_outcome pml_build_rows_check(const struct pml_build_options *options, const struct pml_features *features,
                                 struct pml_message *message)
{
    const struct pml_fronts *fronts = fronts_of(options);
    if (fronts->count > 0 && options->modality >= fronts->count)
        return pml_say(message, "The features are of a modality that has no front: change --modality.");
    pml_outcome outcome =
        fronts->count > 0 ? check_columns(&fronts->list[options->modality], features, message) : PML_DONE;
    if (outcome == PML_DONE)
        outcome = check_gallery(options, features, message);
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

/* Fills the rows from number `first` on. `what`: the features, or the gallery. */
static pml_outcome map_rows(struct pml_rows *rows, size_t first, const struct pml_build_options *options,
                            const char *what, size_t modality, const struct pml_features *features,
                            const struct pml_progress *progress, struct pml_message *message)
{
    const pml_front front = pml_fronts_of(fronts_of(options), modality, features->columns);
    struct pml_rows slice = pml_rows_slice(rows, first, features->rows);
    size_t bad;
    if (pml_rows_map(&slice, &front, features->values, options->threads, progress, &bad) != PML_DONE)
        return pml_say_memory(message);
    if (bad == features->rows)
        return PML_DONE;
    return pml_say(message,
                   "Row %zu of the %s (counting from 0)%s%s is all zero%s, or holds a NaN or an infinite value: "
                   "leave it out, or correct it.",
                   bad, what, front.kind == PML_FRONT_NONE ? "" : " of ",
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
    pml_outcome outcome = map_rows(rows, 0, options, "features", options->modality, features, progress, message);
    for (size_t v = 0; v < fronts_of(options)->count && outcome == PML_DONE; v++) {
        const struct pml_features *with = with_of(options, v);
        if (!with)
            continue;
        outcome = map_rows(rows, first, options, "features", v, with, progress, message);
        first += with->rows;
    }
    return outcome;
}

/* ---- the gallery ---- */

/* A row with its values, for qsort and bsearch. */
struct known {
    const int8_t *values;
    size_t columns;
};

static int by_values(const void *left, const void *right)
{
    const struct known *a = left, *b = right;
    return memcmp(a->values, b->values, a->columns);
}

/* Keeps the rows that equal none of `public`, at the front. */
static pml_outcome drop_public(struct pml_rows *gallery, const struct pml_rows *public)
{
    const size_t columns = public->columns;
    struct known *known = malloc(public->count * sizeof *known);
    size_t kept = 0;
    if (!known)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < public->count; i++)
        known[i] = (struct known){public->values + i * columns, columns};
    qsort(known, public->count, sizeof *known, by_values);
    for (size_t i = 0; i < gallery->count; i++) {
        const struct known row = {gallery->values + i * columns, columns};
        if (bsearch(&row, known, public->count, sizeof *known, by_values))
            continue;
        memmove(gallery->values + kept * columns, row.values, columns);
        pml_rows_measure(gallery, kept++);
    }
    gallery->count = kept;
    free(known);
    return PML_DONE;
}

/* Rows that can be in no mean would be of no use. */
static pml_outcome check_different(const struct pml_rows *all, size_t first, size_t least, struct pml_message *message)
{
    const size_t count = all->count - first;
    uint32_t *members = malloc((count + 1) * sizeof *members);
    if (!members)
        return pml_say_memory(message);
    for (size_t i = 0; i < count; i++)
        members[i] = (uint32_t)(first + i);
    const size_t different = pml_rows_different(all, members, count, least);
    free(members);
    return different >= least ? PML_DONE
                              : pml_say(message,
                                        "The gallery has %zu different rows that are not among the public ones, but a "
                                        "prototype must be a mean of %zu: leave --gallery out.",
                                        different, least);
}

pml_outcome pml_build_rows_gallery(struct pml_rows *all, const struct pml_rows *public,
                                   const struct pml_build_options *options, struct pml_message *message)
{
    const size_t bytes = public->count * public->columns;
    *all = (struct pml_rows){0};
    if (pml_rows_allocate(all, public->count + options->gallery->rows, public->columns) != PML_DONE)
        return pml_say_memory(message);
    memcpy(all->values, public->values, bytes);
    for (size_t i = 0; i < public->count; i++)
        pml_rows_measure(all, i);
    pml_outcome outcome =
        map_rows(all, public->count, options, "gallery", options->gallery_modality, options->gallery, NULL, message);
    struct pml_rows added = pml_rows_slice(all, public->count, options->gallery->rows);
    if (outcome == PML_DONE && drop_public(&added, public) != PML_DONE)
        outcome = pml_say_memory(message);
    all->count = public->count + added.count;
    return outcome == PML_DONE ? check_different(all, public->count, options->rows_per_prototype, message) : outcome;
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
