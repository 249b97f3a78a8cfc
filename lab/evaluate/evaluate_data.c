/* SPDX-License-Identifier: Apache-2.0
 * Reads or draws sets of features, maps them by their fronts, and finds the true neighbours and the class of every query. The search is exact,
 * because a private search is measured by it. */
#include "evaluate_data.h"

#include "lab/sample/sample_features.h"
#include "lab/sample/sample_image.h"

#include "common/generator.h"
#include "common/parallel.h"
#include "common/rows/look_rows.h"
#include "common/rows/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct command *const command = &command_evaluate;

/* ---- the sample gallery ---- */

enum { SAMPLE_KINDS = 20, SAMPLE_PIXELS = 32, SAMPLE_SEED = 1 };

/* `count` pictures of every class, from number `first` on; classes take turns. */
static exit_code draw_set(struct evaluate_set *set, unsigned first, unsigned count)
{
    const size_t rows = (size_t)count * SAMPLE_KINDS;
    uint8_t pixels[SAMPLE_PIXELS * SAMPLE_PIXELS];
    set->features = (struct pml_features){calloc(rows * SAMPLE_FEATURES, sizeof(float)), rows, SAMPLE_FEATURES};
    set->labels = (struct pml_labels){calloc(rows, sizeof(int32_t)), rows};
    if (!set->features.values || !set->labels.values)
        return command_no_memory(command);
    for (size_t i = 0; i < rows; i++) {
        const unsigned kind = (unsigned)(i % SAMPLE_KINDS);
        sample_paint(SAMPLE_SEED, kind, first + (unsigned)(i / SAMPLE_KINDS), SAMPLE_PIXELS, pixels);
        sample_features(pixels, SAMPLE_PIXELS, set->features.values + i * SAMPLE_FEATURES);
        set->labels.values[i] = (int32_t)kind;
    }
    return EXIT_OK;
}

static exit_code draw_all(struct evaluate_data *data, const struct evaluate_options *options)
{
    exit_code code = draw_set(&data->public, 0, 60);
    if (code == EXIT_OK && options->public_votes)
        code = draw_set(&data->voters, 0, 60);
    if (options->slots == PML_SLOTS_ONE)
        pml_labels_free(&data->voters.labels); /* each votes in the only slot */
    if (code == EXIT_OK)
        code = draw_set(&data->gallery, 60, 120);
    return code == EXIT_OK ? draw_set(&data->queries, 180, 10) : code;
}

/* ---- files ---- */

/* Every `looks` rows are one, and have one label. */
static exit_code read_set(struct evaluate_set *set, const struct evaluate_files *files, size_t looks)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_features_read(files->features, &set->features, &message);
    if (outcome == PML_DONE && looks > 1)
        outcome = pml_look_rows(&set->features, looks, files->features, &message);
    if (outcome == PML_DONE && files->labels)
        outcome = pml_labels_read(files->labels, &set->labels, &message);
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    if (files->labels && set->labels.rows != set->features.rows)
        return command_fail(command, EXIT_INPUT, "%s has %zu labels, but %s has %zu %s. Give one label per %s.",
                            files->labels, set->labels.rows, files->features, set->features.rows,
                            looks > 1 ? "photos" : "rows", looks > 1 ? "photo" : "row");
    return EXIT_OK;
}

static exit_code check_columns(const struct evaluate_data *data, const struct evaluate_set *set,
                               const struct evaluate_files *files, const struct evaluate_files *first)
{
    const struct pml_fronts *fronts = &data->fronts.fronts;
    const size_t columns = set->features.columns,
                 wanted = pml_fronts_of(fronts, set->modality, data->public.features.columns).inputs;
    if (columns == wanted)
        return EXIT_OK;
    if (fronts->count > 0)
        return command_fail(command, EXIT_INPUT,
                            "%s has %zu features per row, but the front of %s takes %zu. Use its features, or name "
                            "another modality.",
                            files->features, columns, fronts->list[set->modality].name, wanted);
    return command_fail(command, EXIT_INPUT, "%s has %zu features per row, but %s has %zu. Use features of one model.",
                        files->features, columns, first->features, wanted);
}

