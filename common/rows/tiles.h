/* SPDX-License-Identifier: Apache-2.0
 * Tiles of rows, laid out for products with many others: faster than pml_tile_dots where the CPU allows it. */
#ifndef PML_TILES_H
#define PML_TILES_H

#include "rows.h"

#include <stdbool.h>

/* Up to PML_TILE rows. They are copied. */
struct pml_tile {
    int8_t *values;
    size_t count, columns;
    int32_t starts[PML_TILE]; /* of each sum */
    bool woven;               /* four values of each row, then the next four of each row */
};

/* Whether this CPU multiplies tiles faster than pml_tile_dots does. */
bool pml_tile_weaves(void);

/* A tile without rows. Returns PML_DONE or PML_NO_MEMORY. A zeroed struct may be freed. */
pml_outcome pml_tile_allocate(struct pml_tile *tile, size_t columns);
void pml_tile_free(struct pml_tile *tile);

/* Takes rows[indices[0 … count−1]], or rows first … first+count−1 when indices are NULL. */
void pml_tile_fill(struct pml_tile *tile, const struct pml_rows *rows, const uint32_t *indices, size_t first,
                   size_t count);

/* out[q·PML_TILE + r] = ⟨query q, row r of the tile⟩, for rows[indices[q]] or rows first + q as queries. What stands in
 * places of rows that the tile does not have is any number. */
void pml_tile_multiply(const struct pml_tile *tile, const struct pml_rows *rows, const uint32_t *indices, size_t first,
                       size_t count, int32_t *out);

#endif
