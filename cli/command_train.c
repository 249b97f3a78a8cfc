/* SPDX-License-Identifier: Apache-2.0
 * train: makes fronts, which map the features of a modality to those of a pack, and says how good they are. */
#include "cli/shared/output.h"
#include "cli/train/train_baseline.h"
#include "cli/train/train_inputs.h"
#include "cli/train/train_labels.h"
#include "cli/train/train_report.h"

#include "common/fronts.h"
#include "common/parallel.h"
#include "common/system.h"

#include <privatemail.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *method, *features, *labels, *with, *uncertainty, *out, *test, *test_with, *test_labels, *front;
    uint64_t inputs, dimensions, centres, seed, threads;
    bool root, validate, head, force, json;
    bool centres_given, seed_given, dimensions_given, ridge_given;
    struct pml_fronts fronts; /* of --front, or none */
    struct train_pair pair, test_pair;
    char *out_with; /* NAME.text.pmfr; NULL in one modality */
    struct pml_train_options options;
};

/* ---- options ---- */

static exit_code read_method(struct arguments *arguments)
{
    const bool labels = arguments->labels != NULL, pair = arguments->with != NULL;
    const char *method = arguments->method ? arguments->method
                         : arguments->head ? "lda"
                         : labels          ? (pair ? "codes" : "lda")
                         : pair            ? "cca"
                                           : "pca";
    for (int i = 0; i < PML_TRAIN_METHODS; i++)
        if (strcmp(method, pml_train_traits[i].name) == 0) {
            arguments->options.method = (pml_train_method)i;
            return EXIT_OK;
        }
    return command_fail(
        &command_train, EXIT_USAGE,
        "--method must be signs, gauss, pca, dct, lda, cca, codes, mnse, kpca, kda, kmfa or cgmvae, not "
        "'%s'.",
        method);
}

static void ignore(const char *option, const char *method)
{
    fprintf(stderr, "privatemail train: %s does not use --%s. It is ignored.\n", method, option);
}

/* What the method does not use is ignored, and said so. */
static void drop_unused(struct arguments *arguments)
{
    const struct pml_train_trait *trait = &pml_train_traits[arguments->options.method];
    const bool measured = arguments->validate || arguments->test;
    if (arguments->with && !trait->may_pair) {
        ignore("with", trait->name);
        arguments->with = NULL;
    }
    if (arguments->test_with && !arguments->with) {
        ignore("test-with", trait->name);
        arguments->test_with = NULL;
    }
    if (arguments->labels && !trait->labels && !measured) {
        ignore("labels", trait->name);
        arguments->labels = NULL;
    }
    if (arguments->head && arguments->dimensions_given)
        ignore("dimensions", "a head");
    if (arguments->uncertainty && !pml_train_is_graph(arguments->options.method)) {
        ignore("uncertainty", trait->name);
        arguments->uncertainty = NULL;
    }
    if (arguments->ridge_given &&
        (!pml_train_is_graph(arguments->options.method) || arguments->options.method == PML_TRAIN_KPCA)) {
        ignore("ridge", trait->name);
        arguments->ridge_given = false;
        arguments->options.ridge = 0.0;
    }
    if (arguments->centres_given && !trait->centres)
        ignore("centres", trait->name);
    if (arguments->seed_given && !trait->seed && !arguments->validate)
        ignore("seed", trait->name);
}

