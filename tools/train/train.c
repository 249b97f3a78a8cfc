/* SPDX-License-Identifier: Apache-2.0
 * Chooses the method, after looking at what it needs. */
#include "train.h"

#include "tools/algebra/algebra.h"
#include "train_measure.h"
#include "train_methods.h"

#include "common/generator.h"

#include <privatemail.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct pml_train_trait pml_train_traits[PML_TRAIN_METHODS] = {
    [PML_TRAIN_SIGNS] = {"signs", false, false, false, false, true, false, false},
    [PML_TRAIN_GAUSS] = {"gauss", false, false, false, false, true, false, false},
    [PML_TRAIN_PCA] = {"pca", false, false, false, false, false, true, false},
    [PML_TRAIN_DCT] = {"dct", false, false, false, false, false, false, false},
    [PML_TRAIN_LDA] = {"lda", true, false, false, false, false, true, true},
    [PML_TRAIN_CCA] = {"cca", false, true, true, false, false, true, false},
    [PML_TRAIN_CODES] = {"codes", true, false, true, true, true, true, false},
    [PML_TRAIN_MNSE] = {"mnse", true, true, true, true, true, true, false},
    [PML_TRAIN_KPCA] = {"kpca", false, false, false, true, true, true, false},
    [PML_TRAIN_KDA] = {"kda", true, false, false, true, true, true, false},
    [PML_TRAIN_KMFA] = {"kmfa", true, false, false, true, true, true, false},
};

#if PML_WITH_LAPACKE
#define WITH_LAPACKE(function) function
#else
#define WITH_LAPACKE(function) NULL
#endif

static const pml_train_fn functions[PML_TRAIN_METHODS] = {
    [PML_TRAIN_GAUSS] = pml_train_gauss,
    [PML_TRAIN_PCA] = WITH_LAPACKE(pml_train_pca),
    [PML_TRAIN_DCT] = pml_train_dct,
    [PML_TRAIN_LDA] = WITH_LAPACKE(pml_train_lda),
    [PML_TRAIN_CCA] = WITH_LAPACKE(pml_train_cca),
    [PML_TRAIN_CODES] = WITH_LAPACKE(pml_train_codes),
    [PML_TRAIN_MNSE] = WITH_LAPACKE(pml_train_mnse),
    [PML_TRAIN_KPCA] = WITH_LAPACKE(pml_train_graph),
    [PML_TRAIN_KDA] = WITH_LAPACKE(pml_train_graph),
    [PML_TRAIN_KMFA] = WITH_LAPACKE(pml_train_graph),
};

static const pml_train_fn head_function = WITH_LAPACKE(pml_train_lda_head);

bool pml_train_has_lapack(void)
{
#if PML_WITH_LAPACKE
    return pml_algebra_start();
#else
    return false;
#endif
}

pml_outcome pml_train_limit(const struct pml_train_options *options, size_t most, const char *why,
                            struct pml_message *message)
{
    if (options->dimensions <= most)
        return PML_DONE;
    return pml_say(message, "%s gives at most %zu dimensions here, %s: choose --dimensions %zu or fewer.",
                   pml_train_traits[options->method].name, most, why, most);
}

pml_outcome pml_train_put_matrix(const struct pml_train_job *job, size_t modality, const struct pml_matrix *weights,
                                 const double *mean, struct pml_train_result *result, struct pml_message *message)
{
    double *offset = calloc(weights->rows, sizeof *offset);
    struct pml_front_bytes file = {0};
    if (!offset)
        return pml_say_memory(message);
    for (size_t i = 0; mean && i < weights->rows; i++)
        for (size_t j = 0; j < weights->columns; j++)
            offset[i] -= pml_matrix_row(weights, i)[j] * mean[j];
    pml_outcome outcome = pml_front_bytes_matrix(weights, offset, job->set->root, &file, message);
    free(offset);
    result->bytes[modality] = file.bytes;
    result->sizes[modality] = file.size;
    return outcome;
}

