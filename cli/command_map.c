/* SPDX-License-Identifier: Apache-2.0
 * map: a picture of a gallery, in which like things lie together, and how good it is. */
#include "cli/belief/belief_options.h"
#include "cli/map/map_inputs.h"
#include "cli/map/map_report.h"
#include "cli/shared/output.h"

#include "common/clock.h"
#include "common/npy.h"
#include "tools/map/look/map_picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTERS 10u
#define LANDMARK_ADVICE 100000u /* rows from which on landmark is the better method */

typedef enum kind { KIND_SVG, KIND_PNG, KIND_NPY } kind;

enum { OPTIONS = 18 }; /* those of belief_options.h follow */

struct arguments {
    const char *method, *out, *colour;
    struct map_paths paths;
    uint64_t clusters, neighbours, landmarks, iterations, seed, threads;
    double perplexity, clusters_text; /* the second: --clusters as it was given */
    struct belief_arguments belief;
    bool measure, force, json;
    bool clusters_given, perplexity_given;
    bool all;
    pml_map_method one;
    kind kind;
    struct pml_map_options options;
};

/* ---- options ---- */

static exit_code read_method(struct arguments *arguments)
{
    arguments->all = strcmp(arguments->method, "all") == 0;
    for (int i = 0; i < PML_MAP_METHODS; i++)
        if (strcmp(arguments->method, pml_map_traits[i].name) == 0) {
            arguments->one = (pml_map_method)i;
            return EXIT_OK;
        }
    if (arguments->all)
        return EXIT_OK;
    return command_fail(
        &command_map, EXIT_USAGE,
        "--method must be pca, mds, sammon, isomap, lle, laplacian, diffusion, sne, ssne, tsne, landmark or "
        "all, not '%s'.",
        arguments->method);
}

static exit_code read_kind(struct arguments *arguments)
{
    static const char *const endings[] = {[KIND_SVG] = ".svg", [KIND_PNG] = ".png", [KIND_NPY] = ".npy"};
    if (!arguments->out && arguments->all)
        return EXIT_OK;
    if (!arguments->out)
        return command_fail(&command_map, EXIT_USAGE, "--out is missing. privatemail map --help explains what it is.");
    const size_t length = strlen(arguments->out);
    for (int i = 0; i < 3; i++)
        if (length > 4 && strcmp(arguments->out + length - 4, endings[i]) == 0) {
            arguments->kind = (kind)i;
            return EXIT_OK;
        }
    return command_fail(&command_map, EXIT_USAGE, "--out %s: a map is .svg, .png or .npy. Choose one of these endings.",
                        arguments->out);
}

static exit_code check_paths(const struct arguments *arguments)
{
    const struct map_paths *paths = &arguments->paths;
    if (!paths->features == !paths->store)
        return command_fail(&command_map, EXIT_USAGE, "Give the rows of the map: either --features or --store.");
    if (paths->store && !paths->pack)
        return command_fail(&command_map, EXIT_USAGE,
                            "The pack tells what a store's sketches say: give --pack with --store.");
    if (paths->store && (paths->labels || paths->modality))
        return command_fail(&command_map, EXIT_USAGE,
                            "--labels and --modality belong to --features: a store has its own. Leave them out.");
    if (paths->modality && !paths->pack)
        return command_fail(&command_map, EXIT_USAGE, "--modality names a front of a pack. Give --pack.");
    if (arguments->perplexity_given && !(arguments->perplexity >= 2.0 && arguments->perplexity <= 1000.0))
        return command_fail(&command_map, EXIT_USAGE, "--perplexity must be 2 to 1000. Give such a number.");
    if (arguments->belief.asked && (paths->store || !paths->pack))
        return command_fail(&command_map, EXIT_USAGE,
                            "--release needs --pack and --features: a store does not tell which message an item would "
                            "make. Give the features that it was indexed from.");
    return EXIT_OK;
}