static exit_code check_needs(const struct arguments *arguments)
{
    const struct pml_train_trait *trait = &pml_train_traits[arguments->options.method];
    const bool signs = arguments->options.method == PML_TRAIN_SIGNS;
    if (trait->lapack && !pml_train_has_lapack())
        return command_fail(
            &command_train, EXIT_USAGE,
            "%s needs LAPACKE, which this build does not know or cannot load. Install liblapacke-dev and "
            "libopenblas-dev and build again, or use --method signs, gauss or dct.",
            trait->name);
    if (!arguments->features && !(signs && arguments->inputs > 0))
        return command_fail(&command_train, EXIT_USAGE,
                            "--features is missing. privatemail train --help explains what it "
                            "is.");
    if (arguments->inputs > 0 && (!signs || arguments->features))
        return command_fail(&command_train, EXIT_USAGE,
                            "--inputs belongs to --method signs, instead of --features. Leave it out.");
    if (arguments->head && !trait->head)
        return command_fail(&command_train, EXIT_USAGE, "%s trains no head. Use --method lda.", trait->name);
    if (arguments->head && arguments->root)
        return command_fail(&command_train, EXIT_USAGE,
                            "a head takes no roots. Leave --root out, or give the front that does with --front.");
    if (arguments->front && !arguments->head)
        return command_fail(&command_train, EXIT_USAGE,
                            "--front belongs to --head: the front of the pack that the head is for. Leave it out.");
    if (!arguments->head && !arguments->dimensions_given)
        return command_fail(&command_train, EXIT_USAGE,
                            "--dimensions is missing. privatemail train --help explains what it is.");
    if (trait->labels && !arguments->labels)
        return command_fail(&command_train, EXIT_USAGE, "%s needs the class of each row. Give --labels.", trait->name);
    if (arguments->ridge_given && !(arguments->options.ridge > 0.0))
        return command_fail(&command_train, EXIT_USAGE,
                            "--ridge must be above 0, such as 0.01. Leave it out, and held-out rows choose it.");
    if (trait->pair && !arguments->with)
        return command_fail(&command_train, EXIT_USAGE, "%s needs two modalities. Give --with text=T.npy.",
                            trait->name);
    if (arguments->validate && arguments->test)
        return command_fail(&command_train, EXIT_USAGE,
                            "--validate and --test exclude each other. Leave one of them out.");
    if ((arguments->test_with || arguments->test_labels) && !arguments->test)
        return command_fail(&command_train, EXIT_USAGE,
                            "--test-with and --test-labels belong to --test. Give it, or leave them out.");
    if (arguments->test && arguments->with && !arguments->test_with)
        return command_fail(&command_train, EXIT_USAGE, "--test needs both modalities. Give --test-with %s=T.npy.",
                            arguments->pair.name);
    if (arguments->test_with && strcmp(arguments->pair.name, arguments->test_pair.name) != 0)
        return command_fail(&command_train, EXIT_USAGE, "--test-with must name the modality of --with, %s.",
                            arguments->pair.name);
    if (!arguments->features && (arguments->validate || arguments->test))
        return command_fail(&command_train, EXIT_USAGE, "--validate and --test need rows. Give --features.");
    return EXIT_OK;
}

/* NAME.pmfr becomes NAME.text.pmfr. */
static exit_code name_second(struct arguments *arguments)
{
    static const char ending[] = ".pmfr";
    const size_t length = strlen(arguments->out), size = length + sizeof ending + PML_MODALITY_NAME_MAX + 2;
    const bool ends = length > strlen(ending) && strcmp(arguments->out + length - strlen(ending), ending) == 0;
    if (!arguments->with)
        return EXIT_OK;
    arguments->out_with = malloc(size);
    if (!arguments->out_with)
        return command_no_memory(&command_train);
    snprintf(arguments->out_with, size, "%.*s.%s%s", (int)(ends ? length - strlen(ending) : length), arguments->out,
             arguments->pair.name, ending);
    return EXIT_OK;
}

static exit_code check_outputs(const struct arguments *arguments)
{
    const char *inputs[] = {arguments->features,    arguments->labels,      arguments->pair.path,
                            arguments->test,        arguments->test_labels, arguments->test_pair.path,
                            arguments->uncertainty, arguments->front};
    const char *outputs[] = {arguments->out, arguments->out_with};
    exit_code code = EXIT_OK;
    for (size_t i = 0; i < 2 && outputs[i] && code == EXIT_OK; i++) {
        for (size_t j = 0; j < sizeof inputs / sizeof *inputs && code == EXIT_OK; j++)
            code = output_apart(&command_train, outputs[i], inputs[j], "an input");
        if (code == EXIT_OK)
            code = output_check(&command_train, outputs[i], arguments->force);
        if (code == EXIT_OK)
            code = output_try(&command_train, outputs[i], PML_FRONT_FILE_HEADER);
    }
    return code;
}

