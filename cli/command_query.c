/* SPDX-License-Identifier: Apache-2.0
 * query: the whole client. In: a pack, features, a server. Out: what the server has that is nearest to the query. What
 * leaves is the release; the answer is ranked here. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/exchange.h"
#include "cli/query/private_query.h"
#include "cli/query/query_results.h"
#include "cli/shared/output.h"

#include "common/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RETRIES_MAX = 20, TIMEOUT_MAX = 3600, ID_DIGITS = 2 * PML_ID_SIZE };
enum { ANSWER_KEPT = 16 << 20, ANSWER_KEPT_MAX = 1 << 30 };

struct arguments {
    struct query_arguments query;
    const char *server, *ca, *scope, *keep, *resend, *payloads;
    uint64_t top, retries, timeout, most_bytes;
    bool force;
};

struct job {
    struct arguments *arguments;
    struct private_query query;
    struct exchange exchange;
    struct query_results results;
};

/* ---- before the price is paid ---- */

static int check_resend(const struct arguments *arguments)
{
    const struct query_arguments *query = &arguments->query;
    if (query->has_epsilon || query->has_delta || query->has_value_bytes || query->mechanism || query->budget ||
        query->budget_new || query->owner || arguments->keep)
        return command_fail(&command_query, EXIT_USAGE,
                            "--resend sends a release that was made and paid. Leave out --keep and the options of "
                            "privacy and budget.");
    return -1;
}

static int check(struct arguments *arguments)
{
    const char *scope = arguments->scope ? arguments->scope : "own";
    if (strcmp(scope, "own") != 0 && strcmp(scope, "all") != 0)
        return command_fail(&command_query, EXIT_USAGE, "--scope must be own or all, not '%s'.", scope);
    if (arguments->top < 1 || arguments->top > PML_MATCHES_MAX)
        return command_fail(&command_query, EXIT_USAGE, "--top must be 1 to %u.", PML_MATCHES_MAX);
    if (arguments->retries > RETRIES_MAX || arguments->timeout < 1 || arguments->timeout > TIMEOUT_MAX)
        return command_fail(&command_query, EXIT_USAGE, "--retries must be 0 to %d, --timeout 1 to %d seconds.",
                            RETRIES_MAX, TIMEOUT_MAX);
    if (arguments->most_bytes < 1 || arguments->most_bytes > ANSWER_KEPT_MAX)
        return command_fail(&command_query, EXIT_USAGE, "--most-bytes must be 1 to %d.", ANSWER_KEPT_MAX);
    int code = arguments->resend ? check_resend(arguments) : query_options_check(&command_query, &arguments->query);
    return code < 0 ? exchange_check(&command_query, arguments->server) : code;
}

/* The release of --resend. Its answer is ranked without a client: nothing is paid and nothing drawn. */
static int take_release(struct job *job)
{
    struct private_query *query = &job->query;
    pml_release_view view;
    int code =
        pack_file_release(&command_query, &query->file, job->arguments->resend, &query->release, &query->size, &view);
    if (code >= 0)
        return code;
    query->config.mechanism = view.mechanism;
    return private_query_read(query);
}

static int check_keep(const struct job *job)
{
    const char *keep = job->arguments->keep;
    if (!keep)
        return -1;
    int code = private_query_apart(&job->query, keep, "keep");
    if (code < 0)
        code = output_check(&command_query, keep, job->arguments->force);
    return code < 0 ? output_try(&command_query, keep, job->query.receipt.price.bytes) : code;
}

static int check_sketches(const struct job *job)
{
    if (job->query.file.info.sketch > 0)
        return -1;
    return command_fail(&command_query, EXIT_PRIVACY,
                        "%s has no sketches, so no answer can be ranked. Build a pack with --sketch 32.",
                        job->arguments->query.pack);
}

/* ---- the release ---- */

static int make_release(struct job *job)
{
    struct private_query *query = &job->query;
    int code = private_query_client(query);
    if (code < 0)
        code = private_query_budget(query, 1);
    if (code < 0)
        code = check_keep(job);
    if (code >= 0)
        return code;
    code = private_query_pay(query);
    if (code < 0)
        code = private_query_read(query);
    if (code < 0)
        code = private_query_release(query);
    if (code >= 0)
        private_query_refund(query);
    private_query_settle(query); /* others may spend while the network takes its time */
    if (code < 0 && job->arguments->keep) {
        code = output_write(&command_query, job->arguments->keep, job->arguments->force, query->release, query->size);
        if (code >= 0)
            fprintf(stderr, "privatemail query: the price of this release stays spent.\n");
    }
    return code;
}

/* ---- the exchange ---- */

/* Whether the same bytes may fare better a little later. */
static bool is_passing(enum exchange_result result, unsigned status)
{
    return result != EXCHANGE_REFUSED || status >= 500;
}

