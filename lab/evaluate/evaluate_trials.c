/* SPDX-License-Identifier: Apache-2.0
 * In: queries, a service. Out: how much of what is truly nearest is found, and what downloads without a query would find.
 * Never touches the noise: releases are made by init, arm and release with the system's entropy.
 *
 * Functions that return an int return a pml_status or a pml_outcome. */
#include "evaluate_trials.h"

#include "cli/shared/budget_file.h"

#include "common/generator.h"
#include "common/rows/nearest.h"

#include <math.h>
#include <privatemail_platform.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct crew {
    const struct evaluate_bench *bench;
    const struct pml_progress *progress;
    pml_config config;
    double *figures; /* EVALUATE_FIGURES of each query */
    atomic_size_t next, done;
    atomic_int status;
    size_t bytes_up; /* set by the first worker */
};

struct worker {
    const struct crew *crew;
    void *memory;
    pml_client *client;
    pml_budget budget;
    uint8_t *release;
    size_t release_size;
    uint8_t ranking[PML_RANKING_MEMORY(PML_FEATURES_MAX)];
    struct pml_bytes answer;
    pml_match matches[EVALUATE_TOP];
    pml_answer_summary summary;
    struct pml_generator generator; /* of the baseline */
    uint8_t *taken;                 /* 1 for rows of the gallery in the random part */
    uint32_t *part;
    size_t query;
    uint32_t slot;  /* of the query */
    size_t reached; /* true neighbours in the ranked part of the answer */
};

static void wipe(void *memory, size_t size)
{
    volatile uint8_t *bytes = memory; /* volatile: not to be left out as useless */
    for (size_t i = 0; i < size; i++)
        bytes[i] = 0;
}

static const uint32_t *nearest_of(const struct worker *worker)
{
    const struct evaluate_data *data = worker->crew->bench->data;
    return data->nearest + worker->query * data->top;
}

static bool is_nearest(const struct worker *worker, uint64_t item)
{
    const uint32_t *nearest = nearest_of(worker);
    for (size_t i = 0; i < worker->crew->bench->data->top; i++) {
        if (nearest[i] == item)
            return true;
    }
    return false;
}

/* ---- one release ---- */