/* --clusters is what a crowd's clients make, or how many groups --colour cluster has. */
static exit_code read_clusters(struct arguments *arguments, const struct option_spec *belief_specs)
{
    struct belief_arguments *belief = &arguments->belief;
    belief->clusters = arguments->clusters_given ? arguments->clusters_text : 0.0;
    const exit_code code = belief_options_check(&command_map, belief, belief_specs);
    if (code != EXIT_OK || belief->in_crowd || !arguments->clusters_given)
        return code;
    if (!(arguments->clusters_text >= 1.0 && arguments->clusters_text <= 10000.0) ||
        arguments->clusters_text != floor(arguments->clusters_text))
        return command_fail(&command_map, EXIT_USAGE,
                            "--clusters must be 1 to 10000, a whole number. Give such a one.");
    arguments->clusters = (uint64_t)arguments->clusters_text;
    return EXIT_OK;
}

/* What the method does not use is ignored, and said so. */
static void tell_unused(const struct arguments *arguments)
{
    const struct pml_map_trait *trait = &pml_map_traits[arguments->one];
    const bool descends = trait->perplexity || arguments->one == PML_MAP_SAMMON || arguments->one == PML_MAP_LANDMARK;
    const struct {
        const char *option;
        bool given, used;
    } options[] = {{"perplexity", arguments->perplexity_given, trait->perplexity},
                   {"neighbours", arguments->neighbours > 0, trait->neighbours > 0},
                   {"landmarks", arguments->landmarks > 0, arguments->one == PML_MAP_LANDMARK},
                   {"iterations", arguments->iterations > 0, descends}};
    for (size_t i = 0; i < sizeof options / sizeof *options && !arguments->all; i++)
        if (options[i].given && !options[i].used)
            fprintf(stderr, "privatemail map: %s does not use --%s. It is ignored.\n", trait->name, options[i].option);
}

static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    struct option_spec specs[OPTIONS + BELIEF_OPTIONS] = {
        {"clusters", OPTION_NUMBER, &arguments->clusters_text, false, false},
        {"perplexity", OPTION_NUMBER, &arguments->perplexity, false, false},
        {"method", OPTION_TEXT, &arguments->method, false, false},
        {"features", OPTION_TEXT, &arguments->paths.features, false, false},
        {"labels", OPTION_TEXT, &arguments->paths.labels, false, false},
        {"modality", OPTION_TEXT, &arguments->paths.modality, false, false},
        {"store", OPTION_TEXT, &arguments->paths.store, false, false},
        {"pack", OPTION_TEXT, &arguments->paths.pack, false, false},
        {"out", OPTION_TEXT, &arguments->out, false, false},
        {"colour", OPTION_TEXT, &arguments->colour, false, false},
        {"neighbours", OPTION_COUNT, &arguments->neighbours, false, false},
        {"landmarks", OPTION_COUNT, &arguments->landmarks, false, false},
        {"iterations", OPTION_COUNT, &arguments->iterations, false, false},
        {"measure", OPTION_FLAG, &arguments->measure, false, false},
        {"seed", OPTION_COUNT, &arguments->seed, false, false},
        {"threads", OPTION_COUNT, &arguments->threads, false, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
    };
    belief_options_fill(&arguments->belief, specs + OPTIONS);
    exit_code code = options_parse(&command_map, argc, argv, specs, sizeof specs / sizeof *specs, NULL, 0, 0);
    arguments->clusters_given = specs[0].given;
    arguments->perplexity_given = specs[1].given;
    const struct count_limit limits[] = {{"neighbours", arguments->neighbours, 2, PML_MAP_NEIGHBOURS_MAX},
                                         {"landmarks", arguments->landmarks, 10, 100000},
                                         {"iterations", arguments->iterations, 1, 100000},
                                         {"threads", arguments->threads, 1, 256}};
    if (code == EXIT_OK)
        code = options_check_limits(&command_map, limits, sizeof limits / sizeof *limits, true);
    if (code == EXIT_OK)
        code = read_clusters(arguments, specs + OPTIONS);
    if (code == EXIT_OK)
        code = read_method(arguments);
    if (code == EXIT_OK)
        code = read_kind(arguments);
    return code == EXIT_OK ? check_paths(arguments) : code;
}

/* ---- outputs ---- */

/* MAP.svg, or of all methods MAP.tsne.svg; to be freed. NULL when nothing is to be written, or out of memory. */
static char *name_out(const struct arguments *arguments, pml_map_method method)
{
    const char *name = pml_map_traits[method].name;
    if (!arguments->out)
        return NULL;
    const size_t length = strlen(arguments->out), size = length + strlen(name) + 2;
    char *out = malloc(size);
    if (out && arguments->all)
        snprintf(out, size, "%.*s.%s%s", (int)(length - 4), arguments->out, name, arguments->out + length - 4);
    else if (out)
        memcpy(out, arguments->out, length + 1);
    return out;
}

