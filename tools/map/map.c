/* SPDX-License-Identifier: Apache-2.0
 * Chooses the method, checks its limits, and lays components of a graph side by side. */
#include "map.h"
#include "map_graph.h"
#include "map_methods.h"
#include "map_shelves.h"

#if PML_WITH_LAPACKE
#include "tools/algebra/algebra.h"
#endif
#if PML_WITH_ARPACK
#include "tools/algebra/arpack.h"
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MILLION 1000000u
#define FEW_LANDMARKS 500u

const struct pml_map_trait pml_map_traits[PML_MAP_METHODS] = {
    [PML_MAP_PCA] = {"pca", PML_MAP_LEAST, 100 * MILLION, "a sample of the rows", .seed = true},
    [PML_MAP_MDS] = {"mds", PML_MAP_LEAST, 10000, "pca, which gives the same map", .seed = true},
    [PML_MAP_SAMMON] = {"sammon", PML_MAP_LEAST, 10000, "tsne", .seed = true},
    [PML_MAP_ISOMAP] = {"isomap", PML_MAP_LEAST, 10000, "laplacian", .graph = true, .seed = true, .neighbours = 7},
    [PML_MAP_LLE] = {"lle", PML_MAP_LEAST, 5000, "laplacian", .lapack = true, .graph = true, .neighbours = 8},
    [PML_MAP_LAPLACIAN] = {"laplacian", PML_MAP_LEAST, MILLION, "landmark, with a sample of the rows", .arpack = true,
                           .graph = true, .seed = true, .neighbours = 8},
    [PML_MAP_DIFFUSION] = {"diffusion", PML_MAP_LEAST, MILLION, "landmark, with a sample of the rows", .arpack = true,
                           .graph = true, .seed = true, .neighbours = 8},
    [PML_MAP_SNE] = {"sne", PML_MAP_LEAST, 5000, "tsne", .perplexity = true, .seed = true},
    [PML_MAP_SSNE] = {"ssne", PML_MAP_LEAST, 5000, "tsne", .perplexity = true, .seed = true},
    [PML_MAP_TSNE] = {"tsne", PML_MAP_LEAST, 200000, "landmark", .perplexity = true, .seed = true},
    [PML_MAP_LANDMARK] = {"landmark", FEW_LANDMARKS, MILLION, "tsne for fewer rows, or a sample of more", .seed = true,
                          .neighbours = 20},
};

static const pml_map_fn functions[PML_MAP_METHODS] = {
    [PML_MAP_PCA] = pml_map_pca,
    [PML_MAP_MDS] = pml_map_mds,
    [PML_MAP_SAMMON] = pml_map_sammon,
    [PML_MAP_ISOMAP] = pml_map_isomap,
#if PML_WITH_LAPACKE
    [PML_MAP_LLE] = pml_map_lle,
#endif
#if PML_WITH_ARPACK
    [PML_MAP_LAPLACIAN] = pml_map_laplacian,
    [PML_MAP_DIFFUSION] = pml_map_diffusion,
#endif
    [PML_MAP_SNE] = pml_map_sne,
    [PML_MAP_SSNE] = pml_map_ssne,
    [PML_MAP_TSNE] = pml_map_tsne,
    [PML_MAP_LANDMARK] = pml_map_landmark,
};

bool pml_map_available(pml_map_method method)
{
    bool available = functions[method] != NULL;
#if PML_WITH_LAPACKE
    available = available && (!pml_map_traits[method].lapack || pml_algebra_start());
#endif
#if PML_WITH_ARPACK
    available = available && (!pml_map_traits[method].arpack || pml_arpack_start());
#endif
    return available;
}

double pml_map_uniform(struct pml_generator *generator)
{
    return (double)(pml_generator_next(generator) >> 11) * 0x1p-52 - 1.0;
}

const struct pml_progress *pml_map_stage(const struct pml_map_options *options, const char *stage,
                                         struct pml_progress *told)
{
    if (!options->progress)
        return NULL;
    *told = *options->progress;
    told->stage = stage;
    return told;
}

/* ---- limits ---- */

