/* SPDX-License-Identifier: Apache-2.0
 * Says what train made. */
#include "train_report.h"

#include <math.h>
#include <stdio.h>

static void print_measures(const struct train_report *report)
{
    const struct {
        const char *what;
        double value;
    } lines[] = {
        {"mean average precision, queries of the first modality", report->measures->map_first},
        {"mean average precision, queries of the second modality", report->measures->map_second},
        {report->options->head ? "accuracy of the first guess" : "accuracy of the nearest training row",
         report->measures->accuracy},
        {"one of the first five guesses is right", report->measures->accuracy_5},
        {"precision at 8", report->measures->precision},
        {"accuracy of the vote of the 5 nearest", report->measures->nn_accuracy},
        {"the same without uncertainty, with a chosen ridge", report->measures->ridge_nn_accuracy},
        {"mean error of distances", report->measures->distance_error},
        {"share of the 8 nearest that are kept", report->measures->kept},
    };
    if (report->validated)
        printf("measured on a third of the rows, with fronts trained on the others:\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!isnan(lines[i].value))
            printf("  %-54s %.4f\n", lines[i].what, lines[i].value);
    if (report->measures->unmapped > 0)
        printf("  %zu rows map to nothing: they are far from every centre\n", report->measures->unmapped);
}

static void print_theorem(const struct pml_train_theorem *theorem)
{
    printf("objective");
    for (size_t i = 0; i < theorem->steps; i++)
        printf("%s%.6g", i == 0 ? " " : ", then ", theorem->objective[i]);
    printf("\nLipschitz constant %.6g, eta %.6g, gamma %.6g\n", theorem->lipschitz, theorem->eta, theorem->gamma);
    if (theorem->delta > 0.0)
        printf("the condition of the theorem holds for radii below %.3g\n", theorem->delta);
    else
        printf("the condition of the theorem does not hold: gamma is at most 2 eta\n");
}

/* What the file ends in: features of a front, labels of a head. */
static size_t outputs_of(const struct train_report *report)
{
    pml_front front;
    return pml_front_open(&front, report->result->bytes[0], report->result->sizes[0]) == PML_OK ? front.outputs : 0;
}

void train_report_print(const struct train_report *report)
{
    printf("%s: %s of %zu features to %zu%s by %s, %zu bytes\n", report->out, report->options->head ? "head" : "front",
           report->inputs, outputs_of(report), report->options->head ? " labels" : "",
           pml_train_traits[report->options->method].name, report->result->sizes[0]);
    if (report->out_with)
        printf("%s: front of %s, %zu bytes\n", report->out_with, report->with, report->result->sizes[1]);
    if (report->result->theorem.steps > 0)
        print_theorem(&report->result->theorem);
    print_measures(report);
}

static void write_theorem(struct json *json, const struct pml_train_theorem *theorem)
{
    const bool given = theorem->steps > 0;
    json_number(json, "lipschitz", given ? theorem->lipschitz : NAN);
    json_number(json, "eta", given ? theorem->eta : NAN);
    json_number(json, "gamma", given ? theorem->gamma : NAN);
    if (!given)
        return;
    json_bool(json, "condition", theorem->delta > 0.0);
    json_number(json, "delta", theorem->delta);
    json_open(json, "objective", '[');
    for (size_t i = 0; i < theorem->steps; i++)
        json_number(json, NULL, theorem->objective[i]);
    json_close(json, ']');
}

void train_report_write(const struct train_report *report)
{
    struct json json = {0};
    const bool kernels = pml_train_traits[report->options->method].centres;
    json_open(&json, NULL, '{');
    json_text(&json, "method", pml_train_traits[report->options->method].name);
    json_count(&json, "features", report->inputs);
    json_count(&json, "dimensions", report->options->head ? 0 : outputs_of(report));
    json_count(&json, "labels", report->options->head ? outputs_of(report) : 0);
    json_count(&json, "centres", kernels ? report->options->centres : 0);
    json_bool(&json, "root", report->root);
    json_count(&json, "seed", report->options->seed);
    json_text(&json, "out", report->out);
    json_count(&json, "bytes", report->result->sizes[0]);
    json_number(&json, "width", kernels ? report->result->widths[0] : NAN);
    json_number(&json, "ridge", report->result->ridge > 0.0 ? report->result->ridge : NAN);
    json_number(&json, "uncertainty", report->uncertain ? report->result->uncertainty : NAN);
    json_text(&json, "out_with", report->out_with);
    json_count(&json, "bytes_with", report->result->sizes[1]);
    json_number(&json, "width_with", kernels && report->out_with ? report->result->widths[1] : NAN);
    write_theorem(&json, &report->result->theorem);
    json_number(&json, "map_image_query", report->measures->map_first);
    json_number(&json, "map_text_query", report->measures->map_second);
    json_number(&json, "accuracy", report->measures->accuracy);
    json_number(&json, "accuracy_5", report->measures->accuracy_5);
    json_number(&json, "precision_at_8", report->measures->precision);
    json_number(&json, "nn_accuracy", report->measures->nn_accuracy);
    json_number(&json, "ridge_nn_accuracy", report->measures->ridge_nn_accuracy);
    json_number(&json, "distance_error", report->measures->distance_error);
    json_number(&json, "kept_of_8", report->measures->kept);
    json_count(&json, "unmapped", report->measures->unmapped);
    json_close(&json, '}');
}