static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    struct option_spec specs[] = {
        {"centres", OPTION_COUNT, &arguments->centres, false, false},
        {"seed", OPTION_COUNT, &arguments->seed, false, false},
        {"dimensions", OPTION_COUNT, &arguments->dimensions, false, false},
        {"ridge", OPTION_NUMBER, &arguments->options.ridge, false, false},
        {"method", OPTION_TEXT, &arguments->method, false, false},
        {"head", OPTION_FLAG, &arguments->head, false, false},
        {"front", OPTION_TEXT, &arguments->front, false, false},
        {"features", OPTION_TEXT, &arguments->features, false, false},
        {"inputs", OPTION_COUNT, &arguments->inputs, false, false},
        {"labels", OPTION_TEXT, &arguments->labels, false, false},
        {"with", OPTION_TEXT, &arguments->with, false, false},
        {"uncertainty", OPTION_TEXT, &arguments->uncertainty, false, false},
        {"root", OPTION_FLAG, &arguments->root, false, false},
        {"out", OPTION_TEXT, &arguments->out, true, false},
        {"validate", OPTION_FLAG, &arguments->validate, false, false},
        {"test", OPTION_TEXT, &arguments->test, false, false},
        {"test-with", OPTION_TEXT, &arguments->test_with, false, false},
        {"test-labels", OPTION_TEXT, &arguments->test_labels, false, false},
        {"threads", OPTION_COUNT, &arguments->threads, false, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
    };
    exit_code code = options_parse(&command_train, argc, argv, specs, sizeof specs / sizeof *specs, NULL, 0, 0);
    arguments->centres_given = specs[0].given;
    arguments->seed_given = specs[1].given;
    arguments->dimensions_given = specs[2].given;
    arguments->ridge_given = specs[3].given;
    const struct count_limit limits[] = {
        {"centres", arguments->centres, 2, PML_FRONT_CENTRES_MAX},
        {"dimensions", specs[2].given ? arguments->dimensions : 1, 1, PML_FEATURES_MAX}};
    const struct count_limit others[] = {{"inputs", arguments->inputs, 1, PML_FRONT_INPUTS_MAX},
                                         {"threads", arguments->threads, 1, 256}};
    if (code == EXIT_OK)
        code = options_check_limits(&command_train, limits, 2, false);
    if (code == EXIT_OK)
        code = options_check_limits(&command_train, others, 2, true);
    if (code == EXIT_OK)
        code = read_method(arguments);
    if (code == EXIT_OK)
        drop_unused(arguments);
    if (code == EXIT_OK)
        code = train_pair_read("with", arguments->with, &arguments->pair);
    if (code == EXIT_OK)
        code = train_pair_read("test-with", arguments->test_with, &arguments->test_pair);
    if (code == EXIT_OK)
        code = check_needs(arguments);
    return code == EXIT_OK ? name_second(arguments) : code;
}

/* ---- command ---- */

static exit_code fail(pml_outcome outcome, const struct pml_message *message)
{
    return command_input(&command_train, outcome, message);
}

/* A third is held out for measuring; what is written is trained with all rows. */
static exit_code validate(const struct arguments *arguments, const struct pml_train_set *set,
                          struct pml_train_measures *measures)
{
    struct pml_message message = {""};
    struct pml_train_set kept, held;
    struct pml_train_result result = {0};
    uint32_t *indices = malloc((set->count + 1) * sizeof *indices);
    if (!indices)
        return command_no_memory(&command_train);
    pml_train_split(set, arguments->seed, indices, &kept, &held);
    pml_outcome outcome = pml_train(&arguments->options, &kept, &result, &message);
    if (outcome == PML_DONE)
        outcome = pml_train_measure(&result, &kept, &held, arguments->options.threads, measures, &message);
    if (outcome == PML_DONE)
        outcome = train_baseline(&arguments->options, &kept, &held, &measures->ridge_nn_accuracy, &message);
    pml_train_free(&result);
    free(indices);
    return outcome == PML_DONE ? EXIT_OK : fail(outcome, &message);
}

static exit_code test(const struct arguments *arguments, const struct train_inputs *train,
                      const struct pml_train_result *result, struct pml_train_measures *measures)
{
    const struct train_paths paths = {arguments->test, arguments->test_pair.path, arguments->test_labels, NULL};
    struct pml_message message = {""};
    struct train_inputs rows;
    exit_code code = train_inputs_read(&paths, arguments->root, &rows);
    rows.set.front = train->set.front;
    if (code == EXIT_OK)
        code = train_inputs_agree(train, &rows, &paths);
    if (code == EXIT_OK) {
        pml_outcome outcome =
            pml_train_measure(result, &train->set, &rows.set, arguments->options.threads, measures, &message);
        if (outcome == PML_DONE)
            outcome =
                train_baseline(&arguments->options, &train->set, &rows.set, &measures->ridge_nn_accuracy, &message);
        code = outcome == PML_DONE ? EXIT_OK : fail(outcome, &message);
    }
    train_inputs_free(&rows);
    return code;
}

