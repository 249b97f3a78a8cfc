/* SPDX-License-Identifier: Apache-2.0
 * What JavaScript cannot do by itself: fill a structure with function pointers, know where a structure's fields are,
 * walk through a parsed release. Everything else of the API is exported as it is. No state, no arithmetic. */
#include "privatemail_crowd.h"
#include "privatemail_public.h"
#include "privatemail_transport.h"

#define EXPORTED(name) __attribute__((export_name(#name)))
#define IMPORTED(name) __attribute__((import_module("env"), import_name(#name)))

/* The only imports. Both return 0 for success; persist takes the bytes to store. */
IMPORTED(entropy) int host_entropy(uint8_t *out, size_t size);
IMPORTED(persist) int host_persist(const uint8_t *bytes, size_t size);

static int entropy(void *context, uint8_t *out, size_t size)
{
    (void)context;
    return host_entropy(out, size);
}

static int persist(void *context, const uint8_t *bytes, size_t size)
{
    (void)context;
    return host_persist(bytes, size);
}

/* ---- budget ---- */

EXPORTED(pml_wasm_budget_create)
pml_status pml_wasm_budget_create(pml_budget *budget, const uint8_t *owner, double response, double gaussian,
                                  double delta, double floor, double crowd, double crowd_delta)
{
    const pml_budget_caps caps = {.epsilon_response = response,
                                  .epsilon_gaussian = gaussian,
                                  .delta = delta,
                                  .epsilon_floor = floor,
                                  .epsilon_crowd = crowd,
                                  .delta_crowd = crowd_delta};
    return pml_budget_create(budget, owner, &caps);
}

/* ---- client ---- */

/* `crowd` is NULL for a client without one. */
EXPORTED(pml_wasm_client_size)
size_t pml_wasm_client_size(const pml_pack *pack, pml_mechanism mechanism, const pml_crowd *crowd)
{
    const pml_config config = {.mechanism = mechanism, .crowd = crowd};
    return pml_client_size(pack, &config);
}

EXPORTED(pml_wasm_client_init)
pml_status pml_wasm_client_init(pml_client **client, void *memory, size_t size, const pml_pack *pack,
                                pml_mechanism mechanism, double epsilon, double delta, unsigned value_bytes,
                                bool substitute, const pml_crowd *crowd)
{
    const pml_config config = {.mechanism = mechanism,
                               .epsilon = epsilon,
                               .delta = delta,
                               .value_bytes = value_bytes,
                               .substitute = substitute,
                               .entropy = entropy,
                               .persist = persist,
                               .crowd = crowd};
    return pml_client_init(client, memory, size, pack, &config);
}

EXPORTED(pml_wasm_client_release)
pml_status pml_wasm_client_release(pml_client *client, const float *features, size_t count, int32_t label,
                                   uint32_t modality, uint8_t *out, size_t capacity)
{
    const pml_query query = {.features = features, .count = count, .label = label, .modality = modality};
    return pml_client_release(client, &query, out, capacity);
}

/* ---- crowd ---- */

EXPORTED(pml_wasm_bundle_query)
pml_status pml_wasm_bundle_query(pml_client *client, const float *features, size_t count, int32_t label,
                                 uint32_t modality)
{
    const pml_query query = {.features = features, .count = count, .label = label, .modality = modality};
    return pml_crowd_begin(client, &(pml_crowd_content){.query = &query});
}

EXPORTED(pml_wasm_bundle_kept) pml_status pml_wasm_bundle_kept(pml_client *client, const void *kept, size_t size)
{
    return pml_crowd_begin(client, &(pml_crowd_content){.kept = kept, .kept_size = size});
}

/* Doubles of scratch that a plan needs. */
EXPORTED(pml_wasm_plan_scratch) size_t pml_wasm_plan_scratch(void)
{
    return PML_CROWD_SCRATCH_MAX;
}

/* ---- sealed messages ---- */

EXPORTED(pml_wasm_keys_choose)
pml_status pml_wasm_keys_choose(const void *configuration, size_t size, pml_seal_key *key)
{
    return pml_keys_choose(pml_crypto_bearssl(), configuration, size, key);
}

