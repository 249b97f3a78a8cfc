/* SPDX-License-Identifier: Apache-2.0
 * A store that lives in memory, for measuring. It has no URI: whoever makes it holds it. */
#ifndef PML_STORE_MEMORY_H
#define PML_STORE_MEMORY_H

#include "store.h"

/* Both ends of one store: add items through the writer, pml_store_finish it, then read, by any number of threads, until
 * pml_store_close. The writer goes with the store; pml_store_abandon does nothing. 0, or not with a message. */
int pml_store_memory_make(struct pml_store **store, struct pml_store_writer **writer, const struct pml_store_info *info,
                          struct pml_message *message);

#endif
