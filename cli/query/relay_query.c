/* SPDX-License-Identifier: Apache-2.0
 * A query through a relay. In: a pack, secret features, a relay and a server that may be hostile. Out: what was found. The
 * drawn cell is paid for once and kept in a file. When an epoch is lost, the cell is sent again in a later one: because of
 * the relay, never because of an answer. */
#define _POSIX_C_SOURCE 200809L
#include "relay_query.h"

#include "cli/shared/output.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/system.h"
#include "epoch_record.h"
#include "key_pin.h"
#include "own_answers.h"
#include "relay_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAIT_EPOCHS = 10, AHEAD_MAX = 3600, BEHIND_MAX = 86400 }; /* seconds: SPEC 11.1 */
enum { ANSWER_MAX = 1 << 30 };

struct job {
    const struct command *command;
    struct ask_arguments *arguments;
    struct private_query query;
    struct query_results results;
    struct relay_link link;
    struct relay_about about;
    struct relay_epoch epoch;
    struct sealed_bundle sealed;
    pml_seal_key key;
    char *record; /* path of the person's last epoch; NULL: nothing is known of the person */
    uint64_t rounds;
};

/* ---- before the price is paid ---- */

static exit_code check_sketches(const struct job *job)
{
    if (job->query.file.info.sketch > 0 || job->arguments->idle)
        return EXIT_OK;
    return command_fail(job->command, EXIT_PRIVACY,
                        "%s has no sketches, so no answer can be ranked. Build a pack with --sketch 32.",
                        job->arguments->query.pack);
}

/* The relay's word proves nothing. But where it says itself that it does less than the promise rests on, there is no
 * promise to make. */
static exit_code check_clients(const struct job *job)
{
    const struct crowd_promise *promise = &job->query.promise;
    const uint64_t clients = job->about.clients;
    if (!promise->crowded || promise->policy.clusters <= 0.0 || clients >= promise->clients)
        return EXIT_OK;
    return command_fail(job->command, EXIT_PRIVACY,
                        "%s says that it mixes %" PRIu64 " clients, and --crowd counts on %" PRIu64
                        ". Give --crowd %" PRIu64 ", or use another relay.",
                        job->arguments->relay, clients, promise->clients, clients);
}

/* The token is in a file, because others on this machine can see options. */
static exit_code read_token(struct job *job)
{
    const char *path = job->arguments->token;
    struct pml_message message = {""};
    uint8_t *text = NULL;
    size_t size = 0;
    if (!path)
        return EXIT_OK;
    const pml_outcome outcome = pml_file_read(path, EXCHANGE_TOKEN_MAX - 1, &text, &size, &message);
    if (outcome != PML_DONE)
        return command_input(job->command, outcome, &message);
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
        size--;
    bool good = size > 0;
    for (size_t i = 0; i < size; i++)
        good = good && text[i] > ' ' && text[i] < 127;
    memcpy(job->link.token, text, good ? size : 0);
    free(text);
    return good ? EXIT_OK : command_fail(job->command, EXIT_INPUT, "%s holds no token. Put one line into it.", path);
}

static exit_code describe(struct job *job)
{
    struct relay_link *link = &job->link;
    const struct ask_arguments *arguments = job->arguments;
    link->exchange = (struct exchange){.server = arguments->relay, .ca = arguments->ca};
    link->pack = job->query.file.id;
    link->timeout = (unsigned)arguments->timeout;
    link->deadline = pml_clock_now() + (double)(arguments->has_wait ? arguments->wait : arguments->timeout);
    const exit_code code = read_token(job);
    const enum relay_result result = code == EXIT_OK ? relay_describe(link, &job->about) : RELAY_OK;
    if (code != EXIT_OK)
        return code;
    if (result == RELAY_INVALID && job->about.version > RELAY_VERSION)
        return command_fail(job->command, EXIT_NETWORK,
                            "%s is a relay of version %" PRIu64 "; this command knows version %d. Use a newer privatemail.",
                            arguments->relay, job->about.version, RELAY_VERSION);
    if (result != RELAY_OK)
        return relay_tell(link, job->command, result);
    if (!arguments->has_wait)
        link->deadline = pml_clock_now() + (double)WAIT_EPOCHS * (double)job->about.epoch_seconds;
    return check_clients(job);
}

/* ---- the epoch ---- */

static exit_code check_epoch(const struct job *job)
{
    const struct relay_epoch *epoch = &job->epoch;
    const double ahead = (double)epoch->number - (double)time(NULL);
    if (ahead > (double)AHEAD_MAX || ahead < -(double)BEHIND_MAX)
        return command_fail(job->command, EXIT_NETWORK,
                            "%s names an epoch that is %.0f s %s this machine's clock. Check the clock, or use another "
                            "relay.",
                            job->arguments->relay, fabs(ahead), ahead > 0 ? "ahead of" : "behind");
    if (epoch->message != pml_message_size(job->query.receipt.price.bytes) || epoch->answer > ANSWER_MAX)
        return command_fail(
            job->command, EXIT_NETWORK,
            "%s wants messages of %" PRIu64 " bytes for pack %s, not %zu. Check that it is a PrivateMail "
            "relay of this version.",
            job->arguments->relay, epoch->message, job->link.pack, pml_message_size(job->query.receipt.price.bytes));
    return EXIT_OK;
}