/* The epoch comes in two halves. `opener` is NULL for a fake. */
EXPORTED(pml_wasm_message_seal)
pml_status pml_wasm_message_seal(const pml_seal_key *key, uint32_t epoch_high, uint32_t epoch_low,
                                 const uint8_t *pack_id, const void *release, size_t release_size, uint8_t *out,
                                 size_t capacity, pml_opener *opener)
{
    const uint64_t epoch = (uint64_t)epoch_high << 32 | epoch_low;
    return pml_message_seal(pml_crypto_bearssl(), key, epoch, pack_id, release, release_size, entropy, NULL, out,
                            capacity, opener);
}

/* Bytes of memory that `buffer` below needs. */
EXPORTED(pml_wasm_open_buffer) size_t pml_wasm_open_buffer(void)
{
    return PML_OPEN_BUFFER;
}

EXPORTED(pml_wasm_open_begin)
pml_status pml_wasm_open_begin(pml_open *open, const pml_opener *opener, void *buffer, size_t capacity,
                               size_t answer_size)
{
    return pml_open_begin(open, pml_crypto_bearssl(), opener, buffer, capacity, answer_size);
}

struct content {
    uint8_t *bytes;
    size_t size, capacity;
};

static pml_status append(void *context, const uint8_t *bytes, size_t size)
{
    struct content *content = context;
    if (size > content->capacity - content->size)
        return PML_ERROR_BUFFER;
    __builtin_memcpy(content->bytes + content->size, bytes, size);
    content->size += size;
    return PML_OK;
}

/* Content that became readable goes to `out`, its length to *written. It is never more than PML_OPEN_BUFFER and `size`
 * together. */
EXPORTED(pml_wasm_open_feed)
pml_status pml_wasm_open_feed(pml_open *open, const void *bytes, size_t size, uint8_t *out, size_t capacity,
                              size_t *written)
{
    struct content content = {out, 0, capacity};
    const pml_status status = pml_open_feed(open, bytes, size, append, &content);
    *written = status == PML_OK ? content.size : 0;
    return status;
}

/* ---- ranking ---- */

EXPORTED(pml_wasm_ranking_begin)
pml_status pml_wasm_ranking_begin(void *memory, const float *features, size_t count, int32_t label, uint32_t modality,
                                  size_t size, const pml_pack *pack, pml_scope scope, bool substitute, bool crowd,
                                  pml_match *matches, size_t capacity, pml_ranking **ranking)
{
    const pml_query query = {.features = features, .count = count, .label = label, .modality = modality};
    const pml_ranking_config config = {
        .matches = matches, .capacity = capacity, .scope = scope, .substitute = substitute, .crowd = crowd};
    return pml_ranking_begin(ranking, memory, size, pack, &query, &config);
}

/* ---- guess ---- */

EXPORTED(pml_wasm_pack_guess)
pml_status pml_wasm_pack_guess(const pml_pack *pack, const float *features, size_t count, uint32_t modality,
                               void *memory, size_t size, pml_guess *guesses, size_t wanted)
{
    const pml_query query = {.features = features, .count = count, .modality = modality};
    return pml_pack_guess(pack, NULL, &query, memory, size, guesses, wanted);
}

/* ---- release ---- */

/* The released cell of every slot. PML_ERROR_MECHANISM when the release is a Gaussian one. */
EXPORTED(pml_wasm_release_symbols)
pml_status pml_wasm_release_symbols(const pml_pack *pack, const void *release, size_t size, uint32_t *symbols)
{
    pml_release_view view;
    pml_pack_info info;
    pml_status status = pml_release_parse(pack, release, size, &view);
    if (status == PML_OK)
        status = pml_pack_describe(pack, &info);
    if (status != PML_OK)
        return status;
    if (view.mechanism != PML_RESPONSE)
        return PML_ERROR_MECHANISM;
    for (size_t slot = 0; slot < info.slots; slot++)
        symbols[slot] = pml_release_symbol(&view, slot);
    return PML_OK;
}

/* ---- layouts ---- */

/* Where a field is and what it is, for the structures that JavaScript reads or fills. A row without a field has the
 * structure's size in place of the offset; a row without a structure ends the table. */
struct field {
    const char *structure, *field;
    uint32_t offset, type;
};

