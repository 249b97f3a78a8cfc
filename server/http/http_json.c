/* SPDX-License-Identifier: Apache-2.0
 * An answer as JSON. */
#include "http_json.h"

#include "http_text.h"

#include <inttypes.h>

static bool append_candidate(struct pml_bytes *text, const struct pml_candidate *candidate, bool first)
{
    return pml_http_print(text, "%s{\"item\":%" PRIu64 ",\"class\":%" PRId32 ",\"sketch\":\"", first ? "" : ",",
                          candidate->item, candidate->label) &&
           pml_http_base64(text, (const uint8_t *)candidate->sketch, candidate->sketch_size) &&
           pml_http_print(text, "\",\"payload\":\"") &&
           pml_http_base64(text, candidate->payload, candidate->payload_size) && pml_http_print(text, "\"}");
}

static pml_outcome append_slot(struct pml_bytes *text, const pml_pack_info *pack, const struct pml_part *part,
                               bool first)
{
    struct pml_candidate candidate;
    struct pml_list list;
    if (!pml_list_open(&list, pack, part->bytes, part->size, 0))
        return PML_DAMAGED;
    if (!pml_http_print(text, "%s{\"slot\":%" PRIu32 ",\"candidates\":[", first ? "" : ",", list.slot))
        return PML_NO_MEMORY;
    while (pml_list_next(&list, &candidate))
        if (!append_candidate(text, &candidate, list.left + 1 == list.count))
            return PML_NO_MEMORY;
    if (list.left > 0)
        return PML_DAMAGED;
    return pml_http_print(text, "]}") ? PML_DONE : PML_NO_MEMORY;
}

pml_outcome pml_http_answer_json(const struct pml_service *service, const struct pml_parts *parts,
                                 struct pml_bytes *text)
{
    const pml_pack_info *pack = pml_service_pack(service);
    char id[2 * PML_ID_SIZE + 1];
    pml_http_id_text(pack->id, id);
    pml_outcome outcome =
        pml_http_print(text, "{\"pack\":\"%s\",\"gallery\":%" PRIu64 ",\"sketch\":%" PRIu32 ",\"slots\":[", id,
                       pml_service_manifest(service)->items, (uint32_t)pack->sketch)
            ? PML_DONE
            : PML_NO_MEMORY;
    for (size_t i = 1; i < parts->count && outcome == PML_DONE; i++) /* behind the header */
        outcome = append_slot(text, pack, parts->parts[i], i == 1);
    if (outcome == PML_DONE && !pml_http_print(text, "]}\n"))
        outcome = PML_NO_MEMORY;
    if (outcome != PML_DONE)
        pml_bytes_free(text);
    return outcome;
}
