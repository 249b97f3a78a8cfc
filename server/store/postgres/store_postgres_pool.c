/* SPDX-License-Identifier: Apache-2.0
 * Connections that work, or none at once. Only one thread at a time tries to reach a database that is gone. */
#define _POSIX_C_SOURCE 200809L
#include "common/clock.h"
#include "store_postgres.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_FIRST 0.1 /* seconds */
#define BACKOFF_LAST 5.0
#define MENDING 5.0 /* for preparing a session */

static PGconn *connect_prepared(struct pml_pg_pool *pool, double deadline)
{
    PGconn *session;
    if (pml_pg_connect(pool->target, PML_STORE_READ, &session, NULL) == PML_DONE &&
        !pml_pg_prepare(session, PML_STORE_READ, deadline)) {
        PQfinish(session);
        session = NULL;
    }
    return session;
}

/* ---- under the lock ---- */

static PGconn *take_idle(struct pml_pg_pool *pool)
{
    return pool->down || pool->idle_count == 0 ? NULL : pool->idle[--pool->idle_count];
}

static void close_idle(struct pml_pg_pool *pool)
{
    while (pool->idle_count > 0)
        PQfinish(pool->idle[--pool->idle_count]);
}

static void go_down(struct pml_pg_pool *pool)
{
    close_idle(pool);
    pool->down = true;
    pthread_cond_signal(&pool->wake);
    pthread_cond_broadcast(&pool->given);
}

/* ---- mending ---- */

static void *mend(void *context)
{
    struct pml_pg_pool *pool = context;
    double backoff = BACKOFF_FIRST;
    pthread_mutex_lock(&pool->lock);
    while (!pool->ended) {
        if (!pool->down) {
            backoff = BACKOFF_FIRST;
            pthread_cond_wait(&pool->wake, &pool->lock);
            continue;
        }
        pthread_mutex_unlock(&pool->lock);
        PGconn *session = connect_prepared(pool, pml_clock_now() + MENDING);
        pthread_mutex_lock(&pool->lock);
        if (session) {
            pool->idle[pool->idle_count++] = session; /* there were none: it was down */
            pool->down = false;
        } else if (!pool->ended) {
            (void)pml_clock_wait(&pool->wake, &pool->lock, backoff);
            backoff = 2 * backoff < BACKOFF_LAST ? 2 * backoff : BACKOFF_LAST;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- using ---- */

/* Under the lock, which is let go meanwhile. */
static PGconn *connect_or_wait(struct pml_pg_pool *pool, double deadline)
{
    pthread_mutex_unlock(&pool->lock);
    PGconn *session = connect_prepared(pool, deadline);
    pthread_mutex_lock(&pool->lock);
    if (!session)
        session = take_idle(pool);
    /* As long as others work, the database is only full. */
    while (!session && !pool->down && pool->used > 0 && pml_clock_now() < deadline) {
        (void)pml_clock_wait(&pool->given, &pool->lock, deadline - pml_clock_now());
        session = take_idle(pool);
    }
    if (!session && !pool->down && pool->used == 0)
        go_down(pool);
    return session;
}

PGconn *pml_pg_take(struct pml_pg_pool *pool, double deadline)
{
    pthread_mutex_lock(&pool->lock);
    PGconn *session = take_idle(pool);
    if (!session && !pool->down)
        session = connect_or_wait(pool, deadline);
    pool->used += session != NULL;
    pthread_mutex_unlock(&pool->lock);
    return session;
}

void pml_pg_give(struct pml_pg_pool *pool, PGconn *session, bool silent)
{
    const bool alive = pml_pg_alive(session);
    pthread_mutex_lock(&pool->lock);
    const bool kept = alive && !pool->down && pool->idle_count < PML_PG_IDLE_MAX;
    pool->used--;
    if (kept)
        pool->idle[pool->idle_count++] = session;
    else if (silent && !pool->down)
        go_down(pool);
    else if (!alive && !pool->down)
        close_idle(pool); /* most likely they lead to the same place that is gone; another may be left */
    pthread_cond_signal(&pool->given);
    pthread_mutex_unlock(&pool->lock);
    if (!kept)
        PQfinish(session);
}

/* ---- open and close ---- */

/* Signals are for whoever waits for them, not for this thread. */
static int start_mender(struct pml_pg_pool *pool)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int failed = pthread_create(&pool->mender, NULL, mend, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

pml_outcome pml_pg_pool_open(struct pml_pg_pool *pool, const char *target, PGconn *session, struct pml_message *message)
{
    pool->target = strdup(target);
    if (!pool->target)
        return pml_say_memory(message);
    pthread_mutex_init(&pool->lock, NULL);
    pml_clock_condition(&pool->wake);
    pml_clock_condition(&pool->given);
    if (start_mender(pool) != 0) {
        free(pool->target);
        pool->target = NULL;
        return pml_say(message, "the system cannot start another thread. Close other programs.");
    }
    pool->used = 1;
    pml_pg_give(pool, session, false);
    return PML_DONE;
}

void pml_pg_pool_close(struct pml_pg_pool *pool)
{
    if (!pool->target)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ended = true;
    pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    pthread_join(pool->mender, NULL);
    close_idle(pool);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->given);
    pthread_mutex_destroy(&pool->lock);
    free(pool->target);
}
