/* SPDX-License-Identifier: Apache-2.0
 * A store that lives in memory, for measuring. It has no URI. */
#ifndef PML_STORE_MEMORY_H
#define PML_STORE_MEMORY_H

#include "store.h"

/* Both ends of one store: add items through the writer, pml_store_finish it, then read, by any number of threads, until
 * pml_store_close, which frees the writer too; pml_store_abandon does nothing. Returns PML_DONE, or another outcome with a
 * message. */
pml_outcome pml_store_memory_make(struct pml_store **store, struct pml_store_writer **writer,
                                  const struct pml_store_info *info, struct pml_message *message);

#endif