pml_outcome pml_train_signs(const struct pml_train_options *options, size_t inputs, bool root,
                            struct pml_train_result *result, struct pml_message *message)
{
    struct pml_generator generator = pml_generator_start(options->seed, PML_STREAM_FRONT);
    struct pml_front_bytes file = {0};
    uint8_t seed[32];
    *result = (struct pml_train_result){0};
    for (size_t i = 0; i < sizeof seed; i++)
        seed[i] = (uint8_t)(pml_generator_next(&generator) >> 56);
    pml_outcome outcome = pml_front_bytes_signs(inputs, options->dimensions, root, seed, &file, message);
    result->bytes[0] = file.bytes;
    result->sizes[0] = file.size;
    return outcome;
}

static pml_outcome check_uncertainty(const struct pml_train_set *set, struct pml_message *message)
{
    const struct pml_features *given = set->uncertainty, *rows = set->features[0];
    if (!given)
        return PML_DONE;
    if (set->root)
        return pml_say(message, "--uncertainty is that of the features, not of their roots: leave --root out.");
    if (given->rows != rows->rows || (given->columns != 1 && given->columns != rows->columns))
        return pml_say(message,
                       "--uncertainty has %zu rows of %zu numbers, but there are %zu rows of %zu features: give one "
                       "variance per row, or one per feature of each row.",
                       given->rows, given->columns, rows->rows, rows->columns);
    for (size_t i = 0; i < given->rows * given->columns; i++)
        if (!(given->values[i] >= 0.0f && isfinite(given->values[i])))
            return pml_say(message,
                           "the uncertainty of row %zu (counting from 0) is negative or not finite: give variances.",
                           i / given->columns);
    return PML_DONE;
}

static pml_outcome check(const struct pml_train_options *options, const struct pml_train_set *set,
                         struct pml_message *message)
{
    const struct pml_train_trait *trait = &pml_train_traits[options->method];
    if (trait->lapack && !pml_train_has_lapack())
        return pml_say(message,
                       "there is no LAPACKE here, which %s needs: install liblapacke-dev and libopenblas-dev and "
                       "build again, or use signs, gauss or dct.",
                       trait->name);
    if (trait->labels && !set->labels)
        return pml_say(message, "%s needs the class of each row: give --labels.", trait->name);
    if (trait->pair && set->modalities < 2)
        return pml_say(message, "%s needs two modalities: give --with text=T.npy.", trait->name);
    if (options->head && !trait->head)
        return pml_say(message, "%s trains no head: use lda.", trait->name);
    if (trait->centres && set->count < options->centres)
        return pml_say(message,
                       "there are %zu rows to train with, fewer than the %zu centres: give more rows, or fewer "
                       "--centres.",
                       set->count, options->centres);
    return pml_train_is_graph(options->method) ? check_uncertainty(set, message) : PML_DONE;
}

pml_outcome pml_train(const struct pml_train_options *options, const struct pml_train_set *set,
                      struct pml_train_result *result, struct pml_message *message)
{
    struct pml_train_job job = {.options = options, .set = set};
    *result = (struct pml_train_result){0};
    pml_outcome outcome = check(options, set, message);
    if (outcome == PML_DONE && options->method == PML_TRAIN_SIGNS)
        return pml_train_signs(options, set->features[0]->columns, set->root, result, message);
    for (size_t v = 0; outcome == PML_DONE && v < set->modalities; v++)
        outcome = pml_train_rows(set, v, options->threads, &job.rows[v], message);
    if (outcome == PML_DONE)
        outcome = (options->head ? head_function : functions[options->method])(&job, result, message);
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        pml_rows_free(&job.rows[v]);
    if (outcome != PML_DONE)
        pml_train_free(result);
    return outcome;
}

void pml_train_free(struct pml_train_result *result)
{
    for (size_t v = 0; v < PML_TRAIN_MODALITIES; v++)
        free(result->bytes[v]);
    *result = (struct pml_train_result){0};
}

void pml_train_split(const struct pml_train_set *set, uint64_t seed, uint32_t *indices, struct pml_train_set *kept,
                     struct pml_train_set *held)
{
    struct pml_generator generator = pml_generator_start(seed, PML_STREAM_HELD);
    memcpy(indices, set->indices, set->count * sizeof *indices);
    for (size_t i = set->count; i > 1; i--) {
        const size_t other = (size_t)pml_generator_below(&generator, i);
        const uint32_t moved = indices[i - 1];
        indices[i - 1] = indices[other];
        indices[other] = moved;
    }
    *kept = *held = *set;
    held->indices = indices;
    held->count = set->count / 3;
    kept->indices = indices + held->count;
    kept->count = set->count - held->count;
}
