/* SPDX-License-Identifier: Apache-2.0
 * In: queries, a service. Out: how much of what is truly nearest is found, and what downloads without a query would find.
 * Never touches the noise: releases are made by init, arm and release with the system's entropy.
 *
 * Functions that return an int return a pml_status or a pml_outcome. */
#include "evaluate_trials.h"

#include "cli/shared/budget_file.h"
#include "cli/shared/crowd_bundle.h"
#include "cli/shared/match_list.h"
#include "evaluate_download.h"
#include "server/gallery/manifest.h"

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
};

/* What came of one release, or of all messages of one bundle. */
struct trial {
    pml_match matches[EVALUATE_TOP]; /* of the answers that are ranked, the best first */
    size_t found;
    unsigned reached;                 /* bit i: the i-th true neighbour is in an answer that is ranked */
    uint64_t carried, gallery, bytes; /* of all answers, those to fakes too */
    size_t sent;                      /* bytes */
};

struct worker {
    const struct crew *crew;
    void *memory;
    pml_client *client;
    pml_budget budget;
    uint8_t *release;
    size_t release_size;
    struct crowd_bundle bundle;
    uint8_t ranking[PML_RANKING_MEMORY(PML_FEATURES_MAX, PML_SKETCH_MAX, PML_DIRECTIONS_MAX) +
                    PML_FRONT_MEMORY(PML_FEATURES_MAX, PML_FEATURES_MAX)];
    struct pml_bytes answer;
    struct trial trial;
    struct evaluate_download download;
    size_t query;
    uint32_t slot; /* of the query */
    bool ranked;   /* the answer at hand is one that the device ranks */
};

static void wipe(void *memory, size_t size)
{
    volatile uint8_t *bytes = memory; /* volatile: not to be left out as useless */
    for (size_t i = 0; i < size; i++)
        bytes[i] = 0;
}

/* A bit for the place of an item in a query's list of neighbours; 0 when it is none of them. */
static unsigned place_bit(const struct worker *worker, const uint32_t *lists, uint64_t item)
{
    const size_t top = worker->crew->bench->data->top;
    for (size_t i = 0; i < top; i++) {
        if (lists[worker->query * top + i] == item)
            return 1u << i;
    }
    return 0;
}

static unsigned nearest_bit(const struct worker *worker, uint64_t item)
{
    return place_bit(worker, worker->crew->bench->data->nearest, item);
}

/* ---- one release ---- */

