/* SPDX-License-Identifier: Apache-2.0
 * groups: finds groups of rows that have no labels, and edges between rows that are likely wrong. */
#include "cli/shared/output.h"
#include "tools/groups/group_measures.h"

#include "common/bytes.h"
#include "common/parallel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *method, *laplacian, *features, *labels, *out, *suspects;
    uint64_t count, neighbours, rounds, seed, threads;
    double remove, noise;
    bool force, json;
    bool laplacian_given, neighbours_given, rounds_given, remove_given, noise_given;
    struct pml_groups_options options;
};

static const char *const methods[] = {"kmeans", "spectral", "rsc"};
static const char *const laplacians[] = {"plain", "walk", "symmetric"};

/* ---- options ---- */

static int find_name(const char *name, const char *const names[3])
{
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

static exit_code check_share(const char *option, double value, double most)
{
    if (value >= 0.0 && value <= most) /* not NaN either */
        return EXIT_OK;
    return command_fail(&command_groups, EXIT_USAGE, "--%s must be a share from 0 to %g.", option, most);
}

static exit_code read_names(struct arguments *arguments)
{
    const int method = find_name(arguments->method, methods), laplacian = find_name(arguments->laplacian, laplacians);
    if (method < 0)
        return command_fail(&command_groups, EXIT_USAGE, "--method must be kmeans, spectral or rsc, not '%s'.",
                            arguments->method);
    if (laplacian < 0)
        return command_fail(&command_groups, EXIT_USAGE, "--laplacian must be plain, walk or symmetric, not '%s'.",
                            arguments->laplacian);
    arguments->options.method = (pml_groups_method)method;
    arguments->options.laplacian = (pml_laplacian)laplacian;
    if (arguments->suspects && method != PML_GROUPS_RSC)
        return command_fail(&command_groups, EXIT_USAGE,
                            "--suspects lists the edges that rsc removes. Use --method rsc, or leave it out.");
    if (method != PML_GROUPS_KMEANS && !pml_groups_has_arpack())
        return command_fail(
            &command_groups, EXIT_USAGE,
            "%s needs ARPACK, which this build does not know or cannot load. Install libarpack2-dev and "
            "build again, or use --method kmeans.",
            arguments->method);
    return EXIT_OK;
}

/* What the method does not use is ignored, and said so. */
static void note_unused(const struct arguments *arguments)
{
    const bool graph = arguments->options.method != PML_GROUPS_KMEANS;
    const struct {
        const char *name;
        bool unused;
    } notes[] = {{"laplacian", arguments->laplacian_given && !graph},
                 {"neighbours", arguments->neighbours_given && !graph},
                 {"noise", arguments->noise_given && !graph},
                 {"rounds", arguments->rounds_given && arguments->options.method != PML_GROUPS_RSC},
                 {"remove", arguments->remove_given && arguments->options.method != PML_GROUPS_RSC}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].unused)
            fprintf(stderr, "privatemail groups: %s does not use --%s. It is ignored.\n", arguments->method,
                    notes[i].name);
}

static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    struct option_spec specs[] = {
        {"laplacian", OPTION_TEXT, &arguments->laplacian, false, false},
        {"neighbours", OPTION_COUNT, &arguments->neighbours, false, false},
        {"remove", OPTION_NUMBER, &arguments->remove, false, false},
        {"noise", OPTION_NUMBER, &arguments->noise, false, false},
        {"rounds", OPTION_COUNT, &arguments->rounds, false, false},
        {"method", OPTION_TEXT, &arguments->method, false, false},
        {"features", OPTION_TEXT, &arguments->features, true, false},
        {"labels", OPTION_TEXT, &arguments->labels, false, false},
        {"count", OPTION_COUNT, &arguments->count, true, false},
        {"seed", OPTION_COUNT, &arguments->seed, false, false},
        {"threads", OPTION_COUNT, &arguments->threads, false, false},
        {"out", OPTION_TEXT, &arguments->out, true, false},
        {"suspects", OPTION_TEXT, &arguments->suspects, false, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
    };
    exit_code code = options_parse(&command_groups, argc, argv, specs, sizeof specs / sizeof *specs, NULL, 0, 0);
    arguments->laplacian_given = specs[0].given;
    arguments->neighbours_given = specs[1].given;
    arguments->remove_given = specs[2].given;
    arguments->noise_given = specs[3].given;
    arguments->rounds_given = specs[4].given;
    const struct count_limit limits[] = {{"count", arguments->count, 2, PML_GROUPS_COUNT},
                                         {"neighbours", arguments->neighbours, 1, PML_GROUPS_NEIGHBOURS},
                                         {"rounds", arguments->rounds, 1, PML_GROUPS_ROUNDS}};
    const struct count_limit others[] = {{"threads", arguments->threads, 1, 256}};
    if (code == EXIT_OK)
        code = options_check_limits(&command_groups, limits, 3, false);
    if (code == EXIT_OK)
        code = options_check_limits(&command_groups, others, 1, true);
    if (code == EXIT_OK)
        code = check_share("remove", arguments->remove, PML_GROUPS_REMOVE);
    if (code == EXIT_OK)
        code = check_share("noise", arguments->noise, 1.0);
    if (code == EXIT_OK)
        code = read_names(arguments);
    if (code == EXIT_OK)
        note_unused(arguments);
    return code;
}

