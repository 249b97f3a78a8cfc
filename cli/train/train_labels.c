/* SPDX-License-Identifier: Apache-2.0
 * Reads rows with zeros and ones per label, trains, writes the head, and says how well labels are told. */
#include "train_labels.h"

#include "cli/shared/output.h"
#include "common/parallel.h"
#include "tools/labels/label_train.h"
#include "train_inputs.h"

#include <privatemail_public.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    const char *features, *labels; /* files */
    struct train_inputs inputs;
    struct pml_marks marks;
    struct pml_label_set set;
};

struct arguments {
    const char *method, *out;
    uint64_t seed, epochs, threads;
    bool force, json;
    struct part train, validation, test;
};

bool train_labels_asked(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--method=cgmvae") == 0 ||
            (strcmp(argv[i], "--method") == 0 && i + 1 < argc && strcmp(argv[i + 1], "cgmvae") == 0))
            return true;
    return false;
}

/* ---- options ---- */

static exit_code check_pair(const struct part *part, const char *name)
{
    if ((part->features != NULL) == (part->labels != NULL))
        return EXIT_OK;
    return command_fail(&command_train, EXIT_USAGE,
                        "--%s and --%s-labels belong together. Give both, or leave both out.", name, name);
}

static exit_code check_output(const struct arguments *arguments)
{
    const struct part *parts[] = {&arguments->train, &arguments->validation, &arguments->test};
    exit_code code = EXIT_OK;
    for (size_t i = 0; i < 3 && code == EXIT_OK; i++) {
        code = output_apart(&command_train, arguments->out, parts[i]->features, "an input");
        if (code == EXIT_OK)
            code = output_apart(&command_train, arguments->out, parts[i]->labels, "an input");
    }
    if (code == EXIT_OK)
        code = output_check(&command_train, arguments->out, arguments->force);
    return code == EXIT_OK ? output_try(&command_train, arguments->out, PML_FRONT_FILE_HEADER) : code;
}

static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    enum { UNUSED = 8 }; /* the first ones: options of other methods */
    const char *text = NULL;
    bool flag = false;
    struct option_spec specs[] = {
        {"dimensions", OPTION_TEXT, &text, false, false},
        {"centres", OPTION_TEXT, &text, false, false},
        {"with", OPTION_TEXT, &text, false, false},
        {"test-with", OPTION_TEXT, &text, false, false},
        {"uncertainty", OPTION_TEXT, &text, false, false},
        {"ridge", OPTION_TEXT, &text, false, false},
        {"root", OPTION_FLAG, &flag, false, false},
        {"validate", OPTION_FLAG, &flag, false, false},
        {"head", OPTION_FLAG, &flag, false, false}, /* it always is one */
        {"method", OPTION_TEXT, &arguments->method, true, false},
        {"features", OPTION_TEXT, &arguments->train.features, true, false},
        {"labels", OPTION_TEXT, &arguments->train.labels, true, false},
        {"validation", OPTION_TEXT, &arguments->validation.features, false, false},
        {"validation-labels", OPTION_TEXT, &arguments->validation.labels, false, false},
        {"test", OPTION_TEXT, &arguments->test.features, false, false},
        {"test-labels", OPTION_TEXT, &arguments->test.labels, false, false},
        {"out", OPTION_TEXT, &arguments->out, true, false},
        {"seed", OPTION_COUNT, &arguments->seed, false, false},
        {"epochs", OPTION_COUNT, &arguments->epochs, false, false},
        {"threads", OPTION_COUNT, &arguments->threads, false, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
    };
    exit_code code = options_parse(&command_train, argc, argv, specs, sizeof specs / sizeof *specs, NULL, 0, 0);
    const struct count_limit limits[] = {{"epochs", arguments->epochs, 1, 10000},
                                         {"threads", arguments->threads, 1, 256}};
    for (size_t i = 0; i < UNUSED && code == EXIT_OK; i++)
        if (specs[i].given)
            fprintf(stderr, "privatemail train: cgmvae does not use --%s. It is ignored.\n", specs[i].name);
    if (code == EXIT_OK)
        code = options_check_limits(&command_train, limits, 2, true);
    if (code == EXIT_OK)
        code = check_pair(&arguments->validation, "validation");
    if (code == EXIT_OK)
        code = check_pair(&arguments->test, "test");
    if (code == EXIT_OK && !pml_train_has_lapack())
        code = command_fail(&command_train, EXIT_USAGE,
                            "cgmvae needs LAPACKE, which this build does not know or cannot load. Install "
                            "liblapacke-dev and libopenblas-dev and build again.");
    return code == EXIT_OK ? check_output(arguments) : code;
}

/* ---- rows ---- */

static exit_code read_part(struct part *part)
{
    const struct train_paths paths = {.features = part->features};
    struct pml_message message = {""};
    if (!part->features)
        return EXIT_OK;
    exit_code code = train_inputs_read(&paths, false, &part->inputs);
    if (code != EXIT_OK)
        return code;
    const pml_outcome outcome = pml_marks_read(part->labels, &part->marks, &message);
    if (outcome != PML_DONE)
        return command_input(&command_train, outcome, &message);
    if (part->marks.rows != part->inputs.set.count)
        return command_fail(&command_train, EXIT_INPUT,
                            "%s has %zu rows, but %s has %zu. Give a row of zeros and ones per row of features.",
                            part->labels, part->marks.rows, part->features, part->inputs.set.count);
    if (part->inputs.features[0].columns > PML_FEATURES_MAX)
        return command_fail(&command_train, EXIT_INPUT,
                            "%s has %zu features per row, but a head takes at most %u. Reduce them first.",
                            part->features, part->inputs.features[0].columns, PML_FEATURES_MAX);
    part->set = (struct pml_label_set){part->inputs.set, &part->marks};
    return EXIT_OK;
}