static exit_code read_all(struct evaluate_data *data, const struct evaluate_options *options)
{
    struct evaluate_set *const sets[] = {&data->public, &data->gallery, &data->queries, &data->voters};
    /* Classes of public rows tell in which slot they vote. */
    const struct evaluate_files voting = {options->public.features,
                                          options->slots == PML_SLOTS_ONE ? NULL : options->public.labels};
    const struct evaluate_files *files[] = {&options->public, &options->gallery, &options->queries, &options->voters};
    struct front_arguments fronts = options->fronts;
    fronts.modality = options->public_modality ? options->public_modality : fronts.modality;
    exit_code code = front_inputs_read(command, &fronts, &data->fronts);
    data->public.modality = data->fronts.modality;
    if (code == EXIT_OK)
        code =
            front_inputs_find(command, &data->fronts, "modality", options->fronts.modality, 0, &data->gallery.modality);
    if (code == EXIT_OK)
        code = front_inputs_find(command, &data->fronts, "ask", options->ask, data->gallery.modality,
                                 &data->queries.modality);
    if (code == EXIT_OK)
        code = front_inputs_find(command, &data->fronts, "voters-modality", options->voters_modality,
                                 data->queries.modality, &data->voters.modality);
    if (code == EXIT_OK && options->public_votes && data->public.modality == data->queries.modality)
        files[3] = &voting;
    for (size_t i = 0; i < 4 && code == EXIT_OK; i++) {
        if (!files[i]->features)
            continue;
        code = read_set(sets[i], files[i], sets[i] == &data->queries ? (size_t)options->looks : 1);
        if (code == EXIT_OK)
            code = check_columns(data, sets[i], files[i], files[0]);
    }
    if (code == EXIT_OK)
        code = head_input_read(command, options->head, &data->head);
    return code == EXIT_OK
               ? head_input_agree(command, options->head, &data->head, &data->fronts, data->public.features.columns)
               : code;
}

/* ---- the rows of one file, dealt out ---- */

enum { DEALT_QUERIES = 200, DEALT_PUBLIC = 5000, DEALT_GALLERY = 20000 };

static size_t at_most(size_t value, size_t most)
{
    return value < most ? value : most;
}

static exit_code deal_set(struct evaluate_set *set, const struct pml_features *from, const uint32_t *order, size_t rows)
{
    const size_t columns = from->columns;
    set->features = (struct pml_features){malloc(rows * columns * sizeof(float)), rows, columns};
    if (!set->features.values)
        return command_no_memory(command);
    for (size_t i = 0; i < rows; i++)
        memcpy(set->features.values + i * columns, from->values + order[i] * columns, columns * sizeof(float));
    return EXIT_OK;
}

static exit_code deal_all(struct evaluate_data *data, const struct evaluate_options *options,
                          struct pml_features *features)
{
    struct pml_generator generator = pml_generator_start(options->seed, PML_STREAM_HELD);
    const size_t rows = features->rows, queries = at_most(rows / 8, DEALT_QUERIES),
                 public = at_most(rows / 3, DEALT_PUBLIC), gallery = at_most(rows - queries - public, DEALT_GALLERY);
    uint32_t *order = rows <= UINT32_MAX ? calloc(rows, sizeof *order) : NULL;
    if (!order)
        return command_no_memory(command);
    for (size_t i = 0; i < rows; i++) { /* a random order, row by row */
        const size_t place = (size_t)pml_generator_below(&generator, i + 1);
        order[i] = order[place];
        order[place] = (uint32_t)i;
    }
    exit_code code = deal_set(&data->queries, features, order, queries);
    if (code == EXIT_OK)
        code = deal_set(&data->public, features, order + queries, public);
    if (code == EXIT_OK && options->public_votes)
        code = deal_set(&data->voters, features, order + queries, public);
    if (code == EXIT_OK)
        code = deal_set(&data->gallery, features, order + queries + public, gallery);
    free(order);
    pml_features_free(features);
    return code;
}

/* ---- behind the fronts ---- */

