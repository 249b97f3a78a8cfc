/* SPDX-License-Identifier: Apache-2.0
 * The relay's own clusters (SPEC 5.17). In: their mean number and largest size, and a key per epoch from the system. Out:
 * sealed messages that nobody but the gateway can tell from a client's. Never says how many there are. */
#include "relay_noise.h"

#include "core/base/base.h"
#include "server/gateway/crypto_openssl.h"
#include "server/mixing/relay_clusters.h"

#include <privatemail_crowd.h>
#include <privatemail_platform.h>
#include <privatemail_public.h>
#include <privatemail_transport.h>
#include <stdlib.h>

enum { AT_ONCE = 256 /* messages that are written together */ };

pml_outcome relay_noise_plan(const struct pml_relay_noise *noise, const pml_pack_info *info, double *clusters,
                             uint32_t *copies)
{
    *clusters = noise->clusters;
    *copies = noise->copies;
    if (noise->epsilon <= 0.0)
        return PML_DONE;
    /* No floor is counted on: a kept cell that is sent again has none. */
    const pml_crowd_goal goal = {.use = {.cells = info->slots * info->cells, .queries = 1},
                                 .honest = 1.0,
                                 .epsilon = noise->epsilon,
                                 .delta = noise->delta,
                                 .copies_max = noise->copies,
                                 .own = 1,
                                 .relay = true};
    pml_crowd_planned planned;
    double *scratch = malloc(PML_CROWD_SCRATCH_MAX * sizeof *scratch);
    const pml_status status =
        scratch ? pml_crowd_plan(&goal, scratch, PML_CROWD_SCRATCH_MAX, &planned) : PML_ERROR_MEMORY;
    free(scratch);
    if (status != PML_OK)
        return PML_REFUSED;
    *clusters = planned.crowd.relay_clusters;
    *copies = planned.crowd.copies;
    return PML_DONE;
}

/* ---- sealing ---- */

struct sealing {
    struct relay_fakes *fakes;
    pml_seal_key key;
    struct relay_release release;
    uint8_t *buffer;
    uint32_t waiting; /* messages in the buffer */
};

static pml_outcome flush(struct sealing *sealing)
{
    struct relay_fakes *fakes = sealing->fakes;
    const size_t size = (size_t)sealing->waiting * fakes->message_size;
    pml_outcome outcome =
        relay_spool_write(fakes->spool, sealing->buffer, size, (uint64_t)fakes->count * fakes->message_size);
    fakes->count += sealing->waiting;
    sealing->waiting = 0;
    return atomic_load(fakes->stop) ? PML_UNAVAILABLE : outcome;
}

static pml_outcome seal(struct sealing *sealing)
{
    struct relay_fakes *fakes = sealing->fakes;
    uint8_t *out = sealing->buffer + (size_t)sealing->waiting * fakes->message_size;
    if (pml_message_seal(pml_crypto_openssl(), &sealing->key, fakes->epoch, fakes->pack->id, sealing->release.bytes,
                         sealing->release.size, pml_platform_entropy, NULL, out, fakes->message_size, NULL) != PML_OK)
        return PML_UNAVAILABLE;
    sealing->waiting++;
    return sealing->waiting < AT_ONCE ? PML_DONE : flush(sealing);
}

static pml_outcome seal_cluster(void *context, uint32_t symbol, uint32_t copies)
{
    struct sealing *sealing = context;
    pml_outcome outcome = PML_DONE;
    relay_release_symbol(&sealing->release, symbol);
    for (; copies > 0 && outcome == PML_DONE; copies--)
        outcome = seal(sealing);
    return outcome;
}

pml_outcome relay_noise_draw(struct relay_fakes *fakes, const void *keys, size_t size)
{
    const struct relay_law law = {fakes->clusters, fakes->copies, fakes->pack->slots * fakes->pack->cells};
    struct sealing sealing = {.fakes = fakes};
    uint8_t key[32];
    relay_release_begin(&sealing.release, fakes->pack);
    if (pml_keys_choose(pml_crypto_openssl(), keys, size, &sealing.key) != PML_OK ||
        pml_message_size(sealing.release.size) != fakes->message_size)
        return PML_REFUSED;
    sealing.buffer = malloc((size_t)AT_ONCE * fakes->message_size);
    if (!sealing.buffer)
        return PML_NO_MEMORY;
    pml_outcome outcome = pml_platform_entropy(NULL, key, sizeof key) == 0 ? PML_DONE : PML_UNAVAILABLE;
    if (outcome == PML_DONE)
        outcome = relay_clusters_draw(&law, key, seal_cluster, &sealing);
    if (outcome == PML_DONE)
        outcome = flush(&sealing);
    pml_wipe(key, sizeof key);
    pml_wipe(&sealing.release, sizeof sealing.release);
    free(sealing.buffer);
    return outcome;
}
