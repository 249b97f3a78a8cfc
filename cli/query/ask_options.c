/* SPDX-License-Identifier: Apache-2.0
 * The options of query. */
#define _POSIX_C_SOURCE 200809L
#include "ask_options.h"

#include "cli/shared/crowd_kept.h"
#include "common/system.h"
#include "exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETRIES_MAX = 20, TIMEOUT_MAX = 3600, WAIT_MAX = 7 * 86400 };
enum { ANSWER_KEPT = 16 << 20, ANSWER_KEPT_MAX = 1 << 30 };

static const struct command *const command = &command_query;

static exit_code check_resend(const struct ask_arguments *arguments)
{
    const struct query_arguments *query = &arguments->query;
    if (query->has_epsilon || query->has_delta || query->has_value_bytes || query->mechanism || query->budget ||
        query->budget_new || query->budget_crowd || query->owner || query->keep)
        return command_fail(
            command, EXIT_USAGE,
            "--resend sends a release that was made and paid for before. Leave out --keep and the options of "
            "privacy and budget.");
    return EXIT_OK;
}

static exit_code check_numbers(const struct ask_arguments *arguments)
{
    const char *scope = arguments->scope;
    if (strcmp(scope, "own") != 0 && strcmp(scope, "all") != 0)
        return command_fail(command, EXIT_USAGE, "--scope must be own or all, not '%s'.", scope);
    if (arguments->top < 1 || arguments->top > PML_MATCHES_MAX)
        return command_fail(command, EXIT_USAGE, "--top must be 1 to %u.", PML_MATCHES_MAX);
    if (arguments->retries > RETRIES_MAX || arguments->timeout < 1 || arguments->timeout > TIMEOUT_MAX)
        return command_fail(command, EXIT_USAGE, "--retries must be 0 to %d, --timeout 1 to %d seconds.", RETRIES_MAX,
                            TIMEOUT_MAX);
    if (arguments->most_bytes < 1 || arguments->most_bytes > ANSWER_KEPT_MAX)
        return command_fail(command, EXIT_USAGE, "--most-bytes must be 1 to %d.", ANSWER_KEPT_MAX);
    if (arguments->has_wait && (arguments->wait < 1 || arguments->wait > WAIT_MAX))
        return command_fail(command, EXIT_USAGE, "--wait must be 1 to %d seconds.", WAIT_MAX);
    return EXIT_OK;
}

static exit_code check_server(const struct ask_arguments *arguments)
{
    if (!arguments->server)
        return command_fail(command, EXIT_USAGE,
                            "--server is missing: the server to ask. Or name a relay to ask through with --relay.");
    const char *only = arguments->ohttp_keys          ? "ohttp-keys"
                       : arguments->token             ? "token"
                       : arguments->has_wait          ? "wait"
                       : arguments->idle              ? "idle"
                       : arguments->query.crowd.cover ? "cover"
                       : arguments->plain_http        ? "plain-http"
                                                      : NULL;
    if (only)
        return command_fail(command, EXIT_USAGE, "--%s needs --relay URL.", only);
    if (arguments->query.crowd.asked)
        return command_fail(command, EXIT_USAGE, "--crowd needs --relay URL: a server alone would see who asks.");
    return exchange_check(command, "server", arguments->server, EXCHANGE_PLAIN_WARNS);
}

static exit_code check_relay(const struct ask_arguments *arguments, bool has_retries)
{
    const enum exchange_plain plain = arguments->plain_http ? EXCHANGE_PLAIN_WARNS : EXCHANGE_PLAIN_FAILS;
    if (!arguments->query.crowd.asked)
        return command_fail(command, EXIT_USAGE, "--relay needs --crowd N, or --noise relay: whom to hide among.");
    if (arguments->resend || has_retries)
        return command_fail(
            command, EXIT_USAGE,
            "--%s does not go with --relay. Leave it out: the same command sends a kept cell again, and "
            "--wait says how long it tries.",
            arguments->resend ? "resend" : "retries");
    exit_code code = exchange_check(command, "relay", arguments->relay, plain);
    return code == EXIT_OK && arguments->server ? exchange_check(command, "server", arguments->server, plain) : code;
}

static bool is_newer(const struct pml_found *file, const struct pml_found *other)
{
    return file->changed_seconds > other->changed_seconds ||
           (file->changed_seconds == other->changed_seconds && file->changed_nanoseconds > other->changed_nanoseconds);
}

/* Without --keep the cell of a photo is kept beside its features, so that the same command finds it again. Features that
 * were changed since then are of another photo. */
