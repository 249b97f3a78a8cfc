/* SPDX-License-Identifier: Apache-2.0
 * pack: builds a pack from public features and labels, and reports what is in it. */
#include "cli/pack/pack_inputs.h"
#include "cli/pack/pack_report.h"
#include "cli/shared/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct pack_paths paths;
    const char *out, *bandwidth, *codes, *slots, *model;
    uint64_t neighbours, dims, cells, prototypes_per_cell, rows_per_prototype, slot_count, sketch, seed, threads;
    uint64_t refine;
    double alpha, share, epsilon;
    struct pack_crowd crowd;
    bool refine_given, gaussian, response_only, rows_are_public, soft, plain_sketches, force, json;
};

/* ---- options ---- */

static exit_code check_counts(const struct arguments *arguments)
{
    const struct count_limit limits[] = {
        {"neighbours", arguments->neighbours, 1, PML_NEIGHBOURS_MAX},
        {"dims", arguments->dims, 1, PML_DIMENSIONS_MAX},
        {"cells", arguments->cells, 2, PML_CELLS_MAX},
        {"prototypes-per-cell", arguments->prototypes_per_cell, 1, 16},
        {"rows-per-prototype", arguments->rows_per_prototype, 1, 1024},
        {"slot-count", arguments->slot_count, 1, PML_SLOTS_MAX},
        {"sketch", arguments->sketch, 8, PML_SKETCH_MAX},
        {"threads", arguments->threads, 1, 256},
        {"refine", arguments->refine, 1, PML_REFINE_MAX},
    };
    return options_check_limits(&command_pack, limits, sizeof limits / sizeof limits[0], true);
}

static exit_code read_bandwidth(const char *text, double *bandwidth)
{
    char *end;
    *bandwidth = 0.0;
    if (!text || strcmp(text, "auto") == 0)
        return EXIT_OK;
    *bandwidth = strtod(text, &end);
    if (end == text || *end != 0 || !(*bandwidth >= 0.004 && *bandwidth <= 256.0))
        return command_fail(&command_pack, EXIT_USAGE, "--bandwidth must be auto or 0.004 to 256, not '%s'.", text);
    return EXIT_OK;
}

static exit_code read_slots(const struct arguments *arguments, struct pml_build_options *options)
{
    const char *slots = arguments->slots ? arguments->slots : "one";
    const char *codes = arguments->codes ? arguments->codes : arguments->gaussian ? "pca" : "random";
    const int kind = pml_codes_named(codes);
    if (strcmp(slots, "one") != 0 && strcmp(slots, "class") != 0 && strcmp(slots, "group") != 0)
        return command_fail(&command_pack, EXIT_USAGE, "--slots must be class, group or one, not '%s'.", slots);
    if (kind < 0)
        return command_fail(&command_pack, EXIT_USAGE, "--codes must be pca, spectral, lda, random or class, not '%s'.",
                            codes);
    options->slots = slots[0] == 'o' ? PML_SLOTS_ONE : slots[0] == 'c' ? PML_SLOTS_CLASS : PML_SLOTS_GROUP;
    options->codes = (enum pml_codes)kind;
    if (!arguments->paths.labels && options->slots != PML_SLOTS_ONE)
        return command_fail(&command_pack, EXIT_USAGE, "--slots %s needs --labels. Give them, or use --slots one.",
                            slots);
    if (!arguments->paths.labels && (options->codes == PML_CODES_CLASS || options->codes == PML_CODES_LDA))
        return command_fail(&command_pack, EXIT_USAGE, "--codes %s needs --labels. Give them, or use --codes pca.",
                            codes);
    if (options->slots == PML_SLOTS_ONE && arguments->alpha > 0.0)
        return command_fail(&command_pack, EXIT_USAGE, "--alpha must be 0 with one slot: there is no label graph.");
    if (options->slots != PML_SLOTS_GROUP && arguments->slot_count != 0)
        return command_fail(&command_pack, EXIT_USAGE,
                            "--slot-count belongs to --slots group. Leave it out, or add that.");
    return EXIT_OK;
}

