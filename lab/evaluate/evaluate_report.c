/* SPDX-License-Identifier: Apache-2.0
 * Prints the figures of an evaluation as a table or as JSON. */
#include "evaluate_report.h"

#include <math.h>
#include <stdio.h>

#define RANKED_LEAST 0.8 /* share of what is in the answer; if less is found, the sketches are too coarse */

static const struct {
    const char *name;
    enum evaluate_figure figure;
} figures[] = {
    {"instance_recall", EVALUATE_INSTANCE},
    {"carried_recall", EVALUATE_REACHED},
    {"carried_without_noise", EVALUATE_NOISELESS},
    {"baseline", EVALUATE_BASELINE},
    {"popular", EVALUATE_POPULAR},
    {"class_recall", EVALUATE_CLASS},
    {"precision", EVALUATE_PRECISION},
    {"in_class_gain", EVALUATE_GAIN},
    {"original_recall", EVALUATE_ORIGINAL},
    {"precision_at_8", EVALUATE_AT_TOP},
    {"exact_precision_at_8", EVALUATE_EXACT},
    {"random_precision_at_8", EVALUATE_CHANCE},
};

static bool has_cells(const struct evaluate_report *report)
{
    return report->options->mechanism == PML_RESPONSE;
}

static const char *lists_word(const struct evaluate_report *report)
{
    return !has_cells(report) ? "none" : report->options->cells_per_item > 0 ? "own" : "share";
}

static double curve(const struct evaluate_row *row)
{
    return pml_recall_ceiling(row->epsilon, row->result.mean[EVALUATE_CARRIED]);
}

/* Both promises of every row, and what response alone finds. */
static void print_crowds(const struct evaluate_report *report)
{
    char assumption[CROWD_ASSUMPTION_MAX];
    printf("\nin a crowd:\n  epsilon   share   fakes   floor   own   local: carried   found   in answer\n");
    for (size_t i = 0; i < report->row_count; i++) {
        const struct evaluate_row *row = &report->rows[i];
        const double *local = row->local.result.mean;
        printf("  %7g %7g %7.4g %7g %5u            %.4f   %.3f       %.3f\n", row->epsilon, row->share,
               row->promise.fakes, row->promise.floor, (unsigned)row->promise.policy.own, local[EVALUATE_CARRIED],
               local[EVALUATE_INSTANCE], local[EVALUATE_REACHED]);
    }
    crowd_promise_assumption(&report->rows[0].promise, assumption);
    printf("epsilon, with delta %g: %s\n"
           "floor: the epsilon of a photo, whoever works together against it\n"
           "fakes: per %s\n"
           "local: response alone, at the same epsilon and with as much that comes down\n",
           report->options->delta, assumption,
           report->options->crowd.relay ? "epoch, made by the relay; phones carry none of their answers"
                                        : "client; their answers are carried too");
}

/* How much the embedding keeps, and how much of that the noise leaves. */
static void print_noiseless(const struct evaluate_report *report)
{
    printf("\n  epsilon   share   in answer   without noise\n");
    for (size_t i = 0; i < report->row_count; i++) {
        const double *mean = report->rows[i].result.mean;
        printf("  %7g %7g       %.3f           %.3f\n", report->rows[i].epsilon, report->rows[i].share,
               mean[EVALUATE_REACHED], mean[EVALUATE_NOISELESS]);
    }
    printf("without noise: what the answer would carry if the row were sent as it is; it is not private\n");
}

static const char *modality_name(const struct evaluate_report *report, const struct evaluate_set *set)
{
    const struct pml_fronts *fronts = &report->data->fronts.fronts;
    return fronts->count > 0 ? fronts->list[set->modality].name : NULL;
}

static void print_number(double value)
{
    isnan(value) ? printf("  %12s", "-") : printf("  %12.3f", value);
}

