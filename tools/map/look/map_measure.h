/* SPDX-License-Identifier: Apache-2.0
 * How good a map is. */
#ifndef PML_MAP_MEASURE_H
#define PML_MAP_MEASURE_H

#include "tools/map/map.h"

#define PML_MAP_NEAR 12u /* neighbours that trustworthiness and continuity speak of */

enum { PML_MAP_PURITIES = 4, PML_MAP_SEPARATIONS = 3 };
extern const unsigned pml_map_purity_neighbours[PML_MAP_PURITIES];
extern const double pml_map_separation_shares[PML_MAP_SEPARATIONS];

/* NaN where there are no labels, or too few rows. */
struct pml_map_measures {
    double nn_error;                 /* share of rows whose nearest in the map has another label */
    double trustworthiness;          /* 1 when the neighbours in the map are neighbours (Venna and Kaski 2001) … */
    double continuity;               /* … and the other way round */
    double stress;                   /* Sammon's, after the best scaling of the map */
    double purity[PML_MAP_PURITIES]; /* mean share of the commonest label among so many neighbours and the row itself */
    struct {
        double mean,
            least; /* over labels: (between − within)/larger, of the mean of the nearest share of the pairs … */
    } separation[PML_MAP_SEPARATIONS]; /* … with the label that is nearest */
};

/* `places` has 2 numbers per row; `labels` may be NULL. Of more than 5,000 rows, ranks and distances are those of 2,000 of
 * them to all, and separation is that of 2,000. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_map_measure(const struct pml_rows *rows, const float *places, const int32_t *labels,
                            const struct pml_map_options *options, struct pml_map_measures *measures);

/* The labels as 0 … *count − 1, in ascending order of the labels; `names` gets what each stands for, and is freed by the
 * caller. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_map_number(const int32_t *labels, size_t rows, uint32_t *numbers, int32_t **names, size_t *count);

#endif