static void wait_before(uint64_t attempt)
{
    uint64_t milliseconds = (uint64_t)250 << (attempt < 5 ? attempt : 5);
    struct timespec pause = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000L};
    nanosleep(&pause, NULL);
}

/* The id that the server names first in a refusal; false when it names none. */
static bool read_current(const char *refusal, char id[ID_DIGITS + 1])
{
    const char *at = strstr(refusal, "\"current\"");
    at = at ? strchr(at, '[') : NULL;
    at = at ? at + 1 + strspn(at + 1, " \"") : "";
    if (strspn(at, "0123456789abcdef") != ID_DIGITS)
        return false;
    snprintf(id, ID_DIGITS + 1, "%s", at);
    return true;
}

static int tell_other_pack(const struct job *job)
{
    char id[ID_DIGITS + 1];
    if (!read_current(job->exchange.refusal, id))
        return command_fail(&command_query, EXIT_NETWORK,
                            "%s does not serve pack %s. Fetch the pack that it serves, and pin its id.",
                            job->arguments->server, job->query.file.id);
    return command_fail(&command_query, EXIT_NETWORK,
                        "%s serves pack %s and not %s. Fetch it (curl -o new.pmpk %s/v1/pack/%s), see that its id is "
                        "the one everybody uses, and give --pack new.pmpk.",
                        job->arguments->server, id, job->query.file.id, job->arguments->server, id);
}

static int tell_failure(const struct job *job, enum exchange_result result)
{
    const struct exchange *exchange = &job->exchange;
    const char *server = job->arguments->server;
    if (result == EXCHANGE_REFUSED && exchange->status == 409)
        return tell_other_pack(job);
    if (result == EXCHANGE_REFUSED)
        return command_fail(&command_query, EXIT_NETWORK,
                            "%s refuses the release with status %u. Check that --server is a PrivateMail server.",
                            server, exchange->status);
    if (job->results.too_long)
        return command_fail(&command_query, EXIT_NETWORK,
                            "%s sends an answer of more than %llu bytes, which --payloads would have to keep. Give "
                            "--most-bytes a larger number, or leave out --payloads.",
                            server, (unsigned long long)job->results.most);
    if (result == EXCHANGE_UNREACHABLE)
        return command_fail(&command_query, EXIT_NETWORK, "%s cannot be reached: %s. Check --server and the network.",
                            server, exchange->trouble);
    return command_fail(&command_query, EXIT_NETWORK,
                        "%s sends no sound answer. Check that --server is a PrivateMail server.", server);
}

/* A new release would cost again and tell more: on failure it is always the same bytes. */
static void tell_resend(const struct job *job)
{
    const char *kept = job->arguments->keep ? job->arguments->keep : job->arguments->resend;
    if (kept)
        fprintf(stderr, "privatemail query: send the same release again later, which is free: --resend %s\n", kept);
    else
        fprintf(stderr, "privatemail query: the price of this release stays spent. Use --keep FILE to be able to send "
                        "the same bytes again.\n");
}

static int ask(struct job *job)
{
    const struct arguments *arguments = job->arguments;
    struct private_query *query = &job->query;
    pml_scope scope = arguments->scope && strcmp(arguments->scope, "all") == 0 ? PML_ALL_SLOTS : PML_OWN_SLOT;
    job->exchange = (struct exchange){.server = arguments->server,
                                      .ca = arguments->ca,
                                      .timeout = (unsigned)arguments->timeout,
                                      .release = query->release,
                                      .size = query->size,
                                      .take = query_results_take,
                                      .context = &job->results};
    enum exchange_result result = EXCHANGE_UNREACHABLE;
    for (uint64_t attempt = 0; attempt <= arguments->retries; attempt++) {
        if (attempt > 0)
            wait_before(attempt - 1);
        int status = query_results_begin(&job->results, query, scope, (size_t)arguments->top);
        if (status != PML_OK)
            return command_status(&command_query, arguments->query.features, status);
        result = exchange_post(&job->exchange);
        status = query_results_finish(&job->results);
        job->results.attempts = attempt + 1;
        if (job->results.no_memory)
            return command_no_memory(&command_query);
        if (result == EXCHANGE_OK && status == PML_OK)
            return -1;
        if (result == EXCHANGE_OK)
            result = EXCHANGE_NOT_TAKEN;
        if (job->results.too_long || !is_passing(result, job->exchange.status))
            break;
    }
    int code = tell_failure(job, result);
    tell_resend(job);
    return code;
}

/* ---- command ---- */