static void free_part(struct part *part)
{
    train_inputs_free(&part->inputs);
    pml_marks_free(&part->marks);
}

/* ---- report ---- */

static const char *const way_names[PML_WAYS] = {"C-GMVAE", "binary relevance", "perceptron", "nearest rows"};
static const char *const way_keys[PML_WAYS] = {"cgmvae", "binary_relevance", "mlp", "knn"};

static void write_measures(struct json *json, const struct pml_label_measures *measures)
{
    json_number(json, "example_f1", measures->example_f1);
    json_number(json, "micro_f1", measures->micro_f1);
    json_number(json, "macro_f1", measures->macro_f1);
    json_number(json, "hamming", measures->hamming);
}

static void write_report(const struct arguments *arguments, const struct pml_label_result *result)
{
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "method", "cgmvae");
    json_count(&json, "features", arguments->train.inputs.features[0].columns);
    json_count(&json, "labels", arguments->train.marks.columns);
    json_count(&json, "seed", arguments->seed);
    json_text(&json, "out", arguments->out);
    json_count(&json, "bytes", result->size);
    json_text(&json, "measured", arguments->test.features ? "test" : "validation");
    json_count(&json, "epochs", result->epochs);
    json_count(&json, "best_epoch", result->best);
    json_number(&json, "first_loss", result->first);
    json_number(&json, "last_loss", result->last);
    write_measures(&json, &result->ways[PML_WAY_CGMVAE]);
    for (int way = PML_WAY_CGMVAE + 1; way < PML_WAYS; way++) {
        json_open(&json, way_keys[way], '{');
        write_measures(&json, &result->ways[way]);
        json_close(&json, '}');
    }
    json_count(&json, "neighbours", result->neighbours);
    json_number(&json, "head_micro_f1", result->head.micro_f1);
    json_close(&json, '}');
}

static void print_measures(const char *name, const struct pml_label_measures *measures)
{
    printf("  %-18s %11.4f %11.4f %11.4f %11.4f\n", name, measures->example_f1, measures->micro_f1, measures->macro_f1,
           measures->hamming);
}

static void print_report(const struct arguments *arguments, const struct pml_label_result *result)
{
    printf("%s: head of %zu features and %zu labels by cgmvae, %zu bytes\n", arguments->out,
           arguments->train.inputs.features[0].columns, arguments->train.marks.columns, result->size);
    printf("loss %.4g after the first of %zu epochs, %.4g after the last; epoch %zu is kept\n", result->first,
           result->epochs, result->last, result->best);
    printf("measured on %s rows:\n  %-18s %11s %11s %11s %11s\n", arguments->test.features ? "test" : "validation", "",
           "example F1", "micro F1", "macro F1", "Hamming");
    for (int way = 0; way < PML_WAYS; way++)
        print_measures(way_names[way], &result->ways[way]);
    print_measures("head in int8", &result->head);
}

/* ---- command ---- */

/* Rows to validate with that are not given are a third of those to train with. */
static exit_code train(const struct arguments *arguments, struct pml_label_result *result)
{
    const struct pml_progress progress = {progress_show, NULL, "training"};
    const struct pml_label_options options = {arguments->seed, (size_t)arguments->epochs,
                                              pml_parallel_threads((unsigned)arguments->threads), &progress};
    struct pml_label_set kept = arguments->train.set, held = arguments->train.set;
    struct pml_message message = {""};
    uint32_t *indices = malloc((kept.rows.count + 1) * sizeof *indices);
    if (!indices)
        return command_no_memory(&command_train);
    if (arguments->validation.features)
        held = arguments->validation.set;
    else
        pml_train_split(&arguments->train.set.rows, arguments->seed, indices, &kept.rows, &held.rows);
    const pml_outcome outcome = pml_label_train(
        &options, &kept, &held, arguments->test.features ? &arguments->test.set : &held, result, &message);
    progress_end();
    free(indices);
    return outcome == PML_DONE ? EXIT_OK : command_input(&command_train, outcome, &message);
}

exit_code train_labels_run(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct pml_label_result result = {0};
    exit_code code = parse(argc, argv, &arguments);
    if (code == EXIT_OK)
        code = read_part(&arguments.train);
    if (code == EXIT_OK)
        code = read_part(&arguments.validation);
    if (code == EXIT_OK)
        code = read_part(&arguments.test);
    if (code == EXIT_OK)
        code = train(&arguments, &result);
    if (code == EXIT_OK)
        code = output_write(&command_train, arguments.out, arguments.force, result.bytes, result.size);
    if (code == EXIT_OK)
        (arguments.json ? write_report : print_report)(&arguments, &result);
    pml_label_result_free(&result);
    free_part(&arguments.train);
    free_part(&arguments.validation);
    free_part(&arguments.test);
    return code;
}