static exit_code check_output(const struct arguments *arguments, const char *out)
{
    const char *inputs[] = {arguments->paths.features,
                            arguments->paths.labels,
                            arguments->paths.pack,
                            arguments->belief.release,
                            arguments->belief.known,
                            arguments->paths.store && strncmp(arguments->paths.store, "sqlite:", 7) == 0
                                ? arguments->paths.store + 7
                                : NULL};
    exit_code code = EXIT_OK;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs && code == EXIT_OK; i++)
        code = output_apart(&command_map, out, inputs[i], "an input");
    if (code == EXIT_OK)
        code = output_check(&command_map, out, arguments->force);
    return code == EXIT_OK ? output_try(&command_map, out, 4096) : code;
}

static exit_code write_picture(const struct arguments *arguments, const struct map_inputs *inputs, const float *places,
                               struct map_entry *entry)
{
    static const char *const titles[] = {"", "class", "cell", "cluster"};
    const struct pml_map_picture picture = {.places = places,
                                            .rows = inputs->rows.count,
                                            .colours = inputs->colours,
                                            .shades = inputs->shades,
                                            .groups = inputs->groups,
                                            .names = inputs->names,
                                            .title = titles[inputs->colour]};
    struct pml_message message = {""};
    struct pml_bytes bytes = {0};
    pml_outcome outcome =
        arguments->kind == KIND_SVG ? pml_map_svg(&picture, &bytes) : pml_map_png(&picture, &bytes, &message);
    exit_code code = EXIT_OK;
    if (outcome == PML_NO_MEMORY)
        code = command_no_memory(&command_map);
    else if (outcome != PML_DONE)
        code = command_output(&command_map, outcome, &message);
    else
        code = output_write(&command_map, entry->out, arguments->force, bytes.bytes, bytes.size);
    entry->bytes = bytes.size;
    pml_bytes_free(&bytes);
    return code;
}

static exit_code write_map(const struct arguments *arguments, const struct map_inputs *inputs, const float *places,
                           struct map_entry *entry)
{
    struct pml_message message = {""};
    if (!entry->out)
        return EXIT_OK;
    if (arguments->kind != KIND_NPY)
        return write_picture(arguments, inputs, places, entry);
    pml_outcome outcome = pml_features_write(entry->out, places, inputs->rows.count, 2, &message);
    entry->bytes = 128 + 2 * sizeof *places * inputs->rows.count;
    return outcome == PML_DONE ? EXIT_OK : command_output(&command_map, outcome, &message);
}

/* ---- maps ---- */

static void tell(const struct map_entry *entry, size_t rows, bool asked)
{
    const char *name = pml_map_traits[entry->method].name;
    if (entry->components > 1)
        fprintf(stderr,
                "privatemail map: the graph of neighbours has %zu parts. %s shows them side by side: distances between "
                "parts "
                "say nothing.\n",
                entry->components, name);
    if (entry->perplexity > 0.0 && entry->perplexity < PML_MAP_PERPLEXITY && !asked)
        fprintf(stderr, "privatemail map: %zu rows are few: %s uses a perplexity of %.3g instead of %g.\n", rows, name,
                entry->perplexity, PML_MAP_PERPLEXITY);
    if (entry->method == PML_MAP_LANDMARK && rows < LANDMARK_ADVICE)
        fprintf(stderr, "privatemail map: landmark is for galleries of more than %u rows. For fewer, tsne is better.\n",
                LANDMARK_ADVICE);
}