static pml_outcome check_rows(const struct pml_map_trait *trait, size_t rows, struct pml_message *message)
{
    if (rows > trait->most)
        return pml_say(message, "%s makes maps of at most %zu rows, and there are %zu. Use %s.", trait->name,
                       trait->most, rows, trait->instead);
    if (rows < PML_MAP_LEAST)
        return pml_say(message, "a map needs at least %u rows, and there are %zu. Give more.", PML_MAP_LEAST, rows);
    if (rows < trait->least)
        return pml_say(message, "%s needs at least %zu rows, and there are %zu. Use %s.", trait->name, trait->least,
                       rows, trait->instead);
    return PML_DONE;
}

static pml_outcome fill_options(struct pml_map_options *options, size_t rows, struct pml_message *message)
{
    const struct pml_map_trait *trait = &pml_map_traits[options->method];
    const double most = (double)(rows - 1) / 3.0;
    if (trait->perplexity && options->perplexity > most)
        return pml_say(message,
                       "a perplexity of %g needs at least %.0f rows, and there are %zu. Give --perplexity %g or less.",
                       options->perplexity, ceil(3.0 * options->perplexity) + 1.0, rows, floor(most * 10.0) / 10.0);
    if (!(options->perplexity > 0.0))
        options->perplexity = most < PML_MAP_PERPLEXITY ? most : PML_MAP_PERPLEXITY;
    if (options->neighbours == 0)
        options->neighbours = trait->neighbours;
    if (options->neighbours > rows - 1)
        options->neighbours = (unsigned)(rows - 1);
    if (options->threads == 0)
        options->threads = 1;
    return PML_DONE;
}

/* ---- components ---- */

static pml_outcome map_component(const struct pml_map_job *job, const uint32_t *members, size_t count, double *places,
                                 struct pml_message *message)
{
    struct pml_rows rows = {0};
    pml_outcome outcome = pml_rows_gather(job->rows, members, count, &rows);
    const struct pml_map_job part = {&rows, job->options, places, job->result, NULL};
    if (outcome == PML_DONE)
        outcome = functions[job->options->method](&part, message);
    pml_rows_free(&rows);
    return outcome;
}

/* Every row has its neighbours in its own component, so a component alone has the same graph. */
static pml_outcome map_components(const struct pml_map_job *job, const uint32_t *components, size_t count,
                                  struct pml_message *message)
{
    const size_t n = job->rows->count;
    uint32_t *members = malloc(n * sizeof *members);
    size_t *starts = malloc((count + 2) * sizeof *starts);
    double *places = calloc(2 * n, sizeof *places);
    pml_outcome outcome = members && starts && places ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        pml_map_members(components, n, count, members, starts);
    for (size_t c = 0; outcome == PML_DONE && c < count; c++)
        outcome = map_component(job, members + starts[c], starts[c + 1] - starts[c], places + 2 * starts[c], message);
    if (outcome == PML_DONE)
        outcome = pml_map_shelves(places, starts, count);
    for (size_t i = 0; outcome == PML_DONE && i < n; i++)
        memcpy(job->places + 2 * (size_t)members[i], places + 2 * i, 2 * sizeof *places);
    free(members);
    free(starts);
    free(places);
    return outcome;
}

static pml_outcome run_graph(const struct pml_map_job *job, struct pml_message *message)
{
    const pml_map_fn function = functions[job->options->method];
    struct pml_map_sparse lists = {0}, graph = {0};
    struct pml_map_job known = *job;
    uint32_t *components = malloc(job->rows->count * sizeof *components);
    pml_outcome outcome = components ? pml_map_job_neighbours(job, &lists) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = pml_map_symmetric(&lists, true, &graph);
    if (outcome == PML_DONE)
        outcome = pml_map_components(&graph, components, &job->result->components);
    pml_map_sparse_free(&graph);
    known.lists = &lists;
    if (outcome == PML_DONE)
        outcome = job->result->components == 1 ? function(&known, message)
                                               : map_components(job, components, job->result->components, message);
    pml_map_sparse_free(&lists);
    free(components);
    return outcome;
}