/* Both files or neither: when the second fails, the first is removed, unless it replaced another. */
static exit_code write_fronts(const struct arguments *arguments, const struct pml_train_result *result)
{
    const bool fresh = !pml_system_exists(arguments->out);
    exit_code code = output_write(&command_train, arguments->out, arguments->force, result->bytes[0], result->sizes[0]);
    if (code != EXIT_OK || !arguments->out_with)
        return code;
    code = output_write(&command_train, arguments->out_with, arguments->force, result->bytes[1], result->sizes[1]);
    if (code != EXIT_OK && fresh)
        (void)pml_system_remove(PML_HERE, arguments->out);
    return code;
}

static void report(const struct arguments *arguments, size_t inputs, const struct pml_train_result *result,
                   const struct pml_train_measures *measures)
{
    const struct train_report report = {.options = &arguments->options,
                                        .result = result,
                                        .measures = measures,
                                        .out = arguments->out,
                                        .out_with = arguments->out_with,
                                        .with = arguments->pair.name,
                                        .inputs = inputs,
                                        .root = arguments->root,
                                        .validated = arguments->validate,
                                        .uncertain = arguments->uncertainty != NULL};
    (arguments->json ? train_report_write : train_report_print)(&report);
}

/* The front of the pack that a head is for: the rows pass it first. */
static exit_code read_front(struct arguments *arguments, struct train_inputs *inputs)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_fronts_read(&arguments->fronts, arguments->front, &message);
    if (outcome != PML_DONE)
        return fail(outcome, &message);
    inputs->set.front = &arguments->fronts.list[0].front;
    return EXIT_OK;
}

static exit_code train(struct arguments *arguments, struct train_inputs *inputs)
{
    const struct train_paths paths = {arguments->features, arguments->pair.path, arguments->labels,
                                      arguments->uncertainty};
    const size_t columns = arguments->features ? 0 : arguments->inputs;
    struct pml_message message = {""};
    struct pml_train_result result = {0};
    struct pml_train_measures measures = pml_train_unmeasured;
    exit_code code = arguments->features ? train_inputs_read(&paths, arguments->root, inputs) : EXIT_OK;
    if (code == EXIT_OK && arguments->front)
        code = read_front(arguments, inputs);
    if (code == EXIT_OK && arguments->validate)
        code = validate(arguments, &inputs->set, &measures);
    if (code == EXIT_OK) {
        pml_outcome outcome = arguments->features
                                  ? pml_train(&arguments->options, &inputs->set, &result, &message)
                                  : pml_train_signs(&arguments->options, columns, arguments->root, &result, &message);
        code = outcome == PML_DONE ? EXIT_OK : fail(outcome, &message);
    }
    if (code == EXIT_OK && arguments->test)
        code = test(arguments, inputs, &result, &measures);
    progress_end();
    if (code == EXIT_OK)
        code = write_fronts(arguments, &result);
    if (code == EXIT_OK)
        report(arguments, arguments->features ? inputs->features[0].columns : columns, &result, &measures);
    pml_train_free(&result);
    return code;
}

static exit_code run(int argc, char **argv)
{
    if (train_labels_asked(argc, argv))
        return train_labels_run(argc, argv);
    const struct pml_progress progress = {progress_show, NULL, "training"};
    struct arguments arguments = {.centres = 128};
    struct train_inputs inputs = {0};
    exit_code code = parse(argc, argv, &arguments);
    if (code == EXIT_OK)
        code = check_outputs(&arguments);
    if (code == EXIT_OK) {
        arguments.options.dimensions = (size_t)arguments.dimensions;
        arguments.options.centres = (size_t)arguments.centres;
        arguments.options.head = arguments.head;
        arguments.options.seed = arguments.seed;
        arguments.options.threads = pml_parallel_threads((unsigned)arguments.threads);
        arguments.options.progress = &progress;
        code = train(&arguments, &inputs);
    }
    train_inputs_free(&inputs);
    free(arguments.out_with);
    pml_fronts_free(&arguments.fronts);
    return code;
}

