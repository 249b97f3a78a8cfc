/* SPDX-License-Identifier: Apache-2.0
 * One connection to PostgreSQL: statements and their results. It never waits longer than it was told, and never shows a
 * password. */
#define _POSIX_C_SOURCE 200809L
#include "common/clock.h"
#include "common/message.h"
#include "server/store/store_content.h"
#include "store_postgres.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define COPY_PART ((size_t)1 << 20)

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

pml_outcome pml_postgres_connect(const char *target, PGconn **out, struct pml_message *message)
{
    char conninfo[2048];
    /* What stands before dbname is a default: the URI may say otherwise. */
    static const char *const keywords[] = {"connect_timeout",
                                           "tcp_user_timeout",
                                           "keepalives_idle",
                                           "keepalives_interval",
                                           "keepalives_count",
                                           "fallback_application_name",
                                           "dbname",
                                           "client_encoding",
                                           NULL};
    const char *const values[] = {"3", "5000", "10", "3", "3", "privatemail", conninfo, "UTF8", NULL};
    *out = NULL;
    if (!make_conninfo(target, conninfo, sizeof conninfo))
        return pml_say(message, "the URI of the database is too long: use at most 2000 characters.");
    if (!is_understood(conninfo))
        return pml_say(message,
                       "the URI of the database cannot be understood: it must begin with postgres://, and have %%25, "
                       "%%40, %%2F and %%3A for %%, @, / and : in a password.");
    PGconn *session = PQconnectdbParams(keywords, values, 1);
    if (session && PQstatus(session) == CONNECTION_OK && PQsetnonblocking(session, 1) == 0) {
        PQsetErrorVerbosity(session, PQERRORS_VERBOSE);
        PQsetNoticeProcessor(session, ignore_notice, NULL);
        *out = session;
        return PML_DONE;
    }
    if (!session)
        return pml_say_memory(message);
    pml_say(message, "PostgreSQL cannot be reached (%.300s): check the URI, and that the database runs.",
            PQerrorMessage(session));
    for (char *at = message ? strchr(message->text, '\n') : NULL; at; at = strchr(at, '\n'))
        *at = ' ';
    PQfinish(session);
    return PML_UNAVAILABLE;
}

