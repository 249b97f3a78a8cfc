/* SPDX-License-Identifier: Apache-2.0
 * query: the whole client. In: a pack, secret features, a server that may be hostile. Out: what the server has that is
 * nearest to the query. Only the release leaves the device; the answer is ranked here. */
#define _POSIX_C_SOURCE 200809L
#include "cli/query/ask_options.h"
#include "cli/query/exchange.h"
#include "cli/query/private_query.h"
#include "cli/query/query_results.h"
#include "cli/query/relay_query.h"
#include "cli/shared/output.h"

#include "common/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ID_DIGITS = 2 * PML_ID_SIZE };

struct job {
    const struct ask_arguments *arguments;
    struct private_query query;
    struct exchange exchange;
    struct query_results results;
};

/* ---- before the price is paid ---- */

/* The release of --resend. Its answer is ranked without a client: nothing is paid and nothing drawn. */
static exit_code take_release(struct job *job)
{
    struct private_query *query = &job->query;
    pml_release_view view;
    exit_code code =
        pack_file_release(&command_query, &query->file, job->arguments->resend, &query->release, &query->size, &view);
    if (code != EXIT_OK)
        return code;
    query->config.mechanism = view.mechanism;
    return private_query_read(query);
}

static exit_code check_keep(const struct job *job)
{
    const char *keep = job->arguments->query.keep;
    if (!keep)
        return EXIT_OK;
    exit_code code = private_query_apart(&job->query, keep, "keep");
    if (code == EXIT_OK)
        code = output_check(&command_query, keep, job->arguments->force);
    return code == EXIT_OK ? output_try(&command_query, keep, job->query.receipt.price.bytes) : code;
}

static exit_code check_sketches(const struct job *job)
{
    if (job->query.file.info.sketch > 0)
        return EXIT_OK;
    return command_fail(&command_query, EXIT_PRIVACY,
                        "%s has no sketches, so no answer can be ranked. Build a pack with --sketch 32.",
                        job->arguments->query.pack);
}

/* ---- the release ---- */

static exit_code make_release(struct job *job)
{
    struct private_query *query = &job->query;
    exit_code code = private_query_client(query);
    if (code == EXIT_OK)
        code = private_query_budget(query, 1);
    if (code == EXIT_OK)
        code = check_keep(job);
    if (code != EXIT_OK)
        return code;
    code = private_query_make(query);
    private_query_settle(query); /* others may spend from the budget while we wait for the network */
    if (code == EXIT_OK && job->arguments->query.keep) {
        code = output_write(&command_query, job->arguments->query.keep, job->arguments->force, query->release,
                            query->size);
        if (code != EXIT_OK)
            fprintf(stderr, "privatemail query: the price of this release stays spent.\n");
    }
    return code;
}

/* ---- the exchange ---- */

/* Whether sending the same bytes a little later may help. */
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

static exit_code tell_other_pack(const struct job *job)
{
    char id[ID_DIGITS + 1];
    if (!read_current(job->exchange.reply, id))
        return command_fail(&command_query, EXIT_NETWORK,
                            "%s does not serve pack %s. Fetch the pack that it serves, and pin its id.",
                            job->arguments->server, job->query.file.id);
    return command_fail(&command_query, EXIT_NETWORK,
                        "%s serves pack %s, not %s. Fetch it (curl -o new.pmpk %s/v1/pack/%s), check that its id is "
                        "the one that everybody uses, and give --pack new.pmpk.",
                        job->arguments->server, id, job->query.file.id, job->arguments->server, id);
}

static exit_code tell_failure(const struct job *job, enum exchange_result result)
{
    const struct exchange *exchange = &job->exchange;
    const char *server = job->arguments->server;
    if (result == EXCHANGE_REFUSED && exchange->status == 409)
        return tell_other_pack(job);
    if (result == EXCHANGE_REFUSED)
        return command_fail(&command_query, EXIT_NETWORK,
                            "%s refused the release with status %u. Check that --server is a PrivateMail server.",
                            server, exchange->status);
    if (job->results.too_long)
        return command_fail(&command_query, EXIT_NETWORK,
                            "%s sent an answer of more than %llu bytes, too long to keep for --payloads. Give a larger "
                            "--most-bytes, or leave out --payloads.",
                            server, (unsigned long long)job->results.most);
    if (result == EXCHANGE_UNREACHABLE)
        return command_fail(&command_query, EXIT_NETWORK, "%s cannot be reached: %s. Check --server and the network.",
                            server, exchange->trouble);
    if (query_results_other_version(&job->results) > 0)
        return command_fail(&command_query, EXIT_NETWORK,
                            "%s sent an answer of version %u; this command reads 1 and 2. Use a newer privatemail.",
                            server, query_results_other_version(&job->results));
    return command_fail(&command_query, EXIT_NETWORK,
                        "%s sent an invalid answer. Check that --server is a PrivateMail server.", server);
}

