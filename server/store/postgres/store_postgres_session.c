/* SPDX-License-Identifier: Apache-2.0
 * One connection to PostgreSQL: statements and their results. It never waits longer than it was told, and never shows a
 * password. */
#define _POSIX_C_SOURCE 200809L
#include "common/clock.h"
#include "store_postgres.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST 140000 /* PostgreSQL 14 */

/* ---- connecting ---- */

/* "//host/name" is the rest of a URI "postgres://host/name"; everything else libpq takes as it is. */
static bool make_conninfo(const char *target, char *text, size_t room)
{
    int length = snprintf(text, room, "%s%s", strncmp(target, "//", 2) == 0 ? "postgresql:" : "", target);
    return length >= 0 && (size_t)length < room;
}

static void ignore_notice(void *context, const char *text)
{
    (void)context, (void)text;
}

/* libpq, and PostgreSQL in its log, quote what they cannot use, and that may be a part of a password: a host, port or name
 * that looks like the rest of a URI is not passed on. NULL when the text is no list of options, or not a sound one. */
static PQconninfoOption *parse(const char *conninfo)
{
    bool good = true;
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    for (PQconninfoOption *at = options; at && at->keyword; at++) {
        if (at->val && strcmp(at->keyword, "host") == 0)
            good = good && !strchr(at->val, '@');
        if (at->val && strcmp(at->keyword, "port") == 0)
            good = good && strspn(at->val, "0123456789,") == strlen(at->val);
        if (at->val && strcmp(at->keyword, "dbname") == 0)
            good = good && !strpbrk(at->val, "@:/");
    }
    if (good)
        return options;
    PQconninfoFree(options);
    return NULL;
}

static bool is_understood(const char *conninfo)
{
    if (!strpbrk(conninfo, "=@:/"))
        return true; /* the bare name of a database */
    PQconninfoOption *options = parse(conninfo);
    PQconninfoFree(options);
    return options != NULL;
}

static pml_outcome say_unreachable(const PGconn *session, struct pml_message *message)
{
    pml_say(message, "PostgreSQL cannot be reached (%.300s). Check the URI, and that the database runs.",
            PQerrorMessage(session));
    for (char *at = message ? strchr(message->text, '\n') : NULL; at; at = strchr(at, '\n'))
        *at = ' ';
    return PML_UNAVAILABLE;
}

pml_outcome pml_pg_connect(const char *target, enum pml_store_use use, PGconn **out, struct pml_message *message)
{
    char conninfo[2048];
    /* What stands before dbname is a default: the URI may say otherwise. */
    static const char *const keywords[] = {
        "connect_timeout",           "tcp_user_timeout", "keepalives_idle", "keepalives_interval",  "keepalives_count",
        "fallback_application_name", "dbname",           "client_encoding", "target_session_attrs", NULL};
    const char *const values[] = {"3", "5000", "10", "3", "3", "privatemail", conninfo, "UTF8", "read-write", NULL};
    const char *some[sizeof keywords / sizeof *keywords];
    *out = NULL;
    memcpy(some, keywords, sizeof keywords);
    if (use == PML_STORE_READ)
        some[8] = NULL; /* any host will do */
    if (!make_conninfo(target, conninfo, sizeof conninfo))
        return pml_say(message, "the URI of the database is too long. Use at most 2000 characters.");
    if (!is_understood(conninfo))
        return pml_say(message,
                       "the URI of the database cannot be understood. Start it with postgres://, and use %%25, "
                       "%%40, %%2F and %%3A for %%, @, / and : in a password.");
    PGconn *session = PQconnectdbParams(some, values, 1);
    if (!session)
        return pml_say_memory(message);
    pml_outcome outcome = PML_DONE;
    if (PQstatus(session) != CONNECTION_OK || PQsetnonblocking(session, 1) != 0)
        outcome = say_unreachable(session, message);
    else if (PQserverVersion(session) < OLDEST)
        outcome = pml_say(message, "the database is older than PostgreSQL %d. Use a newer one.", OLDEST / 10000);
    if (outcome != PML_DONE) {
        PQfinish(session);
        return outcome;
    }
    PQsetErrorVerbosity(session, PQERRORS_VERBOSE);
    PQsetNoticeProcessor(session, ignore_notice, NULL);
    *out = session;
    return PML_DONE;
}

void pml_pg_show(const char *target, char shown[PML_STORE_SHOWN_MAX])
{
    char conninfo[2048];
    const char *host = "", *name = "";
    /* a bare name of a database cannot be parsed */
    PQconninfoOption *options = make_conninfo(target, conninfo, sizeof conninfo) ? parse(conninfo) : NULL;
    for (PQconninfoOption *at = options; at && at->keyword; at++) {
        if (at->val && strcmp(at->keyword, "host") == 0)
            host = at->val;
        if (at->val && strcmp(at->keyword, "dbname") == 0)
            name = at->val;
    }
    snprintf(shown, PML_STORE_SHOWN_MAX, "postgres://%s/%s", host, name);
    PQconninfoFree(options);
}

/* ---- running ---- */

