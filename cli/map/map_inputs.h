/* SPDX-License-Identifier: Apache-2.0
 * What map reads: rows of a file or of a store, and what they are coloured by. */
#ifndef CLI_MAP_INPUTS_H
#define CLI_MAP_INPUTS_H

#include "cli/shared/pack_file.h"
#include "common/npy.h"
#include "common/rows/rows.h"

typedef enum map_colour { MAP_COLOUR_NONE, MAP_COLOUR_CLASS, MAP_COLOUR_CELL, MAP_COLOUR_CLUSTER } map_colour;

struct map_paths {
    const char *features, *labels, *modality; /* of a file … */
    const char *store;                        /* … or of a store */
    const char *pack;                         /* its front maps features, its prototypes give cells; may be NULL */
};

struct map_inputs {
    struct pml_rows rows;
    bool sketches;            /* rows are what a store's sketches tell (pml_sketch_row) */
    struct pml_labels labels; /* values: NULL when there are none */
    struct pack_file pack;    /* bytes: NULL when there is none */
    map_colour colour;
    uint32_t *colours; /* per row; NULL: none */
    int32_t *names;    /* of the groups */
    size_t groups;
    const float *shades; /* per row 0 to 1, not owned; NULL: all are shown in full */
};

/* Reads the rows. Free the inputs after a failure too. */
exit_code map_inputs_read(const struct map_paths *paths, unsigned threads, struct map_inputs *inputs);
void map_inputs_free(struct map_inputs *inputs);

/* The colour of each row. `colour` may be NULL: by class, or by cell, or none, whatever there is first. */
exit_code map_inputs_colour(struct map_inputs *inputs, const char *colour, uint64_t clusters, uint64_t seed,
                            unsigned threads);

#endif
