/* SPDX-License-Identifier: Apache-2.0
 * Says what map made. */
#include "map_report.h"

#include <math.h>
#include <stdio.h>

/* ---- text ---- */

static void print_value(double value)
{
    if (isnan(value))
        printf(" %8s", "-");
    else
        printf(" %8.3f", value);
}

static void print_table(const struct map_report *report)
{
    printf("%-10s %8s", "method", "seconds");
    if (report->measured)
        printf(" %8s %8s %8s %8s %8s %8s", "nn error", "trust", "contin.", "stress", "pure 10", "apart");
    printf("\n");
    for (size_t i = 0; i < report->count; i++) {
        const struct map_entry *entry = &report->entries[i];
        const struct pml_map_measures *measures = &entry->measures;
        printf("%-10s", pml_map_traits[entry->method].name);
        if (!entry->made) {
            printf(" %s\n", entry->message.text);
            continue;
        }
        printf(" %8.2f", entry->seconds);
        const double values[] = {measures->nn_error, measures->trustworthiness, measures->continuity,
                                 measures->stress,   measures->purity[1],       measures->separation[0].mean};
        for (size_t v = 0; report->measured && v < sizeof values / sizeof *values; v++)
            print_value(values[v]);
        printf("\n");
    }
}

static void print_one(const struct map_report *report)
{
    const struct map_entry *entry = report->entries;
    const struct pml_map_measures *measures = &entry->measures;
    const struct {
        const char *what;
        double value;
    } lines[] = {
        {"rows whose nearest on the map has another class", measures->nn_error},
        {"trustworthiness", measures->trustworthiness},
        {"continuity", measures->continuity},
        {"stress", measures->stress},
        {"purity of 10 neighbours", measures->purity[1]},
        {"separation of the nearest tenth, mean of classes", measures->separation[0].mean},
    };
    printf("%s: map of %zu rows by %s, %zu bytes\n", entry->out, report->rows, pml_map_traits[entry->method].name,
           entry->bytes);
    for (size_t i = 0; report->measured && i < sizeof lines / sizeof *lines; i++)
        if (!isnan(lines[i].value))
            printf("  %-50s %.4f\n", lines[i].what, lines[i].value);
}

void map_report_print(const struct map_report *report)
{
    (report->all ? print_table : print_one)(report);
}

/* ---- JSON ---- */

static void write_measures(struct json *json, const struct pml_map_measures *measures)
{
    json_number(json, "nn_error", measures->nn_error);
    json_number(json, "trustworthiness", measures->trustworthiness);
    json_number(json, "continuity", measures->continuity);
    json_number(json, "stress", measures->stress);
    json_open(json, "purity", '[');
    for (size_t i = 0; i < PML_MAP_PURITIES; i++) {
        json_open(json, NULL, '{');
        json_count(json, "neighbours", pml_map_purity_neighbours[i]);
        json_number(json, "value", measures->purity[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "separation", '[');
    for (size_t i = 0; i < PML_MAP_SEPARATIONS; i++) {
        json_open(json, NULL, '{');
        json_number(json, "share", pml_map_separation_shares[i]);
        json_number(json, "mean", measures->separation[i].mean);
        json_number(json, "least", measures->separation[i].least);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_entry(struct json *json, const struct map_report *report, const struct map_entry *entry)
{
    json_open(json, NULL, '{');
    json_text(json, "method", pml_map_traits[entry->method].name);
    json_text(json, "skipped", entry->made ? NULL : entry->message.text);
    if (entry->made) {
        json_text(json, "out", entry->out);
        json_count(json, "bytes", entry->bytes);
        json_number(json, "seconds", entry->seconds);
        json_number(json, "perplexity", entry->perplexity > 0.0 ? entry->perplexity : NAN);
        json_count(json, "components", entry->components);
        json_count(json, "landmarks", entry->landmarks);
        json_number(json, "cost", entry->cost);
    }
    if (entry->made && report->measured)
        write_measures(json, &entry->measures);
    json_close(json, '}');
}

void map_report_write(const struct map_report *report)
{
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_count(&json, "rows", report->rows);
    json_count(&json, "features", report->features);
    json_count(&json, "copies", report->copies);
    json_text(&json, "colour", report->colour);
    json_count(&json, "groups", report->groups);
    json_count(&json, "seed", report->seed);
    json_open(&json, "maps", '[');
    for (size_t i = 0; i < report->count; i++)
        write_entry(&json, report, &report->entries[i]);
    json_close(&json, ']');
    json_close(&json, '}');
}