static exit_code tell_taken(const struct job *job, uint64_t epoch)
{
    return command_fail(job->command, EXIT_NETWORK,
                        "a bundle of yours is in the open epoch %" PRIu64
                        " already, and no later one opened within --wait. Start the same command later.",
                        epoch);
}

/* Finds an epoch in which this person has no bundle yet, and waits for it. */
static exit_code find_epoch(struct job *job, bool claim)
{
    for (uint64_t taken = 0;; taken = job->epoch.number) {
        const enum relay_result result = relay_epoch_now(&job->link, &job->epoch);
        if (result == RELAY_LATE && taken > 0 && relay_slow(&job->link))
            return tell_taken(job, taken);
        if (result != RELAY_OK)
            return relay_tell(&job->link, job->command, result);
        exit_code code = check_epoch(job);
        bool is_free = true;
        if (code == EXIT_OK && job->record)
            code = epoch_record_check(job->command, job->record, job->epoch.number, claim, &is_free);
        if (code != EXIT_OK || is_free)
            return code;
        if (!relay_pause(&job->link, fmin(fmax(job->epoch.closes, 0.25), 2.0)))
            return tell_taken(job, job->epoch.number);
    }
}

/* ---- the relay's clusters ---- */

static exit_code open_query(struct job *job)
{
    exit_code code = private_query_open(&job->query, job->command, &job->arguments->query);
    if (code == EXIT_OK)
        code = check_sketches(job);
    return code == EXIT_OK ? private_query_client(&job->query) : code;
}

/* Whether the relay's word is at least what the policy rests on: fewer clusters hide less. */
static bool is_enough(const struct job *job)
{
    const pml_crowd *policy = &job->query.promise.policy;
    return policy->relay_clusters <= 0.0 || !job->query.promise.crowded ||
           (job->epoch.copies == policy->copies && job->epoch.clusters >= policy->relay_clusters);
}

/* Where the relay's clusters are of another size than those that were planned here, its word becomes the policy if it
 * keeps the same promise. A policy that was given stays as it is. */
static exit_code check_noise(struct job *job)
{
    struct crowd_arguments *crowd = &job->arguments->query.crowd;
    const struct relay_epoch *epoch = &job->epoch;
    const struct crowd_promise planned = job->query.promise;
    exit_code code = EXIT_OK;
    if (is_enough(job))
        return EXIT_OK;
    if (!crowd->taken && epoch->noisy && planned.policy.clusters <= 0.0) {
        crowd->taken = true;
        crowd->relay_clusters = fmin(epoch->clusters, PML_CROWD_RELAY_MAX);
        crowd->copies = epoch->copies;
        private_query_close(&job->query);
        code = open_query(job);
        if (code != EXIT_OK || (job->query.promise.crowded && job->query.promise.epsilon <= planned.epsilon))
            return code;
    }
    return command_fail(job->command, EXIT_PRIVACY,
                        "%s says that it adds %g clusters of 1 to %" PRIu32 " messages, and the promise rests on %g of "
                        "1 to %" PRIu32 ". Give a larger --epsilon or --delta, or use another relay.",
                        job->arguments->relay, epoch->clusters, epoch->copies, planned.policy.relay_clusters,
                        planned.policy.copies);
}

/* ---- the bundle ---- */

static exit_code check_keep(const struct job *job)
{
    const struct query_arguments *query = &job->arguments->query;
    if (query->bundle != PML_BUNDLE_QUERY)
        return EXIT_OK;
    exit_code code = private_query_apart(&job->query, query->keep, "keep");
    if (code == EXIT_OK)
        code = output_check(job->command, query->keep, false);
    return code == EXIT_OK ? output_try(job->command, query->keep, CROWD_KEPT_FILE_MAX) : code;
}

/* Pays, draws and keeps. The budget is free for others while we wait for the crowd. */
static exit_code make_bundle(struct job *job)
{
    struct private_query *query = &job->query;
    exit_code code = private_query_budget(query, 1);
    if (code == EXIT_OK)
        code = check_keep(job);
    if (code != EXIT_OK)
        return code;
    code = private_query_make(query);
    if (code == EXIT_OK)
        code = private_query_keep(query);
    private_query_settle(query);
    return code;
}

