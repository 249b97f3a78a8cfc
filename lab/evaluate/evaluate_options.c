/* SPDX-License-Identifier: Apache-2.0
 * The options of evaluate. */
#include "evaluate_options.h"

#include "common/parallel.h"
#include "server/embedding/embedding.h"
#include "server/lists/index_lists.h"
#include "tools/codes/codes.h"
#include "tools/pack/pack_builder.h"

#include <stdlib.h>
#include <string.h>

struct words {
    const char *epsilon, *share, *mechanism, *slots, *class_from, *cells, *scope, *codes, *voters;
    uint64_t refine;
};

static const struct command *const command = &command_evaluate;

/* ---- values ---- */

/* Numbers from `least` to `most` with commas between them. */
static exit_code read_list(const char *name, const char *text, double least, double most, struct evaluate_list *list)
{
    list->count = 0;
    for (const char *at = text;; at++) {
        char *end;
        const double value = strtod(at, &end);
        if (end == at || (*end != ',' && *end != 0) || !(value >= least && value <= most))
            return command_fail(command, EXIT_USAGE,
                                "--%s must be numbers from %.3g to %g with commas between them, not '%s'.", name, least,
                                most, text);
        if (list->count == EVALUATE_LIST_MAX)
            return command_fail(command, EXIT_USAGE, "--%s has more than %d numbers. Leave some out.", name,
                                EVALUATE_LIST_MAX);
        list->values[list->count++] = value;
        at = end;
        if (*at == 0)
            return EXIT_OK;
    }
}

/* Returns the index of the word in `choices` (NULL at the end), or −1 with a message printed. */
static int read_choice(const char *name, const char *word, const char *const *choices)
{
    for (int i = 0; choices[i]; i++) {
        if (strcmp(word, choices[i]) == 0)
            return i;
    }
    command_fail(command, EXIT_USAGE, "--%s must be %s%s%s%s%s, not '%s'.", name, choices[0],
                 choices[2] ? ", " : " or ", choices[1], choices[2] ? " or " : "", choices[2] ? choices[2] : "", word);
    return -1;
}

static exit_code read_words(const struct words *words, struct evaluate_options *options)
{
    static const char *const mechanisms[] = {"response", "gaussian", NULL},
                             *const kinds[] = {"one", "class", "group", NULL},
                             *const sources[] = {"true", "predicted", "head", NULL},
                             *const scopes[] = {"own", "all", NULL};
    static const int slot_kinds[] = {PML_SLOTS_ONE, PML_SLOTS_CLASS, PML_SLOTS_GROUP};
    const int mechanism = read_choice("mechanism", words->mechanism ? words->mechanism : "response", mechanisms);
    const int slots = read_choice("slots", words->slots ? words->slots : "one", kinds);
    const int source = read_choice("class-from", words->class_from ? words->class_from : "true", sources);
    const int scope = read_choice("scope", words->scope ? words->scope : "own", scopes);
    if (mechanism < 0 || slots < 0 || source < 0 || scope < 0)
        return EXIT_USAGE;
    options->mechanism = mechanism == 0 ? PML_RESPONSE : PML_GAUSSIAN;
    options->slots = slot_kinds[slots];
    options->class_from = sources[source];
    options->scope = scope == 0 ? PML_OWN_SLOT : PML_ALL_SLOTS;
    if (source > 0 && options->slots == PML_SLOTS_ONE)
        return command_fail(command, EXIT_USAGE, "--class-from %s needs slots by class. Use --slots class or group.",
                            options->class_from);
    if ((source == 2) != (options->head != NULL))
        return command_fail(command, EXIT_USAGE, "--head H.pmfr and --class-from head belong together. Give both.");
    const char *epsilons = options->crowd.asked ? "0.1,0.5,1" : "1,2,4,6,8";
    exit_code code = read_list("epsilon", words->epsilon ? words->epsilon : epsilons, PML_EPSILON_MIN, PML_EPSILON_MAX,
                               &options->epsilons);
    if (code == EXIT_OK)
        code = read_list("share", words->share ? words->share : "0.01,0.02,0.05,0.1", 1.0 / PML_SHARE_UNIT, 0.5,
                         &options->shares);
    return code;
}

/* ---- what belongs together ---- */