static int persist_nothing(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

static int arm(struct worker *worker)
{
    const bool crowd = worker->crew->config.crowd != NULL;
    return crowd ? crowd_bundle_arm(worker->client, &worker->budget, PML_BUNDLE_QUERY)
                 : pml_client_arm(worker->client, &worker->budget);
}

static int arm_anew(struct worker *worker)
{
    int status = arm(worker);
    if (status == PML_ERROR_SPENT) {
        status = budget_unlimited(&worker->budget, &worker->crew->config);
        if (status == PML_OK)
            status = arm(worker);
    }
    return status;
}

/* Appends the part of a slot to the answer, and notes true neighbours in what will be ranked. */
static pml_outcome take_slot(struct worker *worker, const struct pml_part *part)
{
    struct pml_candidate candidate;
    struct pml_list list;
    if (!pml_list_open(&list, &worker->crew->bench->pack.info, part->bytes, part->size, 0))
        return PML_DAMAGED;
    const bool ranked =
        worker->ranked && (worker->crew->bench->options->scope == PML_ALL_SLOTS || list.slot == worker->slot);
    while (ranked && pml_list_next(&list, &candidate))
        worker->trial.reached |= nearest_bit(worker, candidate.item);
    worker->trial.carried += list.count;
    return pml_bytes_append(&worker->answer, part->bytes, part->size);
}

static int get_answer(struct worker *worker, const uint8_t *release, size_t size)
{
    const struct evaluate_bench *bench = worker->crew->bench;
    pml_release_view view;
    struct pml_parts parts = {0};
    worker->answer.size = 0;
    pml_status status = pml_service_read(bench->service, release, size, &view);
    if (status != PML_OK)
        return status;
    worker->trial.gallery = pml_service_manifest(bench->service)->items;
    pml_outcome outcome = pml_service_parts(bench->service, &view, &parts);
    if (outcome == PML_DONE)
        outcome = pml_bytes_append(&worker->answer, parts.parts[0]->bytes, parts.parts[0]->size);
    for (size_t i = 1; i < parts.count && outcome == PML_DONE; i++)
        outcome = take_slot(worker, parts.parts[i]);
    pml_parts_free(&parts);
    worker->trial.bytes += worker->answer.size;
    worker->trial.sent += size;
    return outcome;
}

static int rank_answer(struct worker *worker, const pml_query *query)
{
    const struct evaluate_bench *bench = worker->crew->bench;
    pml_match matches[EVALUATE_TOP];
    pml_answer_summary summary = {0};
    const pml_ranking_config config = {.matches = matches,
                                       .capacity = EVALUATE_TOP,
                                       .scope = bench->options->scope,
                                       .crowd = worker->crew->config.crowd != NULL,
                                       .kernels = worker->crew->config.kernels};
    pml_ranking *ranking;
    int status =
        pml_ranking_begin(&ranking, worker->ranking, sizeof worker->ranking, &bench->pack.pack, query, &config);
    if (status == PML_OK)
        status = pml_ranking_feed(ranking, worker->answer.bytes, worker->answer.size);
    if (status == PML_OK)
        status = pml_ranking_finish(ranking, &summary);
    if (status == PML_OK)
        worker->trial.found =
            match_list_merge(worker->trial.matches, worker->trial.found, EVALUATE_TOP, matches, summary.found);
    wipe(matches, sizeof matches);
    return status;
}

/* Sends one message; the answer to a fake is fetched and thrown away. */
static int ask(struct worker *worker, const pml_query *query, const uint8_t *release, size_t size, bool own)
{
    worker->ranked = own;
    const int status = get_answer(worker, release, size);
    return status == PML_OK && own ? rank_answer(worker, query) : status;
}

static int run_trial(struct worker *worker, const pml_query *query)
{
    const struct crowd_bundle *bundle = &worker->bundle;
    memset(&worker->trial, 0, sizeof worker->trial);
    int status = arm_anew(worker);
    if (status != PML_OK)
        return status;
    if (!worker->crew->config.crowd) {
        status = pml_client_release(worker->client, query, worker->release, worker->release_size);
        return status == PML_OK ? ask(worker, query, worker->release, worker->release_size, true) : status;
    }
    status = crowd_bundle_make(&worker->bundle, worker->client, &(pml_crowd_content){.query = query});
    for (size_t i = 0; i < bundle->count && status == PML_OK; i++)
        status = ask(worker, query, bundle->bytes + i * bundle->length, bundle->length, bundle->own[i] > 0);
    return status;
}

static size_t count_nearest(const struct worker *worker, const uint32_t *found, size_t count)
{
    size_t nearest = 0;
    for (size_t i = 0; i < count; i++)
        nearest += nearest_bit(worker, found[i]) != 0;
    return nearest;
}

static size_t count_bits(unsigned bits)
{
    size_t count = 0;
    for (; bits != 0; bits &= bits - 1)
        count++;
    return count;
}

/* ---- figures ---- */

/* Rows of the gallery that have the query's class. */
static size_t count_of_class(const struct worker *worker, const uint32_t *rows, size_t count)
{
    const struct evaluate_data *data = worker->crew->bench->data;
    size_t same = 0;
    for (size_t i = 0; i < count; i++)
        same += data->gallery.labels.values[rows[i]] == data->queries.labels.values[worker->query];
    return same;
}

static void add_figures(struct worker *worker, double *figures)
{
    const struct evaluate_data *data = worker->crew->bench->data;
    const struct trial *trial = &worker->trial;
    const int32_t *classes = data->queries.labels.values;
    const size_t rows = data->gallery.features.rows, carried = trial->carried < rows ? (size_t)trial->carried : rows;
    uint32_t best[EVALUATE_TOP], popular[EVALUATE_TOP];
    const int8_t *query = data->queries.rows.values + worker->query * data->queries.rows.columns;
    const size_t drawn = evaluate_download_random(&worker->download, query, carried, best),
                 held = evaluate_download_popular(&worker->download, query, carried, popular);
    size_t found = 0, original = 0, of_class = 0, of_class_by_chance = 0;
    for (size_t i = 0; i < trial->found; i++) {
        found += nearest_bit(worker, trial->matches[i].item) != 0;
        original += data->original && place_bit(worker, data->original, trial->matches[i].item) != 0;
        of_class += classes && trial->matches[i].label == classes[worker->query];
    }
    if (classes)
        of_class_by_chance = count_of_class(worker, best, drawn);
    figures[EVALUATE_INSTANCE] += (double)found / (double)data->top;
    figures[EVALUATE_REACHED] += (double)count_bits(trial->reached) / (double)data->top;
    const double *noiseless = worker->crew->bench->noiseless;
    figures[EVALUATE_NOISELESS] += noiseless ? noiseless[worker->query] : NAN;
    figures[EVALUATE_BASELINE] += (double)count_nearest(worker, best, drawn) / (double)data->top;
    figures[EVALUATE_POPULAR] += (double)count_nearest(worker, popular, held) / (double)data->top;
    figures[EVALUATE_CLASS] += classes ? of_class > 0 : NAN;
    figures[EVALUATE_PRECISION] += !classes ? NAN : trial->found > 0 ? (double)of_class / (double)trial->found : 0.0;
    figures[EVALUATE_ORIGINAL] += data->original ? (double)original / (double)data->top : NAN;
    figures[EVALUATE_AT_TOP] += classes ? (double)of_class / (double)EVALUATE_TOP : NAN;
    figures[EVALUATE_EXACT] +=
        classes ? (double)count_of_class(worker, data->nearest + worker->query * data->top, data->top) /
                      (double)EVALUATE_TOP
                : NAN;
    figures[EVALUATE_CHANCE] += classes ? (double)of_class_by_chance / (double)EVALUATE_TOP : NAN;
    figures[EVALUATE_GAIN] += classes ? (double)(of_class > 0) - (double)(of_class_by_chance > 0) : NAN;
    figures[EVALUATE_CARRIED] += (double)trial->carried / (double)trial->gallery;
    figures[EVALUATE_UP] += (double)trial->sent;
    figures[EVALUATE_DOWN] += (double)trial->bytes;
}

static int measure_query(struct worker *worker)
{
    const struct evaluate_bench *bench = worker->crew->bench;
    const struct pml_features *queries = &bench->data->queries.features;
    const pml_query query = {.features = queries->values + worker->query * queries->columns,
                             .count = queries->columns,
                             .label = bench->data->classes ? bench->data->classes[worker->query] : 0,
                             .modality = (uint32_t)bench->data->queries.modality};
    double *figures = worker->crew->figures + worker->query * EVALUATE_FIGURES;
    int status = pml_pack_slot(&bench->pack.pack, query.label, &worker->slot);
    for (uint64_t i = 0; i < bench->options->releases && status == PML_OK; i++) {
        status = run_trial(worker, &query);
        if (status == PML_OK)
            add_figures(worker, figures);
    }
    for (size_t i = 0; i < EVALUATE_FIGURES; i++)
        figures[i] /= (double)bench->options->releases;
    return status;
}

/* ---- workers ---- */

static int open_worker(struct worker *worker, struct crew *crew, size_t number)
{
    const pml_pack *pack = &crew->bench->pack.pack;
    const size_t size = pml_client_size(pack, &crew->config);
    *worker = (struct worker){.crew = crew};
    worker->memory = malloc(size > 0 ? size : 1);
    if (evaluate_download_open(&worker->download, crew->bench, number) != PML_DONE || !worker->memory)
        return PML_NO_MEMORY;
    int status = pml_client_init(&worker->client, worker->memory, size, pack, &crew->config);
    if (status == PML_OK)
        status = budget_unlimited(&worker->budget, &worker->crew->config);
    if (status == PML_OK && crew->config.crowd)
        status = crowd_bundle_open(&worker->bundle, worker->client);
    if (status != PML_OK)
        return status;
    worker->release_size = pml_client_release_size(worker->client);
    worker->release = malloc(worker->release_size);
    return worker->release ? (int)PML_OK : (int)PML_NO_MEMORY;
}

static void close_worker(struct worker *worker)
{
    wipe(&worker->trial, sizeof worker->trial);
    wipe(worker->ranking, sizeof worker->ranking);
    pml_client_wipe(worker->client);
    pml_bytes_free(&worker->answer);
    crowd_bundle_close(&worker->bundle);
    evaluate_download_close(&worker->download);
    free(worker->memory);
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
}

exit_code evaluate_trials_run(const struct evaluate_bench *bench, double epsilon, const pml_crowd *crowd,
                              const struct pml_progress *progress, struct evaluate_result *result)
{
    const struct evaluate_options *options = bench->options;
    struct crew crew = {.bench = bench, .progress = progress};
    crew.config = (pml_config){.mechanism = options->mechanism,
                               .epsilon = epsilon,
                               .delta = options->mechanism == PML_GAUSSIAN ? options->delta : 0.0,
                               .crowd = crowd,
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
