/* SPDX-License-Identifier: Apache-2.0
 * The row that a query of the auditor's own becomes, by public arithmetic (SPEC 5.3 to 5.9, in doubles). It only says
 * which pairs are worth releasing; nothing that is claimed rests on it. */
#ifndef CLI_AUDIT_ROWS_H
#define CLI_AUDIT_ROWS_H

#include "audit_candidates.h"

struct audit_rows {
    const struct pack_file *file;
    double *inverse_norms; /* of the anchors */
    /* The K largest codes of each coordinate, largest first, and of its negative. */
    double extremes[PML_DIMENSIONS_MAX][2][PML_NEIGHBOURS_MAX];
};

/* Before the slot enters: Σ w_j·code_j and Σ w_j over the K nearest anchors. */
struct audit_sum {
    double codes[PML_DIMENSIONS_MAX], weight;
};

/* Close the rows after a failure too. */
pml_status audit_rows_open(struct audit_rows *rows, const struct pack_file *file);
void audit_rows_close(struct audit_rows *rows);

pml_status audit_rows_sum(const struct audit_rows *rows, const float *features, struct audit_sum *sum);

/* α times the slot's label row: k numbers. */
void audit_rows_label(const struct audit_rows *rows, uint32_t slot, double *out);

/* Distance of the rows of two queries in one slot with this label row, embedding units. */
double audit_rows_distance(const struct audit_rows *rows, const struct audit_sum *first, const struct audit_sum *second,
                           const double *label_row);

/* Distance of all that two records become, whatever their slots, embedding units. */
double audit_rows_apart(const struct audit_rows *rows, const struct audit_pair *pair, const struct audit_sum sums[2]);

/* The K anchors whose codes lie furthest in a direction of k numbers, averaged and added to `target`. */
void audit_rows_extreme(const struct audit_rows *rows, const double *direction, size_t count, float *target);

#endif
