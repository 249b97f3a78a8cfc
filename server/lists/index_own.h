/* SPDX-License-Identifier: Apache-2.0
 * Lists of items in their own cells (SPEC 6.5). */
#ifndef PML_INDEX_OWN_H
#define PML_INDEX_OWN_H

#include "index_lists.h"

/* Every row is in the list of its own cell, and with 2 cells per item in that of the next nearest cell. Returns PML_DONE or
 * PML_NO_MEMORY. Free the lists by pml_lists_free in any case. */
pml_outcome pml_lists_own(struct pml_cell_lists *lists, const pml_pack *pack, const struct pml_rows *rows,
                          const uint32_t *slots, uint32_t cells_per_item, unsigned threads);

#endif