/* By these figures fronts can be compared with each other, and with none. */
static void print_fronts(const struct evaluate_report *report)
{
    const struct evaluate_data *data = report->data;
    if (data->fronts.fronts.count > 0)
        printf("\n%s asks for %s; fronts end in %zu features\n", modality_name(report, &data->queries),
               modality_name(report, &data->gallery), data->gallery.rows.columns);
    if (data->voters.rows.count > 0)
        printf("\n%zu public rows vote for the lists too\n", data->voters.rows.count);
    printf("  epsilon   share  precision@8   not private        random      original\n");
    for (size_t i = 0; i < report->row_count; i++) {
        const double *mean = report->rows[i].result.mean;
        printf("  %7g %7g", report->rows[i].epsilon, report->rows[i].share);
        print_number(mean[EVALUATE_AT_TOP]);
        print_number(mean[EVALUATE_EXACT]);
        print_number(mean[EVALUATE_CHANCE]);
        print_number(mean[EVALUATE_ORIGINAL]);
        putchar('\n');
    }
    printf(
        "precision@8: share of the first %d results that have the query's class; not private: of the items that are\n"
        "truly nearest; random: of a random download of the same size\n"
        "original: share of the items that are truly nearest by the features before the fronts among the results\n",
        EVALUATE_TOP);
}

void evaluate_report_print(const struct evaluate_report *report)
{
    const struct evaluate_data *data = report->data;
    printf("%s, %u slots, lists: %s; %zu public rows, %zu items, %zu queries with %llu releases each\n\n",
           mechanism_name(report->options->mechanism), report->slots, lists_word(report), data->public.features.rows,
           data->gallery.features.rows, data->queries.features.rows, (unsigned long long)report->options->releases);
    printf("epsilon   share carried  cells   found +-se     in answer  curve  random  popular   class  precision  gain "
           "   bytes "
           "down\n");
    for (size_t i = 0; i < report->row_count; i++) {
        const struct evaluate_row *row = &report->rows[i];
        const double *mean = row->result.mean;
        printf("%7g %7g %7.4f ", row->epsilon, row->share, mean[EVALUATE_CARRIED]);
        has_cells(report) ? printf("%6u", row->cells) : printf("%6s", "-");
        printf("   %.3f %.3f   %.3f      %.3f  %.3f   %.3f  ", mean[EVALUATE_INSTANCE],
               row->result.error[EVALUATE_INSTANCE], mean[EVALUATE_REACHED], curve(row), mean[EVALUATE_BASELINE],
               mean[EVALUATE_POPULAR]);
        isnan(mean[EVALUATE_CLASS])
            ? printf("%7s  %9s  %6s", "-", "-", "-")
            : printf("%7.3f  %9.3f  %+.3f", mean[EVALUATE_CLASS], mean[EVALUATE_PRECISION], mean[EVALUATE_GAIN]);
        printf(" %11.0f\n", mean[EVALUATE_DOWN]);
    }
    if (report->options->crowd.asked)
        print_crowds(report);
    if (!has_cells(report))
        print_noiseless(report);
    if (data->fronts.fronts.count > 0 || data->voters.rows.count > 0)
        print_fronts(report);
    printf("\nfound: share of the %zu truly nearest items that are among the first %d results\n"
           "in answer: share of them that the answer carries, before it is ranked\n"
           "curve: the most that any epsilon-private method can carry in answers of this size, if all items are wanted "
           "equally often\n"
           "random: what is found in a random download of the same size\n"
           "popular: what is found in a download of the same size with the items that are nearest to most others\n"
           "%.3g seconds\n",
           data->top, EVALUATE_TOP, report->seconds);
}

void evaluate_report_hint(const struct evaluate_report *report)
{
    const double *most = NULL; /* of the row where ranking loses most */
    for (size_t i = 0; i < report->row_count; i++) {
        const double *mean = report->rows[i].result.mean;
        if (!most ||
            mean[EVALUATE_REACHED] - mean[EVALUATE_INSTANCE] > most[EVALUATE_REACHED] - most[EVALUATE_INSTANCE])
            most = mean;
    }
    if (most && most[EVALUATE_INSTANCE] < RANKED_LEAST * most[EVALUATE_REACHED])
        fprintf(stderr,
                "privatemail evaluate: of %.3f in the answer only %.3f are found: sketches of %u bytes are too coarse "
                "to rank them. "
                "See docs/CLI.md, Measuring.\n",
                most[EVALUATE_REACHED], most[EVALUATE_INSTANCE], report->sketch);
}