static exit_code check_files(const struct evaluate_options *options)
{
    const struct evaluate_files *const sets[] = {&options->public, &options->gallery, &options->queries};
    static const char *const names[] = {"public", "gallery", "queries"};
    size_t features = 0;
    for (size_t i = 0; i < 3; i++) {
        features += sets[i]->features != NULL;
        if (sets[i]->labels && !sets[i]->features)
            return command_fail(command, EXIT_USAGE, "--%s-labels needs --%s.", names[i], names[i]);
    }
    for (size_t i = 0; i < 3 && features > 0; i++) {
        if (!sets[i]->features)
            return command_fail(command, EXIT_USAGE,
                                "--%s is missing. Give all of --public, --gallery and --queries, or none for the "
                                "sample gallery.",
                                names[i]);
        if (!sets[i]->labels && options->slots != PML_SLOTS_ONE)
            return command_fail(command, EXIT_USAGE, "--%s-labels is missing. Give it, or use --slots one.", names[i]);
    }
    if (features == 0 &&
        (options->fronts.fronts.count > 0 || options->voters.features || options->head || options->looks > 1))
        return command_fail(
            command, EXIT_USAGE,
            "--front, --voters, --head and --looks need --public, --gallery and --queries, which the sample "
            "gallery lacks. Give them.");
    if (!options->gallery.labels != !options->queries.labels)
        return command_fail(command, EXIT_USAGE,
                            "classes need --gallery-labels and --queries-labels. Give both, or leave both out.");
    return EXIT_OK;
}

static exit_code check_cells(const struct words *words, struct evaluate_options *options)
{
    if (words->cells && strcmp(words->cells, "auto") != 0) {
        char *end;
        options->cells = strtoul(words->cells, &end, 10);
        if (*end != 0 || options->cells < 2 || options->cells > PML_CELLS_MAX)
            return command_fail(command, EXIT_USAGE, "--cells must be auto or 2 to %u, not '%s'.", PML_CELLS_MAX,
                                words->cells);
    }
    if (options->mechanism == PML_GAUSSIAN && (words->cells || options->cells_per_item > 0))
        return command_fail(command, EXIT_USAGE, "--cells and --cells-per-item belong to response. Leave them out.");
    if (options->cells_per_item > 2)
        return command_fail(command, EXIT_USAGE, "--cells-per-item must be 1 or 2.");
    if (options->cells_per_item > 0 && words->cells)
        return command_fail(command, EXIT_USAGE,
                            "with --cells-per-item the share decides how many cells there are. Leave --cells out.");
    return EXIT_OK;
}

/* What only the Gaussian has: codes, and what is made of them. */
static exit_code check_codes(const struct words *words, bool iterations_given, struct evaluate_options *options)
{
    const char *codes = words->codes ? words->codes : "pca";
    options->codes = pml_codes_named(codes);
    if (options->codes < 0)
        return command_fail(command, EXIT_USAGE, "--codes must be pca, spectral, lda, random or class, not '%s'.",
                            codes);
    if (options->mechanism != PML_GAUSSIAN &&
        (words->codes || options->dims > 0 || options->neighbours > 0 || iterations_given))
        return command_fail(command, EXIT_USAGE,
                            "--codes, --dims, --neighbours and --iterations belong to --mechanism gaussian. Leave them "
                            "out, or add that.");
    if (!iterations_given)
        options->iterations = PML_ITERATIONS_DEFAULT;
    if (options->dims > PML_DIMENSIONS_MAX || options->neighbours > PML_NEIGHBOURS_MAX ||
        options->iterations > PML_ITERATIONS_MAX)
        return command_fail(command, EXIT_USAGE, "--dims must be 1 to %u, --neighbours 1 to %u, --iterations 0 to %u.",
                            PML_DIMENSIONS_MAX, PML_NEIGHBOURS_MAX, PML_ITERATIONS_MAX);
    if (options->codes == PML_CODES_LDA && options->public.features && !options->public.labels)
        return command_fail(command, EXIT_USAGE, "--codes lda needs --public-labels. Give them, or use --codes pca.");
    return EXIT_OK;
}

