/* SPDX-License-Identifier: Apache-2.0
 * Conductor: from features and label to the stages' row and slot. In: a secret query. Out: a secret row and slot. */
#include "query.h"
#include "pack/front.h"
#include "stages/stages.h"

/* Both sides of PML_WITH_FRONT are compiled, but only one is linked. */

size_t pml_query_memory(const pml_pack *pack)
{
    return PML_ROUND8(pack->features) +
           (PML_WITH_FRONT && pack->modalities > 0 ? PML_FRONT_MEMORY(pack->inputs, pack->features) : 0);
}

/* The number of features that a query must have. */
static pml_status count_features(const pml_query *query, const pml_pack *pack, size_t *count)
{
    if (!PML_WITH_FRONT) {
        *count = pack->features;
        return query->modality == 0 ? PML_OK : PML_ERROR_MODALITY;
    }
    pml_front front;
    pml_status status = pml_pack_front(pack, query->modality, &front);
    *count = front.inputs;
    return status;
}

pml_status pml_query_check(const pml_query *query, const pml_pack *pack)
{
    size_t count;
    if (!query || (!query->features && !(PML_WITH_FRONT && query->read)))
        return PML_ERROR_ARGUMENT;
    pml_status status = count_features(query, pack, &count);
    return status == PML_OK && query->count != count ? PML_ERROR_DIMENSION : status;
}

uint64_t pml_query_row(const pml_query *query, const pml_pack *pack, const struct pml_kernels *kernels, int8_t *row)
{
    if (!PML_WITH_FRONT)
        return pml_quantise_row(query->features, pack->features, row, kernels);
    pml_front front;
    if (pml_pack_front(pack, query->modality, &front) != PML_OK)
        return 0; /* never, after pml_query_check */
    return pml_query_map(query, &front, kernels, row, (int64_t *)(void *)(row + PML_ROUND8(pack->features)));
}

pml_status pml_query_read(const pml_query *query, const pml_pack *pack, const struct pml_kernels *kernels,
                          bool substitute, int8_t *row, uint32_t *slot, uint64_t *valid)
{
    uint64_t known, finite = pml_query_row(query, pack, kernels, row);
    *slot = pml_slots_find(pack, query->label, &known);
    *valid = finite & known;
    if (hide(*valid | mask_nonzero(substitute)) != 0)
        return PML_OK;
    return finite == 0 ? PML_ERROR_FEATURES : PML_ERROR_LABEL;
}
