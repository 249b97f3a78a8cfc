/* SPDX-License-Identifier: Apache-2.0
 * In: a release, or an epoch of a crowd, and public items. Out: the server's belief about each item. */
#include "belief_options.h"

#include "cli/shared/output.h"
#include "common/npy.h"
#include "lab/belief/belief.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

void belief_options_fill(struct belief_arguments *arguments, struct option_spec specs[BELIEF_OPTIONS])
{
    *arguments = (struct belief_arguments){.floor = 8.0, .own = 1};
    const struct option_spec filled[BELIEF_OPTIONS] = {
        [BELIEF_RELEASE] = {"release", OPTION_TEXT, &arguments->release, false, false},
        [BELIEF_POSTERIOR] = {"posterior", OPTION_TEXT, &arguments->posterior, false, false},
        [BELIEF_EPSILON] = {"epsilon", OPTION_NUMBER, &arguments->epsilon, false, false},
        [BELIEF_DELTA] = {"delta", OPTION_NUMBER, &arguments->delta, false, false},
        [BELIEF_CROWD] = {"crowd", OPTION_COUNT, &arguments->clients, false, false},
        [BELIEF_COPIES] = {"copies", OPTION_COUNT, &arguments->copies, false, false},
        [BELIEF_FLOOR] = {"floor", OPTION_NUMBER, &arguments->floor, false, false},
        [BELIEF_OWN] = {"own", OPTION_COUNT, &arguments->own, false, false},
        [BELIEF_RELAY_CLUSTERS] = {"relay-clusters", OPTION_NUMBER, &arguments->relay_clusters, false, false},
        [BELIEF_KNOWN] = {"known", OPTION_TEXT, &arguments->known, false, false},
    };
    memcpy(specs, filled, sizeof filled);
}

static exit_code check_crowd(const struct command *command, const struct belief_arguments *arguments,
                             const struct option_spec specs[BELIEF_OPTIONS])
{
    const struct {
        const char *option;
        double value, least, most;
        const char *text;
    } ranges[] = {
        {"crowd", (double)arguments->clients, 0, (double)PML_CROWD_CLIENTS_MAX,
         "0 to 4294967296: the honest clients of the epoch, the asker included"},
        {"clusters", arguments->clusters, 0.0, PML_CROWD_CLUSTERS_MAX, "0 to 4"},
        {"copies", (double)arguments->copies, 1, PML_CROWD_COPIES_MAX, "1 to 64"},
        {"floor", arguments->floor, PML_CROWD_FLOOR_MIN, PML_EPSILON_MAX, "2e-5 to 16; 8 is the default"},
        {"own", (double)arguments->own, 1, PML_CROWD_OWN_MAX, "1 to 8"},
        {"relay-clusters", arguments->relay_clusters, 0.0, PML_CROWD_RELAY_MAX, "0 to 16777216"},
    };
    if (specs[BELIEF_EPSILON].given || specs[BELIEF_DELTA].given)
        return command_fail(command, EXIT_USAGE, "an epoch of a crowd has --floor, and no --epsilon or --delta.");
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (!(ranges[i].value >= ranges[i].least && ranges[i].value <= ranges[i].most))
            return command_fail(command, EXIT_USAGE, "--%s must be %s.", ranges[i].option, ranges[i].text);
    }
    return EXIT_OK;
}

exit_code belief_options_check(const struct command *command, struct belief_arguments *arguments,
                               const struct option_spec specs[BELIEF_OPTIONS])
{
    arguments->asked = arguments->release;
    arguments->in_crowd = specs[BELIEF_CROWD].given || specs[BELIEF_RELAY_CLUSTERS].given;
    for (size_t i = 0; i < BELIEF_OPTIONS; i++) {
        if (specs[i].given && !arguments->asked)
            return command_fail(command, EXIT_USAGE, "--%s needs --release FILE.", specs[i].name);
        if (specs[i].given && i > BELIEF_CROWD && !arguments->in_crowd)
            return command_fail(command, EXIT_USAGE, "--%s needs --crowd N.", specs[i].name);
    }
    if (arguments->in_crowd)
        return check_crowd(command, arguments, specs);
    if (arguments->asked && !specs[BELIEF_EPSILON].given)
        return command_fail(command, EXIT_USAGE,
                            "--release needs --epsilon E, that of the release (and --delta D for a Gaussian one); or, "
                            "for an epoch of a crowd, --crowd N --clusters K --copies V --floor E0.");
    return EXIT_OK;
}

/* ---- epochs ---- */

/* Adds `sign` for each message of the file. */
static exit_code count_messages(const struct command *command, const struct pack_file *file, const char *path, int sign,
                                uint32_t *counts)
{
    const pml_mechanism mechanism = file->info.slots == 1 ? PML_RESPONSE : PML_CROWD;
    uint8_t *bytes = NULL;
    size_t size = 0, length = 0;
    exit_code code = pack_file_bundle(command, file, path, &bytes, &size, &length);
    for (size_t at = 0; code == EXIT_OK && at < size; at += length) {
        pml_release_view view;
        if (pml_release_parse(&file->pack, bytes + at, length, &view) != PML_OK || view.mechanism != mechanism) {
            code = command_fail(command, EXIT_INPUT, "%s holds no messages of a crowd. Leave --crowd out.", path);
            break;
        }
        uint32_t *count = &counts[pml_release_symbol(&view, 0)];
        if (sign < 0 && *count == 0)
            code = command_fail(command, EXIT_INPUT,
                                "message %zu of %s is not in the epoch, or not as often. --known takes out real "
                                "messages of others, each once.",
                                at / length, path);
        else
            *count += (uint32_t)sign;
    }
    free(bytes);
    return code;
}

