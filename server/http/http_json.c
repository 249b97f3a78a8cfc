/* SPDX-License-Identifier: Apache-2.0
 * An answer as JSON. In: a service and a release. Out: the text, or an error and nothing. */
#include "http_json.h"

#include "http_text.h"

#include <inttypes.h>

static int append_candidate(struct pml_bytes *text, const struct pml_candidate *candidate, bool first)
{
    int failed = pml_http_print(text, "%s{\"item\":%" PRIu64 ",\"class\":%" PRId32 ",\"sketch\":\"", first ? "" : ",",
                                candidate->item, candidate->label);
    failed = failed || pml_http_base64(text, (const uint8_t *)candidate->sketch, candidate->sketch_size);
    failed = failed || pml_http_print(text, "\",\"payload\":\"");
    failed = failed || pml_http_base64(text, candidate->payload, candidate->payload_size);
    return failed || pml_http_print(text, "\"}") ? -1 : 0;
}

static int append_slot(void *context, uint32_t slot, const struct pml_fragment *candidates)
{
    struct pml_bytes *text = context;
    size_t offset = 0;
    if (pml_http_print(text, "%s{\"slot\":%" PRIu32 ",\"candidates\":[", slot > 0 ? "," : "", slot) != 0)
        return PML_STORE_NO_MEMORY;
    for (uint32_t i = 0; i < candidates->count; i++) {
        struct pml_candidate candidate;
        if (pml_candidate_read(candidates->bytes.bytes, candidates->bytes.size, &offset, &candidate) != 0)
            return PML_STORE_FAILED;
        if (append_candidate(text, &candidate, i == 0) != 0)
            return PML_STORE_NO_MEMORY;
    }
    return pml_http_print(text, "]}") == 0 ? PML_OK : PML_STORE_NO_MEMORY;
}

int pml_http_answer_json(const struct pml_service *service, const void *release, size_t size, struct pml_bytes *text)
{
    char id[2 * PML_ID_SIZE + 1];
    const struct pml_store_info *store = pml_service_store(service);
    pml_http_id_text(store->pack, id);
    int status = PML_OK;
    if (pml_http_print(text, "{\"pack\":\"%s\",\"gallery\":%" PRIu64 ",\"sketch\":%" PRIu32 ",\"slots\":[", id,
                       store->items, store->sketch) != 0)
        status = PML_STORE_NO_MEMORY;
    if (status == PML_OK)
        status = pml_service_visit(service, release, size, append_slot, text);
    if (status == PML_OK && pml_http_print(text, "]}\n") != 0)
        status = PML_STORE_NO_MEMORY;
    if (status != PML_OK)
        pml_bytes_free(text);
    return status;
}