static const char help[] =
    "Usage: privatemail train --features F.npy [--labels L.npy] [--with text=T.npy] --dimensions k --out NAME.pmfr\n"
    "                         [OPTIONS]\n"
    "       privatemail train --head --features F.npy --labels L.npy [--front X.pmfr] --out NAME.pmfr [OPTIONS]\n\n"
    "Trains a front, which maps the features of one modality to those of a pack (privatemail pack --front). With two\n"
    "modalities, such as pictures and words, it trains a front for each, so that one finds the other: NAME.pmfr and\n"
    "NAME.text.pmfr. A front is public. Kernels hold means of rows, and sometimes a row itself: give rows that may be\n"
    "published. With --head it trains a head, which guesses the labels of a query on the device (privatemail pack\n"
    "--head, privatemail guess).\n\n"
    "Options:\n"
    "  --method M         signs  random signs from a seed; up to a million features\n"
    "                     gauss  a random matrix\n"
    "                     pca    the directions that hold most of the rows. Default without labels\n"
    "                     dct    the lowest frequencies of a cosine transform\n"
    "                     lda    the directions in which classes differ most. Default with labels\n"
    "                     cca    the directions in which two modalities agree. Default with --with, without labels\n"
    "                     codes  kernels, fitted to a code per class. Default with --with and labels\n"
    "                     mnse   kernels that separate classes and align modalities; prints the constants of its "
    "theorem\n"
    "                     kpca, kda, kmfa  kernels: as pca, as lda, and by the pairs at which classes meet\n"
    "                     cgmvae several labels per row: a head, beside three simpler ways (docs/CLI.md)\n"
    "  --features F.npy   float32, n rows of the first modality, or of the only one\n"
    "  --inputs N         with signs, instead of --features: how many features a row has, 1 to 1000000\n"
    "  --labels L.npy     n integers, the class of each row; for cgmvae n rows of zeros and ones\n"
    "  --with NAME=T.npy  n rows of a second modality: row i of both belongs together\n"
    "  --uncertainty U.npy  of kpca, kda and kmfa: float32, the variance of each row (n) or feature (n x d)\n"
    "  --ridge R          of kda and kmfa, above 0: how much smoothness counts. Default: held-out rows choose it\n"
    "  --dimensions k     what the fronts end in, 1 to 4096: the features of the pack\n"
    "  --head             a head instead of a front, by lda: scores of all labels in --labels, 2 to 4096\n"
    "  --front X.pmfr     with --head: the front of the pack that the head is for, when the pack has one\n"
    "  --centres p        kernels of codes, mnse, kpca, kda and kmfa, 2 to 4096. Default 128\n"
    "  --root             takes roots of the features first, for histograms and counts. The front remembers it\n"
    "  --out NAME.pmfr    the front to write\n"
    "  --validate         measures on a third of the rows with fronts trained on the others, then trains with all\n"
    "  --test F.npy, --test-with NAME=T.npy, --test-labels L.npy\n"
    "                     measures on these rows\n"
    "  --validation F.npy, --validation-labels L.npy\n"
    "                     of cgmvae: rows that choose epochs and thresholds. Default: a third of the rows\n"
    "  --epochs N         of cgmvae: at most so many. Default 100\n"
    "  --seed N           of random maps, centres, and what is held out. Default 0\n"
    "  --threads N        1 to 256. Default: the number of processors. Never changes the bytes\n"
    "  --force            replace the files of --out\n"
    "  --json             JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help             this text\n\n"
    "Options that the method does not use are ignored, with a note. All but signs, gauss and dct need LAPACKE.\n"
    "The same machine gives the same bytes for the same input; another one may round differently.\n\n"
    "Exit codes: 0 done, 2 wrong options, or no LAPACKE, 3 an input cannot be read or does not fit, 4 a\n"
    "front cannot be written, 7 out of memory.\n\n"
    "Example: privatemail train --features pictures.npy --with text=words.npy --labels classes.npy --dimensions 9 \\\n"
    "                           --out pictures.pmfr --validate\n"
    "         privatemail train --head --features pictures.npy --labels classes.npy --out head.pmfr --validate\n";

const struct command command_train = {"train", "train a front, so that words find pictures", help, run};
