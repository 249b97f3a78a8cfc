/* SPDX-License-Identifier: Apache-2.0
 * In: an armed client of a crowd, and a query, a kept cell or nothing. Out: its whole bundle, in the drawn order. */
#include "crowd_bundle.h"

#include <stdlib.h>

pml_status crowd_bundle_open(struct crowd_bundle *bundle, const pml_client *client)
{
    pml_receipt receipt;
    *bundle = (struct crowd_bundle){0};
    const pml_status status = pml_client_receipt(client, &receipt);
    if (status != PML_OK)
        return status;
    bundle->length = receipt.bytes;
    bundle->room = receipt.messages;
    bundle->bytes = malloc(bundle->room * bundle->length);
    bundle->own = calloc(bundle->room, 1);
    return bundle->bytes && bundle->own ? PML_OK : PML_ERROR_MEMORY;
}

void crowd_bundle_close(struct crowd_bundle *bundle)
{
    volatile uint8_t *own = bundle->own; /* volatile: a compiler may not leave this out as useless */
    for (size_t i = 0; own && i < bundle->room; i++)
        own[i] = 0;
    free(bundle->bytes);
    free(bundle->own);
    *bundle = (struct crowd_bundle){0};
}

#if PML_WITH_CROWD

pml_status crowd_bundle_arm(pml_client *client, pml_budget *budget, pml_bundle kind)
{
    return pml_crowd_arm(client, budget, kind);
}

pml_status crowd_bundle_make(struct crowd_bundle *bundle, pml_client *client, const pml_crowd_content *content)
{
    pml_status status = pml_crowd_begin(client, content);
    for (bundle->count = 0; status == PML_OK && pml_crowd_left(client) > 0; bundle->count++) {
        unsigned own = 0;
        status = pml_crowd_next(client, bundle->bytes + bundle->count * bundle->length, bundle->length, &own);
        bundle->own[bundle->count] = (uint8_t)own;
    }
    return status;
}

#else

pml_status crowd_bundle_arm(pml_client *client, pml_budget *budget, pml_bundle kind)
{
    (void)client, (void)budget, (void)kind;
    return PML_ERROR_MECHANISM;
}

pml_status crowd_bundle_make(struct crowd_bundle *bundle, pml_client *client, const pml_crowd_content *content)
{
    (void)bundle, (void)client, (void)content;
    return PML_ERROR_MECHANISM;
}

#endif
