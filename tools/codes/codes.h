/* SPDX-License-Identifier: Apache-2.0
 * Codes: the positions of slots, anchors and cells in the embedding. */
#ifndef PML_CODES_H
#define PML_CODES_H

#include "common/message.h"
#include "common/rows/rows.h"

enum pml_codes {
    PML_CODES_RANDOM,   /* drawn: they say nothing about the rows */
    PML_CODES_CLASS,    /* drawn around positions of the slots */
    PML_CODES_PCA,      /* these follow the rows: their principal directions, … */
    PML_CODES_SPECTRAL, /* … the graph of their neighbours, … */
    PML_CODES_LDA       /* … or what tells their classes apart */
};

/* The kind of this name: random, class, pca, spectral or lda; −1: there is none. */
int pml_codes_named(const char *name);

/* k, when nobody asked for one: of drawn codes, and at most that many of codes that follow the rows. */
#define PML_CODES_DRAWN_DIMENSIONS 2u
#define PML_CODES_DIMENSIONS 16u

/* Length of the codes that follow the rows, and of the slots' positions with PML_CODES_CLASS. */
#define PML_CODES_RADIUS 24000.0

struct pml_code_book {
    unsigned dimensions;              /* k */
    int16_t *slots, *anchors, *cells; /* k values each; cells slot by slot */
};

struct pml_code_source {
    const struct pml_rows *rows; /* the anchors, slot by slot */
    const uint32_t *starts;      /* anchors of slot s are starts[s] … starts[s+1]−1 */
    size_t slots;
    const int32_t *labels; /* NULL: there are none. Anchor i has labels[order[i]] */
    const uint32_t *order;
    const uint32_t *lists; /* `neighbours` of each anchor (common/rows/knn.h); NULL: found when they are needed */
    unsigned neighbours;
    uint64_t seed;
    unsigned threads;
    const struct pml_progress *progress; /* may be NULL */
};

/* Makes the codes of slots and anchors. dimensions = 0 is replaced by the default, or by what the rows allow if that is
 * less. Random: normal, standard deviation 8000. Class: the slots have positions on a line (k = 1), a disk (k = 2) or a
 * sphere, and the anchors of a slot lie around its position. All others: anchors lie on a sphere around the origin, an
 * anchor in the middle of all of them at the origin itself. A single slot is at the origin, one of several at the mean of its
 * anchors. Same codes on every platform, whatever the number of threads. Returns PML_DONE, or another outcome with a message. */
pml_outcome pml_codes_make(struct pml_code_book *book, enum pml_codes kind, const struct pml_code_source *source,
                           struct pml_message *message);

/* Cell codes of one slot: the mean of the codes of the anchors in each cell. `cells`: the cell of each anchor of the slot,
 * below `used`; cells from there up to `cell_count` repeat the codes of those before. A cell below it without anchors
 * gets the slot's code. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_codes_average(struct pml_code_book *book, size_t slot, const uint32_t *starts, const uint32_t *cells,
                              size_t cell_count, size_t used);

#endif