static int run(int argc, char **argv)
{
    struct arguments arguments = {.top = 8, .retries = 2, .timeout = 30, .most_bytes = ANSWER_KEPT};
    struct option_spec own[] = {
        {"server", OPTION_TEXT, &arguments.server, true, false},
        {"ca", OPTION_TEXT, &arguments.ca, false, false},
        {"scope", OPTION_TEXT, &arguments.scope, false, false},
        {"keep", OPTION_TEXT, &arguments.keep, false, false},
        {"resend", OPTION_TEXT, &arguments.resend, false, false},
        {"payloads", OPTION_TEXT, &arguments.payloads, false, false},
        {"most-bytes", OPTION_COUNT, &arguments.most_bytes, false, false},
        {"top", OPTION_COUNT, &arguments.top, false, false},
        {"retries", OPTION_COUNT, &arguments.retries, false, false},
        {"timeout", OPTION_COUNT, &arguments.timeout, false, false},
        {"force", OPTION_FLAG, &arguments.force, false, false},
    };
    int code = query_options_parse(&command_query, argc, argv, &arguments.query, own, sizeof own / sizeof own[0]);
    if (code < 0)
        code = check(&arguments);
    if (code >= 0)
        return code;
    struct job job = {
        .arguments = &arguments,
        .results = {.folder = arguments.payloads, .force = arguments.force, .most = arguments.most_bytes}};
    code = private_query_open(&job.query, &command_query, &arguments.query);
    if (code < 0)
        code = check_sketches(&job);
    if (code < 0)
        code = query_results_check(&job.results, &command_query);
    if (code < 0)
        code = arguments.resend ? take_release(&job) : make_release(&job);
    if (code < 0)
        code = ask(&job);
    if (code < 0) {
        int saved = query_results_save(&job.results, &command_query);
        query_results_tell(&job.results, &job.query, arguments.resend != NULL);
        code = saved < 0 ? EXIT_OK : saved;
    }
    query_results_close(&job.results);
    private_query_close(&job.query);
    return code;
}

static const char help[] =
    "Usage: privatemail query --server URL --pack P.pmpk --features Q.npy --epsilon E [OPTIONS]\n\n"
    "Asks a server for what is nearest to a query: makes a private release, posts it, ranks the answer here. When the\n"
    "network fails the same bytes are sent again, never a new release.\n\n"
    "Options:\n"
    "  --server URL        where privatemail serve answers, such as https://search.example\n"
    "  --ca FILE           certificates to trust instead of the system's\n"
    "  --pack P.pmpk       the pack\n"
    "  --pack-id HEX       takes no other pack than the one with this id, 32 hexadecimal digits. Default: any\n"
    "  --model NAME        takes no pack of another model (privatemail pack --model). Default: any\n"
    "  --features Q.npy    float32 features, as for privatemail pack\n"
    "  --row I             the row that is the query. Default 0\n"
    "  --label Y           its class (visible to other users of this machine while it runs: better use --labels), or\n"
    "  --labels QL.npy     the classes of all rows; one of both unless the pack has one slot\n"
    "  --mechanism M       response (a cell a slot) or gaussian (a noisy embedding). Default response\n"
    "  --epsilon E         privacy of the release, 1e-6 to 16; no default\n"
    "  --delta D           gaussian only: 1e-15 to below 1. Default 1e-5\n"
    "  --value-bytes B     gaussian only: bytes of a coordinate, 1 or 2. Default 1\n"
    "  --budget FILE       pays from this budget; --budget-new ER[,EG,D] starts it; --owner NAME: see privatize\n"
    "  --scope S           own: ranks candidates of the query's own slot; all: those of all slots. Default own\n"
    "  --top N             results, 1 to 256. Default 8\n"
    "  --payloads DIR      writes the results' payloads to DIR/ITEM.payload; the folder must exist\n"
    "  --most-bytes N      with --payloads: refuses a longer answer, all of which is in memory; 1 to 1073741824.\n"
    "                      Default 16777216\n"
    "  --keep FILE         stores the release before it is sent\n"
    "  --resend FILE       sends a release that was kept, instead of making one: costs nothing\n"
    "  --force             replace the files of --keep and --payloads\n"
    "  --retries N         how often to send again when the network fails, 0 to 20. Default 2\n"
    "  --timeout S         seconds for one attempt, 1 to 3600. Default 30\n"
    "  --json              JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help              this text\n\n"
    "What is found is known here only. Fetching more about a result afterwards would tell the server which it was.\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 an output cannot be written,\n"
    "5 the budget is spent, damaged or another's, 6 the pack cannot give this promise, 7 entropy or memory failed,\n"
    "8 the server cannot be reached or refuses.\n\n"
    "Example: privatemail query --server http://127.0.0.1:8080 --pack collection.pmpk --features query.npy \\\n"
    "             --label 3 --epsilon 4 --budget me.budget --budget-new 20\n";

const struct command command_query = {"query", "ask a server, privately", help, run};
