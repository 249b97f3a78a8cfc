/* SPDX-License-Identifier: Apache-2.0
 * The embedding as a filter, for tests/server/test_embedding.py. In: cases one after the other, each the sizes
 * (u32: bytes of the pack, iterations, items), the pack, the items' rows (int8) and slots (u32), a release's rows (float).
 * Out: the items' places (float), then those of the release's rows (double). All in the order of bytes of the host. */
#include "server/embedding/embedding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(size_t size)
{
    void *bytes = malloc(size + 1);
    if (!bytes || fread(bytes, 1, size, stdin) != size)
        exit(1);
    return bytes;
}

static void put(const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, stdout) != size)
        exit(1);
}

static void place(const pml_pack *pack, const pml_pack_info *info, unsigned iterations, size_t count)
{
    const size_t row_values = (size_t)info->slots * info->dimensions;
    struct pml_message message;
    struct pml_embedding *embedding;
    struct pml_rows rows;
    int8_t *values = take(count * info->features);
    uint32_t *slots = take(count * sizeof *slots);
    float *released = take(row_values * sizeof *released), *places = malloc(count * info->dimensions * sizeof *places);
    double *placed = malloc(row_values * sizeof *placed);
    if (!places || !placed || pml_rows_allocate(&rows, count, info->features) != 0 ||
        pml_embedding_make(&embedding, pack, iterations, 2, NULL, &message) != PML_DONE)
        exit(1);
    memcpy(rows.values, values, count * info->features);
    for (size_t i = 0; i < count; i++)
        pml_rows_measure(&rows, i);
    if (pml_embedding_items(embedding, &rows, slots, 2, places) != PML_DONE)
        exit(1);
    pml_embedding_place(embedding, released, placed);
    put(places, count * info->dimensions * sizeof *places);
    put(placed, row_values * sizeof *placed);
    pml_embedding_free(embedding);
    pml_rows_free(&rows);
    free(values);
    free(slots);
    free(released);
    free(places);
    free(placed);
}

int main(void)
{
    uint32_t sizes[3];
    while (fread(sizes, sizeof sizes, 1, stdin) == 1) {
        uint8_t *bytes = take(sizes[0]);
        pml_pack pack;
        pml_pack_info info;
        if (pml_pack_open(&pack, bytes, sizes[0], NULL, NULL) != PML_OK || pml_pack_describe(&pack, &info) != PML_OK)
            return 1;
        place(&pack, &info, sizes[1], sizes[2]);
        free(bytes);
    }
    return 0;
}
