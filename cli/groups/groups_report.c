/* SPDX-License-Identifier: Apache-2.0
 * Says what groups found. */
#include "groups_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void groups_report_print(const struct groups_report *report)
{
    const struct pml_groups_result *result = report->result;
    const size_t count = report->options->count;
    printf("%s: %zu groups by %s, the largest of %zu rows, the smallest of %zu\n", report->out, count, report->method,
           result->sizes[0], result->sizes[count - 1]);
    if (result->rounds > 0)
        printf("graph of %zu edges in %zu parts, sum of the smallest eigenvalues %.6g\n", result->graph.count,
               result->components, result->traces[0]);
    if (report->options->method == PML_GROUPS_RSC)
        printf("%zu edges removed in %zu rounds, sum of the smallest eigenvalues now %.6g\n", result->removed,
               result->rounds - 1, result->traces[result->rounds - 1]);
    if (!isnan(report->nmi))
        printf("normalised mutual information with the labels %.4f\n", report->nmi);
    if (!isnan(report->cross.first))
        printf("edges that join different labels: %.1f %% of all, %.1f %% of the first suspects, %.1f %% of all "
               "suspects\n",
               100.0 * report->cross.all, 100.0 * report->cross.first, 100.0 * report->cross.suspects);
    if (report->suspects)
        printf("%s: %zu suspect edges, the most suspect one first\n", report->suspects, result->suspected);
    if (report->gallery_out)
        printf("%s: the groups of the gallery's rows, those of their nearest rows\n", report->gallery_out);
}

void groups_report_write(const struct groups_report *report)
{
    const struct pml_groups_result *result = report->result;
    const struct pml_groups_options *options = report->options;
    const bool graph = result->rounds > 0;
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "method", report->method);
    json_text(&json, "laplacian", graph ? report->laplacian : NULL);
    json_count(&json, "count", options->count);
    json_count(&json, "seed", options->seed);
    json_text(&json, "out", report->out);
    json_open(&json, "sizes", '[');
    for (size_t g = 0; g < options->count; g++)
        json_count(&json, NULL, result->sizes[g]);
    json_close(&json, ']');
    json_number(&json, "nmi", report->nmi);
    json_count(&json, "neighbours", graph ? options->neighbours : 0);
    json_count(&json, "edges", result->graph.count);
    json_count(&json, "components", result->components);
    json_number(&json, "trace", graph ? result->traces[result->rounds - 1] : NAN);
    json_open(&json, "traces", '[');
    for (size_t i = 0; i < result->rounds; i++)
        json_number(&json, NULL, result->traces[i]);
    json_close(&json, ']');
    json_count(&json, "removed", result->removed);
    json_bool(&json, "collapsed", result->collapsed);
    json_number(&json, "cross_all", report->cross.all);
    json_number(&json, "cross_first", report->cross.first);
    json_number(&json, "cross_suspects", report->cross.suspects);
    json_text(&json, "suspects", report->suspects);
    json_text(&json, "gallery_out", report->gallery_out);
    json_close(&json, '}');
}

pml_outcome groups_report_list(const struct pml_groups_result *result, const int32_t *labels, struct pml_bytes *text)
{
    static const char head[] = "order,row,neighbour,weight,score,group,neighbour_group",
                      labelled[] = ",label,neighbour_label";
    char line[256];
    pml_outcome outcome = pml_bytes_append(text, head, strlen(head));
    if (outcome == PML_DONE && labels)
        outcome = pml_bytes_append(text, labelled, strlen(labelled));
    if (outcome == PML_DONE)
        outcome = pml_bytes_append(text, "\n", 1);
    for (size_t i = 0; outcome == PML_DONE && i < result->suspected; i++) {
        const struct pml_group_edge *edge = &result->graph.edges[result->suspects[i].edge];
        const uint32_t *ends = edge->ends;
        int length = snprintf(line, sizeof line, "%zu,%u,%u,%g,%.9g,%d,%d", i + 1, ends[0], ends[1], edge->weight,
                              result->suspects[i].score, (int)result->groups[ends[0]], (int)result->groups[ends[1]]);
        if (labels)
            length += snprintf(line + length, sizeof line - (size_t)length, ",%d,%d", (int)labels[ends[0]],
                               (int)labels[ends[1]]);
        line[length] = '\n';
        outcome = pml_bytes_append(text, line, (size_t)length + 1);
    }
    return outcome;
}
