/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as an answer. Byte 0 chooses the pack and the length of the pieces, byte 1 the capacity; the rest is the
 * answer, with the id made right. When byte 1 has its highest bit and sketches are coded, the rest is count, form, class
 * and candidates of one list, so that heads and sizes are right. Two queries must get one status, and pieces the result of
 * the whole. */
#include "fuzz_common.h"
#include "golden/sketch_vectors.h"
#include "support/pack_layout.h"

enum { AT_ID = 3, CONTROL = 2, CAPACITY_MAX = 32, FEATURES_MAX = 64, LIST_CONTROL = 3 };

/* Golden packs with sketches that serve every build; of the second half sketches are coded: depth 1, widths of 0, class
 * and group slots of many directions, four slots. */
static const unsigned pack_indices[] = {0, 1, 2, 6, 7, 0, 10, 14, 15, 16};
enum { PACKS = sizeof pack_indices / sizeof pack_indices[0], PLAIN = PACKS / 2 };

struct asker {
    pml_pack pack;
    const uint8_t *id;
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
    const struct golden_pack *plain = golden_packs + pack_indices[which];
    const struct golden_coded_pack *coded = golden_coded_packs + pack_indices[which];
    if (a->memory)
        return a;
    const uint8_t *bytes = which < PLAIN ? plain->bytes : coded->bytes;
    a->id = which < PLAIN ? plain->id : coded->id;
    const struct pack_fields f = read_fields(bytes);
    demand(f.d <= FEATURES_MAX && pml_pack_open(&a->pack, bytes, (size_t)f.size, a->id, NULL) == PML_OK);
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

static void ask_all(struct asker *a, const uint8_t *bytes, size_t size, size_t piece, size_t capacity)
{
    static struct result whole, pieces, other;
    ask(a, 0, bytes, size, size + 1, capacity, &whole);
    ask(a, 0, bytes, size, piece, capacity, &pieces);
    ask(a, 1, bytes, size, piece, capacity, &other);
    check_matches(&whole, size, capacity);
    demand(memcmp(&whole, &pieces, sizeof whole) == 0);
    demand(other.status == whole.status && other.summary.carried == whole.summary.carried);
}

/* The answer whose slot 0 has this list, and whose other slots are empty. Free with free(). */
static uint8_t *wrap_list(const struct asker *a, const uint8_t *list, size_t size, size_t *answer_size)
{
    const uint32_t slots = a->pack.slots;
    uint8_t *answer = malloc(ANSWER_HEADER_MAX + (size_t)slots * LIST_HEAD_MAX + size), *at = answer;
    demand(answer != NULL);
    size -= LIST_CONTROL;
    at = put_answer_header(at, a->id, slots, a->pack.sketch);
    at = put_list_head(at, 0, list[0], list[1] % 4u, list[2], (uint32_t)size);
    if (size > 0)
        memcpy(at, list + LIST_CONTROL, size);
    at += size;
    for (uint32_t slot = 1; slot < slots; slot++)
        at = put_list_head(at, slot, 0, 0, 0, 0);
    *answer_size = (size_t)(at - answer);
    return answer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < CONTROL)
        return 0;
    const unsigned which = data[0] % PACKS;
    struct asker *a = asker_of(which);
    const size_t piece = 1 + data[0] / PACKS, capacity = 1 + data[1] % CAPACITY_MAX;
    size -= CONTROL;
    uint8_t *bytes = exact_copy(data + CONTROL, size);
    if (which >= PLAIN && data[1] >= 128 && size >= LIST_CONTROL) {
        size_t answer_size;
        uint8_t *answer = wrap_list(a, bytes, size, &answer_size);
        ask_all(a, answer, answer_size, piece, capacity);
        free(answer);
    } else {
        ask_all(a, bytes, size, piece, capacity);
        if (size >= AT_ID + PML_ID_SIZE)
            memcpy(bytes + AT_ID, a->id, PML_ID_SIZE);
        ask_all(a, bytes, size, piece, capacity);
    }
    free(bytes);
    return 0;
}