/* Waits for the socket; false at the deadline. 0: there is none. */
static bool wait_for(PGconn *session, short events, double deadline)
{
    struct pollfd socket = {.fd = PQsocket(session), .events = events};
    for (;;) {
        const double left = deadline > 0.0 ? deadline - pml_clock_now() : 1.0;
        if (left <= 0.0)
            return false;
        const int ready = poll(&socket, 1, left < 1.0 ? 1 + (int)(1000.0 * left) : 1000);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return ready > 0;
    }
}

static bool flush(PGconn *session, double deadline)
{
    int left;
    while ((left = PQflush(session)) > 0) {
        if (!wait_for(session, POLLOUT | POLLIN, deadline) || !PQconsumeInput(session))
            return false;
    }
    return left == 0;
}

/* The last of a statement's results, NULL when one of them failed. A session that was not waited for has its statement
 * still under way, and is not alive: a late answer is never taken for the next one's. */
static PGresult *collect(PGconn *session, bool sent, double deadline)
{
    PGresult *last = NULL, *result;
    bool in_time = sent && flush(session, deadline);
    while (in_time) {
        while (in_time && PQisBusy(session))
            in_time = wait_for(session, POLLIN, deadline) && PQconsumeInput(session);
        if (!in_time || !(result = PQgetResult(session)))
            break;
        const bool failed = last && PQresultStatus(last) == PGRES_FATAL_ERROR;
        PQclear(failed ? result : last);
        last = failed ? last : result;
    }
    if (in_time && last && (PQresultStatus(last) == PGRES_TUPLES_OK || PQresultStatus(last) == PGRES_COMMAND_OK))
        return last;
    PQclear(last);
    return NULL;
}

PGresult *pml_pg_run(PGconn *session, bool prepared, const char *text, int count, const struct pml_value *values,
                     double deadline)
{
    const char *bytes[PML_PG_VALUES] = {0};
    int sizes[PML_PG_VALUES] = {0}, binary[PML_PG_VALUES] = {0};
    for (int i = 0; i < count; i++) {
        bytes[i] = values[i].bytes;
        sizes[i] = (int)values[i].size;
        binary[i] = 1;
    }
    const int sent = prepared ? PQsendQueryPrepared(session, text, count, bytes, sizes, binary, 1)
                              : PQsendQueryParams(session, text, count, NULL, bytes, sizes, binary, 1);
    return collect(session, sent == 1, deadline);
}

bool pml_pg_execute(PGconn *session, const char *text, double deadline)
{
    PGresult *result = collect(session, PQsendQuery(session, text) == 1, deadline);
    PQclear(result);
    return result != NULL;
}

bool pml_pg_prepare(PGconn *session, enum pml_store_use use, double deadline)
{
    /* The plan is forced: statistics of a store that is being filled must not make it slow. */
    static const char settings[] =
        "SET statement_timeout = '4s'; SET default_transaction_read_only = on; SET jit = off;"
        "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan";
    static const char statements[] =
        "PREPARE get_parts(bytea[]) AS SELECT name, bytes FROM privatemail_parts WHERE name = ANY($1);"
        "PREPARE get_private(bytea[]) AS SELECT name, bytes FROM privatemail_private WHERE name = ANY($1);"
        "PREPARE names_parts AS SELECT name FROM privatemail_parts;"
        "PREPARE names_private AS SELECT name FROM privatemail_private;"
        "PREPARE pointers(bytea) AS SELECT pack, version, record, building FROM privatemail_pointers"
        " WHERE $1 IS NULL OR pack = $1 ORDER BY pack";
    return (use == PML_STORE_WRITE || pml_pg_execute(session, settings, deadline)) &&
           pml_pg_execute(session, statements, deadline);
}

bool pml_pg_alive(const PGconn *session)
{
    return PQstatus(session) == CONNECTION_OK && PQtransactionStatus(session) != PQTRANS_ACTIVE;
}

/* ---- what went wrong ---- */

/* Messages are verbose, "SEVERITY:  STATE: text": the state does not depend on the database's language. */
static const char *find_state(const char *text, char state[6])
{
    const char *at = strstr(text, ":  ");
    state[0] = 0;
    if (!at || strspn(at + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5 || strncmp(at + 8, ": ", 2) != 0)
        return text;
    memcpy(state, at + 3, 5);
    state[5] = 0;
    return at + 10;
}

pml_outcome pml_pg_fail(const PGconn *session, struct pml_message *message)
{
    static const char disk_full[] = "53100", no_memory[] = "53200", denied[] = "42501";
    char state[6];
    const char *text = find_state(PQerrorMessage(session), state);
    const int length = (int)strcspn(text, "\n");
    if (strcmp(state, denied) == 0)
        return pml_say(message, "the database does not allow it (%.*s). Use a role that may create tables there.",
                       length, text);
    if (strcmp(state, disk_full) == 0)
        pml_say(message, "the database's disk is full (%.*s). Free some of it, then start again.", length, text);
    else if (strcmp(state, no_memory) == 0)
        pml_say(message, "the database is out of memory. Give it more, then start again.");
    else if (!pml_pg_alive(session))
        pml_say(message, "the connection to PostgreSQL is lost (%.*s). Check the database, then start again.", length,
                text);
    else
        pml_say(message, "PostgreSQL says: %.*s. Check the database and try again.", length, text);
    return PML_UNAVAILABLE;
}
