/* SPDX-License-Identifier: Apache-2.0
 * Checks the options that a person gave, and fills in the defaults. It looks at no feature and no label. */
#include "build_options.h"
#include "build_rows.h"
#include "cells.h"
#include "cells_rule.h"
#include "common/message.h"
#include "common/parallel.h"
#include "privatemail_public.h"
#include "tools/sketch/sketch_coder.h"

#include <math.h>

#define NEIGHBOURS_DEFAULT 10u
#define ROWS_PER_PROTOTYPE_DEFAULT 2u
#define ROWS_PER_PROTOTYPE_GALLERY 8u /* the default with a gallery: finds as much, and shows less of each row */
#define PROTOTYPES_PER_CELL_MAX 16u
#define REFINE_ROWS 12u /* of a cell with soft prototypes, on average: with fewer, these are better than refined ones */
#define SKETCH_MIN 8u
#define SKETCH_DEFAULT_PLAIN 256u
#define SKETCH_DEFAULT_CODED 131u /* a candidate takes half of what it took with 256 plain bytes */

static pml_outcome check_shape(const struct pml_build_options *options, const struct pml_features *features,
                               struct pml_message *message)
{
    if (!features || !features->values || features->rows == 0 || features->columns == 0)
        return pml_say(message, "There are no features: give an array of at least two rows.");
    if (features->rows < 2)
        return pml_say(message, "There is only one row of features; a pack needs at least two.");
    if (pml_build_rows_count(options, features) > PML_ANCHORS_MAX)
        return pml_say(message, "There are %zu rows of features; a pack holds at most %u: give a sample of them.",
                       pml_build_rows_count(options, features), PML_ANCHORS_MAX);
    const size_t gallery = options->gallery ? options->gallery->rows : 0;
    if (gallery > PML_ANCHORS_MAX - pml_build_rows_count(options, features))
        return pml_say(message,
                       "There are %zu rows of features and %zu of the gallery, together more than %u: give a sample of "
                       "the gallery.",
                       pml_build_rows_count(options, features), gallery, PML_ANCHORS_MAX);
    if (pml_build_rows_columns(options, features) > PML_FEATURES_MAX)
        return pml_say(message, "A row has %zu features; at most %u are possible without a front: reduce them first.",
                       features->columns, PML_FEATURES_MAX);
    return pml_build_rows_check(options, features, message);
}

static pml_outcome check_slots(const struct pml_build_options *options, const struct pml_features *features,
                               const struct pml_labels *labels, struct pml_message *message)
{
    if (options->slots != PML_SLOTS_ONE && options->slots != PML_SLOTS_CLASS && options->slots != PML_SLOTS_GROUP)
        return pml_say(message, "Unknown kind of slots: use --slots one, class or group.");
    if (options->slots != PML_SLOTS_ONE && (!labels || !labels->values))
        return pml_say(message, "Slots by class need labels: give --labels, or use --slots one.");
    if (labels && labels->rows != features->rows)
        return pml_say(message, "There are %zu labels for %zu rows of features: give one label per row.", labels->rows,
                       features->rows);
    if (options->slot_count > 0 && options->slots != PML_SLOTS_GROUP)
        return pml_say(message, "--slot-count goes with --slots group only: leave it out.");
    if (options->slot_count > PML_SLOTS_MAX)
        return pml_say(message, "%u slots are too many: at most %u are possible.", options->slot_count, PML_SLOTS_MAX);
    return PML_DONE;
}

static pml_outcome resolve_neighbours(struct pml_build_options *options, size_t rows, struct pml_message *message)
{
    if (options->neighbours > PML_NEIGHBOURS_MAX)
        return pml_say(message, "%u neighbours are too many: at most %u are possible.", options->neighbours,
                       PML_NEIGHBOURS_MAX);
    if (options->neighbours >= rows && options->gaussian)
        return pml_say(message, "%u neighbours need more than %zu rows: give fewer --neighbours or more features.",
                       options->neighbours, rows);
    if (options->neighbours == 0)
        options->neighbours = rows > NEIGHBOURS_DEFAULT ? NEIGHBOURS_DEFAULT : (unsigned)(rows - 1);
    if (!isfinite(options->bandwidth) || options->bandwidth < 0.0)
        return pml_say(message, "The bandwidth must be above 0, or 0 for auto: change --bandwidth.");
    if (options->bandwidth > 0.0 && !options->gaussian)
        return pml_say(message, "A pack without the Gaussian has no kernel: leave --bandwidth out, or add --gaussian.");
    return PML_DONE;
}

static pml_outcome check_alpha(const struct pml_build_options *options, struct pml_message *message)
{
    if (!(options->alpha >= 0.0 && options->alpha <= 4.0))
        return pml_say(message, "Alpha must be between 0 and 4: change --alpha.");
    if (options->alpha > 0.0 && options->alpha < 1.0 / 512.0)
        return pml_say(message, "Alpha is stored in steps of 1/256 and %g would be 0: use --alpha 0 or a larger one.",
                       options->alpha);
    if (options->alpha > 0.0 && (options->slots == PML_SLOTS_ONE || options->slot_count == 1))
        return pml_say(message, "With one slot there is no label graph: use --alpha 0, or more slots.");
    if (options->alpha > 0.0 && !options->gaussian)
        return pml_say(message,
                       "A pack without the Gaussian has no label graph: leave --alpha out, or add --gaussian.");
    return PML_DONE;
}