static int persist_nothing(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

static int make_release(struct worker *worker, const pml_query *query)
{
    int status = pml_client_arm(worker->client, &worker->budget);
    if (status == PML_ERROR_SPENT) {
        status = budget_unlimited(&worker->budget, &worker->crew->config);
        if (status == PML_OK)
            status = pml_client_arm(worker->client, &worker->budget);
    }
    if (status == PML_OK)
        status = pml_client_release(worker->client, query, worker->release, worker->release_size);
    return status;
}

/* A pml_slot_fn: appends the slot to the answer, and counts true neighbours in what will be ranked. */
static pml_outcome take_slot(void *context, uint32_t slot, const struct pml_fragment *candidates)
{
    struct worker *worker = context;
    struct pml_candidate candidate;
    const bool ranked = worker->crew->bench->options->scope == PML_ALL_SLOTS || slot == worker->slot;
    for (size_t offset = 0; ranked && offset < candidates->bytes.size;) {
        if (!pml_candidate_read(candidates->bytes.bytes, candidates->bytes.size, &offset, &candidate))
            return PML_DAMAGED;
        worker->reached += is_nearest(worker, candidate.item);
    }
    if (pml_answer_write_slot(&worker->answer, slot, candidates->count) != PML_DONE)
        return PML_NO_MEMORY;
    return pml_bytes_append(&worker->answer, candidates->bytes.bytes, candidates->bytes.size);
}

static int get_answer(struct worker *worker)
{
    const struct evaluate_bench *bench = worker->crew->bench;
    const pml_pack_info *info = &bench->pack.info;
    worker->answer.size = 0;
    worker->reached = 0;
    if (pml_answer_write_header(&worker->answer, info->id, info->slots, info->sketch,
                                pml_store_describe(bench->store)->items) != 0)
        return PML_NO_MEMORY;
    pml_release_view view;
    const pml_status status = pml_service_read(bench->service, worker->release, worker->release_size, &view);
    return status == PML_OK ? (int)pml_service_visit(bench->service, &view, take_slot, worker) : (int)status;
}

static int rank_answer(struct worker *worker, const pml_query *query)
{
    const struct evaluate_bench *bench = worker->crew->bench;
    const pml_ranking_config config = {.matches = worker->matches,
                                       .capacity = EVALUATE_TOP,
                                       .scope = bench->options->scope,
                                       .kernels = worker->crew->config.kernels};
    pml_ranking *ranking;
    int status =
        pml_ranking_begin(&ranking, worker->ranking, sizeof worker->ranking, &bench->pack.pack, query, &config);
    if (status == PML_OK)
        status = pml_ranking_feed(ranking, worker->answer.bytes, worker->answer.size);
    return status == PML_OK ? pml_ranking_finish(ranking, &worker->summary) : status;
}

/* ---- what a download without a query would find ---- */

/* `count` different rows of the gallery, every set of them equally likely (Floyd). */
static void draw_part(struct worker *worker, size_t count)
{
    const size_t rows = worker->crew->bench->data->gallery.features.rows;
    for (size_t i = 0; i < count; i++) {
        const size_t last = rows - count + i;
        size_t row = (size_t)pml_generator_below(&worker->generator, last + 1);
        if (worker->taken[row])
            row = last;
        worker->taken[row] = 1;
        worker->part[i] = (uint32_t)row;
    }
    for (size_t i = 0; i < count; i++)
        worker->taken[worker->part[i]] = 0;
}

/* SPEC 5.13. */
static int64_t sketch_score(const int8_t *left, const int8_t *right, size_t width, int64_t left_inverse,
                            int64_t right_inverse)
{
    int64_t sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += left[i] * right[i];
    const int64_t cosine = sum * left_inverse * right_inverse, unit = (int64_t)1 << 30;
    return cosine >= 0 ? cosine / unit : -((unit - 1 - cosine) / unit);
}

/* The best of these rows, ranked by the sketches that the client ranks by. Returns how many. */
static size_t rank_part(const struct worker *worker, const int8_t *sketch, const uint32_t *part, size_t count,
                        uint32_t best[EVALUATE_TOP])
{
    const struct evaluate_bench *bench = worker->crew->bench;
    const size_t width = bench->pack.info.sketch;
    const uint32_t inverse = pml_inverse_norm(sketch, width);
    int64_t scores[EVALUATE_TOP];
    const struct pml_nearest nearest = {scores, best, EVALUATE_TOP};
    pml_nearest_clear(&nearest);
    for (size_t i = 0; i < count; i++)
        pml_nearest_offer(
            &nearest, sketch_score(sketch, bench->sketches + part[i] * width, width, inverse, bench->inverse[part[i]]),
            part[i]);
    return count < EVALUATE_TOP ? count : EVALUATE_TOP;
}

static size_t count_nearest(const struct worker *worker, const uint32_t *found, size_t count)
{
    size_t nearest = 0;
    for (size_t i = 0; i < count; i++)
        nearest += is_nearest(worker, found[i]);
    return nearest;
}

/* ---- figures ---- */

static void add_figures(const struct worker *worker, const int8_t *sketch, double *figures)
{
    const struct evaluate_bench *bench = worker->crew->bench;
    const struct evaluate_data *data = bench->data;
    const int32_t *classes = data->queries.labels.values;
    const size_t carried = (size_t)worker->summary.carried;
    uint32_t best[EVALUATE_TOP], popular[EVALUATE_TOP];
    const size_t drawn = rank_part(worker, sketch, worker->part, carried, best),
                 held = rank_part(worker, sketch, bench->popular, carried, popular);
    size_t found = 0, of_class = 0, of_class_by_chance = 0;
    for (size_t i = 0; i < worker->summary.found; i++) {
        found += is_nearest(worker, worker->matches[i].item);
        of_class += classes && worker->matches[i].label == classes[worker->query];
    }
    for (size_t i = 0; i < drawn; i++)
        of_class_by_chance += classes && data->gallery.labels.values[best[i]] == classes[worker->query];
    figures[EVALUATE_INSTANCE] += (double)found / (double)data->top;
    figures[EVALUATE_REACHED] += (double)worker->reached / (double)data->top;
    figures[EVALUATE_BASELINE] += (double)count_nearest(worker, best, drawn) / (double)data->top;
    figures[EVALUATE_POPULAR] += (double)count_nearest(worker, popular, held) / (double)data->top;
    figures[EVALUATE_CLASS] += classes ? of_class > 0 : NAN;
    figures[EVALUATE_PRECISION] += !classes                    ? NAN
                                   : worker->summary.found > 0 ? (double)of_class / (double)worker->summary.found
                                                               : 0.0;
    figures[EVALUATE_GAIN] += classes ? (double)(of_class > 0) - (double)(of_class_by_chance > 0) : NAN;
    figures[EVALUATE_CARRIED] += (double)worker->summary.carried / (double)worker->summary.gallery;
    figures[EVALUATE_DOWN] += (double)worker->summary.bytes;
}

static int measure_query(struct worker *worker)
{
    const struct evaluate_bench *bench = worker->crew->bench;
    const struct pml_features *queries = &bench->data->queries.features;
    const pml_query query = {.features = queries->values + worker->query * queries->columns,
                             .count = queries->columns,
                             .label = bench->data->classes ? bench->data->classes[worker->query] : 0};
    double *figures = worker->crew->figures + worker->query * EVALUATE_FIGURES;
    int8_t row[PML_FEATURES_MAX], sketch[PML_SKETCH_MAX];
    int status = pml_quantise(query.features, query.count, row);
    if (status == PML_OK)
        status = pml_sketch(&bench->pack.pack, NULL, row, sketch);
    if (status == PML_OK)
        status = pml_pack_slot(&bench->pack.pack, query.label, &worker->slot);
    for (uint64_t i = 0; i < bench->options->releases && status == PML_OK; i++) {
        status = make_release(worker, &query);
        if (status == PML_OK)
            status = get_answer(worker);
        if (status == PML_OK)
            status = rank_answer(worker, &query);
        if (status == PML_OK) {
            draw_part(worker, (size_t)worker->summary.carried);
            add_figures(worker, sketch, figures);
        }
    }
    for (size_t i = 0; i < EVALUATE_FIGURES; i++)
        figures[i] /= (double)bench->options->releases;
    wipe(row, sizeof row);
    wipe(sketch, sizeof sketch);
    return status;
}

/* ---- workers ---- */

static int open_worker(struct worker *worker, struct crew *crew, size_t number)
{
    const pml_pack *pack = &crew->bench->pack.pack;
    const size_t rows = crew->bench->data->gallery.features.rows, size = pml_client_size(pack, &crew->config);
    *worker = (struct worker){.crew = crew, .generator = pml_generator_start(crew->bench->options->seed, number)};
    worker->memory = malloc(size > 0 ? size : 1);
    worker->taken = calloc(rows, 1);
    worker->part = malloc(rows * sizeof *worker->part);
    if (!worker->memory || !worker->taken || !worker->part)
        return PML_NO_MEMORY;
    int status = pml_client_init(&worker->client, worker->memory, size, pack, &crew->config);
    if (status == PML_OK)
        status = budget_unlimited(&worker->budget, &worker->crew->config);
    if (status != PML_OK)
        return status;
    worker->release_size = pml_client_release_size(worker->client);
    worker->release = malloc(worker->release_size);
    if (number == 0)
        crew->bytes_up = worker->release_size;
    return worker->release ? PML_OK : PML_NO_MEMORY;
}

static void close_worker(struct worker *worker)
{
    wipe(worker->matches, sizeof worker->matches);
    wipe(worker->ranking, sizeof worker->ranking);
    pml_client_wipe(worker->client);
    pml_bytes_free(&worker->answer);
    free(worker->memory);
    free(worker->taken);
    free(worker->part);
    free(worker->release);
}

/* A pml_piece_fn: one worker takes queries until none is left. */
static pml_outcome work(void *context, size_t number)
{
    struct crew *crew = context;
    const size_t queries = crew->bench->data->queries.features.rows;
    struct worker worker;
    int status = open_worker(&worker, crew, number);
    while (status == PML_OK && atomic_load(&crew->status) == PML_OK &&
           (worker.query = atomic_fetch_add(&crew->next, 1)) < queries) {
        status = measure_query(&worker);
        const size_t done = atomic_fetch_add(&crew->done, 1) + 1;
        if (number == 0)
            pml_progress_tell(crew->progress, (double)done / (double)queries);
    }
    close_worker(&worker);
    if (status != PML_OK)
        atomic_store(&crew->status, status);
    return status == PML_OK ? PML_DONE : PML_REFUSED; /* crew->status says why */
}

static void summarise(const struct crew *crew, struct evaluate_result *result)
{
    const size_t queries = crew->bench->data->queries.features.rows;
    for (size_t f = 0; f < EVALUATE_FIGURES; f++) {
        double sum = 0.0, squares = 0.0;
        for (size_t i = 0; i < queries; i++)
            sum += crew->figures[i * EVALUATE_FIGURES + f];
        const double mean = sum / (double)queries;
        for (size_t i = 0; i < queries; i++) {
            const double difference = crew->figures[i * EVALUATE_FIGURES + f] - mean;
            squares += difference * difference;
        }
        result->mean[f] = mean;
        result->error[f] = queries > 1 ? sqrt(squares / (double)(queries - 1) / (double)queries) : NAN;
    }
    result->bytes_up = crew->bytes_up;
}

exit_code evaluate_trials_run(const struct evaluate_bench *bench, double epsilon, const struct pml_progress *progress,
                              struct evaluate_result *result)
{
    const struct evaluate_options *options = bench->options;
    struct crew crew = {.bench = bench, .progress = progress};
    crew.config = (pml_config){.mechanism = options->mechanism,
                               .epsilon = epsilon,
                               .delta = options->delta,
                               .entropy = pml_platform_entropy,
                               .persist = persist_nothing,
                               .kernels = pml_platform_kernels()};
    atomic_init(&crew.next, 0);
    atomic_init(&crew.done, 0);
    atomic_init(&crew.status, PML_OK);
    crew.figures = calloc(bench->data->queries.features.rows * EVALUATE_FIGURES, sizeof *crew.figures);
    if (!crew.figures)
        return command_no_memory(&command_evaluate);
    pml_parallel((unsigned)options->threads, (size_t)options->threads, work, &crew, NULL);
    const int status = atomic_load(&crew.status);
    if (status == PML_OK)
        summarise(&crew, result);
    free(crew.figures);
    if (status == PML_NO_MEMORY)
        return command_no_memory(&command_evaluate);
    return status == PML_OK ? EXIT_OK : command_status(&command_evaluate, "a release or its answer", status);
}