/* Options that only the Gaussian has, and options that need rows which everybody may read. */
static exit_code check_gaussian(const struct arguments *arguments)
{
    const bool graph = arguments->neighbours > 0 || arguments->bandwidth || arguments->alpha != 0.0;
    if (arguments->gaussian && arguments->response_only)
        return command_fail(&command_pack, EXIT_USAGE,
                            "--gaussian and --response-only exclude each other. Leave one of them out.");
    if (graph && !arguments->gaussian)
        return command_fail(&command_pack, EXIT_USAGE,
                            "--neighbours, --bandwidth and --alpha belong to the Gaussian. Leave them out, or add "
                            "--gaussian.");
    if (arguments->gaussian && !arguments->rows_are_public)
        return command_fail(&command_pack, EXIT_USAGE,
                            "--gaussian puts a copy of every row of %s into the pack as its anchors. The pack is "
                            "public: everybody who has it can read these rows. If they are public, add "
                            "--rows-are-public.",
                            arguments->paths.features);
    if (arguments->rows_per_prototype == 1 && !arguments->rows_are_public)
        return command_fail(&command_pack, EXIT_USAGE,
                            "with --rows-per-prototype 1 some prototypes are copies of rows of %s. The pack is public: "
                            "everybody who has it can read these rows. If they are public, add --rows-are-public.",
                            arguments->paths.features);
    return EXIT_OK;
}

static exit_code read_options(const struct arguments *arguments, struct pml_build_options *options)
{
    exit_code code = check_counts(arguments);
    if (code == EXIT_OK)
        code = read_bandwidth(arguments->bandwidth, &options->bandwidth);
    if (code == EXIT_OK)
        code = read_slots(arguments, options);
    if (code == EXIT_OK)
        code = check_gaussian(arguments);
    if (code != EXIT_OK)
        return code;
    if (!(arguments->alpha >= 0.0 && arguments->alpha <= 4.0))
        return command_fail(&command_pack, EXIT_USAGE, "--alpha must be 0 to 4.");
    if (arguments->share != 0.0 && !(arguments->share >= 1e-6 && arguments->share <= 0.5))
        return command_fail(&command_pack, EXIT_USAGE, "--share must be 1e-6 to 0.5.");
    if (arguments->epsilon != 0.0 && !(arguments->epsilon >= PML_EPSILON_MIN && arguments->epsilon <= PML_EPSILON_MAX))
        return command_fail(&command_pack, EXIT_USAGE, "--epsilon must be 1e-6 to 16.");
    if (arguments->cells != 0 &&
        (arguments->share != 0.0 || arguments->epsilon != 0.0 || arguments->crowd.arguments.asked))
        return command_fail(&command_pack, EXIT_USAGE,
                            "--share, --epsilon and --crowd choose the number of cells, --cells sets it. Leave one or "
                            "the other out.");
    if (arguments->crowd.arguments.asked && options->slots != PML_SLOTS_ONE)
        return command_fail(&command_pack, EXIT_USAGE,
                            "--crowd chooses the cells of one slot. Leave --slots out, or set --cells instead.");
    if (arguments->model && pml_model_length(arguments->model) == 0)
        return command_fail(&command_pack, EXIT_USAGE,
                            "--model must be 1 to %u bytes of UTF-8 without control characters.", PML_MODEL_MAX);
    options->neighbours = (unsigned)arguments->neighbours;
    options->alpha = arguments->alpha;
    options->dimensions = (unsigned)arguments->dims;
    options->cells = (unsigned)arguments->cells;
    if (!arguments->crowd.arguments.asked) { /* otherwise both are the crowd's, and the cells follow from the rows */
        options->share = arguments->share;
        options->epsilon = arguments->epsilon;
    }
    options->prototypes_per_cell = (unsigned)arguments->prototypes_per_cell;
    options->rows_per_prototype = (unsigned)arguments->rows_per_prototype;
    options->rows_are_public = arguments->rows_are_public;
    options->slot_count = (unsigned)arguments->slot_count;
    options->sketch = (unsigned)arguments->sketch;
    options->plain_sketches = arguments->plain_sketches;
    options->refine = !arguments->refine_given ? 0 : arguments->refine > 0 ? (int)arguments->refine : -1;
    options->soft = arguments->soft || arguments->crowd.arguments.asked;
    options->gaussian = arguments->gaussian;
    options->model = arguments->model;
    options->seed = arguments->seed;
    options->threads = (unsigned)arguments->threads;
    options->progress = progress_show;
    return EXIT_OK;
}

