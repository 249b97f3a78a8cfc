/* SPDX-License-Identifier: Apache-2.0
 * Sessions of a PostgreSQL store (SPEC 9), and readers' pool of them. A deadline is a time of pml_clock_now, or 0: none. */
#ifndef PML_STORE_POSTGRES_H
#define PML_STORE_POSTGRES_H

#include "server/store/store_kind.h"

#include <libpq-fe.h>
#include <pthread.h>

/* ---- store_postgres_session.c: one connection ---- */

/* `target` is what follows "postgres:". With several hosts, readers get the first that answers, writers the one that
 * can be written. Returns PML_DONE and a session, or another outcome with a message. */
pml_outcome pml_pg_connect(const char *target, enum pml_store_use use, PGconn **session, struct pml_message *message);
void pml_pg_show(const char *target, char shown[PML_STORE_SHOWN_MAX]);

/* The rows of a statement, in binary, as its values are; `prepared` names it, or else it is the statement itself. A value
 * without bytes is SQL's NULL. Returns NULL when it failed: pml_pg_alive says whether the session is of further use. */
enum { PML_PG_VALUES = 4 };
PGresult *pml_pg_run(PGconn *session, bool prepared, const char *text, int count, const struct pml_value *values,
                     double deadline);

/* Any statements, without values and rows; whether they went well. */
bool pml_pg_execute(PGconn *session, const char *text, double deadline);
bool pml_pg_alive(const PGconn *session);

/* Says what the last failure means to a person, and returns its outcome. */
pml_outcome pml_pg_fail(const PGconn *session, struct pml_message *message);

/* What every session needs before it reads; whether that went well. */
bool pml_pg_prepare(PGconn *session, enum pml_store_use use, double deadline);

/* ---- store_postgres_pool.c: sessions that many threads share, and somebody who mends them ---- */

enum { PML_PG_IDLE_MAX = 256 };

struct pml_pg_pool {
    char *target;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake, given;
    pthread_t mender;
    PGconn *idle[PML_PG_IDLE_MAX];
    size_t idle_count, used; /* those that threads have */
    bool down, ended;
};

/* A thread never waits for a database that is known to be gone: it is told so at once, while the pool tries again and
 * again, ever more slowly. The first session becomes the pool's when all went well. Returns PML_DONE, or another outcome
 * with a message. A zeroed pool may be closed. */
pml_outcome pml_pg_pool_open(struct pml_pg_pool *pool, const char *target, PGconn *session,
                             struct pml_message *message);
void pml_pg_pool_close(struct pml_pg_pool *pool);

/* NULL when the database is gone. Give it back in any case; one that is broken is closed, and the idle ones with it. After
 * one that was silent until its deadline, the database is taken for gone. */
PGconn *pml_pg_take(struct pml_pg_pool *pool, double deadline);
void pml_pg_give(struct pml_pg_pool *pool, PGconn *session, bool silent);

#endif