/* An answer carries the share that lists have, so the cells are chosen for it. */
static pml_outcome choose_cells(struct pml_build_options *options, struct pml_message *message)
{
    if (options->share == 0.0)
        options->share = PML_SHARE_DEFAULT;
    if (options->epsilon == 0.0)
        options->epsilon = PML_EPSILON_DEFAULT;
    if (!(options->share > 0.0 && options->share <= 0.5))
        return pml_say(message, "The share must be above 0 and at most 0.5: change --share.");
    if (!(options->epsilon > 0.0 && options->epsilon <= 16.0))
        return pml_say(message, "Epsilon must be above 0 and at most 16: change --epsilon.");
    options->cells = pml_cells_rule(options->epsilon, options->share);
    return PML_DONE;
}

static pml_outcome resolve_cells(struct pml_build_options *options, struct pml_message *message)
{
    if (options->cells > 0 && (options->share != 0.0 || options->epsilon != 0.0))
        return pml_say(
            message, "--cells sets the number of cells, --share and --epsilon choose it: leave one or the other out.");
    if (options->cells == 0 && choose_cells(options, message) != PML_DONE)
        return PML_REFUSED;
    if (options->cells < 2)
        return pml_say(message, "With one cell per slot a release would tell nothing: give at least 2 --cells.");
    if (options->cells > PML_CELLS_MAX)
        return pml_say(message, "%u cells per slot are too many: at most %u are possible.", options->cells,
                       PML_CELLS_MAX);
    if (options->rows_per_prototype == 0)
        options->rows_per_prototype =
            options->gallery && options->gallery->rows > 0 ? ROWS_PER_PROTOTYPE_GALLERY : ROWS_PER_PROTOTYPE_DEFAULT;
    if (options->prototypes_per_cell > PROTOTYPES_PER_CELL_MAX)
        return pml_say(message, "%u prototypes per cell are too many: at most %u are possible.",
                       options->prototypes_per_cell, PROTOTYPES_PER_CELL_MAX);
    if (options->prototypes_per_cell > 1 && options->cells * options->prototypes_per_cell > PML_JOINED_MAX)
        return pml_say(message,
                       "%u prototypes for each of %u cells are more than the %u that can be joined to cells: give a "
                       "smaller --prototypes-per-cell, or 1.",
                       options->prototypes_per_cell, options->cells, PML_JOINED_MAX);
    return PML_DONE;
}

/* Whether cells are refined when nobody said so: where that finds more (docs/DESIGN.md), or may be thought to. */
static bool refine_gains(const struct pml_build_options *options, const struct pml_features *features)
{
    const size_t public = pml_build_rows_count(options, features),
                 rows = public + (options->gallery ? options->gallery->rows : 0);
    const bool mixed = public > features->rows; /* of several modalities: these are not neighbours as others are */
    return options->slots == PML_SLOTS_ONE && !mixed && !(options->soft && rows < REFINE_ROWS * options->cells);
}

static pml_outcome resolve_refine(struct pml_build_options *options, const struct pml_features *features,
                                  struct pml_message *message)
{
    if (options->refine > PML_REFINE_MAX)
        return pml_say(message, "%d rounds are too many: at most %d are possible, so change --refine.", options->refine,
                       PML_REFINE_MAX);
    if (!(options->list_share >= 0.0 && options->list_share <= 0.5))
        return pml_say(message, "The share of a list must be above 0 and at most 0.5: change --share.");
    if (options->refine == 0 && refine_gains(options, features))
        options->refine = PML_REFINE_DEFAULT;
    if (options->refine < 0)
        options->refine = 0;
    if (options->list_share == 0.0)
        options->list_share = options->share > 0.0 ? options->share : PML_SHARE_DEFAULT;
    return PML_DONE;
}

static pml_outcome resolve_sketch(struct pml_build_options *options, size_t columns, struct pml_message *message)
{
    const unsigned plain = columns < SKETCH_DEFAULT_PLAIN ? (unsigned)(columns + 7) / 8 * 8 : SKETCH_DEFAULT_PLAIN;
    const size_t most = pml_sketch_coder_most(columns);
    if (options->sketch == 0)
        options->sketch = options->plain_sketches ? plain : SKETCH_DEFAULT_CODED;
    if (options->sketch < SKETCH_MIN || options->sketch > PML_SKETCH_MAX)
        return pml_say(message, "A sketch has %u to %u bytes: change --sketch.", SKETCH_MIN, PML_SKETCH_MAX);
    if (!options->plain_sketches && options->sketch > most)
        options->sketch = (unsigned)most;
    return PML_DONE;
}

pml_outcome pml_options_resolve(struct pml_build_options *options, const struct pml_features *features,
                                const struct pml_labels *labels, struct pml_message *message)
{
    if (check_shape(options, features, message) != PML_DONE ||
        check_slots(options, features, labels, message) != PML_DONE ||
        resolve_neighbours(options, pml_build_rows_count(options, features), message) != PML_DONE ||
        check_alpha(options, message) != PML_DONE || resolve_cells(options, message) != PML_DONE ||
        resolve_refine(options, features, message) != PML_DONE ||
        resolve_sketch(options, pml_build_rows_columns(options, features), message) != PML_DONE)
        return PML_REFUSED;
    if (options->dimensions > PML_DIMENSIONS_MAX)
        return pml_say(message, "%u dimensions are too many: at most %u are possible.", options->dimensions,
                       PML_DIMENSIONS_MAX);
    if ((unsigned)options->codes > PML_CODES_LDA)
        return pml_say(message, "Unknown kind of codes: use --codes pca, spectral, lda, random or class.");
    if (options->model && pml_model_length(options->model) == 0)
        return pml_say(message, "A model's name has 1 to %u bytes of UTF-8 without control characters: change --model.",
                       PML_MODEL_MAX);
    options->threads = pml_parallel_threads(options->threads);
    return PML_DONE;
}
