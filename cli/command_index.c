/* SPDX-License-Identifier: Apache-2.0
 * index: makes the gallery of a pack in a store, or changes it. */
#define _POSIX_C_SOURCE 200809L
#include "cli/index/index_inputs.h"
#include "cli/index/index_report.h"
#include "cli/index/store_pack.h"

#include "common/clock.h"
#include "server/embedding/embedding.h"
#include "tools/pack/cells_rule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    const char *pack, *store, *add;
    struct index_paths paths;
    uint64_t list, cells, iterations, keep, threads;
    double share;
    bool force, json, change;
    char shown[PML_STORE_SHOWN_MAX]; /* the store's URI without a password */
};

/* ---- options ---- */

enum {
    PACK,
    STORE,
    FEATURES,
    ADD,
    REMOVE,
    LABELS,
    IDS,
    PAYLOADS,
    MODALITY,
    LIST,
    SHARE,
    CELLS,
    ITERATIONS,
    VOTERS,
    VOTERS_LABELS,
    VOTERS_MODALITY,
    KEEP,
    FORCE,
    THREADS,
    JSON,
    OPTIONS
};

static exit_code refuse(const char *message)
{
    return command_fail(&command_index, EXIT_USAGE, "%s", message);
}

/* A change keeps what the first index chose. */
static exit_code check_mode(const struct option_spec *specs)
{
    static const int first_only[] = {LIST, SHARE, CELLS, ITERATIONS, VOTERS, VOTERS_LABELS, VOTERS_MODALITY, FORCE};
    static const int of_rows[] = {LABELS, IDS, PAYLOADS, MODALITY};
    const bool change = specs[ADD].given || specs[REMOVE].given;
    if (specs[FEATURES].given && change)
        return refuse("--features makes a gallery, --add and --remove change one. Choose one of them.");
    if (!specs[FEATURES].given && !change)
        return refuse("--features is missing: give all items of a new gallery, or --add or --remove to change one.");
    for (size_t i = 0; i < sizeof first_only / sizeof *first_only && change; i++)
        if (specs[first_only[i]].given)
            return command_fail(&command_index, EXIT_USAGE,
                                "--%s is chosen once, with --features. Leave it out, or index all features again.",
                                specs[first_only[i]].name);
    for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows && change && !specs[ADD].given; i++)
        if (specs[of_rows[i]].given)
            return command_fail(&command_index, EXIT_USAGE, "--%s belongs to the rows of --add. Leave it out.",
                                specs[of_rows[i]].name);
    return EXIT_OK;
}

static exit_code check_choice(struct arguments *arguments, const struct option_spec *specs)
{
    if (specs[LIST].given + specs[SHARE].given + specs[CELLS].given > 1)
        return refuse("--list, --share and --cells-per-item are three ways to fill the lists. Choose one of them.");
    if (specs[LIST].given && (arguments->list < 1 || arguments->list > PML_CANDIDATES_MAX))
        return command_fail(&command_index, EXIT_USAGE, "--list must be 1 to %u.", PML_CANDIDATES_MAX);
    if (specs[CELLS].given && (arguments->cells < 1 || arguments->cells > 2))
        return refuse("--cells-per-item must be 1 or 2.");
    if (specs[SHARE].given && !(arguments->share >= 1e-6 && arguments->share <= 0.5))
        return refuse("--share must be 1e-6 to 0.5.");
    if (!specs[SHARE].given)
        arguments->share = PML_SHARE_DEFAULT; /* what pack chooses the cells for */
    if (arguments->iterations > PML_ITERATIONS_MAX)
        return command_fail(&command_index, EXIT_USAGE, "--iterations must be 0 to %u.", PML_ITERATIONS_MAX);
    if (arguments->threads > 256 || (specs[THREADS].given && arguments->threads == 0))
        return refuse("--threads must be 1 to 256.");
    if (specs[KEEP].given && (arguments->keep < 1 || arguments->keep > 1000))
        return refuse("--keep must be 1 to 1000 versions: the one that is served is one of them.");
    if (!arguments->paths.voters && (specs[VOTERS_LABELS].given || specs[VOTERS_MODALITY].given))
        return command_fail(&command_index, EXIT_USAGE, "--%s needs --voters V.npy.",
                            specs[specs[VOTERS_LABELS].given ? VOTERS_LABELS : VOTERS_MODALITY].name);
    if (arguments->paths.voters && specs[CELLS].given)
        return refuse(
            "voters vote for lists of a given length, and --cells-per-item makes others. Leave one of them out.");
    return EXIT_OK;
}

