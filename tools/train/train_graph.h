/* SPDX-License-Identifier: Apache-2.0
 * Graphs between rows: which of them a map should draw together, and which it should push apart. */
#ifndef PML_TRAIN_GRAPH_H
#define PML_TRAIN_GRAPH_H

#include "scatter.h"

#include "common/rows/rows.h"

/* An edge of weight 1 between two rows. */
struct pml_edge {
    uint32_t first, second; /* first < second */
};

/* Each edge once, ascending. A zeroed struct may be freed. */
struct pml_edges {
    struct pml_edge *edges;
    size_t count;
};

/* The graphs of marginal Fisher analysis, by cosines of rows. `own`: a row and the `near` rows of its class that are
 * nearest to it. `other`: for each class, the `margin` nearest pairs of a row of it and a row of another class. Ties go
 * to the smaller index. Looks at all pairs of rows. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_edges_marginal(const struct pml_rows *rows, const struct pml_classes *classes, unsigned near,
                               unsigned margin, unsigned threads, struct pml_edges *own, struct pml_edges *other);
void pml_edges_free(struct pml_edges *edges);

#endif
