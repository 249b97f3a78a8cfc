/* SPDX-License-Identifier: Apache-2.0
 * What a download without a query would find: a random part of the gallery, or the part that is nearest to most of it,
 * ranked by their rows. */
#ifndef CLI_EVALUATE_DOWNLOAD_H
#define CLI_EVALUATE_DOWNLOAD_H

#include "evaluate_bench.h"

#include "common/generator.h"

struct evaluate_download {
    const struct evaluate_bench *bench;
    struct pml_generator generator;
    uint8_t *taken; /* 1 for rows of the gallery in the random part */
    uint32_t *part;
};

/* Returns PML_DONE or PML_NO_MEMORY; close it after a failure too. */
pml_outcome evaluate_download_open(struct evaluate_download *download, const struct evaluate_bench *bench,
                                   uint64_t stream);
void evaluate_download_close(struct evaluate_download *download);

/* The best of `count` rows for this row of a query, drawn at random or popular ones. Returns how many they are. */
size_t evaluate_download_random(struct evaluate_download *download, const int8_t *query, size_t count,
                                uint32_t best[EVALUATE_TOP]);
size_t evaluate_download_popular(const struct evaluate_download *download, const int8_t *query, size_t count,
                                 uint32_t best[EVALUATE_TOP]);

#endif
