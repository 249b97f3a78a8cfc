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

static pml_outcome append_slot(void *context, uint32_t slot, const struct pml_fragment *candidates)
{
    struct pml_bytes *text = context;
    size_t offset = 0;
    const bool first = text->bytes[text->size - 1] == '[';
    if (!pml_http_print(text, "%s{\"slot\":%" PRIu32 ",\"candidates\":[", first ? "" : ",", slot))
        return PML_NO_MEMORY;
    for (uint32_t i = 0; i < candidates->count; i++) {
        struct pml_candidate candidate;
        if (!pml_candidate_read(candidates->bytes.bytes, candidates->bytes.size, &offset, &candidate))
            return PML_DAMAGED;
        if (!append_candidate(text, &candidate, i == 0))
            return PML_NO_MEMORY;
    }
    return pml_http_print(text, "]}") ? PML_DONE : PML_NO_MEMORY;
}

pml_outcome pml_http_answer_json(const struct pml_service *service, const pml_release_view *view,
                                 struct pml_bytes *text)
{
    char id[2 * PML_ID_SIZE + 1];
    const struct pml_store_info *store = pml_service_store(service);
    pml_outcome outcome = PML_NO_MEMORY;
    pml_http_id_text(store->pack, id);
    if (pml_http_print(text, "{\"pack\":\"%s\",\"gallery\":%" PRIu64 ",\"sketch\":%" PRIu32 ",\"slots\":[", id,
                       store->items, store->sketch))
        outcome = pml_service_visit(service, view, append_slot, text);
    if (outcome == PML_DONE && !pml_http_print(text, "]}\n"))
        outcome = PML_NO_MEMORY;
    if (outcome != PML_DONE)
        pml_bytes_free(text);
    return outcome;
}