/* clang-format off */
#define FIELD(name, member)                                                                                            \
    {#name, #member, offsetof(pml_##name, member),                                                                     \
     _Generic(((pml_##name *)0)->member,                                                                               \
              bool: 'b', int: 'i', long: 'i', unsigned: 'u', unsigned long: 'u', long long: 'l',                       \
              unsigned long long: 'q', double: 'd', uint8_t *: 'a', const char *: 't')}
#define SIZE(name) {#name, NULL, sizeof(pml_##name), 's'}
/* clang-format on */

static const struct field fields[] = {
    SIZE(pack),
    SIZE(pack_info),
    FIELD(pack_info, id),
    FIELD(pack_info, size),
    FIELD(pack_info, features),
    FIELD(pack_info, modalities),
    FIELD(pack_info, anchors),
    FIELD(pack_info, neighbours),
    FIELD(pack_info, dimensions),
    FIELD(pack_info, slots),
    FIELD(pack_info, slot_kind),
    FIELD(pack_info, cells),
    FIELD(pack_info, prototypes),
    FIELD(pack_info, classes),
    FIELD(pack_info, lambda),
    FIELD(pack_info, alpha),
    FIELD(pack_info, sketch),
    FIELD(pack_info, labels),
    FIELD(pack_info, cell_codes),
    FIELD(pack_info, lists),
    SIZE(modality),
    FIELD(modality, name),
    FIELD(modality, features),
    FIELD(modality, kind),
    FIELD(modality, root),
    SIZE(guess),
    FIELD(guess, label),
    FIELD(guess, score),
    SIZE(budget_left),
    FIELD(budget_left, epsilon_cap),
    FIELD(budget_left, epsilon_spent),
    FIELD(budget_left, mu2_cap),
    FIELD(budget_left, mu2_spent),
    FIELD(budget_left, delta),
    FIELD(budget_left, floor_cap),
    FIELD(budget_left, floor_spent),
    FIELD(budget_left, crowd_mu2_cap),
    FIELD(budget_left, crowd_mu2_spent),
    FIELD(budget_left, crowd_delta0_cap),
    FIELD(budget_left, crowd_delta0_spent),
    FIELD(budget_left, crowd_delta),
    SIZE(receipt),
    FIELD(receipt, mechanism),
    FIELD(receipt, epsilon),
    FIELD(receipt, delta),
    FIELD(receipt, sensitivity),
    FIELD(receipt, sigma),
    FIELD(receipt, mu),
    FIELD(receipt, keep),
    FIELD(receipt, bytes),
    FIELD(receipt, messages),
    SIZE(crowd),
    FIELD(crowd, clients),
    FIELD(crowd, clusters),
    FIELD(crowd, copies),
    FIELD(crowd, own),
    FIELD(crowd, relay_clusters),
    FIELD(crowd, cover),
    FIELD(crowd, delta0),
    FIELD(crowd, mu),
    SIZE(crowd_use),
    FIELD(crowd_use, cells),
    FIELD(crowd_use, queries),
    FIELD(crowd_use, floor),
    SIZE(crowd_goal),
    FIELD(crowd_goal, use.cells),
    FIELD(crowd_goal, use.queries),
    FIELD(crowd_goal, use.floor),
    FIELD(crowd_goal, clients),
    FIELD(crowd_goal, honest),
    FIELD(crowd_goal, epsilon),
    FIELD(crowd_goal, delta),
    FIELD(crowd_goal, copies_max),
    FIELD(crowd_goal, own),
    FIELD(crowd_goal, relay),
    SIZE(crowd_planned),
    FIELD(crowd_planned, crowd.clients),
    FIELD(crowd_planned, crowd.clusters),
    FIELD(crowd_planned, crowd.copies),
    FIELD(crowd_planned, crowd.own),
    FIELD(crowd_planned, crowd.relay_clusters),
    FIELD(crowd_planned, fakes),
    FIELD(crowd_planned, delta),
    FIELD(crowd_planned, needed),
    SIZE(seal_key),
    SIZE(opener),
    SIZE(open),
    SIZE(match),
    FIELD(match, item),
    FIELD(match, payload_offset),
    FIELD(match, payload_size),
    FIELD(match, score),
    FIELD(match, label),
    FIELD(match, slot),
    SIZE(answer_summary),
    FIELD(answer_summary, found),
    FIELD(answer_summary, carried),
    FIELD(answer_summary, gallery),
    FIELD(answer_summary, bytes),
    {NULL, NULL, 0, 0},
};

EXPORTED(pml_wasm_fields) const struct field *pml_wasm_fields(void)
{
    return fields;
}