/* The counts use 0 for "not given", so a given 0 is refused here. */
static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    enum { OWN = 30, REFINE = 29, NOT_ZERO = 11, CROWD = OWN + FRONT_OPTIONS };
    struct option_spec specs[CROWD + CROWD_OPTIONS] = {
        {"neighbours", OPTION_COUNT, &arguments->neighbours, false, false},
        {"dims", OPTION_COUNT, &arguments->dims, false, false},
        {"cells", OPTION_COUNT, &arguments->cells, false, false},
        {"prototypes-per-cell", OPTION_COUNT, &arguments->prototypes_per_cell, false, false},
        {"rows-per-prototype", OPTION_COUNT, &arguments->rows_per_prototype, false, false},
        {"slot-count", OPTION_COUNT, &arguments->slot_count, false, false},
        {"sketch", OPTION_COUNT, &arguments->sketch, false, false},
        {"threads", OPTION_COUNT, &arguments->threads, false, false},
        {"delta", OPTION_NUMBER, &arguments->crowd.delta, false, false},
        {"share", OPTION_NUMBER, &arguments->share, false, false},
        {"epsilon", OPTION_NUMBER, &arguments->epsilon, false, false},
        {"features", OPTION_TEXT, &arguments->paths.features, true, false},
        {"labels", OPTION_TEXT, &arguments->paths.labels, false, false},
        {"out", OPTION_TEXT, &arguments->out, true, false},
        {"bandwidth", OPTION_TEXT, &arguments->bandwidth, false, false},
        {"alpha", OPTION_NUMBER, &arguments->alpha, false, false},
        {"codes", OPTION_TEXT, &arguments->codes, false, false},
        {"slots", OPTION_TEXT, &arguments->slots, false, false},
        {"gaussian", OPTION_FLAG, &arguments->gaussian, false, false},
        {"model", OPTION_TEXT, &arguments->model, false, false},
        {"head", OPTION_TEXT, &arguments->paths.head, false, false},
        {"response-only", OPTION_FLAG, &arguments->response_only, false, false},
        {"rows-are-public", OPTION_FLAG, &arguments->rows_are_public, false, false},
        {"soft", OPTION_FLAG, &arguments->soft, false, false},
        {"plain-sketches", OPTION_FLAG, &arguments->plain_sketches, false, false},
        {"seed", OPTION_COUNT, &arguments->seed, false, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
        {"gallery", OPTION_TEXT, &arguments->paths.gallery, false, false},
        [REFINE] = {"refine", OPTION_COUNT, &arguments->refine, false, false},
    };
    front_options_fill(&arguments->paths.fronts, specs + OWN);
    crowd_options_fill(&arguments->crowd.arguments, specs + CROWD);
    exit_code code = options_parse(&command_pack, argc, argv, specs, CROWD + CROWD_PLAN_OPTIONS, NULL, 0, 0);
    for (size_t i = 0; i < NOT_ZERO && code == EXIT_OK; i++) {
        bool zero = specs[i].kind == OPTION_COUNT ? *(uint64_t *)specs[i].value == 0 : *(double *)specs[i].value == 0.0;
        if (specs[i].given && zero)
            return command_fail(&command_pack, EXIT_USAGE, "--%s must not be 0. Leave it out for the default.",
                                specs[i].name);
    }
    arguments->refine_given = specs[REFINE].given;
    arguments->crowd.epsilon = arguments->epsilon;
    arguments->crowd.down = arguments->share;
    return code == EXIT_OK ? pack_crowd_check(&arguments->crowd, specs + CROWD) : code;
}