static exit_code name_keep(struct ask_arguments *arguments)
{
    struct query_arguments *query = &arguments->query;
    struct pml_found features, kept;
    const size_t length = strlen(query->features) + 32;
    arguments->kept = malloc(length);
    if (!arguments->kept)
        return command_no_memory(command);
    snprintf(arguments->kept, length, "%s.%" PRIu64 ".cell", query->features, query->row);
    query->keep = arguments->kept;
    if (pml_system_look(PML_HERE, query->features, true, &features) == 0 &&
        pml_system_look(PML_HERE, query->keep, true, &kept) == 0 && is_newer(&features, &kept))
        return command_fail(command, EXIT_INPUT,
                            "%s was changed after the cell in %s was drawn, which may be of another photo. Remove the "
                            "cell to draw a new one, or name it with --keep.",
                            query->features, query->keep);
    return EXIT_OK;
}

/* A bundle is about a query, a kept cell or nothing. */
static exit_code choose_bundle(struct ask_arguments *arguments)
{
    struct query_arguments *query = &arguments->query;
    if (query->crowd.cover && !arguments->idle)
        return command_fail(command, EXIT_USAGE, "--cover belongs to --idle. Leave it out, or add that.");
    query->bundle = PML_BUNDLE_IDLE;
    if (arguments->idle && (query->features || query->labels || query->has_label || query->row != 0 ||
                            query->modality || query->keep || arguments->payloads))
        return command_fail(command, EXIT_USAGE,
                            "--idle has no query. Leave --features, --row, --label, --labels, --modality, --keep and "
                            "--payloads out.");
    if (arguments->idle)
        return EXIT_OK;
    const exit_code code = query->keep ? EXIT_OK : name_keep(arguments);
    query->crowd.kept = crowd_kept_exists(query->keep);
    query->bundle = query->crowd.kept ? PML_BUNDLE_KEPT : PML_BUNDLE_QUERY;
    return code;
}

exit_code ask_options(int argc, char **argv, struct ask_arguments *arguments)
{
    enum { RETRIES, WAIT, OWN = 18 };
    *arguments =
        (struct ask_arguments){.scope = "own", .top = 8, .retries = 2, .timeout = 30, .most_bytes = ANSWER_KEPT};
    struct query_arguments *query = &arguments->query;
    struct option_spec specs[OWN + CROWD_OPTIONS] = {
        [RETRIES] = {"retries", OPTION_COUNT, &arguments->retries, false, false},
        [WAIT] = {"wait", OPTION_COUNT, &arguments->wait, false, false},
        {"server", OPTION_TEXT, &arguments->server, false, false},
        {"relay", OPTION_TEXT, &arguments->relay, false, false},
        {"ohttp-keys", OPTION_TEXT, &arguments->ohttp_keys, false, false},
        {"token", OPTION_TEXT, &arguments->token, false, false},
        {"ca", OPTION_TEXT, &arguments->ca, false, false},
        {"scope", OPTION_TEXT, &arguments->scope, false, false},
        {"keep", OPTION_TEXT, &query->keep, false, false},
        {"resend", OPTION_TEXT, &arguments->resend, false, false},
        {"payloads", OPTION_TEXT, &arguments->payloads, false, false},
        {"most-bytes", OPTION_COUNT, &arguments->most_bytes, false, false},
        {"top", OPTION_COUNT, &arguments->top, false, false},
        {"timeout", OPTION_COUNT, &arguments->timeout, false, false},
        {"idle", OPTION_FLAG, &arguments->idle, false, false},
        {"cover", OPTION_FLAG, &query->crowd.cover, false, false},
        {"plain-http", OPTION_FLAG, &arguments->plain_http, false, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
    };
    crowd_options_fill(&query->crowd, specs + OWN);
    query->may_lack_features = query->ranks = true;
    exit_code code = query_options_parse(command, argc, argv, query, specs, OWN + CROWD_OPTIONS);
    arguments->has_wait = specs[WAIT].given;
    if (code == EXIT_OK)
        code = crowd_options_check(command, &query->crowd, specs + OWN, query->has_epsilon);
    if (code == EXIT_OK)
        code = check_numbers(arguments);
    if (code == EXIT_OK)
        code = arguments->resend ? check_resend(arguments) : query_options_check(command, query);
    if (code == EXIT_OK)
        code = arguments->relay ? check_relay(arguments, specs[RETRIES].given) : check_server(arguments);
    if (code == EXIT_OK && !query->features && !arguments->idle)
        code =
            command_fail(command, EXIT_USAGE, "--features is missing. privatemail query --help explains what it is.");
    return code == EXIT_OK && arguments->relay ? choose_bundle(arguments) : code;
}

void ask_options_free(struct ask_arguments *arguments)
{
    free(arguments->kept);
    arguments->kept = NULL;
}
