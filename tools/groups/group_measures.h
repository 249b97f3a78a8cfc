/* SPDX-License-Identifier: Apache-2.0
 * How well groups agree with classes that are known. */
#ifndef PML_GROUP_MEASURES_H
#define PML_GROUP_MEASURES_H

#include "groups.h"

/* Normalised mutual information: 2·I / (H + H), from 0 to 1, the larger the better. 1 when both are one group. Returns
 * PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_group_nmi(const int32_t *groups, const int32_t *classes, size_t rows, double *nmi);

/* The share of edges that join rows of different classes: among all, among the suspects, and among the first of
 * them, which are 2 % of all edges. NAN when there are none. */
struct pml_group_cross {
    double all, suspects, first;
};
struct pml_group_cross pml_group_cross(const struct pml_groups_result *result, const int32_t *classes);

#endif