static exit_code check_outputs(const struct arguments *arguments)
{
    const char *inputs[] = {arguments->features, arguments->labels}, *outputs[] = {arguments->out, arguments->suspects};
    exit_code code = EXIT_OK;
    if (arguments->suspects && output_is(arguments->out, arguments->suspects))
        return command_fail(&command_groups, EXIT_USAGE, "--out and --suspects are the same file. Name two files.");
    for (size_t i = 0; i < 2 && outputs[i] && code == EXIT_OK; i++) {
        for (size_t j = 0; j < 2 && code == EXIT_OK; j++)
            code = output_apart(&command_groups, outputs[i], inputs[j], "an input");
        if (code == EXIT_OK)
            code = output_check(&command_groups, outputs[i], arguments->force);
        if (code == EXIT_OK)
            code = output_try(&command_groups, outputs[i], 1);
    }
    return code;
}

/* ---- files ---- */

struct inputs {
    struct pml_features features;
    struct pml_labels labels;
};

static exit_code read_inputs(const struct arguments *arguments, struct inputs *inputs)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_features_read(arguments->features, &inputs->features, &message);
    if (outcome == PML_DONE && arguments->labels)
        outcome = pml_labels_read(arguments->labels, &inputs->labels, &message);
    if (outcome != PML_DONE)
        return command_input(&command_groups, outcome, &message);
    if (arguments->labels && inputs->labels.rows != inputs->features.rows)
        return command_fail(&command_groups, EXIT_INPUT,
                            "%s has %zu labels, but %s has %zu rows. Give one label per row.", arguments->labels,
                            inputs->labels.rows, arguments->features, inputs->features.rows);
    return EXIT_OK;
}

/* One line per removed edge, the most suspect one first. */
static pml_outcome list_suspects(const struct pml_groups_result *result, const int32_t *labels, struct pml_bytes *text)
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

/* Both files or neither: when the second fails, the first is removed, unless it replaced another. */
static exit_code write_files(const struct arguments *arguments, const struct inputs *inputs,
                             const struct pml_groups_result *result)
{
    const bool fresh = arguments->suspects && access(arguments->suspects, F_OK) != 0;
    struct pml_message message = {""};
    struct pml_bytes text = {0};
    exit_code code = EXIT_OK;
    if (arguments->suspects)
        code = list_suspects(result, inputs->labels.values, &text) != PML_DONE
                   ? command_no_memory(&command_groups)
                   : output_write(&command_groups, arguments->suspects, arguments->force, text.bytes, text.size);
    pml_bytes_free(&text);
    if (code != EXIT_OK)
        return code;
    const pml_outcome outcome = pml_labels_write(arguments->out, result->groups, inputs->features.rows, &message);
    if (outcome == PML_DONE)
        return EXIT_OK;
    if (fresh)
        unlink(arguments->suspects);
    return command_output(&command_groups, outcome, &message);
}

/* ---- report ---- */

struct measures {
    double nmi; /* NAN without labels */
    struct pml_group_cross cross;
};