/* Public rows vote, unless others do, or none. */
static exit_code read_voters(const struct words *words, struct evaluate_options *options)
{
    const bool lists = options->mechanism != PML_GAUSSIAN && options->cells_per_item == 0;
    const bool none = words->voters && strcmp(words->voters, "none") == 0;
    options->public_votes = lists && (!words->voters || strcmp(words->voters, "public") == 0);
    options->voters.features = none || options->public_votes ? NULL : words->voters;
    if (!options->voters.features && (options->voters.labels || options->voters_modality))
        return command_fail(command, EXIT_USAGE, "--voters-%s needs --voters.",
                            options->voters.labels ? "labels" : "modality");
    if (options->voters.features && (options->mechanism == PML_GAUSSIAN || options->cells_per_item > 0))
        return command_fail(command, EXIT_USAGE,
                            "voters vote for lists of a share. Leave --voters, or --mechanism and --cells-per-item "
                            "out.");
    return EXIT_OK;
}

/* How the packs are built. */
static exit_code check_pack(const struct words *words, bool refine_given, struct evaluate_options *options)
{
    if (words->refine > PML_REFINE_MAX)
        return command_fail(command, EXIT_USAGE, "--refine must be 0 to %d.", PML_REFINE_MAX);
    options->refine = !refine_given ? 0 : words->refine > 0 ? (int)words->refine : -1;
    if (options->with_gallery && options->slots != PML_SLOTS_ONE)
        return command_fail(command, EXIT_USAGE, "--with-gallery needs one slot. Leave it or --slots out.");
    if (options->with_gallery && options->rows_per_prototype == 1)
        return command_fail(command, EXIT_USAGE,
                            "with --rows-per-prototype 1 a pack would show rows of the gallery. Leave that or "
                            "--with-gallery out.");
    return EXIT_OK;
}

static exit_code check_crowd(const struct evaluate_options *options)
{
    if (!options->crowd.asked)
        return EXIT_OK;
    if (options->mechanism == PML_GAUSSIAN || options->cells_per_item > 0)
        return command_fail(command, EXIT_USAGE,
                            "a crowd asks by response, with lists of a share. Leave --mechanism and --cells-per-item "
                            "out.");
    return EXIT_OK;
}

static exit_code check_delta(struct evaluate_options *options, bool has_delta)
{
    const bool gaussian = options->mechanism == PML_GAUSSIAN, crowd = options->crowd.asked;
    if (!gaussian && !crowd && has_delta)
        return command_fail(command, EXIT_USAGE,
                            "--delta belongs to --mechanism gaussian, or to --crowd. Leave it out: response has none.");
    if (!has_delta)
        options->delta = gaussian ? 1e-5 : crowd ? CROWD_DELTA_DEFAULT : 0.0;
    if ((gaussian || crowd) && !(options->delta >= 0x1p-50 && options->delta < 1.0))
        return command_fail(command, EXIT_USAGE, "--delta must be 1e-15 to below 1; %g is the default.",
                            gaussian ? 1e-5 : CROWD_DELTA_DEFAULT);
    return EXIT_OK;
}

static exit_code check_numbers(struct evaluate_options *options)
{
    if (options->releases < 1 || options->releases > EVALUATE_RELEASES_MAX)
        return command_fail(command, EXIT_USAGE, "--releases must be 1 to %d.", EVALUATE_RELEASES_MAX);
    if (options->sketch != 0 && (options->sketch < 8 || options->sketch > PML_SKETCH_MAX))
        return command_fail(command, EXIT_USAGE, "--sketch must be 8 to %u.", PML_SKETCH_MAX);
    if (options->slot_count > 0 && options->slots != PML_SLOTS_GROUP)
        return command_fail(command, EXIT_USAGE, "--slot-count belongs to --slots group. Leave it out, or add that.");
    if (options->rows_per_prototype > 1024)
        return command_fail(command, EXIT_USAGE, "--rows-per-prototype must be 1 to 1024.");
    if (options->slot_count > PML_SLOTS_MAX)
        return command_fail(command, EXIT_USAGE, "--slot-count must be 1 to %u.", PML_SLOTS_MAX);
    if (options->looks > PML_LOOKS_MAX)
        return command_fail(command, EXIT_USAGE, "--looks must be 1 to %u.", PML_LOOKS_MAX);
    if (options->threads > 256)
        return command_fail(command, EXIT_USAGE, "--threads must be 1 to 256.");
    options->threads = pml_parallel_threads((unsigned)options->threads);
    return EXIT_OK;
}

