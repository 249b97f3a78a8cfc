/* SPDX-License-Identifier: Apache-2.0
 * Files to delete when a signal ends the process: the one being written, and a lock that is held. */
#ifndef PML_LEFTOVERS_H
#define PML_LEFTOVERS_H

enum pml_leftover { PML_LEFTOVER_FILE, PML_LEFTOVER_LOCK, PML_LEFTOVERS };

/* Remembers one path per kind; NULL forgets it. Call it from one thread only. */
void pml_leftover_set(enum pml_leftover which, const char *path);

/* Deletes the files. May be called from a signal handler. */
void pml_leftovers_remove(void);

#endif
