/* SPDX-License-Identifier: Apache-2.0
 * One function per method; map.c chooses. */
#ifndef PML_MAP_METHODS_H
#define PML_MAP_METHODS_H

#include "map.h"

#include "common/generator.h"

/* What a method gets: rows within its limits, and options whose defaults are filled in. What it fills: `places`, of 2
 * doubles per row, zeros at first. Returns PML_DONE, PML_NO_MEMORY, or PML_REFUSED with a message. */
struct pml_map_sparse;
struct pml_map_job {
    const struct pml_rows *rows;
    const struct pml_map_options *options;
    double *places;
    struct pml_map_result *result;
    struct pml_map_sparse *lists; /* neighbours that are known already, or NULL: pml_map_job_neighbours takes them */
};
typedef pml_outcome (*pml_map_fn)(const struct pml_map_job *job, struct pml_message *message);

pml_outcome pml_map_pca(const struct pml_map_job *job, struct pml_message *message);
pml_outcome pml_map_mds(const struct pml_map_job *job, struct pml_message *message);
pml_outcome pml_map_sammon(const struct pml_map_job *job, struct pml_message *message);
pml_outcome pml_map_isomap(const struct pml_map_job *job, struct pml_message *message);
pml_outcome pml_map_lle(const struct pml_map_job *job, struct pml_message *message);
pml_outcome pml_map_laplacian(const struct pml_map_job *job, struct pml_message *message);
pml_outcome pml_map_diffusion(const struct pml_map_job *job, struct pml_message *message);
pml_outcome pml_map_sne(const struct pml_map_job *job, struct pml_message *message);
pml_outcome pml_map_ssne(const struct pml_map_job *job, struct pml_message *message);
pml_outcome pml_map_tsne(const struct pml_map_job *job, struct pml_message *message);
pml_outcome pml_map_landmark(const struct pml_map_job *job, struct pml_message *message);

/* Streams of a map's seed (generator.h). Walks use one per row from the last on. */
enum { PML_MAP_STREAM_START = 1000, PML_MAP_STREAM_LANDMARKS, PML_MAP_STREAM_SAMPLE, PML_MAP_STREAM_WALKS };

/* Uniform on [−1, 1). */
double pml_map_uniform(struct pml_generator *generator);

/* The rows' main directions as a place to start from: of standard deviation `deviation` along the first, with a little of
 * the seed in every place, so that equal rows can part. */
pml_outcome pml_map_start(const struct pml_map_job *job, double deviation);

/* The neighbours of the job's rows, to be freed. Those that are known already are handed over. */
pml_outcome pml_map_job_neighbours(const struct pml_map_job *job, struct pml_map_sparse *lists);

/* Progress with a name for what is done; `told` lives as long as the caller wants. */
const struct pml_progress *pml_map_stage(const struct pml_map_options *options, const char *stage,
                                         struct pml_progress *told);

#endif
