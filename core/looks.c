/* SPDX-License-Identifier: Apache-2.0
 * Conductor: several looks ─► quantise ─► sums ─► one mean. In: secret features. Out: secret features. Each look is
 * quantised in pieces, twice, so that no memory is needed for its row. */
#include "base/exact.h"
#include "query.h"
#include "stages/stages.h"

enum { PIECE = 32 };

/* The sums follow it in the caller's memory. */
struct pml_looks {
    uint32_t features, looks;
};

_Static_assert(sizeof(pml_looks) + 3 <= PML_LOOKS_FIXED, "the fixed part holds the looks at any alignment");

static int32_t *sums_of(pml_looks *looks)
{
    return (int32_t *)(void *)(looks + 1);
}

size_t pml_looks_size(size_t features)
{
    return features - 1 < PML_FRONT_INPUTS_MAX ? PML_LOOKS_MEMORY(features) : 0;
}

pml_status pml_looks_begin(pml_looks **out, void *memory, size_t size, size_t features)
{
    if (!out)
        return PML_ERROR_ARGUMENT;
    *out = NULL;
    const size_t needed = pml_looks_size(features);
    if (!memory || needed == 0)
        return PML_ERROR_ARGUMENT;
    if (size < needed)
        return PML_ERROR_MEMORY;
    memset(memory, 0, needed);
    *out = (pml_looks *)(((uintptr_t)memory + 3) & ~(uintptr_t)3);
    (*out)->features = (uint32_t)features;
    return PML_OK;
}

/* Adds a look, all of it or nothing: a mask says which. A frame of its own, for pml_wipe_stack. */
static PML_NOINLINE uint64_t add(pml_looks *looks, const float *features)
{
    const bool many = looks->features > PML_FEATURES_MAX;
    struct scale scale;
    int8_t values[PIECE];
    uint64_t squares = 0;
    uint32_t inverse = 0;
    const uint64_t valid = pml_quantise_scale(pml_quantise_top_portable(features, looks->features, 0), &scale);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t at = 0; at < looks->features; at += PIECE) {
            const size_t count = looks->features - at < PIECE ? looks->features - at : PIECE;
            pml_quantise_values_portable(&scale, valid, false, features + at, count, values);
            if (pass == 0)
                squares += pml_look_squares(values, count);
            else
                pml_look_add(values, count, inverse, many ? 4 : 0, sums_of(looks) + at);
        }
        inverse = pml_inverse_sqrt(many ? (uint32_t)(squares >> 8) + 1 : (uint32_t)squares);
    }
    return valid;
}

pml_status pml_looks_add(pml_looks *looks, const float *features, size_t count)
{
    if (!looks || !features)
        return PML_ERROR_ARGUMENT;
    if (count != looks->features)
        return PML_ERROR_DIMENSION;
    if (looks->looks == PML_LOOKS_MAX)
        return PML_ERROR_STATE;
    const uint64_t valid = add(looks, features);
    looks->looks += 1 & (uint32_t)valid;
    pml_wipe_stack();
    return verdict(valid);
}

/* A frame of its own too, also when the linker joins files. */
static PML_NOINLINE uint64_t mean(const pml_looks *looks, float *features)
{
    return pml_look_mean((const int32_t *)(const void *)(looks + 1), looks->features, features);
}

pml_status pml_looks_mean(const pml_looks *looks, float *features, size_t count)
{
    if (!features)
        return PML_ERROR_ARGUMENT;
    memset(features, 0, count * sizeof *features);
    if (!looks)
        return PML_ERROR_ARGUMENT;
    if (count != looks->features)
        return PML_ERROR_DIMENSION;
    if (looks->looks == 0)
        return PML_ERROR_STATE;
    const uint64_t some = mean(looks, features);
    pml_wipe_stack();
    return verdict(some);
}

void pml_looks_wipe(pml_looks *looks)
{
    if (looks) {
        pml_wipe(sums_of(looks), looks->features * sizeof(int32_t));
        looks->looks = 0;
    }
}
