/* SPDX-License-Identifier: Apache-2.0
 * Files that must go when a signal ends the process: the one being written, and a lock that is held. */
#ifndef PML_LEFTOVERS_H
#define PML_LEFTOVERS_H

enum pml_leftover { PML_LEFTOVER_FILE, PML_LEFTOVER_LOCK, PML_LEFTOVERS };

/* One name of each kind is known at a time; NULL forgets it. For one thread. */
void pml_leftover_set(enum pml_leftover which, const char *path);

/* Removes them. May be called from a signal's handler. */
void pml_leftovers_remove(void);

#endif
