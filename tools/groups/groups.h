/* SPDX-License-Identifier: Apache-2.0
 * Finds groups of rows that have no labels: by k-means of the rows, or of their eigenvectors in the graph of neighbours,
 * where robust spectral clustering removes edges that are likely wrong. The same machine gives the same groups for the
 * same rows, options and seed. */
#ifndef PML_GROUPS_H
#define PML_GROUPS_H

#include "prune.h"

#include "common/npy.h"
#include "common/progress.h"

#include <stdbool.h>

#define PML_GROUPS_ROUNDS 20u           /* of removing edges, at most */
#define PML_GROUPS_ROWS (1u << 20)      /* k-means sums exactly up to here */
#define PML_GROUPS_COUNT 1000u          /* groups at most */
#define PML_GROUPS_NEIGHBOURS 64u       /* at most, as pml_knn */
#define PML_GROUPS_REMOVE 0.5           /* share of edges at most: every row keeps half of its own */
#define PML_GROUPS_EVEN 0.9             /* a round must leave this share of the effective number of groups */
#define PML_GROUPS_NEIGHBOURS_USUAL 10u /* defaults of the command */
#define PML_GROUPS_REMOVE_USUAL 0.05
#define PML_GROUPS_ROUNDS_USUAL 2u

typedef enum pml_groups_method {
    PML_GROUPS_KMEANS,   /* of the rows */
    PML_GROUPS_SPECTRAL, /* of the eigenvectors of the graph */
    PML_GROUPS_RSC       /* the same, after removing edges */
} pml_groups_method;

/* Whether this build knows ARPACK, and it can be loaded: all but k-means need it. Call it before threads are started. */
bool pml_groups_has_arpack(void);

struct pml_groups_options {
    pml_groups_method method;
    size_t count; /* of groups */
    pml_laplacian laplacian;
    unsigned neighbours; /* of each row in the graph */
    unsigned rounds;     /* of removing edges, at most; 1 … PML_GROUPS_ROUNDS */
    double remove;       /* share of the edges that rsc may remove */
    double noise;        /* random edges to add first, as a share; for experiments */
    uint64_t seed;
    unsigned threads;
    const struct pml_progress *progress; /* may be NULL */
};

struct pml_groups_result {
    int32_t *groups; /* per row; the largest group is 0 */
    size_t *sizes;   /* per group */
    bool collapsed;  /* a round was not kept because most rows became one group, or the graph fell apart */
    /* The rest is empty after k-means. */
    struct pml_group_graph graph;
    size_t components; /* of the graph, before edges were removed */
    /* The sum of the smallest eigenvalues of the whole graph, then after each round; each is less than the one before. */
    double traces[PML_GROUPS_ROUNDS + 1];
    size_t rounds;                /* how many of them */
    size_t removed;               /* edges, of the last round that was kept */
    struct pml_suspect *suspects; /* those; when no round was kept, what the first one chose; most suspect first */
    size_t suspected;
};

/* Returns PML_DONE or PML_NO_MEMORY, or PML_REFUSED with a message: fewer rows than groups, fewer distinct rows than
 * groups, too few rows for so many neighbours, a graph of more parts than groups. Features are as pml_features_read
 * gives them. */
pml_outcome pml_groups_find(const struct pml_groups_options *options, const struct pml_features *features,
                            struct pml_groups_result *result, struct pml_message *message);

/* A zeroed struct may be freed. */
void pml_groups_free(struct pml_groups_result *result);

/* The group of each of other rows: the most frequent one of its 8 nearest known rows. Both are as pml_features_read gives
 * them and have as many columns. Returns PML_DONE or PML_NO_MEMORY, or PML_REFUSED when a row is not finite or all 0. */
pml_outcome pml_groups_assign(const struct pml_features *known, const int32_t *groups,
                              const struct pml_features *features, unsigned threads,
                              const struct pml_progress *progress, int32_t *out);

/* ---- parts, for tests and for each other ---- */

struct pml_rows;

/* The best of several runs of k-means: the one whose rows are nearest to their centres. Writes a group per row. */
pml_outcome pml_groups_kmeans(const struct pml_groups_options *options, const struct pml_rows *rows, uint32_t *groups,
                              struct pml_message *message);

/* Fills all but groups, sizes and graph from the graph, and writes a group per node. */
pml_outcome pml_groups_spectral(const struct pml_groups_options *options, struct pml_groups_result *result,
                                uint32_t *groups, struct pml_message *message);

#endif
