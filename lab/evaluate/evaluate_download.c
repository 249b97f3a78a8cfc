/* SPDX-License-Identifier: Apache-2.0
 * Draws parts of the gallery and ranks them. */
#include "evaluate_download.h"

#include "common/rows/nearest.h"

#include <stdlib.h>

pml_outcome evaluate_download_open(struct evaluate_download *download, const struct evaluate_bench *bench,
                                   uint64_t stream)
{
    const size_t rows = bench->data->gallery.features.rows;
    *download = (struct evaluate_download){.bench = bench,
                                           .generator = pml_generator_start(bench->options->seed, stream),
                                           .taken = calloc(rows, 1),
                                           .part = malloc(rows * sizeof *download->part)};
    return download->taken && download->part ? PML_DONE : PML_NO_MEMORY;
}

void evaluate_download_close(struct evaluate_download *download)
{
    free(download->taken);
    free(download->part);
}

/* `count` different rows of the gallery, every set of them equally likely (Floyd). */
static void draw_part(struct evaluate_download *download, size_t count)
{
    const size_t rows = download->bench->data->gallery.features.rows;
    for (size_t i = 0; i < count; i++) {
        const size_t last = rows - count + i;
        size_t row = (size_t)pml_generator_below(&download->generator, last + 1);
        if (download->taken[row])
            row = last;
        download->taken[row] = 1;
        download->part[i] = (uint32_t)row;
    }
    for (size_t i = 0; i < count; i++)
        download->taken[download->part[i]] = 0;
}

/* The best of a part by their whole rows (SPEC 5.3): a download has no sketches that could lose anything. */
static size_t rank_part(const struct evaluate_bench *bench, const int8_t *query, const uint32_t *part, size_t count,
                        uint32_t best[EVALUATE_TOP])
{
    const struct pml_rows *rows = &bench->data->gallery.rows;
    int64_t scores[EVALUATE_TOP];
    const struct pml_nearest nearest = {scores, best, EVALUATE_TOP};
    pml_nearest_clear(&nearest);
    for (size_t i = 0; i < count; i++) {
        const int64_t dot = pml_dot(query, rows->values + part[i] * rows->columns, rows->columns);
        pml_nearest_offer(&nearest, dot * rows->inverse[part[i]], part[i]);
    }
    return count < EVALUATE_TOP ? count : EVALUATE_TOP;
}

size_t evaluate_download_random(struct evaluate_download *download, const int8_t *query, size_t count,
                                uint32_t best[EVALUATE_TOP])
{
    draw_part(download, count);
    return rank_part(download->bench, query, download->part, count, best);
}

size_t evaluate_download_popular(const struct evaluate_download *download, const int8_t *query, size_t count,
                                 uint32_t best[EVALUATE_TOP])
{
    return rank_part(download->bench, query, download->bench->popular, count, best);
}
