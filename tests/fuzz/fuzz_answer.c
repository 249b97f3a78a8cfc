/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as an answer. Byte 0 chooses the pack and the length of the pieces, byte 1 the capacity; the rest is the
 * answer, with the id made right. Two queries must get one status, and pieces the result of the whole. */
#include "fuzz_common.h"
#include "support/pack_layout.h"

enum { AT_ID = 3, CONTROL = 2, CAPACITY_MAX = 32, FEATURES_MAX = 64 };

/* Golden packs with sketches that serve every build. */
static const unsigned pack_indices[] = {0, 1, 2, 6, 7};
enum { PACKS = sizeof pack_indices / sizeof pack_indices[0] };

struct asker {
    pml_pack pack;
    void *memory;
    size_t memory_size;
    float features[2][FEATURES_MAX];
    int32_t labels[2];
    size_t d;
};

static struct asker *asker_of(unsigned which)
{
    static struct asker askers[PACKS];
    struct asker *a = askers + which;
    const struct golden_pack *g = golden_packs + pack_indices[which];
    if (a->memory)
        return a;
    const struct pack_fields f = read_fields(g->bytes);
    demand(f.d <= FEATURES_MAX && pml_pack_open(&a->pack, g->bytes, g->size, g->id, NULL) == PML_OK);
    a->d = f.d;
    for (size_t i = 0; i < 2; i++) {
        uint32_t slot;
        for (size_t j = 0; j < f.d; j++)
            a->features[i][j] = (float)((int)(j * 89 + i * 31) % 255 - 127) + 0.5f;
        if (f.C > 0)
            demand(pml_pack_class(&a->pack, i, a->labels + i, &slot) == PML_OK);
    }
    a->memory_size = pml_ranking_size(&a->pack);
    a->memory = malloc(a->memory_size);
    demand(a->memory_size > 0 && a->memory);
    return a;
}

struct result {
    int status;
    pml_answer_summary summary;
    pml_match matches[CAPACITY_MAX];
};

static void ask(struct asker *a, int which, const uint8_t *bytes, size_t size, size_t piece, size_t capacity,
                struct result *result)
{
    const pml_query query = {.features = a->features[which], .count = a->d, .label = a->labels[which]};
    const pml_ranking_config config = {
        .matches = result->matches, .capacity = capacity, .scope = capacity % 2 == 0 ? PML_ALL_SLOTS : PML_OWN_SLOT};
    pml_ranking *ranking;
    pml_status fed = PML_OK;
    memset(result, 0, sizeof *result);
    demand(pml_ranking_begin(&ranking, a->memory, a->memory_size, &a->pack, &query, &config) == PML_OK);
    uint8_t *buffer = malloc(piece); /* a piece ends where it ends, so that a read beyond it is seen */
    demand(buffer != NULL);
    for (size_t at = 0; at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        memcpy(buffer + (piece - length), bytes + at, length);
        pml_status status = pml_ranking_feed(ranking, buffer + (piece - length), length);
        demand(fed == PML_OK || status == fed);
        fed = status;
    }
    free(buffer);
    result->status = pml_ranking_finish(ranking, &result->summary);
    demand(fed == PML_OK || result->status == fed);
    demand(result->status == PML_OK || result->status == PML_ERROR_ANSWER || result->status == PML_ERROR_PACK_ID);
    if (result->status != PML_OK)
        demand(all_zero(result->matches, sizeof result->matches) && all_zero(&result->summary, sizeof result->summary));
}

static void check_matches(const struct result *r, size_t size, size_t capacity)
{
    if (r->status != PML_OK)
        return;
    demand(r->summary.found <= capacity && r->summary.found <= r->summary.carried);
    demand(r->summary.bytes == size && r->summary.gallery > 0);
    for (size_t i = 0; i < r->summary.found; i++) {
        demand(r->matches[i].payload_offset + r->matches[i].payload_size <= size);
        demand(i == 0 || r->matches[i].score <= r->matches[i - 1].score);
        for (size_t j = 0; j < i; j++)
            demand(r->matches[j].item != r->matches[i].item);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct result whole, pieces, other;
    if (size < CONTROL)
        return 0;
    struct asker *a = asker_of(data[0] % PACKS);
    const size_t piece = 1 + data[0] / PACKS, capacity = 1 + data[1] % CAPACITY_MAX;
    size -= CONTROL;
    uint8_t *bytes = exact_copy(data + CONTROL, size);
    for (unsigned patch = 0; patch < 2; patch++) {
        if (patch == 1 && size >= AT_ID + PML_ID_SIZE)
            memcpy(bytes + AT_ID, golden_packs[pack_indices[data[0] % PACKS]].id, PML_ID_SIZE);
        ask(a, 0, bytes, size, size + 1, capacity, &whole);
        ask(a, 0, bytes, size, piece, capacity, &pieces);
        ask(a, 1, bytes, size, piece, capacity, &other);
        check_matches(&whole, size, capacity);
        demand(memcmp(&whole, &pieces, sizeof whole) == 0);
        demand(other.status == whole.status && other.summary.carried == whole.summary.carried);
    }
    free(bytes);
    return 0;
}