static exit_code parse(int argc, char **argv, struct arguments *arguments)
{
    struct index_paths *paths = &arguments->paths;
    struct option_spec specs[OPTIONS] = {
        [PACK] = {"pack", OPTION_TEXT, &arguments->pack, true, false},
        [STORE] = {"store", OPTION_TEXT, &arguments->store, true, false},
        [FEATURES] = {"features", OPTION_TEXT, &paths->features, false, false},
        [ADD] = {"add", OPTION_TEXT, &arguments->add, false, false},
        [REMOVE] = {"remove", OPTION_TEXT, &paths->removed, false, false},
        [LABELS] = {"labels", OPTION_TEXT, &paths->labels, false, false},
        [IDS] = {"ids", OPTION_TEXT, &paths->ids, false, false},
        [PAYLOADS] = {"payloads", OPTION_TEXT, &paths->payloads, false, false},
        [MODALITY] = {"modality", OPTION_TEXT, &paths->modality, false, false},
        [LIST] = {"list", OPTION_COUNT, &arguments->list, false, false},
        [SHARE] = {"share", OPTION_NUMBER, &arguments->share, false, false},
        [CELLS] = {"cells-per-item", OPTION_COUNT, &arguments->cells, false, false},
        [ITERATIONS] = {"iterations", OPTION_COUNT, &arguments->iterations, false, false},
        [VOTERS] = {"voters", OPTION_TEXT, &paths->voters, false, false},
        [VOTERS_LABELS] = {"voters-labels", OPTION_TEXT, &paths->voters_labels, false, false},
        [VOTERS_MODALITY] = {"voters-modality", OPTION_TEXT, &paths->voters_modality, false, false},
        [KEEP] = {"keep", OPTION_COUNT, &arguments->keep, false, false},
        [FORCE] = {"force", OPTION_FLAG, &arguments->force, false, false},
        [THREADS] = {"threads", OPTION_COUNT, &arguments->threads, false, false},
        [JSON] = {"json", OPTION_FLAG, &arguments->json, false, false},
    };
    struct pml_message message = {""};
    exit_code code = options_parse(&command_index, argc, argv, specs, OPTIONS, NULL, 0, 0);
    if (code == EXIT_OK)
        code = check_mode(specs);
    if (code == EXIT_OK)
        code = check_choice(arguments, specs);
    if (code != EXIT_OK)
        return code;
    arguments->change = !specs[FEATURES].given;
    if (specs[ADD].given)
        paths->features = arguments->add;
    if (pml_store_check(arguments->store, &message) != PML_DONE)
        return command_fail(&command_index, EXIT_USAGE, "--store: %s", message.text);
    pml_store_show(arguments->store, arguments->shown);
    return EXIT_OK;
}

static exit_code check_pack(const struct arguments *arguments, const pml_pack_info *info)
{
    if (info->sketch == 0)
        return command_fail(&command_index, EXIT_INPUT,
                            "%s has no sketches, so devices could not rank an answer. Use a pack that has them.",
                            arguments->pack);
    if (info->slot_kind != PML_SLOTS_ONE && arguments->paths.features && !arguments->paths.labels)
        return command_fail(&command_index, EXIT_USAGE,
                            "--labels is missing: the pack has %lu slots. Give the class of every row.",
                            (unsigned long)info->slots);
    if (arguments->paths.voters && info->cells == 0)
        return command_fail(&command_index, EXIT_USAGE,
                            "--voters vote for the lists of cells, and %s has no cells. Leave them out.",
                            arguments->pack);
    return EXIT_OK;
}

/* ---- jobs ---- */

static struct pml_settings choose(const struct arguments *arguments, const pml_pack_info *pack, size_t items)
{
    struct pml_settings settings = {.iterations = pack->anchors > 0 ? (uint32_t)arguments->iterations : 0};
    const double list = floor(arguments->share * (double)items / pack->slots + 0.5);
    if (pack->cells == 0)
        return settings;
    settings.cells_per_item = (uint32_t)arguments->cells;
    if (arguments->cells == 0)
        settings.list = arguments->list > 0 ? (uint32_t)arguments->list : list < 1.0 ? 1 : (uint32_t)list;
    return settings;
}

static struct pml_newcomers newcomers_of(struct index_inputs *inputs)
{
    return (struct pml_newcomers){.rows = inputs->count > 0 ? &inputs->gallery.rows : NULL,
                                  .items = inputs->items,
                                  .labels = inputs->gallery.labels.values,
                                  .slots = inputs->gallery.slots,
                                  .payload = index_payloads_load,
                                  .payload_context = &inputs->payloads};
}

static struct pml_working working_of(const struct arguments *arguments)
{
    return (struct pml_working){.threads = (unsigned)arguments->threads, .report = progress_show};
}

static exit_code map(const struct arguments *arguments, const struct pack_file *pack, struct index_inputs *inputs)
{
    return index_inputs_map(&command_index, &arguments->paths, pack, pml_parallel_threads((unsigned)arguments->threads),
                            inputs);
}