/* A method that does not fit is skipped when all are made. */
static exit_code make_map(const struct arguments *arguments, const struct map_inputs *inputs, struct map_entry *entry)
{
    struct pml_map_options options = arguments->options;
    struct pml_map_result result = {0};
    options.method = entry->method;
    const double start = pml_clock_now();
    pml_outcome outcome = pml_map(&inputs->rows, &options, &result, &entry->message);
    entry->seconds = pml_clock_now() - start;
    entry->made = outcome == PML_DONE;
    entry->perplexity = result.perplexity;
    entry->components = result.components;
    entry->landmarks = result.landmarks;
    entry->cost = result.cost;
    exit_code code = EXIT_OK;
    if (outcome == PML_DONE && arguments->measure &&
        pml_map_measure(&inputs->rows, result.places, inputs->labels.values, &options, &entry->measures) != PML_DONE)
        code = command_no_memory(&command_map);
    progress_end();
    if (outcome != PML_DONE && (outcome != PML_REFUSED || !arguments->all))
        code = command_input(&command_map, outcome, &entry->message);
    if (code == EXIT_OK && entry->made) {
        tell(entry, inputs->rows.count, arguments->perplexity_given);
        code = write_map(arguments, inputs, result.places, entry);
    }
    pml_map_free(&result);
    return code;
}

/* `belief` may be NULL. */
static exit_code make_maps(const struct arguments *arguments, const struct map_inputs *inputs,
                           const struct belief *belief)
{
    static const char *const colours[] = {"none", "class", "cell", "cluster"};
    struct map_entry entries[PML_MAP_METHODS] = {0};
    struct map_report report = {.rows = inputs->rows.count,
                                .features = inputs->rows.columns,
                                .groups = inputs->groups,
                                .colour = colours[inputs->colour],
                                .seed = arguments->seed,
                                .measured = arguments->measure,
                                .all = arguments->all,
                                .belief = belief,
                                .entries = entries,
                                .count = arguments->all ? PML_MAP_METHODS : 1};
    exit_code code =
        pml_map_copies(&inputs->rows, &report.copies) == PML_DONE ? EXIT_OK : command_no_memory(&command_map);
    if (code == EXIT_OK && report.copies > 0)
        fprintf(stderr, "privatemail map: %zu %s.\n", report.copies,
                report.copies == 1 ? "row is a copy of another" : "rows are copies of others");
    for (size_t i = 0; i < report.count && code == EXIT_OK; i++) {
        entries[i].method = arguments->all ? (pml_map_method)i : arguments->one;
        entries[i].out = name_out(arguments, entries[i].method);
        if (arguments->out)
            code = entries[i].out ? check_output(arguments, entries[i].out) : command_no_memory(&command_map);
    }
    for (size_t i = 0; i < report.count && code == EXIT_OK; i++)
        code = make_map(arguments, inputs, &entries[i]);
    if (code == EXIT_OK)
        (arguments->json ? map_report_write : map_report_print)(&report);
    for (size_t i = 0; i < report.count; i++)
        free(entries[i].out);
    return code;
}

/* What a server believes about the rows, when there is a release. */
static exit_code believe(const struct arguments *arguments, struct map_inputs *inputs, struct belief *belief)
{
    if (!arguments->belief.asked)
        return EXIT_OK;
    const exit_code code =
        belief_make(&command_map, &arguments->belief, &inputs->pack, &inputs->rows, inputs->labels.values, belief);
    inputs->shades = belief->shades;
    return code;
}

static exit_code run(int argc, char **argv)
{
    const struct pml_progress progress = {progress_show, NULL, "map"};
    struct arguments arguments = {.method = "tsne", .clusters = CLUSTERS};
    struct map_inputs inputs = {0};
    struct belief belief = {0};
    exit_code code = parse(argc, argv, &arguments);
    if (code == EXIT_OK) {
        tell_unused(&arguments);
        const unsigned threads = pml_parallel_threads((unsigned)arguments.threads);
        arguments.options = (struct pml_map_options){.neighbours = (unsigned)arguments.neighbours,
                                                     .perplexity = arguments.perplexity,
                                                     .landmarks = (size_t)arguments.landmarks,
                                                     .iterations = (size_t)arguments.iterations,
                                                     .seed = arguments.seed,
                                                     .threads = threads,
                                                     .progress = &progress};
        if (arguments.out && !arguments.all)
            code = check_output(&arguments, arguments.out);
        if (code == EXIT_OK && arguments.belief.posterior)
            code = check_output(&arguments, arguments.belief.posterior);
        if (code == EXIT_OK)
            code = map_inputs_read(&arguments.paths, threads, &inputs);
        if (code == EXIT_OK)
            code = map_inputs_colour(&inputs, arguments.colour, arguments.clusters, arguments.seed, threads);
        if (code == EXIT_OK)
            code = believe(&arguments, &inputs, &belief);
        if (code == EXIT_OK)
            code = make_maps(&arguments, &inputs, arguments.belief.asked ? &belief : NULL);
    }
    belief_free(&belief);
    map_inputs_free(&inputs);
    return code;
}

