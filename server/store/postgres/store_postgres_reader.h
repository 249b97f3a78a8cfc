/* SPDX-License-Identifier: Apache-2.0
 * What the files that read a PostgreSQL store share; for them alone. */
#ifndef PML_STORE_POSTGRES_READER_H
#define PML_STORE_POSTGRES_READER_H

#include "store_postgres_pool.h"

struct pml_postgres_store {
    struct pml_store base;
    int64_t gallery;
    struct pml_postgres_pool *pool;
};

/* ---- store_postgres.c ---- */

/* Two arrays as the text of values, "{1,2" so far; a zeroed struct is empty. */
struct pml_postgres_arrays {
    struct pml_bytes first, second;
};
pml_outcome pml_postgres_add_text(struct pml_bytes *array, const char *text);
pml_outcome pml_postgres_add_number(struct pml_bytes *array, uint32_t number);
void pml_postgres_free_arrays(struct pml_postgres_arrays *arrays);

/* Ends the arrays, runs a statement with them on a connection of the pool, and frees them. `third` is the statement's
 * last value, or NULL. Returns PML_DONE and a result, PML_NO_MEMORY or PML_UNAVAILABLE. */
pml_outcome pml_postgres_ask(struct pml_postgres_store *store, const char *statement,
                             struct pml_postgres_arrays *arrays, const char *third, PGresult **result);

/* Appends the candidate of a row whose columns from `first` on are item, digest and candidate. Returns PML_DAMAGED when
 * it is not the one that was written for this item. */
pml_outcome pml_postgres_take_candidate(const struct pml_store *store, const PGresult *result, int row, int first,
                                        struct pml_fragment *fragment);

/* ---- store_postgres_nearest.c ---- */

/* Reads the items nearest to points. */
pml_outcome pml_postgres_nearest(struct pml_store *store, const struct pml_wanted *wanted, pml_take_fn take,
                                 void *context);

/* ---- store_postgres_sizes.c ---- */

/* pml_store_sizes of this store. */
pml_outcome pml_postgres_sizes(struct pml_store *store, enum pml_sized sized, pml_size_fn take, void *context);
pml_outcome pml_postgres_items(struct pml_store *base, pml_take_fn take, void *context);

#endif