/* Prints what went wrong: with what was given, or with the store. */
static exit_code tell_failure(const struct arguments *arguments, pml_outcome outcome, bool given,
                              const struct pml_message *message)
{
    if (outcome == PML_OTHER_VERSION)
        return store_refuse(&command_index, arguments->shown, outcome, message);
    return (given ? command_input : command_output)(&command_index, outcome, message);
}

static exit_code conclude(const struct arguments *arguments, pml_outcome outcome,
                          const struct pml_change_report *report, const struct pml_message *message)
{
    progress_end();
    return outcome == PML_DONE ? EXIT_OK : tell_failure(arguments, outcome, report->inputs_at_fault, message);
}

static void tell_resumed(const struct pml_change_report *report)
{
    if (report->restarted)
        fprintf(stderr, "privatemail index: an earlier run was not finished and had other inputs. Its work is lost.\n");
    if (report->resumed != PML_STAGE_NONE)
        fprintf(stderr, "privatemail index: an earlier run had %s; continuing after that.\n",
                report->resumed == PML_STAGE_ROWS ? "written all items" : "found all neighbours");
}

static exit_code index_all(struct pml_store *store, const struct arguments *arguments, const struct pack_file *pack,
                           struct index_inputs *inputs, struct pml_change_report *report)
{
    struct pml_message message = {""};
    struct pml_index_job job = {.pack = &pack->pack,
                                .settings = choose(arguments, &pack->info, inputs->count),
                                .keep = arguments->keep > 0 ? (uint32_t)arguments->keep : PML_KEEP_DEFAULT,
                                .force = arguments->force,
                                .working = working_of(arguments)};
    enum pml_stage done;
    exit_code code = index_inputs_digest(&command_index, inputs, pack, &job.settings, job.inputs);
    progress_end();
    if (code != EXIT_OK)
        return code;
    pml_outcome outcome = pml_gallery_unfinished(store, pack->info.id, job.inputs, arguments->force, &done, &message);
    if (outcome != PML_DONE)
        return tell_failure(arguments, outcome, false, &message);
    code = done == PML_STAGE_NONE ? map(arguments, pack, inputs) : EXIT_OK;
    if (code != EXIT_OK)
        return code;
    const struct pml_voters voters = {inputs->voters.rows, inputs->voters.slots};
    job.items = newcomers_of(inputs);
    job.voters = arguments->paths.voters ? &voters : NULL;
    outcome = pml_gallery_index(store, &job, report, &message);
    code = conclude(arguments, outcome, report, &message);
    tell_resumed(report);
    return code;
}

static exit_code change(struct pml_store *store, const struct arguments *arguments, const struct pack_file *pack,
                        struct index_inputs *inputs, struct pml_change_report *report)
{
    struct pml_message message = {""};
    uint64_t last = 0;
    pml_outcome outcome = pml_gallery_last(store, pack->info.id, &last, &message);
    if (outcome != PML_DONE)
        return tell_failure(arguments, outcome, outcome == PML_REFUSED, &message);
    exit_code code = EXIT_OK;
    if (!arguments->paths.ids)
        code = index_inputs_number(&command_index, &arguments->paths, last + 1, inputs);
    if (code == EXIT_OK)
        code = map(arguments, pack, inputs);
    if (code != EXIT_OK)
        return code;
    const struct pml_change_job job = {.pack = &pack->pack,
                                       .items = newcomers_of(inputs),
                                       .removed = inputs->removed,
                                       .removed_count = inputs->removed_count,
                                       .keep = (uint32_t)arguments->keep,
                                       .working = working_of(arguments)};
    outcome = pml_gallery_change(store, &job, report, &message);
    return conclude(arguments, outcome, report, &message);
}

/* ---- command ---- */

/* A writer makes a store that is not there, so a change looks first whether it is. */
static exit_code open_store(const struct arguments *arguments, struct pml_store **store)
{
    struct pml_message message = {""};
    pml_outcome outcome = PML_DONE;
    if (arguments->change) {
        outcome = pml_store_open(store, arguments->store, PML_STORE_READ, &message);
        if (outcome != PML_DONE)
            return command_input(&command_index, outcome, &message);
        pml_store_close(*store);
    }
    outcome = pml_store_open(store, arguments->store, PML_STORE_WRITE, &message);
    return outcome == PML_DONE ? EXIT_OK : command_output(&command_index, outcome, &message);
}

