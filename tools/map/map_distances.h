/* SPDX-License-Identifier: Apache-2.0
 * Classical scaling: the places whose distances are nearest to given ones. */
#ifndef PML_MAP_DISTANCES_H
#define PML_MAP_DISTANCES_H

#include "map_methods.h"

/* `squares` has the squared distances of all rows to all, count × count. Fills the job's places. */
pml_outcome pml_map_scale(const struct pml_map_job *job, const float *squares);

/* Memory for count × count numbers; NULL when there is none. */
float *pml_map_square_matrix(size_t count);

#endif
