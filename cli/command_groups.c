/* SPDX-License-Identifier: Apache-2.0
 * groups: finds groups of rows that have no labels, and edges between rows that are likely wrong. */
#include "cli/groups/groups_report.h"
#include "cli/shared/output.h"

#include "common/parallel.h"
#include "common/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *method, *laplacian, *features, *labels, *gallery, *out, *gallery_out, *suspects;
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
    if (!arguments->gallery != !arguments->gallery_out)
        return command_fail(&command_groups, EXIT_USAGE,
                            "--gallery and --gallery-out belong together. Give both, or leave them out.");
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
        {"gallery", OPTION_TEXT, &arguments->gallery, false, false},
        {"gallery-out", OPTION_TEXT, &arguments->gallery_out, false, false},
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
    enum { FILES = 3 };
    const char *inputs[FILES] = {arguments->features, arguments->labels, arguments->gallery},
               *outputs[FILES] = {arguments->out, arguments->gallery_out, arguments->suspects};
    exit_code code = EXIT_OK;
    for (size_t i = 0; i < FILES; i++) {
        if (!outputs[i])
            continue;
        for (size_t j = 0; j < i && code == EXIT_OK; j++)
            if (outputs[j] && output_is(outputs[i], outputs[j]))
                code = command_fail(&command_groups, EXIT_USAGE,
                                    "%s is named for two outputs, of --out, --gallery-out and "
                                    "--suspects. Name different files.",
                                    outputs[i]);
        for (size_t j = 0; j < FILES && code == EXIT_OK; j++)
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
    struct pml_features features, gallery;
    struct pml_labels labels;
};

static exit_code read_inputs(const struct arguments *arguments, struct inputs *inputs)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_features_read(arguments->features, &inputs->features, &message);
    if (outcome == PML_DONE && arguments->labels)
        outcome = pml_labels_read(arguments->labels, &inputs->labels, &message);
    if (outcome == PML_DONE && arguments->gallery)
        outcome = pml_features_read(arguments->gallery, &inputs->gallery, &message);
    if (outcome != PML_DONE)
        return command_input(&command_groups, outcome, &message);
    if (arguments->labels && inputs->labels.rows != inputs->features.rows)
        return command_fail(&command_groups, EXIT_INPUT,
                            "%s has %zu labels, but %s has %zu rows. Give one label per row.", arguments->labels,
                            inputs->labels.rows, arguments->features, inputs->features.rows);
    if (arguments->gallery && inputs->gallery.columns != inputs->features.columns)
        return command_fail(&command_groups, EXIT_INPUT,
                            "%s has %zu features per row, but %s has %zu. Use features of the same model.",
                            arguments->gallery, inputs->gallery.columns, arguments->features, inputs->features.columns);
    return EXIT_OK;
}

static exit_code write_suspects(const struct arguments *arguments, const struct inputs *inputs,
                                const struct pml_groups_result *result)
{
    struct pml_bytes text = {0};
    const exit_code code =
        groups_report_list(result, inputs->labels.values, &text) != PML_DONE
            ? command_no_memory(&command_groups)
            : output_write(&command_groups, arguments->suspects, arguments->force, text.bytes, text.size);
    pml_bytes_free(&text);
    return code;
}

static exit_code write_groups(const char *path, const int32_t *groups, size_t rows)
{
    struct pml_message message = {""};
    const pml_outcome outcome = pml_labels_write(path, groups, rows, &message);
    return outcome == PML_DONE ? EXIT_OK : command_output(&command_groups, outcome, &message);
}