static void write_figure(struct json *json, const char *key, const struct evaluate_result *result,
                         enum evaluate_figure figure)
{
    char name[32];
    json_number(json, key, result->mean[figure]);
    snprintf(name, sizeof name, "%s_se", key);
    json_number(json, name, result->error[figure]);
}

static void write_crowd(struct json *json, const struct evaluate_row *row)
{
    const struct crowd_promise *promise = &row->promise;
    const struct evaluate_result *local = &row->local.result;
    char assumption[CROWD_ASSUMPTION_MAX];
    crowd_promise_assumption(promise, assumption);
    json_count(json, "clients", promise->clients);
    json_number(json, "fakes", promise->fakes);
    json_number(json, "floor", promise->floor);
    json_count(json, "own_messages", promise->policy.own);
    json_number(json, "clusters", promise->policy.clusters);
    json_count(json, "copies", promise->policy.copies);
    json_number(json, "relay_clusters", promise->policy.relay_clusters);
    json_text(json, "assumption", promise->crowded ? assumption : NULL);
    json_open(json, "local", '{');
    json_number(json, "carried", local->mean[EVALUATE_CARRIED]);
    json_count(json, "cells", row->local.cells);
    write_figure(json, "instance_recall", local, EVALUATE_INSTANCE);
    write_figure(json, "carried_recall", local, EVALUATE_REACHED);
    write_figure(json, "class_recall", local, EVALUATE_CLASS);
    write_figure(json, "precision_at_8", local, EVALUATE_AT_TOP);
    json_close(json, '}');
}

static void write_row(struct json *json, const struct evaluate_report *report, const struct evaluate_row *row)
{
    json_open(json, NULL, '{');
    json_number(json, "epsilon", row->epsilon);
    json_number(json, "share", row->share);
    json_number(json, "carried", row->result.mean[EVALUATE_CARRIED]);
    json_number(json, "cells", has_cells(report) ? (double)row->cells : NAN);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        write_figure(json, figures[i].name, &row->result, figures[i].figure);
    if (report->options->crowd.asked)
        write_crowd(json, row);
    json_number(json, "curve", curve(row));
    json_number(json, "ceiling_popular", pml_recall_ceiling(row->epsilon, row->result.mean[EVALUATE_POPULAR]));
    json_number(json, "bytes_up", row->result.mean[EVALUATE_UP]);
    json_number(json, "bytes_down", row->result.mean[EVALUATE_DOWN]);
    json_count(json, "queries", report->data->queries.features.rows);
    json_count(json, "releases", report->options->releases);
    json_close(json, '}');
}

void evaluate_report_write(const struct evaluate_report *report)
{
    static const char *const kinds[] = {
        [PML_SLOTS_ONE] = "one", [PML_SLOTS_CLASS] = "class", [PML_SLOTS_GROUP] = "group"};
    const struct evaluate_options *options = report->options;
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "mechanism", mechanism_name(options->mechanism));
    json_number(&json, "delta", options->delta);
    json_text(&json, "slot_kind", kinds[options->slots]);
    json_count(&json, "slots", report->slots);
    json_text(&json, "class_from", options->class_from);
    json_count(&json, "looks", options->looks);
    json_text(&json, "scope", options->scope == PML_ALL_SLOTS ? "all" : "own");
    json_text(&json, "lists", lists_word(report));
    json_count(&json, "sketch", report->sketch);
    json_count(&json, "seed", options->seed);
    json_count(&json, "public", report->data->public.features.rows);
    json_count(&json, "gallery", report->data->gallery.features.rows);
    json_count(&json, "features", report->data->gallery.features.columns);
    json_text(&json, "modality", modality_name(report, &report->data->gallery));
    json_text(&json, "ask", modality_name(report, &report->data->queries));
    json_count(&json, "dimensions", report->data->gallery.rows.columns);
    json_count(&json, "voters", report->data->voters.rows.count);
    json_open(&json, "skipped", '[');
    for (size_t i = 0; i < report->skipped.count; i++)
        json_number(&json, NULL, report->skipped.values[i]);
    json_close(&json, ']');
    json_open(&json, "rows", '[');
    for (size_t i = 0; i < report->row_count; i++)
        write_row(&json, report, &report->rows[i]);
    json_close(&json, ']');
    json_number(&json, "seconds", report->seconds);
    json_close(&json, '}');
}
