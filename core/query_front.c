/* SPDX-License-Identifier: Apache-2.0
 * Conductor: features ─► quantise ─► front ─► row. In: a secret query. Out: a secret row. Features are taken in pieces, so
 * that a front of signs needs no memory for them. */
#include "pack/front.h"
#include "query.h"
#include "stages/stages.h"

enum { PIECE = 32 };

/* Where `count` features from `first` on are: in the query's array, or in the buffer that `read` wrote. */
static const float *piece_at(const pml_query *query, size_t first, size_t count, float *buffer)
{
    if (query->features)
        return query->features + first;
    query->read(query->read_context, first, count, buffer);
    return buffer;
}

/* Quantises all features, piece by piece, into `row` or into the sums of signs: the first pass finds the largest. Returns
 * a mask: are they valid? */
static uint64_t quantise(const pml_query *query, const pml_front *front, const struct pml_kernels *kernels, int8_t *row,
                         int64_t *sums)
{
    const bool signs = front->kind == PML_FRONT_SIGNS;
    const size_t most = PML_KERNELS_WIDE && query->features && !signs ? query->count : PIECE;
    float buffer[PIECE];
    int8_t values[PIECE];
    pml_random random;
    struct scale scale = {0};
    uint64_t valid = 0;
    uint32_t top = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t at = 0; at < query->count; at += most) {
            const size_t count = query->count - at < most ? query->count - at : most;
            const float *piece = piece_at(query, at, count, buffer);
            int8_t *out = signs ? values : row + at;
            if (pass == 0) {
                top = PML_KERNEL(kernels, quantise_top)(piece, count, top);
                continue;
            }
            PML_KERNEL(kernels, quantise_values)(&scale, valid, front->root, piece, count, out);
            if (signs)
                pml_front_signs_add(front, &random, out, count, sums);
        }
        if (pass == 0)
            valid = pml_quantise_scale(top, &scale);
        if (pass == 0 && signs)
            pml_front_signs_begin(front, &random, sums);
    }
    return valid;
}

uint64_t pml_query_map(const pml_query *query, const pml_front *front, const struct pml_kernels *kernels, int8_t *row,
                       int64_t *memory)
{
    const bool mapped = front->kind != PML_FRONT_NONE;
    int8_t *inputs = mapped ? (int8_t *)(memory + front->outputs) : row;
    uint64_t valid = quantise(query, front, kernels, inputs, memory);
    if (front_keeps_row(front))
        pml_front_row(front, kernels, inputs, memory);
    if (mapped)
        valid = pml_front_emit(front, memory, valid, row);
    pml_quantise_default(valid, row);
    return valid;
}