/* Choices that the person at the terminal did not make. */
static void tell_choices(const struct arguments *arguments, const struct pml_build_report *report)
{
    if (arguments->crowd.arguments.asked)
        pack_crowd_tell(&arguments->crowd);
    else if (report->share > 0.0)
        fprintf(
            stderr,
            "privatemail pack: %zu cells per slot, chosen for epsilon %g and answers of the share %g (index --share "
            "%g).\n",
            report->cells, report->epsilon, report->share, report->share);
    if (arguments->paths.gallery)
        fprintf(
            stderr,
            "privatemail pack: WARNING: the pack publishes means of %zu rows or more of %s. Whoever knows all but one "
            "of them can compute that one (docs/SERVER.md).\n",
            report->rows_per_prototype, arguments->paths.gallery);
    const bool told = arguments->codes && strcmp(arguments->codes, "lda") == 0;
    if (arguments->paths.labels && !arguments->slots && !told)
        fprintf(stderr,
                "privatemail pack: one slot, so the labels are not used. --slots class makes a slot per class.\n");
    if (report->bandwidth_raised)
        fprintf(stderr,
                "privatemail pack: most rows are so near one another that the bandwidth is %.3g, the least a pack "
                "holds. Remove near duplicates, or choose a --bandwidth.\n",
                report->bandwidth);
}

/* ---- command ---- */

static exit_code build(const struct arguments *arguments, const struct pml_build_options *options,
                       const struct pml_features *features, const struct pml_labels *labels)
{
    struct pml_message message = {""};
    struct pml_build_report report = {0};
    struct pack_file file;
    uint8_t *bytes = NULL;
    size_t size = 0;
    pml_outcome outcome = pml_pack_build(features, labels, options, &bytes, &size, &report, &message);
    progress_end();
    if (outcome != PML_DONE)
        return command_fail(&command_pack, outcome == PML_NO_MEMORY ? EXIT_FAULT : EXIT_INPUT, "%s: %s",
                            arguments->paths.features, message.text);
    if (arguments->crowd.arguments.asked) {
        report.share = arguments->crowd.cells.share;
        report.epsilon = arguments->crowd.epsilon;
    }
    pml_status status = pack_file_adopt(&file, bytes, size);
    if (status != PML_OK) {
        free(bytes);
        return command_status(&command_pack, arguments->out, status);
    }
    exit_code code = output_write(&command_pack, arguments->out, arguments->force, bytes, size);
    if (code == EXIT_OK) {
        (arguments->json ? pack_report_write : pack_report_print)(arguments->out, &file, &report, &arguments->crowd);
        tell_choices(arguments, &report);
    }
    pack_file_close(&file);
    return code;
}

/* The output must not overwrite an input. */
static exit_code check_output(const struct arguments *arguments)
{
    exit_code code = pack_inputs_apart(&arguments->paths, arguments->out);
    if (code == EXIT_OK)
        code = output_check(&command_pack, arguments->out, arguments->force);
    return code == EXIT_OK ? output_try(&command_pack, arguments->out, 1) : code;
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct pml_build_options options = {0};
    exit_code code = parse(argc, argv, &arguments);
    if (code == EXIT_OK)
        code = read_options(&arguments, &options);
    if (code == EXIT_OK)
        code = check_output(&arguments);
    if (code != EXIT_OK)
        return code;
    struct pack_inputs inputs = {0};
    code = pack_inputs_read(&arguments.paths, &inputs);
    if (code == EXIT_OK && arguments.crowd.arguments.asked)
        code = pack_crowd_plan(&arguments.crowd, pack_inputs_rows(&inputs));
    if (arguments.crowd.arguments.asked) {
        options.cells = arguments.crowd.cells.cells;
        options.list_share = arguments.crowd.cells.share;
    }
    options.fronts = &inputs.fronts.fronts;
    options.modality = inputs.fronts.modality;
    options.with = inputs.fronts.with;
    options.gallery = &inputs.gallery;
    options.gallery_modality = inputs.fronts.modality;
    options.head = arguments.paths.head ? &inputs.head.front : NULL;
    if (code == EXIT_OK)
        code = build(&arguments, &options, &inputs.features, arguments.paths.labels ? &inputs.labels : NULL);
    pack_inputs_free(&inputs);
    return code;
}

