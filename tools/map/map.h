/* SPDX-License-Identifier: Apache-2.0
 * Maps: rows of many features laid out in the plane, so that a person can look at a gallery. Two rows are compared as a
 * search compares them, by the angle between them: their distance is that of unit vectors, √(2 − 2·cosine). */
#ifndef PML_MAP_H
#define PML_MAP_H

#include "common/rows/rows.h"

#include <stdbool.h>

typedef enum pml_map_method {
    PML_MAP_PCA,
    PML_MAP_MDS,
    PML_MAP_SAMMON,
    PML_MAP_ISOMAP,
    PML_MAP_LLE,
    PML_MAP_LAPLACIAN,
    PML_MAP_DIFFUSION,
    PML_MAP_SNE,
    PML_MAP_SSNE,
    PML_MAP_TSNE,
    PML_MAP_LANDMARK,
    PML_MAP_METHODS
} pml_map_method;

struct pml_map_trait {
    const char *name;
    size_t least, most;    /* rows */
    const char *instead;   /* what to use for more, or for fewer */
    bool lapack, arpack;   /* needs the library */
    bool graph;            /* falls apart with the graph of neighbours: each component gets a map of its own */
    bool perplexity, seed; /* uses the option */
    unsigned neighbours;   /* per row in the graph, when the option is 0; 0: there is no graph */
};
extern const struct pml_map_trait pml_map_traits[PML_MAP_METHODS];

#define PML_MAP_LEAST 5u        /* rows of any map */
#define PML_MAP_PERPLEXITY 30.0 /* default */
#define PML_MAP_NEIGHBOURS_MAX 64u

struct pml_map_options {
    pml_map_method method;
    unsigned neighbours; /* of the graph; 0: as the method likes */
    double perplexity;   /* 0: 30, or less when there are too few rows */
    size_t landmarks;    /* 0: a tenth of the rows, 100 to 20,000 */
    size_t iterations;   /* of methods that descend; 0: as the method likes */
    uint64_t seed;
    unsigned threads;                    /* never changes the map */
    const struct pml_progress *progress; /* may be NULL */
};

struct pml_map_result {
    float *places;     /* 2 per row, centred; owned: pml_map_free */
    size_t components; /* of the graph; 0: the method has none */
    size_t landmarks;  /* 0: the method has none */
    double perplexity; /* that was used; 0: none */
    double cost;       /* what the method minimised, at its end; NaN: nothing */
    double *costs;     /* after each step; owned */
    size_t steps;
};

/* Whether the method's library is in this build and can be loaded. Not for several threads at once. */
bool pml_map_available(pml_map_method method);

/* Returns PML_DONE, or another outcome with a message: too few or too many rows, a library that is not there, a perplexity
 * that needs more rows. A zeroed result may be freed. */
pml_outcome pml_map(const struct pml_rows *rows, const struct pml_map_options *options, struct pml_map_result *result,
                    struct pml_message *message);
void pml_map_free(struct pml_map_result *result);

/* How many rows equal an earlier one. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_map_copies(const struct pml_rows *rows, size_t *copies);

#endif
