/* SPDX-License-Identifier: Apache-2.0
 * The server's side of an evaluation: a pack, the gallery indexed with it, and the service that answers. Whatever does not
 * change from one setting to the next is kept. */
#ifndef CLI_EVALUATE_BENCH_H
#define CLI_EVALUATE_BENCH_H

#include "cli/shared/pack_file.h"
#include "evaluate_data.h"

#include "server/lists/index_lists.h"
#include "server/service/service.h"

struct evaluate_bench {
    const struct evaluate_options *options;
    const struct evaluate_data *data;
    struct pack_file pack;
    unsigned cells; /* that the pack was built with; 0: there is no pack yet */
    bool crowd;     /* it was built as for a crowd */
    double share;   /* of the lists that its cells were refined for; 0: pack's own choice */
    uint64_t *items;
    uint32_t *slots;                   /* of the gallery, in this pack */
    uint32_t *voter_slots;             /* of the voters; NULL: each votes in every slot */
    struct pml_lists_gallery *gallery; /* of these slots */
    uint32_t *popular;                 /* its rows; those nearest to most others come first */
    double *noiseless;                 /* of each query (evaluate_noiseless.h); NULL: response */
    struct pml_store *store;
    struct pml_cache *cache;
    struct pml_service *service;
};

/* The number of cells for this ε and share, without a crowd. The Gaussian needs no cells; its packs have the fewest
 * possible. */
unsigned evaluate_bench_cells(const struct evaluate_options *options, double epsilon, double share);

/* The same in a crowd, where `share` is that of all own messages together. With slots by class it builds a pack to know
 * how many they are. */
exit_code evaluate_bench_crowd_cells(struct evaluate_bench *bench, double epsilon, double share, unsigned *cells);

/* Makes the service ready for this number of cells and lists of this share; `crowd`: with a pack as `pack --crowd` builds it.
 * At first, all fields but options and data are zero. Close the bench after a failure too. */
exit_code evaluate_bench_set(struct evaluate_bench *bench, unsigned cells, double share, bool crowd);
void evaluate_bench_close(struct evaluate_bench *bench);

#endif