static exit_code map_set(const struct evaluate_data *data, struct evaluate_set *set, unsigned threads)
{
    const struct pml_features *features = &set->features;
    const pml_front front = pml_fronts_of(&data->fronts.fronts, set->modality, features->columns);
    size_t bad = 0;
    if (features->rows == 0 || set->rows.count > 0)
        return EXIT_OK;
    if (front.outputs > PML_FEATURES_MAX)
        return command_fail(command, EXIT_INPUT, "%zu features per row are too many without a --front.",
                            features->columns);
    if (pml_rows_allocate(&set->rows, features->rows, front.outputs) != PML_DONE ||
        pml_rows_map(&set->rows, &front, features->values, threads, NULL, &bad) != PML_DONE)
        return command_no_memory(command);
    return bad == features->rows ? EXIT_OK
                                 : command_fail(command, EXIT_INPUT,
                                                "a front maps row %zu (counting from 0) to zeros. Leave it out.", bad);
}

/* The rows as floats, to be freed. values is NULL when out of memory. */
static struct pml_features floats_of(const struct pml_rows *rows)
{
    const size_t count = rows->count * rows->columns;
    struct pml_features features = {malloc((count + 1) * sizeof(float)), rows->count, rows->columns};
    for (size_t i = 0; features.values && i < count; i++)
        features.values[i] = (float)rows->values[i];
    return features;
}

/* ---- what is truly nearest ---- */

struct search {
    const struct pml_features *rows, *queries;
    const double *inverse; /* of the rows' lengths */
    size_t top;
    uint32_t *nearest;
};

enum { LANES = 8, TOGETHER = 8 }; /* sums side by side; queries that pass over the rows at once */

