/* SPDX-License-Identifier: Apache-2.0
 * The client in a crowd: bundles. In: the app's calls in any order. Out: what the order allows, message by message. All
 * that is done to data is in pipeline_crowd.c. */
#include "pipeline_crowd.h"
#include "query.h"
#include "stages/stages.h"

/* What every call needs: a client of a crowd in the right state. */
static pml_status check(const pml_client *client, enum client_state state)
{
    if (!client)
        return PML_ERROR_ARGUMENT;
    if (!client->crowd)
        return PML_ERROR_CROWD;
    return client->state == state ? PML_OK : PML_ERROR_STATE;
}

pml_status pml_crowd_arm(pml_client *client, pml_budget *budget, pml_bundle bundle)
{
    pml_status status = check(client, CLIENT_IDLE);
    if (status != PML_OK)
        return status;
    if (!budget || bundle < PML_BUNDLE_QUERY || bundle > PML_BUNDLE_IDLE)
        return PML_ERROR_ARGUMENT;
    if (!pml_crowd_unchanged(client))
        return PML_ERROR_CROWD;
    client->crowd->kind = bundle;
    return pml_client_pay(client, budget);
}

/* The drawn cell of an earlier bundle. */
static pml_status read_kept(pml_client *client, const pml_crowd_content *content)
{
    pml_release_view view;
    pml_status status = pml_release_parse(client->pack, content->kept, content->kept_size, &view);
    if (status == PML_OK && view.mechanism != crowd_mechanism(client->pack))
        status = PML_ERROR_RELEASE;
    if (status == PML_OK)
        pml_crowd_own(client, pml_release_symbol(&view, 0));
    return status;
}

static pml_status read_content(pml_client *client, const pml_crowd_content *content)
{
    const struct crowd *crowd = client->crowd;
    const bool query = content && content->query, kept = content && content->kept;
    if (query != (crowd->kind == PML_BUNDLE_QUERY) || kept != (crowd->kind == PML_BUNDLE_KEPT))
        return PML_ERROR_ARGUMENT;
    if (query) {
        pml_status status = pml_query_check(content->query, client->pack);
        return status == PML_OK ? pml_pipeline_release(client, content->query, NULL) : status;
    }
    if (kept)
        return read_kept(client, content);
    if (crowd->policy.cover)
        pml_crowd_own(client, crowd->bundle.symbol[0]);
    return PML_OK;
}

/* After the last message nothing of the bundle stays. */
static void settle(pml_client *client)
{
    client->state = CLIENT_WRITING;
    if (client->crowd->bundle.total == 0)
        pml_client_wipe(client);
}

pml_status pml_crowd_begin(pml_client *client, const pml_crowd_content *content)
{
    pml_status status = check(client, CLIENT_ARMED);
    if (status != PML_OK)
        return status;
    if (!pml_crowd_unchanged(client))
        return PML_ERROR_CROWD;
    status = read_content(client, content);
    if (status == PML_OK)
        settle(client);
    pml_wipe_stack();
    return status;
}

size_t pml_crowd_left(const pml_client *client)
{
    return check(client, CLIENT_WRITING) == PML_OK ? client->crowd->bundle.total : 0;
}

pml_status pml_crowd_next(pml_client *client, uint8_t *out, size_t capacity, unsigned *own)
{
    if (out)
        memset(out, 0, capacity);
    if (own)
        *own = 0;
    pml_status status = check(client, CLIENT_WRITING);
    if (status != PML_OK)
        return status;
    if (!out || !own)
        return PML_ERROR_ARGUMENT;
    if (capacity < pml_client_release_size(client))
        return PML_ERROR_BUFFER;
    pml_crowd_write(client, out, own);
    settle(client);
    pml_wipe_stack();
    return PML_OK;
}
