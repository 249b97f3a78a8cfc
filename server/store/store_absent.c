/* SPDX-License-Identifier: Apache-2.0
 * The kinds of store that this build lacks (cmake/find_parts.cmake): they say what to do. */
#include "store_kind.h"

#include <stdio.h>

#if defined(PML_SQLITE_REMEDY) || defined(PML_POSTGRES_REMEDY)
/* store.c closes what did not open. */
static void close_nothing(struct pml_store *store)
{
    (void)store;
}
#endif

#ifdef PML_SQLITE_REMEDY
static pml_outcome refuse_sqlite(struct pml_store *store, const char *target, struct pml_message *message)
{
    (void)store;
    return pml_say(message, "%.*s: this command was built without SQLite. Use dir:FOLDER, or " PML_SQLITE_REMEDY ".",
                   PML_STORE_PATH_SHOWN, target);
}

const struct pml_store_kind pml_store_sqlite = {
    .scheme = "sqlite", .size = sizeof(struct pml_store), .open = refuse_sqlite, .close = close_nothing};
#endif

#ifdef PML_POSTGRES_REMEDY
/* Not the target, which may have a password in it. */
static void show_postgres(const char *target, char shown[PML_STORE_SHOWN_MAX])
{
    (void)target;
    snprintf(shown, PML_STORE_SHOWN_MAX, "postgres");
}

static pml_outcome refuse_postgres(struct pml_store *store, const char *target, struct pml_message *message)
{
    (void)store;
    (void)target;
    return pml_say(message, "this command was built without PostgreSQL. Use dir:FOLDER, or " PML_POSTGRES_REMEDY ".");
}

const struct pml_store_kind pml_store_postgres = {.scheme = "postgres",
                                                  .size = sizeof(struct pml_store),
                                                  .show = show_postgres,
                                                  .open = refuse_postgres,
                                                  .close = close_nothing};
#endif