static double product(const float *left, const float *right, size_t columns)
{
    double sums[LANES] = {0.0}, sum = 0.0;
    const size_t whole = columns - columns % LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += (double)left[i + lane] * (double)right[i + lane];
    for (size_t i = whole; i < columns; i++)
        sum += (double)left[i] * (double)right[i];
    for (size_t lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum;
}

static pml_outcome search_piece(void *context, size_t piece)
{
    const struct search *search = context;
    const size_t columns = search->rows->columns, first = piece * TOGETHER, left = search->queries->rows - first,
                 queries = left < TOGETHER ? left : TOGETHER;
    double scores[TOGETHER][EVALUATE_TOP];
    struct pml_best best[TOGETHER];
    for (size_t q = 0; q < queries; q++)
        best[q] = (struct pml_best){scores[q], search->nearest + (first + q) * search->top, (unsigned)search->top, 0};
    for (size_t i = 0; i < search->rows->rows; i++)
        for (size_t q = 0; q < queries; q++) {
            const double score =
                product(search->queries->values + (first + q) * columns, search->rows->values + i * columns, columns) *
                search->inverse[i];
            pml_best_offer(&best[q], score, (uint32_t)i);
        }
    return PML_DONE;
}

/* The nearest `top` rows of each query, by cosine; NULL when out of memory. */
static uint32_t *find_nearest(const struct pml_features *rows, const struct pml_features *queries, size_t top,
                              unsigned threads)
{
    double *inverse = malloc(rows->rows * sizeof *inverse);
    uint32_t *nearest = malloc(queries->rows * top * sizeof *nearest);
    const struct pml_progress progress = {progress_show, NULL, "true neighbours"};
    struct search search = {rows, queries, inverse, top, nearest};
    if (inverse && nearest) {
        for (size_t i = 0; i < rows->rows; i++) {
            const float *row = rows->values + i * rows->columns;
            inverse[i] = 1.0 / sqrt(product(row, row, rows->columns));
        }
        /* Its pieces cannot fail. */
        (void)pml_parallel(threads, (queries->rows + TOGETHER - 1) / TOGETHER, search_piece, &search, &progress);
    } else {
        free(nearest);
        nearest = NULL;
    }
    free(inverse);
    return nearest;
}

/* The same of rows. */
static uint32_t *find_nearest_rows(const struct pml_rows *rows, const struct pml_rows *queries, size_t top,
                                   unsigned threads)
{
    struct pml_features left = floats_of(rows), right = floats_of(queries);
    uint32_t *nearest = left.values && right.values ? find_nearest(&left, &right, top, threads) : NULL;
    pml_features_free(&left);
    pml_features_free(&right);
    return nearest;
}

/* ---- classes ---- */

/* What the head guesses for a query behind its front. The pack is made from the public rows, so they must know the class. */
static exit_code guess_classes(struct evaluate_data *data, const char *path)
{
    const struct pml_rows *rows = &data->queries.rows;
    const struct pml_labels *known = &data->public.labels;
    for (size_t i = 0; i < rows->count; i++) {
        pml_guess guess;
        size_t at = 0;
        pml_head_guess(&data->head.front, pml_rows_kernels(), rows->values + i * rows->columns, &guess, 1);
        while (at < known->rows && known->values[at] != guess.label)
            at++;
        if (at == known->rows)
            return command_fail(
                command, EXIT_INPUT,
                "%s guesses labels that the public rows do not have. Make it again from labels of theirs.", path);
        data->classes[i] = guess.label;
    }
    return EXIT_OK;
}

static exit_code take_classes(struct evaluate_data *data, const struct evaluate_options *options)
{
    const size_t queries = data->queries.features.rows, rows = data->public.features.rows;
    const size_t top = rows < EVALUATE_TOP ? rows : EVALUATE_TOP;
    if (!data->queries.labels.values)
        return EXIT_OK;
    data->classes = malloc(queries * sizeof *data->classes);
    if (!data->classes)
        return command_no_memory(command);
    memcpy(data->classes, data->queries.labels.values, queries * sizeof *data->classes);
    if (options->head)
        return guess_classes(data, options->head);
    if (strcmp(options->class_from, "true") == 0)
        return EXIT_OK;
    const bool fronts = data->fronts.fronts.count > 0;
    exit_code code = fronts ? map_set(data, &data->public, (unsigned)options->threads) : EXIT_OK;
    if (code != EXIT_OK)
        return code;
    uint32_t *nearest =
        fronts ? find_nearest_rows(&data->public.rows, &data->queries.rows, top, (unsigned)options->threads)
               : find_nearest(&data->public.features, &data->queries.features, top, (unsigned)options->threads);
    if (!nearest)
        return command_no_memory(command);
    for (size_t i = 0; i < queries; i++)
        data->classes[i] = pml_nearest_majority(data->public.labels.values, nearest + i * top, top);
    free(nearest);
    return EXIT_OK;
}

/* ---- all of it ---- */

/* What follows from the sets. */
static exit_code complete(struct evaluate_data *data, const struct evaluate_options *options)
{
    exit_code code = EXIT_OK;
    data->top = data->gallery.features.rows < EVALUATE_TOP ? data->gallery.features.rows : EVALUATE_TOP;
    const unsigned threads = (unsigned)options->threads;
    const bool fronts = data->fronts.fronts.count > 0, same = data->queries.modality == data->gallery.modality;
    struct evaluate_set *const sets[] = {&data->gallery, &data->queries, &data->voters};
    for (size_t i = 0; i < 3 && code == EXIT_OK; i++)
        code = map_set(data, sets[i], threads);
    if (code != EXIT_OK)
        return code;
    if (same)
        data->original = find_nearest(&data->gallery.features, &data->queries.features, data->top, threads);
    data->nearest =
        fronts ? find_nearest_rows(&data->gallery.rows, &data->queries.rows, data->top, threads) : data->original;
    return data->nearest && (data->original || !same) ? take_classes(data, options) : command_no_memory(command);
}

exit_code evaluate_data_make(struct evaluate_data *data, const struct evaluate_options *options)
{
    exit_code code = options->public.features ? read_all(data, options) : draw_all(data, options);
    return code == EXIT_OK ? complete(data, options) : code;
}

exit_code evaluate_data_split(struct evaluate_data *data, const struct evaluate_options *options,
                              struct pml_features *features)
{
    exit_code code = deal_all(data, options, features);
    return code == EXIT_OK ? complete(data, options) : code;
}

void evaluate_data_free(struct evaluate_data *data)
{
    struct evaluate_set *const sets[] = {&data->public, &data->gallery, &data->queries, &data->voters};
    for (size_t i = 0; i < 4; i++) {
        pml_features_free(&sets[i]->features);
        pml_labels_free(&sets[i]->labels);
        pml_rows_free(&sets[i]->rows);
    }
    front_inputs_free(&data->fronts);
    head_input_free(&data->head);
    if (data->original != data->nearest)
        free(data->original);
    free(data->nearest);
    free(data->classes);
    *data = (struct evaluate_data){0};
}