/* A new release would cost again and reveal more, so the user is told how to send the same bytes. */
static void tell_resend(const struct job *job)
{
    const char *kept = job->arguments->query.keep ? job->arguments->query.keep : job->arguments->resend;
    if (kept)
        fprintf(stderr, "privatemail query: send the same release again later, which is free: --resend %s\n", kept);
    else
        fprintf(stderr, "privatemail query: the price of this release stays spent. Use --keep FILE to be able to send "
                        "the same bytes again.\n");
}

static exit_code ask(struct job *job)
{
    const struct ask_arguments *arguments = job->arguments;
    struct private_query *query = &job->query;
    pml_scope scope = arguments->scope && strcmp(arguments->scope, "all") == 0 ? PML_ALL_SLOTS : PML_OWN_SLOT;
    job->exchange =
        (struct exchange){.server = arguments->server, .ca = arguments->ca, .timeout = (unsigned)arguments->timeout};
    const struct exchange_request request = {.method = EXCHANGE_POST,
                                             .path = "/v1/query",
                                             .type = "application/cbor",
                                             .accept = "application/cbor-seq",
                                             .body = query->release,
                                             .size = query->size,
                                             .take = query_results_take,
                                             .context = &job->results};
    enum exchange_result result = EXCHANGE_UNREACHABLE;
    for (uint64_t attempt = 0; attempt <= arguments->retries; attempt++) {
        if (attempt > 0)
            wait_before(attempt - 1);
        pml_status status = query_results_begin(&job->results, query, scope, (size_t)arguments->top);
        if (status != PML_OK)
            return command_status(&command_query, arguments->query.features, status);
        result = exchange_run(&job->exchange, &request);
        status = query_results_finish(&job->results);
        job->results.attempts = attempt + 1;
        if (job->results.no_memory)
            return command_no_memory(&command_query);
        if (result == EXCHANGE_OK && status == PML_OK)
            return EXIT_OK;
        if (result == EXCHANGE_OK)
            result = EXCHANGE_NOT_TAKEN;
        if (job->results.too_long || query_results_other_version(&job->results) > 0 ||
            !is_passing(result, job->exchange.status))
            break;
    }
    exit_code code = tell_failure(job, result);
    tell_resend(job);
    return code;
}

/* ---- command ---- */

static exit_code ask_server(const struct ask_arguments *arguments)
{
    struct job job = {
        .arguments = arguments,
        .results = {.folder = arguments->payloads, .force = arguments->force, .most = arguments->most_bytes}};
    exit_code code = private_query_open(&job.query, &command_query, &arguments->query);
    if (code == EXIT_OK)
        code = check_sketches(&job);
    if (code == EXIT_OK)
        code = query_results_check(&job.results, &command_query);
    if (code == EXIT_OK)
        code = arguments->resend ? take_release(&job) : make_release(&job);
    if (code == EXIT_OK)
        code = ask(&job);
    if (code == EXIT_OK) {
        code = query_results_save(&job.results, &command_query);
        query_results_tell(&job.results, &job.query, arguments->resend != NULL);
    }
    exchange_close(&job.exchange);
    query_results_close(&job.results);
    private_query_close(&job.query);
    return code;
}

static exit_code run(int argc, char **argv)
{
    struct ask_arguments arguments;
    exit_code code = ask_options(argc, argv, &arguments);
    if (code == EXIT_OK)
        code = arguments.relay ? relay_query(&command_query, &arguments) : ask_server(&arguments);
    ask_options_free(&arguments);
    return code;
}