pml_outcome pml_map_job_neighbours(const struct pml_map_job *job, struct pml_map_sparse *lists)
{
    struct pml_progress told;
    if (job->lists && job->lists->count > 0) {
        *lists = *job->lists;
        *job->lists = (struct pml_map_sparse){0};
        return PML_DONE;
    }
    return pml_map_neighbours(job->rows, job->options->neighbours, job->options->threads,
                              pml_map_stage(job->options, "neighbours", &told), lists);
}

/* ---- all of it ---- */

static pml_outcome finish(const struct pml_map_job *job, struct pml_message *message)
{
    double middle[2] = {0.0, 0.0};
    for (size_t i = 0; i < job->rows->count; i++)
        for (size_t axis = 0; axis < 2; axis++)
            middle[axis] += job->places[2 * i + axis] / (double)job->rows->count;
    job->result->places = malloc(2 * job->rows->count * sizeof *job->result->places);
    if (!job->result->places)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < 2 * job->rows->count; i++) {
        const float place = (float)(job->places[i] - middle[i % 2]);
        if (!isfinite(place))
            return pml_say(message, "%s did not settle on these rows. Use another method, such as pca.",
                           pml_map_traits[job->options->method].name);
        job->result->places[i] = place;
    }
    return PML_DONE;
}

pml_outcome pml_map(const struct pml_rows *rows, const struct pml_map_options *wanted, struct pml_map_result *result,
                    struct pml_message *message)
{
    const struct pml_map_trait *trait = &pml_map_traits[wanted->method];
    struct pml_map_options options = *wanted;
    *result = (struct pml_map_result){.cost = NAN};
    if (!pml_map_available(wanted->method))
        return pml_say(message,
                       "%s needs %s, which this build does not know or cannot load. Install %s and build again, "
                       "or use tsne.",
                       trait->name, trait->arpack ? "ARPACK" : "LAPACKE",
                       trait->arpack ? "libarpack2-dev" : "liblapacke-dev and libopenblas-dev");
    pml_outcome outcome = check_rows(trait, rows->count, message);
    if (outcome == PML_DONE)
        outcome = fill_options(&options, rows->count, message);
    if (outcome != PML_DONE)
        return outcome;
    result->perplexity = trait->perplexity ? options.perplexity : 0.0;
    double *places = calloc(2 * rows->count, sizeof *places);
    const struct pml_map_job job = {rows, &options, places, result, NULL};
    outcome = !places        ? PML_NO_MEMORY
              : trait->graph ? run_graph(&job, message)
                             : functions[options.method](&job, message);
    if (outcome == PML_DONE)
        outcome = finish(&job, message);
    free(places);
    return outcome == PML_NO_MEMORY ? pml_say_memory(message) : outcome;
}

void pml_map_free(struct pml_map_result *result)
{
    free(result->places);
    free(result->costs);
    *result = (struct pml_map_result){0};
}

/* ---- copies ---- */

struct named {
    uint64_t digest;
    const int8_t *row;
    size_t columns;
};

static int by_row(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    if (a->digest != b->digest)
        return a->digest < b->digest ? -1 : 1;
    return memcmp(a->row, b->row, a->columns);
}

pml_outcome pml_map_copies(const struct pml_rows *rows, size_t *copies)
{
    struct named *named = malloc((rows->count + 1) * sizeof *named);
    *copies = 0;
    if (!named)
        return PML_NO_MEMORY;
    for (size_t i = 0; i < rows->count; i++) {
        const int8_t *row = rows->values + i * rows->columns;
        uint64_t digest = 0xCBF29CE484222325u; /* Fowler, Noll and Vo */
        for (size_t k = 0; k < rows->columns; k++)
            digest = (digest ^ (uint8_t)row[k]) * 0x100000001B3u;
        named[i] = (struct named){digest, row, rows->columns};
    }
    qsort(named, rows->count, sizeof *named, by_row);
    for (size_t i = 1; i < rows->count; i++)
        *copies += by_row(&named[i - 1], &named[i]) == 0;
    free(named);
    return PML_DONE;
}