static exit_code index_with(const struct arguments *arguments, const struct pack_file *pack,
                            struct index_inputs *inputs)
{
    struct index_report report = {.store = arguments->shown, .pack = pack, .json = arguments->json};
    struct pml_store *store;
    const double start = pml_clock_now();
    exit_code code = check_pack(arguments, &pack->info);
    if (code == EXIT_OK)
        code = index_inputs_read(&command_index, &arguments->paths, pack, inputs);
    if (code == EXIT_OK && (!arguments->change || arguments->paths.ids)) /* else numbers depend on the gallery */
        code = index_inputs_number(&command_index, &arguments->paths, 0, inputs);
    if (code == EXIT_OK)
        code = open_store(arguments, &store);
    if (code != EXIT_OK)
        return code;
    code = (arguments->change ? change : index_all)(store, arguments, pack, inputs, &report.change);
    pml_store_close(store);
    if (code != EXIT_OK)
        return code;
    report.seconds = pml_clock_now() - start;
    if (inputs->payloads.unused > 0)
        fprintf(stderr,
                "privatemail index: %zu files in %s belong to no item. Name each payload by the number of its item.\n",
                inputs->payloads.unused, inputs->payloads.folder);
    index_report_write(&report);
    return EXIT_OK;
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {.iterations = PML_ITERATIONS_DEFAULT};
    struct index_inputs inputs = {0};
    struct pack_file pack;
    exit_code code = parse(argc, argv, &arguments);
    if (code == EXIT_OK)
        code = pack_file_open(&command_index, arguments.pack, &pack);
    if (code != EXIT_OK)
        return code;
    code = index_with(&arguments, &pack, &inputs);
    index_inputs_free(&inputs);
    pack_file_close(&pack);
    return code;
}

static const char help[] =
    "Usage: privatemail index --store STORE --pack P --features F.npy [OPTIONS]\n"
    "       privatemail index --store STORE --pack P [--add F.npy [OPTIONS]] [--remove R.txt]\n\n"
    "Makes the gallery that privatemail serve and find search, or changes it. Every change is a new version, which is\n"
    "served at once when it is complete. If the first index is stopped, even by a power cut, run the same command "
    "again:\n"
    "it continues where it was. A change that is stopped leaves the version before.\n\n"
    "Options:\n"
    "  --pack P             the pack that devices use\n"
    "  --store STORE        sqlite:FILE, dir:FOLDER, or postgres:URI (docs/SERVER.md). A store holds the galleries of "
    "any\n"
    "                       number of packs\n"
    "  --features F.npy     all items of a new gallery: float32, little-endian, C order, as many features per row as "
    "the\n"
    "                       pack has\n"
    "  --add F.npy          items that come. One whose number is there already is replaced\n"
    "  --remove R.txt       numbers of items that go, one per line. Together with --add it is one change\n"
    "  --labels L.npy       the class of each row; may be left out if the pack has one slot (then all are 0)\n"
    "  --modality NAME      whose features they are, when the pack has fronts (privatemail inspect). Default: the "
    "first\n"
    "  --ids I.txt          the number of each row, 0 to 2^63-1, one per line, all different. Default 0, 1, 2, ..., "
    "and\n"
    "                       with --add those that follow the largest\n"
    "  --payloads DIR       what devices get with a candidate: 17.jpg or 0017.jpg belongs to item 17, at most 65535\n"
    "                       bytes each. Items without a file have an empty payload\n"
    "  --keep N             versions to keep, with the one that is served, 1 to 1000. Default 3, or as before\n"
    "  --threads N          1 to 256. Default: the number of processors. Never changes the gallery\n"
    "  --json               JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help               this text\n\n"
    "Chosen once, with --features:\n"
    "  --list N             every cell lists N items: those most likely to be near a query in that cell. It stays N "
    "when\n"
    "                       the gallery grows\n"
    "  --share F            instead of --list: N is the share F, 1e-6 to 0.5, of the items of a slot, on average, so "
    "an\n"
    "                       answer carries the share F. Default 0.02\n"
    "  --cells-per-item N   instead of both: list every item in its nearest cell (1), or in the two nearest (2)\n"
    "  --voters V.npy       public rows that vote for the lists, beside the items. For queries that are unlike the "
    "items,\n"
    "                       such as words that ask for pictures: give rows that are like queries. They are no items, "
    "but\n"
    "                       are remembered for later changes\n"
    "  --voters-labels VL.npy  their classes: each votes in the slot of its class only. Default: in every slot\n"
    "  --voters-modality NAME  whose features they are. Default: the first\n"
    "  --iterations T       iterations of the embedding (gaussian only), 0 to 64. Default 0\n"
    "  --force              replace the gallery of this pack that is there\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 the store cannot be written,\n"
    "7 out of memory.\n\n"
    "Example: privatemail index --pack shapes.pmpk --features shapes/gallery.npy --labels shapes/gallery_labels.npy "
    "\\\n"
    "         --store sqlite:shapes.store\n"
    "         privatemail index --pack shapes.pmpk --remove gone.txt --store sqlite:shapes.store\n";

const struct command command_index = {"index", "make the gallery of a pack, or change it", help, run};
