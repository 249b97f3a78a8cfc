/* SPDX-License-Identifier: Apache-2.0
 * Builds a pack (docs/SPEC.md, section 1) from public features and labels. Same input, same bytes, whatever the
 * number of threads. */
#ifndef PML_PACK_BUILDER_H
#define PML_PACK_BUILDER_H

#include "common/fronts.h"
#include "common/npy.h"
#include "tools/codes/codes.h"

#define PML_REFINE_DEFAULT 4 /* rounds */
#define PML_REFINE_MAX 64

struct pml_build_options {
    unsigned neighbours; /* K; 0: 10, or n−1 when there are fewer */
    double bandwidth;    /* σ of the kernel; 0: auto, the median distance to the K-th neighbour */
    double alpha;        /* weight of the label graph, 0 … 4; must be 0 with one slot */
    unsigned dimensions; /* k; 0: the default of the codes (tools/codes/codes.h) */
    unsigned cells;      /* m per slot; 0: chosen for … */
    double share;        /* … lists of this share, 0: 0.02, … */
    double epsilon;      /* … at this ε, 0: 4 (cells_rule.h) */
    /* 1 … 16; 0: auto, 1, 4 or 16, whichever does best on held-out rows (cells_choice.h); 2 where 1 leaves cells empty */
    unsigned prototypes_per_cell;
    unsigned
        rows_per_prototype; /* every prototype is the mean of at least this many different rows; 0: 2, 8 with a gallery */
    /* Rounds in which cells are refined (cells_refine.h); 0: PML_REFINE_DEFAULT, but none with several slots, with rows of
     * several modalities (`with`), or with soft prototypes and fewer than 12 rows per cell; negative: none */
    int refine;
    double list_share; /* of the lists that they are refined for; 0: `share`, or 0.02 where `cells` is given */
    int soft;          /* for a crowd: soft prototypes (soft_prototypes.h) where a cell has few rows (cells.h) */
    /* A pack is public. If not 0, the rows are public too: a slot with fewer rows than rows_per_prototype is then no
     * error, and its prototype is the mean of the rows it has. */
    int rows_are_public;
    enum pml_codes codes;
    int slots;           /* PML_SLOTS_ONE, _CLASS, _GROUP */
    unsigned slot_count; /* group: G; 0: 128 or the number of classes */
    unsigned sketch;     /* L, 8 … 256; 0: 131, or plain 256; fewer where that is more than rows can use */
    int plain_sketches;  /* int8 values, for devices that read packs up to version 0.4 */
    int gaussian;        /* add anchors, which are copies of all rows, with their codes and lists */
    const char *model;   /* names the model that made the features (SPEC 1, section 12); NULL: no name */
    const struct pml_fronts *fronts; /* of the modalities (SPEC 1.1); NULL or none: features are used as they are */
    const pml_front *head;           /* guesses labels (SPEC 1, section 16); NULL: none */
    size_t modality;                 /* of the features */
    /* With fronts: with[v], further public rows of modality v, no rows for none. They count as the features do: cells,
     * prototypes and anchors are made of all. With slots by class, row i has the class of row i of the features. NULL: none. */
    const struct pml_features *with;
    /* With one slot: rows of the gallery, NULL or no rows for none, and their modality. They count as public rows do when
     * cells and prototypes are made, and for nothing else: no anchor, code or sketch depends on them. A prototype that
     * depends on rows of the gallery is a mean of at least rows_per_prototype different ones of them, ≥ 2, beside
     * those that equal public rows (thin_clusters.h). */
    const struct pml_features *gallery;
    size_t gallery_modality;
    uint64_t seed;
    unsigned threads; /* 0: the number of processors */
    /* Called now and then from the building thread with the name of the stage and done 0 … 1. May be NULL. */
    void (*progress)(void *context, const char *stage, double done);
    void *progress_context;
};

struct pml_build_report {
    size_t anchors, classes, slots;
    size_t gallery;           /* rows of the gallery that count, without those that equal public rows */
    size_t cells, prototypes; /* per slot */
    size_t repeated;          /* prototypes that repeat others because their slot is small */
    size_t sketch;            /* bytes */
    size_t rows_per_prototype;
    size_t refine;         /* rounds */
    double share, epsilon; /* that the cells were chosen for; 0: their number was given */
    double bandwidth;      /* as the pack holds it; 0 without the Gaussian */
    int bandwidth_raised;  /* the one found or given was smaller than a pack can hold */
};

/* `labels` may be NULL with PML_SLOTS_ONE and codes other than PML_CODES_LDA. The caller frees the pack's bytes, which
 * pml_pack_open has accepted. Returns PML_DONE, or another outcome with a message. */
pml_outcome pml_pack_build(const struct pml_features *features, const struct pml_labels *labels,
                           const struct pml_build_options *options, uint8_t **pack, size_t *size,
                           struct pml_build_report *report, struct pml_message *message);

#endif