static const char help[] =
    "Usage: privatemail map (--features F.npy [--labels L.npy] [--pack P] | --store URI --pack P) --out MAP.svg "
    "[OPTIONS]\n\n"
    "Draws a map of a gallery in which like things lie together. Rows are compared by the angle between them, as a\n"
    "search compares them. The map shows the gallery to whoever sees it: it is for its owner. An option that the\n"
    "method does not use is ignored, with a note.\n\n"
    "Options:\n"
    "  --method M         pca        the two directions that hold most of the rows\n"
    "                     mds        distances as near to the true ones as a plane allows: the same map. At most 10000 "
    "rows\n"
    "                     sammon     the same, but small distances count more. At most 10000 rows\n"
    "                     isomap     distances along the graph of neighbours. At most 10000 rows\n"
    "                     lle        every row between its neighbours. At most 5000 rows; needs LAPACKE\n"
    "                     laplacian  neighbours near each other. At most 1000000 rows; needs ARPACK\n"
    "                     diffusion  how a random walk spreads. At most 1000000 rows; needs ARPACK\n"
    "                     sne, ssne  neighbours as likely as they are. At most 5000 rows\n"
    "                     tsne       the same with room between islands: the clearest. At most 200000 rows. Default\n"
    "                     landmark   tsne of some rows, the others by random walks. 500 to 1000000 rows; below 100000\n"
    "                                tsne is better\n"
    "                     all        every method that takes the rows, and one table. --out MAP.svg writes "
    "MAP.tsne.svg\n"
    "                                and so on, and may be left out\n"
    "  --features F.npy   float32, n rows\n"
    "  --labels L.npy     n integers, the class of each row\n"
    "  --store URI        the sketches of a gallery (privatemail index), with their classes; without places for gaussian\n"
    "                     releases only those of items that stand in a list\n"
    "  --pack P           its front maps the features; its cells can be shown\n"
    "  --modality NAME    of the features, in a pack with fronts. Default: the first\n"
    "  --out MAP          .svg or .png, a picture; .npy, float32, n places\n"
    "  --colour C         class, cell (needs --pack), cluster or none. Default: class with labels, or cell\n"
    "  --clusters K       of --colour cluster, 1 to 10000. Default 10. With --crowd: see below\n"
    "  --measure          says how good the map is\n"
    "  --perplexity P     neighbours that count, 2 to 1000, at most a third of the rows. Default 30\n"
    "  --neighbours K     of graphs, 2 to 64. Default 8, of isomap 7, of landmark 20\n"
    "  --landmarks L      10 to 100000. Default a tenth of the rows, 100 to 20000\n"
    "  --iterations N     steps of sammon, sne, ssne, tsne (after its first 250) and landmark\n"
    "  --seed N           of everything random. Default 0\n"
    "  --threads N        1 to 256. Default: the number of processors. Never changes the map\n"
    "  --force            replace the files of --out and --posterior\n"
    "  --json             JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help             this text\n\n"
    "What a server believes (docs/PRIVACY.md, section 12): with --release rows are grey, or the fuller in colour the\n"
    "likelier the server holds them to be what was asked. Needs --pack and --features.\n"
    "  --release R.cbor   a release; with --crowd a whole epoch, one message after the other\n"
    "  --epsilon E, --delta D  that it was made with; the second only for a Gaussian one\n"
    "  --posterior P.npy  writes the probability of each row, float64\n"
    "  --crowd N          honest clients of the epoch, the asker included\n"
    "  --known O.cborseq  what all others asked, which such a server knows and takes out of the epoch\n"
    "  --clusters K, --copies V, --own W, --relay-clusters R, --floor E0  the crowd's policy, as for privatemail "
    "crowd\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit the method, 4 a map cannot be\n"
    "written, 7 out of memory.\n\n"
    "Example: privatemail map --features gallery.npy --labels classes.npy --out gallery.svg --measure\n"
    "         privatemail map --features gallery.npy --pack p.pmpk --release r.cbor --epsilon 8 --out believed.svg\n";

const struct command command_map = {"map", "draw a map of a gallery", help, run};