exit_code evaluate_options_parse(int argc, char **argv, struct evaluate_options *options)
{
    struct words words = {0};
    *options = (struct evaluate_options){.releases = 4, .looks = 1};
    enum { OWN = 37, ITERATIONS = 34, REFINE = 35, CROWD = OWN + FRONT_OPTIONS };
    struct option_spec specs[CROWD + CROWD_OPTIONS] = {
        {"delta", OPTION_NUMBER, &options->delta, false, false},
        {"public", OPTION_TEXT, &options->public.features, false, false},
        {"public-labels", OPTION_TEXT, &options->public.labels, false, false},
        {"gallery", OPTION_TEXT, &options->gallery.features, false, false},
        {"gallery-labels", OPTION_TEXT, &options->gallery.labels, false, false},
        {"queries", OPTION_TEXT, &options->queries.features, false, false},
        {"queries-labels", OPTION_TEXT, &options->queries.labels, false, false},
        {"mechanism", OPTION_TEXT, &words.mechanism, false, false},
        {"slots", OPTION_TEXT, &words.slots, false, false},
        {"slot-count", OPTION_COUNT, &options->slot_count, false, false},
        {"class-from", OPTION_TEXT, &words.class_from, false, false},
        {"epsilon", OPTION_TEXT, &words.epsilon, false, false},
        {"share", OPTION_TEXT, &words.share, false, false},
        {"cells", OPTION_TEXT, &words.cells, false, false},
        {"cells-per-item", OPTION_COUNT, &options->cells_per_item, false, false},
        {"rows-per-prototype", OPTION_COUNT, &options->rows_per_prototype, false, false},
        {"soft", OPTION_FLAG, &options->soft, false, false},
        {"plain-sketches", OPTION_FLAG, &options->plain_sketches, false, false},
        {"releases", OPTION_COUNT, &options->releases, false, false},
        {"scope", OPTION_TEXT, &words.scope, false, false},
        {"sketch", OPTION_COUNT, &options->sketch, false, false},
        {"seed", OPTION_COUNT, &options->seed, false, false},
        {"threads", OPTION_COUNT, &options->threads, false, false},
        {"json", OPTION_FLAG, &options->json, false, false},
        {"ask", OPTION_TEXT, &options->ask, false, false},
        {"public-modality", OPTION_TEXT, &options->public_modality, false, false},
        {"voters", OPTION_TEXT, &words.voters, false, false},
        {"voters-labels", OPTION_TEXT, &options->voters.labels, false, false},
        {"voters-modality", OPTION_TEXT, &options->voters_modality, false, false},
        {"head", OPTION_TEXT, &options->head, false, false},
        {"looks", OPTION_COUNT, &options->looks, false, false},
        {"codes", OPTION_TEXT, &words.codes, false, false},
        {"dims", OPTION_COUNT, &options->dims, false, false},
        {"neighbours", OPTION_COUNT, &options->neighbours, false, false},
        [ITERATIONS] = {"iterations", OPTION_COUNT, &options->iterations, false, false},
        [REFINE] = {"refine", OPTION_COUNT, &words.refine, false, false},
        {"with-gallery", OPTION_FLAG, &options->with_gallery, false, false},
    };
    front_options_fill(&options->fronts, specs + OWN);
    crowd_options_fill(&options->crowd, specs + CROWD);
    exit_code code = options_parse(command, argc, argv, specs, CROWD + CROWD_OPTIONS, NULL, 0, 0);
    for (size_t i = 0; i < OWN && code == EXIT_OK; i++) { /* 0 stands for "not given" */
        const bool zero_allowed = specs[i].value == &options->seed || i == ITERATIONS || i == REFINE;
        if (specs[i].kind == OPTION_COUNT && specs[i].given && *(uint64_t *)specs[i].value == 0 && !zero_allowed)
            return command_fail(command, EXIT_USAGE, "--%s must not be 0. Leave it out for the default.",
                                specs[i].name);
    }
    if (code == EXIT_OK)
        code = crowd_options_check(command, &options->crowd, specs + CROWD, true); /* there is always an ε */
    if (code == EXIT_OK)
        code = read_words(&words, options);
    if (code == EXIT_OK)
        code = read_voters(&words, options);
    if (code == EXIT_OK)
        code = check_files(options);
    if (code == EXIT_OK)
        code = check_cells(&words, options);
    if (code == EXIT_OK)
        code = check_codes(&words, specs[ITERATIONS].given, options);
    if (code == EXIT_OK)
        code = check_pack(&words, specs[REFINE].given, options);
    if (code == EXIT_OK)
        code = check_crowd(options);
    if (code == EXIT_OK)
        code = check_delta(options, specs[0].given);
    return code == EXIT_OK ? check_numbers(options) : code;
}