/* Hands the bundle over in an epoch. When that closed meanwhile, the same messages are sealed again for the next one. */
static exit_code hand_over(struct job *job)
{
    for (;;) {
        exit_code code = find_epoch(job, true);
        if (code != EXIT_OK)
            return code;
        sealed_bundle_close(&job->sealed);
        const pml_status status =
            sealed_bundle_make(&job->sealed, &job->query.bundle, &job->key, job->epoch.number, job->query.file.info.id);
        if (status != PML_OK)
            return command_status(job->command, "sealing", status);
        const enum relay_result result = relay_hand_over(&job->link, job->sealed.bytes, job->sealed.size);
        if (result == RELAY_OK)
            return EXIT_OK;
        if (result != RELAY_OTHER_EPOCH)
            return relay_tell(&job->link, job->command, result);
        if (!relay_pause(&job->link, 0.05))
            return relay_tell(&job->link, job->command, RELAY_LATE);
        code = key_pin_get(job->command, job->arguments, &job->link, &job->key); /* the next one may have another key */
        if (code != EXIT_OK)
            return code;
    }
}

/* ---- one round ---- */

/* A cover's answers are fetched as a query's are, and dropped. */
static exit_code take_answers(struct job *job, bool *lost)
{
    const struct ask_arguments *arguments = job->arguments;
    const struct own_answers own = {.command = job->command,
                                    .results = arguments->idle ? NULL : &job->results,
                                    .query = &job->query,
                                    .scope = strcmp(arguments->scope, "all") == 0 ? PML_ALL_SLOTS : PML_OWN_SLOT,
                                    .top = (size_t)arguments->top,
                                    .size = job->epoch.answer};
    exit_code code = own_answers_take(&own, &job->link, &job->sealed, lost);
    *lost = *lost && !arguments->idle;
    return code;
}

/* The cell is drawn and its floor paid; whatever follows sends the kept one. */
static exit_code begin_again(struct job *job)
{
    struct query_arguments *query = &job->arguments->query;
    query->bundle = PML_BUNDLE_KEPT;
    query->crowd.kept = true;
    query->budget_new = query->budget_crowd = NULL;
    private_query_close(&job->query);
    fprintf(stderr, "privatemail %s: the relay lost epoch %" PRIu64 "; the kept cell is sent again in a later one.\n",
            job->command->name, job->epoch.number);
    return open_query(job);
}

static exit_code run_rounds(struct job *job)
{
    for (bool lost = true; lost;) {
        exit_code code = job->rounds > 0 ? begin_again(job) : EXIT_OK;
        job->rounds++;
        if (code == EXIT_OK)
            code = key_pin_get(job->command, job->arguments, &job->link, &job->key);
        if (code == EXIT_OK)
            code = find_epoch(job, false); /* nothing is paid while there is no epoch to send it in */
        if (code == EXIT_OK)
            code = check_noise(job);
        if (code == EXIT_OK)
            code = make_bundle(job);
        if (code == EXIT_OK)
            code = hand_over(job);
        if (code == EXIT_OK)
            code = take_answers(job, &lost);
        if (code != EXIT_OK)
            return code;
    }
    return EXIT_OK;
}

/* ---- command ---- */

static exit_code name_record(struct job *job)
{
    const struct query_arguments *query = &job->arguments->query;
    const char *beside = query->budget ? query->budget : query->keep;
    char *real = beside ? pml_system_real_path(beside) : NULL; /* one record, whatever links lead to the file */
    job->record = beside ? epoch_record_path(real ? real : beside, job->query.file.id) : NULL;
    free(real);
    return job->record || !beside ? EXIT_OK : command_no_memory(job->command);
}

static void report(const struct job *job)
{
    const struct relay_report report = {.query = &job->query,
                                        .results = job->arguments->idle ? NULL : &job->results,
                                        .relay = job->arguments->relay,
                                        .about = &job->about,
                                        .epoch = &job->epoch,
                                        .rounds = job->rounds,
                                        .up = job->link.exchange.up,
                                        .down = job->link.exchange.down};
    relay_report(&report, job->arguments->query.json);
}

exit_code relay_query(const struct command *command, struct ask_arguments *arguments)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return command_no_memory(command);
    job->command = command;
    job->arguments = arguments;
    job->results =
        (struct query_results){.folder = arguments->payloads, .force = arguments->force, .most = arguments->most_bytes};
    exit_code code = open_query(job);
    if (code == EXIT_OK)
        code = name_record(job);
    if (code == EXIT_OK)
        code = query_results_check(&job->results, command);
    if (code == EXIT_OK)
        code = describe(job);
    if (code == EXIT_OK)
        code = run_rounds(job);
    if (code == EXIT_OK) {
        code = query_results_save(&job->results, command);
        report(job);
    }
    sealed_bundle_close(&job->sealed);
    exchange_close(&job->link.exchange);
    query_results_close(&job->results);
    private_query_close(&job->query);
    free(job->record);
    free(job);
    return code;
}
