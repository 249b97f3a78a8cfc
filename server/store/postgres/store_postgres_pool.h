/* SPDX-License-Identifier: Apache-2.0
 * Connections that many threads share, and somebody who mends them. A thread never waits for a database that is known
 * to be gone: it is told so at once, while the pool tries again and again, ever more slowly. */
#ifndef PML_STORE_POSTGRES_POOL_H
#define PML_STORE_POSTGRES_POOL_H

#include "store_postgres.h"

struct pml_postgres_pool;

/* `prepare` makes a new connection ready. The first one, `session`, becomes the pool's when all went well. Returns
 * PML_DONE, or another outcome with a message. */
pml_outcome pml_postgres_pool_open(struct pml_postgres_pool **pool, const char *target, PGconn *session,
                                   pml_outcome (*prepare)(void *context, PGconn *session), void *context,
                                   struct pml_message *message);
void pml_postgres_pool_close(struct pml_postgres_pool *pool);

/* NULL when the database is gone. Give it back in any case; one that is broken is closed, and the others with it. */
PGconn *pml_postgres_take(struct pml_postgres_pool *pool);
void pml_postgres_give(struct pml_postgres_pool *pool, PGconn *session);

#endif
