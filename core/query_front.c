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

static size_t piece_size(const pml_query *query, size_t first)
{
    return query->count - first < PIECE ? query->count - first : PIECE;
}

/* Quantises all features, piece by piece: into `row`, or into the sums of signs. Returns a mask: are they valid? */
static uint64_t quantise(const pml_query *query, const pml_front *front, int8_t *row, int64_t *sums)
{
    float buffer[PIECE];
    int8_t values[PIECE];
    pml_random signs;
    struct scale scale;
    uint32_t top = 0;
    for (size_t at = 0; at < query->count; at += PIECE)
        top = pml_quantise_top(piece_at(query, at, piece_size(query, at), buffer), piece_size(query, at), top);
    const uint64_t valid = pml_quantise_scale(top, &scale);
    if (front->kind == PML_FRONT_SIGNS)
        pml_front_signs_begin(front, &signs, sums);
    for (size_t at = 0; at < query->count; at += PIECE) {
        const size_t count = piece_size(query, at);
        const float *piece = piece_at(query, at, count, buffer);
        int8_t *out = front->kind == PML_FRONT_SIGNS ? values : row + at;
        pml_quantise_values(&scale, valid, front->root, piece, count, out);
        if (at == 0)
            pml_quantise_default(valid, out);
        if (front->kind == PML_FRONT_SIGNS)
            pml_front_signs_add(front, &signs, out, count, sums);
    }
    return valid;
}

uint64_t pml_query_map(const pml_query *query, const pml_front *front, const struct pml_kernels *kernels, int8_t *row,
                       int64_t *memory)
{
    if (front->kind == PML_FRONT_NONE)
        return quantise(query, front, row, memory);
    int8_t *inputs = (int8_t *)(memory + front->outputs);
    uint64_t valid = quantise(query, front, inputs, memory);
    if (front_keeps_row(front))
        pml_front_row(front, kernels, inputs, memory);
    valid &= pml_front_emit(front, memory, row);
    pml_quantise_default(valid, row);
    return valid;
}