/* All files or none: when one fails, those before it are removed, unless they replaced others. */
static exit_code write_files(const struct arguments *arguments, const struct inputs *inputs,
                             const struct pml_groups_result *result, const int32_t *gallery)
{
    const bool fresh_suspects = arguments->suspects && !pml_system_exists(arguments->suspects);
    const bool fresh_gallery = gallery && !pml_system_exists(arguments->gallery_out);
    exit_code code = arguments->suspects ? write_suspects(arguments, inputs, result) : EXIT_OK;
    if (code != EXIT_OK)
        return code;
    if (gallery)
        code = write_groups(arguments->gallery_out, gallery, inputs->gallery.rows);
    const bool half = code == EXIT_OK;
    if (half)
        code = write_groups(arguments->out, result->groups, inputs->features.rows);
    if (code != EXIT_OK && fresh_suspects)
        (void)pml_system_remove(PML_HERE, arguments->suspects);
    if (code != EXIT_OK && half && fresh_gallery)
        (void)pml_system_remove(PML_HERE, arguments->gallery_out);
    return code;
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

/* The rows of the gallery get the group of their nearest rows. NULL without a gallery. */
static exit_code assign_gallery(const struct arguments *arguments, const struct inputs *inputs, const int32_t *groups,
                                int32_t **gallery)
{
    const struct pml_progress progress = {progress_show, NULL, "gallery"};
    if (!arguments->gallery)
        return EXIT_OK;
    *gallery = malloc(inputs->gallery.rows * sizeof **gallery);
    const pml_outcome outcome = *gallery ? pml_groups_assign(&inputs->features, groups, &inputs->gallery,
                                                             arguments->options.threads, &progress, *gallery)
                                         : PML_NO_MEMORY;
    progress_end();
    if (outcome == PML_REFUSED)
        return command_fail(&command_groups, EXIT_INPUT, "%s holds a row that is all zero. Remove it.",
                            arguments->gallery);
    return outcome == PML_DONE ? EXIT_OK : command_no_memory(&command_groups);
}

static exit_code measure(const struct inputs *inputs, struct groups_report *report)
{
    const int32_t *labels = inputs->labels.values;
    report->nmi = NAN;
    report->cross = (struct pml_group_cross){NAN, NAN, NAN};
    if (!labels)
        return EXIT_OK;
    report->cross = pml_group_cross(report->result, labels);
    const pml_outcome outcome = pml_group_nmi(report->result->groups, labels, inputs->features.rows, &report->nmi);
    return outcome == PML_DONE ? EXIT_OK : command_no_memory(&command_groups);
}

static exit_code find_groups(const struct arguments *arguments, struct inputs *inputs, struct pml_groups_result *result)
{
    struct pml_message message = {""};
    struct groups_report report = {.options = &arguments->options,
                                   .result = result,
                                   .method = arguments->method,
                                   .laplacian = arguments->laplacian,
                                   .out = arguments->out,
                                   .suspects = arguments->suspects,
                                   .gallery_out = arguments->gallery_out};
    int32_t *gallery = NULL;
    exit_code code = read_inputs(arguments, inputs);
    if (code == EXIT_OK) {
        const pml_outcome outcome = pml_groups_find(&arguments->options, &inputs->features, result, &message);
        progress_end();
        code = outcome == PML_DONE ? EXIT_OK : command_input(&command_groups, outcome, &message);
    }
    if (code == EXIT_OK)
        code = assign_gallery(arguments, inputs, result->groups, &gallery);
    if (code == EXIT_OK)
        code = measure(inputs, &report);
    if (code == EXIT_OK)
        code = write_files(arguments, inputs, result, gallery);
    free(gallery);
    if (code != EXIT_OK)
        return code;
    say_collapse(result);
    (arguments->json ? groups_report_write : groups_report_print)(&report);
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
    pml_features_free(&inputs.gallery);
    pml_labels_free(&inputs.labels);
    return code;
}

static const char help[] =
    "Usage: privatemail groups --features F.npy --count K --out G.npy [--suspects S.csv] [OPTIONS]\n\n"
    "Finds K groups of rows that have no labels, and writes the group of each row as labels that pack and index read:\n"
    "privatemail pack --labels G.npy --slots class makes a slot per group. With rsc it also says which neighbours are\n"
    "likely wrong.\n\n"
    "Options:\n"
    "  --method M         kmeans    of the rows themselves\n"
    "                     spectral  of the eigenvectors of the graph of nearest neighbours\n"
    "                     rsc       robust spectral clustering: the same, after removing edges that spoil it. Default\n"
    "  --features F.npy   float32, n rows\n"
    "  --count K          groups, 2 to 1000, and less than n\n"
    "  --out G.npy        the group of each row: int32, the largest group is 0\n"
    "  --gallery F.npy, --gallery-out G.npy\n"
    "                     other rows, such as the items of a gallery, get the most frequent group of their 8 nearest\n"
    "                     rows of --features: the labels for privatemail index\n"
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
