/* SPDX-License-Identifier: Apache-2.0
 * Conductor: ranks an answer by the true query: sketch or coordinates ─► answer ─► answer_rank. In: a secret query, then hostile bytes.
 * Out: the nearest candidates, once the whole answer was valid. */
#include "ranking.h"
#include "query.h"
#include "stages/stages.h"

_Static_assert(PML_ROUND8(sizeof(pml_ranking)) + 7 <= PML_RANKING_FIXED,
               "the fixed part holds the ranking at any alignment");

/* Bytes of what candidates are compared with. */
static size_t query_values(const pml_pack *pack)
{
    return pack->directions > 0 ? 2 * (size_t)pack->directions : PML_ROUND8(pack->sketch);
}

size_t pml_ranking_size(const pml_pack *pack)
{
    return pack && pack->bytes && pack->sketch > 0 ? PML_RANKING_FIXED + query_values(pack) + pml_query_memory(pack)
                                                   : 0;
}

/* From features to what candidates are compared with; a frame of its own, for pml_wipe_stack. */
static PML_NOINLINE pml_status read_query(pml_ranking *ranking, const pml_query *query,
                                          const pml_ranking_config *config)
{
    const pml_pack *pack = ranking->pack;
    struct shortlist *list = &ranking->shortlist;
    int8_t *values = (int8_t *)ranking + PML_ROUND8(sizeof *ranking);
    int8_t *row = values + query_values(pack); /* both aligned for a front */
    uint64_t valid;
    list->kernels = config->kernels ? config->kernels : &pml_kernels_portable;
    pml_status status = pml_query_read(query, pack, list->kernels, config->substitute, row, &list->slot, &valid);
    if (status == PML_OK && pack->directions > 0) {
        int16_t *coordinates = (int16_t *)(void *)values;
        pml_coordinates(pack, list->kernels, row, coordinates);
        list->coded =
            (struct pml_coded){pack->section[PML_SECTION_SKETCH_CODE], pack->section[PML_SECTION_DIRECTION_RANGES],
                               coordinates, pack->directions, pack->sketch};
    } else if (status == PML_OK) {
        pml_sketch_plain(pack, list->kernels, row, values);
        list->sketch = values;
        list->inverse = pml_inverse_norm(values, pack->sketch);
    }
    list->none = ~valid;
    pml_wipe(row, pml_query_memory(pack));
    return status;
}

static bool config_sound(const pml_ranking_config *config)
{
    return config && config->matches && config->capacity > 0 && config->capacity <= PML_MATCHES_MAX &&
           (config->scope == PML_OWN_SLOT || config->scope == PML_ALL_SLOTS);
}

pml_status pml_ranking_begin(pml_ranking **out, void *memory, size_t size, const pml_pack *pack, const pml_query *query,
                             const pml_ranking_config *config)
{
    if (out)
        *out = NULL;
    if (!out || !memory || !pack || !pack->bytes || !config_sound(config))
        return PML_ERROR_ARGUMENT;
    memset(config->matches, 0, config->capacity * sizeof *config->matches);
    pml_status status = pml_query_check(query, pack);
    if (status != PML_OK)
        return status;
    const size_t needed = pml_ranking_size(pack);
    if (needed == 0)
        return PML_ERROR_SECTION;
    if (size < needed)
        return PML_ERROR_MEMORY;
    memset(memory, 0, needed);
    pml_ranking *ranking = (pml_ranking *)(((uintptr_t)memory + 7) & ~(uintptr_t)7);
    ranking->pack = pack;
    ranking->shortlist.matches = config->matches;
    ranking->shortlist.capacity = config->capacity;
    ranking->shortlist.all = config->scope == PML_ALL_SLOTS ? ~(uint64_t)0 : 0;
    status = read_query(ranking, query, config);
    if (status == PML_OK) {
        pml_answer_start(&ranking->answer, config->crowd);
        pml_rank_start(&ranking->shortlist);
        *out = ranking;
    } else {
        pml_wipe(memory, needed);
    }
    pml_wipe_stack();
    return status;
}

pml_status pml_ranking_feed(pml_ranking *ranking, const void *bytes, size_t size)
{
    if (!ranking || (!bytes && size > 0))
        return PML_ERROR_ARGUMENT;
    if (!ranking->answer.open)
        return PML_ERROR_STATE;
    pml_status status = pml_answer_parse(&ranking->answer, ranking->pack, &ranking->shortlist, bytes, size);
    pml_wipe_stack();
    return status;
}

/* Ends the ranking: nothing of the query stays. */
static void end(pml_ranking *ranking, bool keep_matches)
{
    if (!keep_matches)
        pml_wipe(ranking->shortlist.matches, ranking->shortlist.capacity * sizeof(pml_match));
    pml_wipe((uint8_t *)ranking + PML_ROUND8(sizeof *ranking), query_values(ranking->pack));
    pml_wipe(&ranking->shortlist, sizeof ranking->shortlist);
    pml_wipe(&ranking->answer, sizeof ranking->answer);
}

pml_status pml_ranking_finish(pml_ranking *ranking, pml_answer_summary *summary)
{
    if (summary)
        memset(summary, 0, sizeof *summary);
    if (!ranking || !summary)
        return PML_ERROR_ARGUMENT;
    if (!ranking->answer.open)
        return PML_ERROR_STATE;
    const struct answer *answer = &ranking->answer;
    pml_status status = answer->status;
    if (status == PML_OK && !pml_answer_complete(answer))
        status = PML_ERROR_ANSWER;
    if (status == PML_OK) {
        summary->found = pml_rank_count(&ranking->shortlist);
        summary->carried = answer->carried;
        summary->gallery = answer->gallery;
        summary->bytes = answer->offset;
    }
    end(ranking, status == PML_OK);
    pml_wipe_stack();
    return status;
}

void pml_ranking_wipe(pml_ranking *ranking)
{
    if (ranking && ranking->answer.open)
        end(ranking, false);
}
