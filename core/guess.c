/* SPDX-License-Identifier: Apache-2.0
 * Conductor: features ─► quantise ─► front ─► head ─► guesses. In: a secret query. Out: secret labels, for the device
 * alone. */
#include "base/kernels.h"
#include "pack/front.h"
#include "query.h"
#include "stages/stages.h"

size_t pml_guess_size(const pml_pack *pack)
{
    return pack && pack->bytes && pack->labels > 0 ? PML_GUESS_FIXED + pml_query_memory(pack) : 0;
}

/* A frame of its own, for pml_wipe_stack. */
static PML_NOINLINE pml_status guess(const pml_pack *pack, const struct pml_kernels *kernels, const pml_query *query,
                                     int8_t *row, pml_guess *guesses, size_t count)
{
    pml_front head;
    pml_status status = pml_pack_head(pack, &head);
    if (status != PML_OK)
        return status;
    const uint64_t valid = pml_query_row(query, pack, kernels, row);
    pml_head_guess(&head, kernels, row, guesses, count);
    for (size_t i = 0; i < count; i++) {
        guesses[i].label = (int32_t)((uint32_t)guesses[i].label & (uint32_t)valid);
        guesses[i].score = (int64_t)((uint64_t)guesses[i].score & valid);
    }
    return verdict(valid);
}

pml_status pml_pack_guess(const pml_pack *pack, const struct pml_kernels *kernels, const pml_query *query, void *memory,
                          size_t size, pml_guess *guesses, size_t count)
{
    if (!guesses || count - 1 >= PML_GUESSES_MAX)
        return PML_ERROR_ARGUMENT;
    memset(guesses, 0, count * sizeof *guesses);
    if (!pack || !pack->bytes || !memory)
        return PML_ERROR_ARGUMENT;
    pml_status status = pml_query_check(query, pack);
    if (status != PML_OK)
        return status;
    const size_t needed = pml_guess_size(pack);
    if (needed == 0)
        return PML_ERROR_SECTION;
    if (count > pack->labels)
        return PML_ERROR_ARGUMENT;
    if (size < needed)
        return PML_ERROR_MEMORY;
    int8_t *row = (int8_t *)(((uintptr_t)memory + 7) & ~(uintptr_t)7); /* aligned for a front */
    status = guess(pack, kernels ? kernels : &pml_kernels_portable, query, row, guesses, count);
    pml_wipe(memory, needed);
    pml_wipe_stack();
    return status;
}