static exit_code believe_epoch(const struct command *command, const struct belief_arguments *arguments,
                               const struct pack_file *file, const struct belief_items *items, double *posterior)
{
    const pml_crowd crowd = {.clients = arguments->clients,
                             .clusters = arguments->clusters,
                             .copies = (uint32_t)arguments->copies,
                             .own = (uint32_t)arguments->own,
                             .relay_clusters = arguments->relay_clusters};
    struct pml_message message = {""};
    uint32_t *counts = calloc((size_t)file->info.slots * file->info.cells + 1, sizeof *counts);
    if (!counts)
        return command_no_memory(command);
    exit_code code = count_messages(command, file, arguments->release, 1, counts);
    if (code == EXIT_OK && arguments->known)
        code = count_messages(command, file, arguments->known, -1, counts);
    if (code == EXIT_OK) {
        const pml_outcome outcome = belief_crowd(items, counts, &crowd, arguments->floor, posterior, &message);
        if (outcome != PML_DONE)
            code = command_input(command, outcome, &message);
    }
    free(counts);
    return code;
}

/* ---- releases ---- */

static exit_code believe_release(const struct command *command, const struct belief_arguments *arguments,
                                 const struct pack_file *file, const struct belief_items *items, double *posterior)
{
    struct pml_message message = {""};
    uint8_t *bytes = NULL;
    size_t size = 0;
    pml_release_view view;
    exit_code code = pack_file_release(command, file, arguments->release, &bytes, &size, &view);
    if (code == EXIT_OK && view.mechanism == PML_CROWD)
        code = command_fail(command, EXIT_USAGE,
                            "%s is a message of a crowd: give --crowd, --clusters, --copies and "
                            "--floor, and the whole epoch.",
                            arguments->release);
    if (code == EXIT_OK) {
        const pml_outcome outcome =
            view.mechanism == PML_RESPONSE
                ? belief_response(items, &view, arguments->epsilon, posterior, &message)
                : belief_gaussian(items, &view, arguments->epsilon, arguments->delta, posterior, &message);
        if (outcome != PML_DONE)
            code = command_input(command, outcome, &message);
    }
    free(bytes);
    return code;
}

static void shade(struct belief *belief)
{
    for (size_t i = 0; i < belief->count; i++) {
        const double share = log(belief->posterior[i] * (double)belief->count) / log(BELIEF_FULL);
        belief->shades[i] = (float)(share > 0.0 ? share < 1.0 ? share : 1.0 : 0.0);
    }
}

exit_code belief_make(const struct command *command, const struct belief_arguments *arguments,
                      const struct pack_file *file, const struct pml_rows *rows, const int32_t *labels,
                      struct belief *belief)
{
    struct belief_items items;
    struct pml_message message = {""};
    *belief = (struct belief){.posterior = malloc(rows->count * sizeof *belief->posterior),
                              .shades = malloc(rows->count * sizeof *belief->shades),
                              .count = rows->count};
    if (!belief->posterior || !belief->shades)
        return command_no_memory(command);
    pml_outcome outcome = belief_items_make(&items, &file->pack, rows, labels, 0, &message);
    exit_code code = outcome == PML_DONE ? EXIT_OK : command_input(command, outcome, &message);
    if (code == EXIT_OK)
        code = (arguments->in_crowd ? believe_epoch : believe_release)(command, arguments, file, &items,
                                                                       belief->posterior);
    belief_items_free(&items);
    if (code == EXIT_OK) {
        const struct belief_summary summary = belief_summarise(belief->posterior, belief->count);
        belief->largest = summary.largest;
        belief->entropy = summary.entropy;
        shade(belief);
    }
    if (code == EXIT_OK && arguments->posterior) {
        outcome = pml_doubles_write(arguments->posterior, belief->posterior, belief->count, &message);
        code = outcome == PML_DONE ? EXIT_OK : command_output(command, outcome, &message);
    }
    return code;
}

void belief_free(struct belief *belief)
{
    free(belief->posterior);
    free(belief->shades);
    *belief = (struct belief){0};
}

/* ---- what is shown ---- */

void belief_write(const struct belief *belief, struct json *json)
{
    json_number(json, "posterior_max", belief->largest);
    json_number(json, "posterior_gain", belief->largest * (double)belief->count);
    json_number(json, "posterior_entropy", belief->entropy);
    json_number(json, "prior_entropy", log2((double)belief->count));
}

void belief_print(const struct belief *belief)
{
    printf("the server believes in its likeliest item with %.3g, which is %.3g times what it believed before; %.2f of "
           "%.2f "
           "bits are left to know\n",
           belief->largest, belief->largest * (double)belief->count, belief->entropy, log2((double)belief->count));
}
