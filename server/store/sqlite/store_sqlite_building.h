/* SPDX-License-Identifier: Apache-2.0
 * FILE.building: a SQLite store in the making, which belongs to one process at a time. */
#ifndef PML_STORE_SQLITE_BUILDING_H
#define PML_STORE_SQLITE_BUILDING_H

#include "store_sqlite.h"

struct pml_building {
    char *path, *target; /* FILE.building; FILE. Both owned */
    sqlite3 *database;   /* locked, with a transaction open */
};

/* Makes the file or takes it up; *done: how many items of this source it already holds. 0, or not with a message; close
 * in any case. A message together with 0 is a note: what was begun from another source is gone. */
pml_outcome pml_building_open(struct pml_building *building, const char *target, const struct pml_store_info *info,
                              const uint8_t source[32], uint64_t *done, struct pml_message *message);

/* Unlocks; a transaction that is still open is rolled back. */
void pml_building_close(struct pml_building *building);

/* Removes the file while it is locked, so that nobody goes on with it. */
void pml_building_remove(struct pml_building *building);

/* Both return a code of SQLite. */
int pml_building_execute(struct pml_building *building, const char *text);
int pml_building_put(struct pml_building *building, const char *key, int64_t number);

/* What SQLite's last failure, or an errno about `path`, means to a person. Both return the outcome of the failure. */
pml_outcome pml_building_fail(const struct pml_building *building, struct pml_message *message);
pml_outcome pml_building_say(const char *path, int error, struct pml_message *message);

#endif