static void print_report(const struct arguments *arguments, const struct pml_groups_result *result,
                         const struct measures *measures)
{
    const size_t count = arguments->options.count;
    printf("%s: %zu groups by %s, the largest of %zu rows, the smallest of %zu\n", arguments->out, count,
           arguments->method, result->sizes[0], result->sizes[count - 1]);
    if (result->rounds > 0)
        printf("graph of %zu edges in %zu parts, sum of the smallest eigenvalues %.6g\n", result->graph.count,
               result->components, result->traces[0]);
    if (arguments->options.method == PML_GROUPS_RSC)
        printf("%zu edges removed in %zu rounds, sum of the smallest eigenvalues now %.6g\n", result->removed,
               result->rounds - 1, result->traces[result->rounds - 1]);
    if (!isnan(measures->nmi))
        printf("normalised mutual information with the labels %.4f\n", measures->nmi);
    if (!isnan(measures->cross.first))
        printf("edges that join different labels: %.1f %% of all, %.1f %% of the first suspects, %.1f %% of all "
               "suspects\n",
               100.0 * measures->cross.all, 100.0 * measures->cross.first, 100.0 * measures->cross.suspects);
    if (arguments->suspects)
        printf("%s: %zu suspect edges, the most suspect one first\n", arguments->suspects, result->suspected);
}

static void write_report(const struct arguments *arguments, const struct pml_groups_result *result,
                         const struct measures *measures)
{
    const bool graph = result->rounds > 0;
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "method", arguments->method);
    json_text(&json, "laplacian", graph ? arguments->laplacian : NULL);
    json_count(&json, "count", arguments->count);
    json_count(&json, "seed", arguments->seed);
    json_text(&json, "out", arguments->out);
    json_open(&json, "sizes", '[');
    for (size_t g = 0; g < arguments->count; g++)
        json_count(&json, NULL, result->sizes[g]);
    json_close(&json, ']');
    json_number(&json, "nmi", measures->nmi);
    json_count(&json, "neighbours", graph ? arguments->neighbours : 0);
    json_count(&json, "edges", result->graph.count);
    json_count(&json, "components", result->components);
    json_number(&json, "trace", graph ? result->traces[result->rounds - 1] : NAN);
    json_open(&json, "traces", '[');
    for (size_t i = 0; i < result->rounds; i++)
        json_number(&json, NULL, result->traces[i]);
    json_close(&json, ']');
    json_count(&json, "removed", result->removed);
    json_bool(&json, "collapsed", result->collapsed);
    json_number(&json, "cross_all", measures->cross.all);
    json_number(&json, "cross_first", measures->cross.first);
    json_number(&json, "cross_suspects", measures->cross.suspects);
    json_text(&json, "suspects", arguments->suspects);
    json_close(&json, '}');
}

static exit_code measure(const struct inputs *inputs, const struct pml_groups_result *result, struct measures *measures)
{
    *measures = (struct measures){NAN, {NAN, NAN, NAN}};
    if (!inputs->labels.values)
        return EXIT_OK;
    measures->cross = pml_group_cross(result, inputs->labels.values);
    if (pml_group_nmi(result->groups, inputs->labels.values, inputs->features.rows, &measures->nmi) != PML_DONE)
        return command_no_memory(&command_groups);
    return EXIT_OK;
}

/* ---- command ---- */

static void say_collapse(const struct pml_groups_result *result)
{
    if (result->collapsed)
        fprintf(
            stderr,
            "privatemail groups: without the edges of round %zu, most rows would have become one group, or the graph "
            "would have fallen apart. The groups are those before it. There are more wrong edges than --remove allows "
            "for, or fewer groups than --count: compare with a larger --remove or a smaller --count.\n",
            result->rounds);
}

static exit_code find_groups(const struct arguments *arguments, struct inputs *inputs, struct pml_groups_result *result)
{
    struct pml_message message = {""};
    struct measures measures;
    exit_code code = read_inputs(arguments, inputs);
    if (code == EXIT_OK) {
        const pml_outcome outcome = pml_groups_find(&arguments->options, &inputs->features, result, &message);
        progress_end();
        code = outcome == PML_DONE ? EXIT_OK : command_input(&command_groups, outcome, &message);
    }
    if (code == EXIT_OK)
        code = measure(inputs, result, &measures);
    if (code == EXIT_OK)
        code = write_files(arguments, inputs, result);
    if (code != EXIT_OK)
        return code;
    say_collapse(result);
    (arguments->json ? write_report : print_report)(arguments, result, &measures);
    return EXIT_OK;
}