void pml_postgres_show(const char *target, char shown[PML_STORE_SHOWN_MAX])
{
    char conninfo[2048];
    const char *host = "", *name = "";
    PQconninfoOption *options = make_conninfo(target, conninfo, sizeof conninfo)
                                    ? parse(conninfo)
                                    : NULL; /* a bare name of a database cannot be parsed */
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
        double left = deadline > 0.0 ? deadline - pml_clock_now() : 1.0;
        if (left <= 0.0)
            return false;
        int ready = poll(&socket, 1, left < 1.0 ? 1 + (int)(1000.0 * left) : 1000);
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

static PGresult *next_result(PGconn *session, double deadline, bool *in_time)
{
    *in_time = true;
    while (PQisBusy(session)) {
        *in_time = wait_for(session, POLLIN, deadline) && PQconsumeInput(session);
        if (!*in_time)
            return NULL;
    }
    return PQgetResult(session);
}

/* A late answer must never be taken for the next one's: the connection ends here. */
static void break_off(PGconn *session)
{
    if (PQsocket(session) >= 0)
        shutdown(PQsocket(session), SHUT_RDWR);
    while (PQconsumeInput(session) && PQstatus(session) == CONNECTION_OK) {
    }
}

/* The last of a statement's results when it is of the wanted kind, else NULL. */
static PGresult *collect(PGconn *session, bool sent, double seconds, ExecStatusType wanted)
{
    const double deadline = seconds > 0.0 ? pml_clock_now() + seconds : 0.0;
    PGresult *last = NULL, *result;
    bool in_time = sent && flush(session, deadline);
    while (in_time && (result = next_result(session, deadline, &in_time))) {
        bool failed = last && PQresultStatus(last) == PGRES_FATAL_ERROR;
        PQclear(failed ? result : last);
        last = failed ? last : result;
        if (PQresultStatus(last) == PGRES_COPY_IN)
            break;
    }
    if (!in_time)
        break_off(session);
    if (in_time && last && PQresultStatus(last) == wanted)
        return last;
    PQclear(last);
    return NULL;
}

PGresult *pml_postgres_query(PGconn *session, const char *text, int count, const char *const *values, double seconds)
{
    bool sent = PQsendQueryParams(session, text, count, NULL, values, NULL, NULL, 1) == 1;
    return collect(session, sent, seconds, PGRES_TUPLES_OK);
}

PGresult *pml_postgres_run(PGconn *session, const char *prepared, int count, const char *const *values, double seconds)
{
    bool sent = PQsendQueryPrepared(session, prepared, count, values, NULL, NULL, 1) == 1;
    return collect(session, sent, seconds, PGRES_TUPLES_OK);
}

pml_outcome pml_postgres_execute(PGconn *session, const char *text, double seconds)
{
    PGresult *result = collect(session, PQsendQuery(session, text) == 1, seconds, PGRES_COMMAND_OK);
    PQclear(result);
    return result ? PML_DONE : PML_UNAVAILABLE;
}

pml_outcome pml_postgres_copy(PGconn *session, const char *text)
{
    PGresult *result = collect(session, PQsendQuery(session, text) == 1, 0.0, PGRES_COPY_IN);
    PQclear(result);
    return result ? PML_DONE : PML_UNAVAILABLE;
}

pml_outcome pml_postgres_put(PGconn *session, const struct pml_bytes *bytes)
{
    for (size_t at = 0; at < bytes->size;) {
        const size_t part = bytes->size - at < COPY_PART ? bytes->size - at : COPY_PART;
        if (PQputCopyData(session, (const char *)bytes->bytes + at, (int)part) != 1 || !flush(session, 0.0))
            return PML_UNAVAILABLE;
        at += part;
    }
    return PML_DONE;
}

pml_outcome pml_postgres_copied(PGconn *session)
{
    PGresult *result = collect(session, PQputCopyEnd(session, NULL) == 1, 0.0, PGRES_COMMAND_OK);
    PQclear(result);
    return result ? PML_DONE : PML_UNAVAILABLE;
}

bool pml_postgres_alive(const PGconn *session)
{
    return PQstatus(session) == CONNECTION_OK && PQtransactionStatus(session) != PQTRANS_ACTIVE;
}

static uint64_t read_bytes(const uint8_t *bytes, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

bool pml_postgres_number(const PGresult *result, int row, int column, int64_t *number)
{
    const int size = PQgetlength(result, row, column);
    if (PQgetisnull(result, row, column) || (size != 4 && size != 8))
        return false;
    const uint64_t value = read_bytes((const uint8_t *)PQgetvalue(result, row, column), size);
    *number = size == 4 ? (int64_t)(int32_t)(uint32_t)value : (int64_t)value;
    return true;
}

/* In binary an array is: dimensions, flags, type, count, first index; then each element with its length. */
int64_t pml_postgres_array(const PGresult *result, int row, int column, const uint8_t **first)
{
    enum { HEAD = 20, ELEMENT = 12, BIGINT = 20 };
    const uint8_t *bytes = (const uint8_t *)PQgetvalue(result, row, column);
    const int64_t size = PQgetlength(result, row, column);
    if (PQgetisnull(result, row, column) || size < HEAD || read_bytes(bytes, 4) != 1 || read_bytes(bytes + 4, 4) != 0 ||
        read_bytes(bytes + 8, 4) != BIGINT)
        return PML_NO_MEMORY;
    const int64_t count = (int64_t)read_bytes(bytes + 12, 4);
    *first = bytes + HEAD;
    return count * ELEMENT == size - HEAD ? count : -1;
}

int64_t pml_postgres_element(const uint8_t *first, int64_t index)
{
    return (int64_t)read_bytes(first + 12 * index + 4, 8);
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

pml_outcome pml_postgres_fail(const PGconn *session, struct pml_message *message)
{
    static const char unique_violation[] = "23505", disk_full[] = "53100", no_memory[] = "53200", denied[] = "42501";
    char state[6];
    const char *text = find_state(PQerrorMessage(session), state), *key = strstr(text, "(item)=(");
    const int length = (int)strcspn(text, "\n");
    if (strcmp(state, unique_violation) == 0 && key)
        return pml_store_say_twice(strtoull(key + strlen("(item)=("), NULL, 10), message);
    if (strcmp(state, denied) == 0)
        return pml_say(message, "the database does not allow it (%.*s): use a role that may create tables there.",
                       length, text);
    if (length == 0)
        pml_say(message, "the gallery no longer exists: start again.");
    else if (strcmp(state, disk_full) == 0)
        pml_say(message,
                "the database's disk is full (%.*s): free some of it, then start again: work continues where it was.",
                length, text);
    else if (strcmp(state, no_memory) == 0)
        pml_say(message, "the database is out of memory: give it more, then start again.");
    else if (!pml_postgres_alive(session))
        pml_say(message,
                "the connection to PostgreSQL is lost (%.*s): check the database, then start again: work goes on where "
                "it was.",
                length, text);
    else
        pml_say(message, "PostgreSQL says: %.*s: check the database and try again.", length, text);
    return PML_UNAVAILABLE;
}