/* Longer than the 4095 characters that every C compiler must take; those that build this command take it. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
static const char help[] =
    "Usage: privatemail query --server URL --pack P.pmpk --features Q.npy --epsilon E [OPTIONS]\n"
    "       privatemail query --relay URL --pack P.pmpk --features Q.npy --crowd N --epsilon E [OPTIONS]\n"
    "       privatemail query --relay URL --pack P.pmpk --idle --crowd N --epsilon E [OPTIONS]\n"
    "\n"
    "Asks a server for what is nearest to a query: makes a private release, sends it, and ranks the answer here. If "
    "the\n"
    "network fails, the same bytes are sent again, never a new release.\n"
    "\n"
    "With --relay it asks in a crowd: the relay mixes sealed messages of many, and the server cannot tell whose they "
    "are.\n"
    "The floor holds against everybody, the crowd's promise if the relay mixes and does not join the server, and "
    "enough\n"
    "clients are honest. The drawn cell is paid for once and kept in a file. If there is no answer within --wait (exit\n"
    "code 8), the same command sends the same cell again in a later epoch, which costs the crowd's part alone. Do not\n"
    "repeat a query because of what it found: that would tell.\n"
    "\n"
    "Options:\n"
    "  --server URL        address of the server (privatemail serve), such as https://search.example. With --relay it "
    "is\n"
    "                      only asked for its keys, which must be the same\n"
    "  --relay URL         address of the relay (privatemail relay). Plain http only on this machine\n"
    "  --plain-http        with --relay: plain http to other machines too\n"
    "  --token FILE        with --relay: what admits this client there, one line\n"
    "  --ca FILE           certificates to trust instead of the system's\n"
    "  --ohttp-keys FILE   key configuration of the server (application/ohttp-keys). Default: the relay's. The first "
    "one is\n"
    "                      pinned in P.pmpk.ohttp-keys, which no relay changes\n"
    "  --pack P.pmpk       the pack\n"
    "  --pack-id HEX       accept only the pack with this id, 32 hexadecimal digits. Default: any\n"
    "  --model NAME        accept only a pack of this model (privatemail pack --model). Default: any\n"
    "  --features Q.npy    float32 features, as for privatemail pack; --modality NAME: whose they are\n"
    "  --row I             the row that is the query. Default 0\n"
    "  --label Y           its class (visible to other users of this machine while it runs: better use --labels), or\n"
    "  --labels QL.npy     the classes of all rows; give one of both unless the pack has one slot\n"
    "  --mechanism M       response (one cell per slot) or gaussian (a noisy embedding). Default response\n"
    "  --epsilon E         privacy of the release, 1e-6 to 16; no default. In a crowd, what to plan for\n"
    "  --delta D           1e-15 to below 1. Default 1e-5 for gaussian, 1e-8 in a crowd; response alone has none\n"
    "  --value-bytes B     gaussian only: bytes per coordinate, 1 or 2. Default 1\n"
    "  --crowd N           with --relay: clients that are promised per epoch. --honest H, --floor E0, --own W, "
    "--copies-max V\n"
    "                      and --noise WHO: see privatemail crowd --help\n"
    "  --clusters K        instead of --epsilon: K clusters per client, 0 to 4, of at most --copies V, 1 to 64\n"
    "  --relay-clusters R  the same of the relay's clusters per epoch, 0 to 16777216, with --copies V\n"
    "  --idle              with --relay: no query, only this client's fakes. For every epoch without a query\n"
    "  --cover             with --idle: a message about a random cell too, so that the relay cannot tell it from a "
    "query\n"
    "  --wait S            with --relay: seconds until it gives up, 1 to 604800. Default 10 epochs\n"
    "  --budget FILE       pay from this budget; --budget-new ER[,EG,D], --budget-crowd EF[,EC,D] and --owner NAME: "
    "see\n"
    "                      privatize --help. With --relay, at most one bundle per epoch is sent for it\n"
    "  --scope S           own: rank the candidates of the query's own slot; all: those of all slots. Default own\n"
    "  --top N             results to show, 1 to 256. Default 8\n"
    "  --payloads DIR      write the payloads of the results to DIR/ITEM.payload; the folder must exist\n"
    "  --most-bytes N      with --payloads: refuse longer answers, which would have to be kept in memory; 1 to\n"
    "                      1073741824. Default 16777216\n"
    "  --keep FILE         store the release before it is sent. With --relay: the drawn cell, which is sent again if "
    "the\n"
    "                      file exists; default Q.npy.I.cell\n"
    "  --resend FILE       send a release that was kept instead of making one: this costs nothing\n"
    "  --force             replace the files of --keep and --payloads; never a kept cell\n"
    "  --retries N         how often to send again when the network fails, 0 to 20. Default 2\n"
    "  --timeout S         seconds for one attempt, 1 to 3600. Default 30\n"
    "  --json              JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help              this text\n"
    "\n"
    "Only this machine knows what was found. Fetching more about a result later would tell the server which it was.\n"
    "\n"
    "Exit codes: 0 done, 2 wrong options, 3 an input cannot be read or does not fit, 4 an output cannot be written,\n"
    "5 the budget is spent, damaged or somebody else's, 6 the pack, the keys or the relay cannot give this promise,\n"
    "7 no entropy or out of memory, 8 the server or relay cannot be reached, refuses, or there is no answer yet.\n"
    "\n"
    "Example: privatemail query --server http://127.0.0.1:8080 --pack collection.pmpk --features query.npy \\\n"
    "             --label 3 --epsilon 4 --budget me.budget --budget-new 20\n"
    "         privatemail query --relay https://relay.example --pack collection.pmpk --features query.npy \\\n"
    "             --epsilon 0.1 --crowd 1000000 --budget me.budget --budget-crowd 80,2,1e-6\n";

const struct command command_query = {"query", "ask a server, privately", help, run};