static exit_code run(int argc, char **argv)
{
    const struct pml_progress progress = {progress_show, NULL, "groups"};
    struct arguments arguments = {.method = methods[PML_GROUPS_RSC],
                                  .laplacian = laplacians[PML_LAPLACIAN_WALK],
                                  .neighbours = PML_GROUPS_NEIGHBOURS_USUAL,
                                  .remove = PML_GROUPS_REMOVE_USUAL,
                                  .rounds = PML_GROUPS_ROUNDS_USUAL};
    struct inputs inputs = {0};
    struct pml_groups_result result = {0};
    exit_code code = parse(argc, argv, &arguments);
    if (code == EXIT_OK)
        code = check_outputs(&arguments);
    if (code == EXIT_OK) {
        struct pml_groups_options *options = &arguments.options;
        options->count = (size_t)arguments.count;
        options->neighbours = (unsigned)arguments.neighbours;
        options->rounds = (unsigned)arguments.rounds;
        options->remove = arguments.remove;
        options->noise = arguments.noise;
        options->seed = arguments.seed;
        options->threads = pml_parallel_threads((unsigned)arguments.threads);
        options->progress = &progress;
        code = find_groups(&arguments, &inputs, &result);
    }
    pml_groups_free(&result);
    pml_features_free(&inputs.features);
    pml_labels_free(&inputs.labels);
    return code;
}

static const char help[] =
    "Usage: privatemail groups --features F.npy --count K --out G.npy [--suspects S.csv] [OPTIONS]\n\n"
    "Finds K groups of rows that have no labels, and writes the group of each row as labels that pack and index read:\n"
    "privatemail pack --labels G.npy --slots group. With rsc it also says which neighbours are likely wrong.\n\n"
    "Options:\n"
    "  --method M         kmeans    of the rows themselves\n"
    "                     spectral  of the eigenvectors of the graph of nearest neighbours\n"
    "                     rsc       robust spectral clustering: the same, after removing edges that spoil it. Default\n"
    "  --features F.npy   float32, n rows\n"
    "  --count K          groups, 2 to 1000, and less than n\n"
    "  --out G.npy        the group of each row: int32, the largest group is 0\n"
    "  --neighbours N     nearest rows that a row is joined with, 1 to 64. Default 10\n"
    "  --remove SHARE     rsc: how many of the edges may be removed, 0 to 0.5. Default 0.05. Every row keeps half of "
    "its\n"
    "                     own\n"
    "  --rounds N         rsc: how often the edges to remove are chosen anew, 1 to 20, while the eigenvalues fall. "
    "Default "
    "2\n"
    "  --laplacian L      plain      D - A\n"
    "                     walk       its rows divided by the degrees. Default\n"
    "                     symmetric  divided on both sides; rsc then removes edges greedily\n"
    "  --suspects S.csv   rsc: the removed edges, the most suspect one first\n"
    "  --labels L.npy     n integers, to measure with: how far groups agree with them, and how many removed edges "
    "join\n"
    "                     different labels\n"
    "  --noise SHARE      adds random edges to the graph first, 0 to 1, to see what a method stands. Default 0\n"
    "  --seed N           where k-means starts, and random edges. Default 0\n"
    "  --threads N        1 to 256. Default: the number of processors. Never changes the groups\n"
    "  --force            replace the files of --out and --suspects\n"
    "  --json             JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help             this text\n\n"
    "spectral and rsc need ARPACK. An option that the method does not use is ignored, with a note. The same machine\n"
    "gives the same groups for the same input; another one may round differently.\n\n"
    "Exit codes: 0 done, 2 wrong options, or no ARPACK, 3 an input cannot be read or does not fit, 4 a file cannot be\n"
    "written, 7 out of memory.\n\n"
    "Example: privatemail groups --features public.npy --count 10 --out groups.npy --suspects suspects.csv\n";

const struct command command_groups = {"groups", "find groups of rows that have no labels", help, run};
