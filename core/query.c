/* SPDX-License-Identifier: Apache-2.0
 * Conductor: from features and label to the stages' row and slot. In: a secret query. Out: a secret row and slot. */
#include "query.h"
#include "stages/stages.h"

pml_status pml_query_check(const pml_query *query, const pml_pack *pack)
{
    if (!query || !query->features)
        return PML_ERROR_ARGUMENT;
    return query->count == pack->features ? PML_OK : PML_ERROR_DIMENSION;
}

pml_status pml_query_read(const pml_query *query, const pml_pack *pack, bool substitute, int8_t *row, uint32_t *slot,
                          uint64_t *valid)
{
    uint64_t known, finite = pml_quantise_row(query->features, pack->features, row);
    *slot = pml_slots_find(pack, query->label, &known);
    *valid = finite & known;
    if (hide(*valid | mask_nonzero(substitute)) != 0)
        return PML_OK;
    return finite == 0 ? PML_ERROR_FEATURES : PML_ERROR_LABEL;
}