static const char help[] =
    "Usage: privatemail pack --features F.npy [--labels L.npy] --out P.pmpk [OPTIONS]\n\n"
    "Builds the pack that devices and servers share. The same input gives the same bytes. A pack is public. It holds "
    "means\n"
    "of rows and, with --gaussian, the rows themselves. Give rows that may be published (docs/SERVER.md).\n\n"
    "Options:\n"
    "  --features F.npy   float32, little-endian, C order, n rows of 1 to 4096 features\n"
    "  --labels L.npy     n integers, the class of each row; needed with --slots class or group, --codes class or lda\n"
    "  --out P.pmpk       the pack to write\n"
    "  --slots S          one: a single slot; class: a slot per class; group: a slot per group of classes. Default "
    "one\n"
    "  --slot-count G     with --slots group: the number of groups, 1 to 1024. Default 128 or the number of classes\n"
    "  --share F          chooses the number of cells for answers of this share of the gallery (index --share), 1e-6 "
    "to\n"
    "                     0.5. Default 0.02\n"
    "  --epsilon E        ... and for releases of this epsilon, 1e-6 to 16. Default 4\n"
    "  --crowd N          chooses the number of cells for N clients that ask in a crowd instead. Then --share is all\n"
    "                     that comes down to a client, with the answers to its fakes, and --epsilon is the crowd's,\n"
    "                     default 0.1\n"
    "  --noise relay      the same, instead of --crowd N, when the relay makes the fakes\n"
    "  --floor E, --delta D, --honest H, --copies-max V\n"
    "                     with either: as for privatemail crowd. Defaults 8, 1e-8, 0.5, 8\n"
    "  --cells m          sets the number of cells per slot instead, 2 to 65536. A response names one of them\n"
    "  --prototypes-per-cell N\n"
    "                     1 to 16; above 1, m*N is at most 4096. Default: what does best on held-out rows\n"
    "  --rows-per-prototype N\n"
    "                     every prototype is the mean of at least N different rows, 1 to 1024. N = 1 needs\n"
    "                     --rows-are-public. Default 2\n"
    "  --soft             soft prototypes where cells have few rows, as --crowd makes them (docs/CLI.md)\n"
    "  --gallery G.npy    rows of the gallery, which make better cells and prototypes. WARNING: the pack then "
    "publishes\n"
    "                     means of small groups of these rows (docs/SERVER.md)\n"
    "  --refine N         rounds in which cells are refined, 0 to 64. Default 4, 0 with several slots\n"
    "  --rows-are-public  says that everybody may read --features\n"
    "  --sketch L         bytes of a sketch, 8 to 256. Default 131. Rows that vary less, or have fewer features,\n"
    "                     make shorter ones: 7 bits per feature at most\n"
    "  --plain-sketches   sketches of int8 values, twice as long for the same result, that devices read which know\n"
    "                     packs up to version 0.4. Default L: the number of features, rounded up to a multiple of 8,\n"
    "                     at most 256\n"
    "  --dims k           coordinates of the embedding, 1 to 16. Default 16, but 2 for codes random and class\n"
    "  --codes C          codes of the embedding: pca, spectral, lda, random or class (docs/CLI.md). Default pca with\n"
    "                     --gaussian, else random\n"
    "  --gaussian         add what the Gaussian needs: all rows, as its anchors. Needs --rows-are-public\n"
    "  --response-only    do not: the default\n"
    "  --neighbours K     with --gaussian: anchors that make a row of the embedding, 1 to 64. Default 10\n"
    "  --bandwidth S      with --gaussian: width of the kernel, 0.004 to 256, or auto. Default auto\n"
    "  --alpha A          with --gaussian: weight of the label graph, 0 to 4. Default 0\n"
    "  --front NAME=FILE  a modality and its front (privatemail train), up to 8 (docs/CLI.md)\n"
    "  --modality NAME    whose features --features are. Default: the first\n"
    "  --with NAME=F.npy  public rows of another modality\n"
    "  --head H.pmfr      guesses labels (privatemail train --head)\n"
    "  --model NAME       names the model that made the features, up to 64 bytes; devices that name another one "
    "refuse\n"
    "                     the pack. Default: no name\n"
    "  --seed N           seed of codes, clustering and sketches. Default 0\n"
    "  --threads N        1 to 256. Default: the number of processors. Never changes the bytes\n"
    "  --force            replace the file of --out\n"
    "  --json             JSON on stdout (docs/CLI.md)\n"
    "  --help             this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 the pack cannot be written,\n"
    "6 a crowd cannot give the promise, 7 out of memory.\n\n"
    "Example: privatemail pack --features public.npy --out collection.pmpk\n";

const struct command command_pack = {"pack", "build a pack from public features", help, run};
