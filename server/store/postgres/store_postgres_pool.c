/* SPDX-License-Identifier: Apache-2.0
 * Connections that work, or none at once. Only one thread at a time tries to reach a database that is gone. */
#define _POSIX_C_SOURCE 200809L
#include "store_postgres_pool.h"
#include "common/clock.h"
#include "common/message.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_FIRST 0.1 /* seconds */
#define BACKOFF_LAST 5.0
#define PATIENCE 5.0 /* for a connection that another thread has */

enum { IDLE_MAX = 256 };

struct pml_postgres_pool {
    char *target;
    pml_outcome (*prepare)(void *context, PGconn *session);
    void *context;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake, given;
    pthread_t mender;
    PGconn *idle[IDLE_MAX];
    size_t idle_count, used; /* those that threads have */
    bool down, ended;
};

static PGconn *connect_prepared(struct pml_postgres_pool *pool)
{
    PGconn *session;
    if (pml_postgres_connect(pool->target, &session, NULL) == PML_DONE &&
        pool->prepare(pool->context, session) != PML_DONE) {
        PQfinish(session);
        session = NULL;
    }
    return session;
}

/* ---- mending ---- */

/* Under the lock. The others most likely lead to the same place that is gone. */
static void go_down(struct pml_postgres_pool *pool)
{
    while (pool->idle_count > 0)
        PQfinish(pool->idle[--pool->idle_count]);
    pool->down = true;
    pthread_cond_signal(&pool->wake);
    pthread_cond_broadcast(&pool->given);
}

/* Under the lock, which is let go meanwhile. Others may wake us for nothing. */
static void rest(struct pml_postgres_pool *pool, double seconds)
{
    const double end = pml_clock_now() + seconds;
    for (double left = seconds; !pool->ended && left > 0.0; left = end - pml_clock_now())
        (void)pml_clock_wait(&pool->wake, &pool->lock, left);
}

static void *mend(void *context)
{
    struct pml_postgres_pool *pool = context;
    double backoff = BACKOFF_FIRST;
    pthread_mutex_lock(&pool->lock);
    while (!pool->ended) {
        if (!pool->down) {
            backoff = BACKOFF_FIRST;
            pthread_cond_wait(&pool->wake, &pool->lock);
            continue;
        }
        pthread_mutex_unlock(&pool->lock);
        PGconn *session = connect_prepared(pool);
        pthread_mutex_lock(&pool->lock);
        if (session) {
            pool->idle[pool->idle_count++] = session; /* there were none: it was down */
            pool->down = false;
        } else {
            rest(pool, backoff);
            backoff = 2 * backoff < BACKOFF_LAST ? 2 * backoff : BACKOFF_LAST;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- using ---- */

/* Under the lock: an idle one, or NULL. */
static PGconn *take_idle(struct pml_postgres_pool *pool)
{
    if (pool->down || pool->idle_count == 0)
        return NULL;
    pool->used++;
    return pool->idle[--pool->idle_count];
}

PGconn *pml_postgres_take(struct pml_postgres_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    PGconn *session = take_idle(pool);
    const bool down = pool->down;
    pthread_mutex_unlock(&pool->lock);
    if (session || down)
        return session;
    session = connect_prepared(pool);
    pthread_mutex_lock(&pool->lock);
    const double end = pml_clock_now() + PATIENCE;
    pool->used += session != NULL;
    /* As long as others work, the database is only full. */
    for (double left = PATIENCE; !session && !pool->down && pool->used > 0 && left > 0.0;
         left = end - pml_clock_now()) {
        session = take_idle(pool);
        if (!session)
            (void)pml_clock_wait(&pool->given, &pool->lock, left);
    }
    if (!session)
        session = take_idle(pool);
    if (!session && !pool->down && pool->used == 0)
        go_down(pool);
    pthread_mutex_unlock(&pool->lock);
    return session;
}

void pml_postgres_give(struct pml_postgres_pool *pool, PGconn *session)
{
    const bool alive = pml_postgres_alive(session);
    pthread_mutex_lock(&pool->lock);
    const bool kept = alive && !pool->down && pool->idle_count < IDLE_MAX;
    pool->used--;
    if (kept)
        pool->idle[pool->idle_count++] = session;
    else if (!alive && !pool->down)
        go_down(pool);
    pthread_cond_signal(&pool->given);
    pthread_mutex_unlock(&pool->lock);
    if (!kept)
        PQfinish(session);
}

/* ---- open and close ---- */

/* Signals are for whoever waits for them, not for this thread. */
static int start_mender(struct pml_postgres_pool *pool)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int failed = pthread_create(&pool->mender, NULL, mend, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

pml_outcome pml_postgres_pool_open(struct pml_postgres_pool **out, const char *target, PGconn *session,
                                   pml_outcome (*prepare)(void *context, PGconn *session), void *context,
                                   struct pml_message *message)
{
    struct pml_postgres_pool *pool = calloc(1, sizeof *pool);
    if (!pool || !(pool->target = strdup(target))) {
        free(pool);
        return pml_say_memory(message);
    }
    pool->prepare = prepare;
    pool->context = context;
    pthread_mutex_init(&pool->lock, NULL);
    pml_clock_condition(&pool->wake);
    pml_clock_condition(&pool->given);
    pml_outcome outcome = prepare(context, session) == PML_DONE ? PML_DONE : pml_postgres_fail(session, message);
    if (outcome == PML_DONE && start_mender(pool) != 0)
        outcome = pml_say(message, "the system cannot start another thread: close other programs.");
    if (outcome != PML_DONE) {
        pthread_cond_destroy(&pool->wake);
        pthread_cond_destroy(&pool->given);
        pthread_mutex_destroy(&pool->lock);
        free(pool->target);
        free(pool);
        return outcome;
    }
    pool->used = 1;
    pml_postgres_give(pool, session);
    *out = pool;
    return PML_DONE;
}

void pml_postgres_pool_close(struct pml_postgres_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ended = true;
    pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    pthread_join(pool->mender, NULL);
    go_down(pool); /* closes those that are idle; nobody else is here */
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->given);
    pthread_mutex_destroy(&pool->lock);
    free(pool->target);
    free(pool);
}
