/* SPDX-License-Identifier: Apache-2.0
 * Makes the directions, depths and levels of coded sketches (SPEC 5.13) from public rows. */
#ifndef PML_SKETCH_CODER_H
#define PML_SKETCH_CODER_H

#include "common/rows/rows.h"

#define PML_CODER_BITS 7u /* of a direction, at most */
#define PML_CODER_BLOCK 8u
#define PML_CODER_LEVELS 254u /* of all depths */

struct pml_sketch_coder {
    size_t bytes;                    /* of a sketch */
    size_t directions;               /* P */
    uint32_t blocks[PML_CODER_BITS]; /* of 1, 2, … bits per direction */
    int8_t levels[PML_CODER_LEVELS];
    int8_t *rows; /* P × columns */
    int16_t *middles, *widths;
};

/* The most bytes that sketches of rows with so many columns can use. */
static inline size_t pml_sketch_coder_most(size_t columns)
{
    return (columns + PML_CODER_BLOCK - 1) / PML_CODER_BLOCK * PML_CODER_BITS;
}

/* Makes sketches of `bytes` bytes, fewer when the rows do not vary in enough directions. Same numbers on every platform
 * that has IEEE doubles, whatever the number of threads. At most 4096 of the rows are looked at. Returns PML_DONE or
 * PML_NO_MEMORY; a zeroed struct may be freed. */
pml_outcome pml_sketch_coder_make(struct pml_sketch_coder *coder, const struct pml_rows *rows, size_t bytes,
                                  uint64_t seed, unsigned threads, const struct pml_progress *progress);
void pml_sketch_coder_free(struct pml_sketch_coder *coder);

#endif
