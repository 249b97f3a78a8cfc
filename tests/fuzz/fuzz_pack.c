/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a pack: raw; with magic, size and hash made right; and with the norms of its rows, centres and directions
 * made right too. What opens is read through every getter and used for a release of either mechanism, of some modality,
 * and for a ranking. The bytes of the hash, which are overwritten, choose the configuration. */
#include "base/sha256.h"
#include "fuzz_common.h"
#include "stages/stages.h"
#include "support/pack_layout.h"

#include <stdlib.h>
#include <string.h>

static void read_slots(const pml_pack *pack, const pml_pack_info *info)
{
    int16_t code[PML_DIMENSIONS_MAX];
    int8_t sketch[PML_SKETCH_MAX];
    const int8_t *rows;
    uint32_t *norms = malloc((info->prototypes + 1) * sizeof *norms),
             *cells = malloc((info->prototypes + 1) * sizeof *cells);
    demand(norms && cells);
    for (size_t s = 0; s < info->slots; s++) {
        demand(pml_pack_slot_code(pack, s, code) == (info->dimensions > 0 ? PML_OK : PML_ERROR_SECTION));
        demand(pml_pack_prototypes(pack, s, &rows, norms, cells) ==
               (info->prototypes > 0 ? PML_OK : PML_ERROR_SECTION));
        for (size_t j = 0; j < info->prototypes; j++) {
            const int8_t *row = pml_pack_prototype(pack, s, j);
            demand(row == rows + j * info->features && pml_inverse_norm(row, info->features) == norms[j]);
            demand(norms[j] > 0 && cells[j] < info->cells);
            demand(pml_prototypes_cell(pack, &pml_kernels_portable, row, (uint32_t)s) < info->cells);
            if (j == 0)
                demand(pml_sketch(pack, NULL, row, sketch) == (info->sketch > 0 ? PML_OK : PML_ERROR_SECTION));
        }
        demand(!pml_pack_prototype(pack, s, info->prototypes));
    }
    free(norms);
    free(cells);
}

static void read_anchors_and_classes(const pml_pack *pack, const pml_pack_info *info)
{
    int16_t code[PML_DIMENSIONS_MAX];
    uint32_t slot, found, list[PML_NEIGHBOURS_MAX];
    int32_t label;
    for (size_t i = 0; i < info->anchors; i++) {
        demand(pml_pack_anchor(pack, i) && pml_inverse_norm(pml_pack_anchor(pack, i), info->features) > 0);
        demand(pml_pack_anchor_slot(pack, i, &slot) == PML_OK && slot < info->slots);
        demand(pml_pack_anchor_code(pack, i, code) == PML_OK);
        demand(pml_pack_list(pack, i, list) == (info->lists ? PML_OK : PML_ERROR_SECTION));
        for (size_t j = 0; info->lists && j < info->neighbours; j++)
            demand(list[j] < info->anchors && list[j] != i);
    }
    demand(!pml_pack_anchor(pack, info->anchors));
    for (size_t i = 0; i < info->classes; i++) {
        demand(pml_pack_class(pack, i, &label, &slot) == PML_OK && slot < info->slots);
        demand(pml_pack_slot(pack, label, &found) == PML_OK && found == slot);
    }
}

#if PML_WITH_FRONT
static void read_modalities(const pml_pack *pack, const pml_pack_info *info)
{
    for (uint32_t v = 0; v < info->modalities; v++) {
        pml_modality modality;
        pml_front front;
        uint32_t found;
        demand(pml_pack_modality(pack, v, &modality) == PML_OK && strlen(modality.name) <= PML_MODALITY_NAME_MAX);
        demand(modality.name[0] != 0 && pml_pack_find_modality(pack, modality.name, &found) == PML_OK && found == v);
        demand(pml_pack_front(pack, v, &front) == PML_OK && front.inputs == modality.features);
        demand(front.outputs == info->features && front.kind == modality.kind && front.root == modality.root);
        const uint8_t *end = pack->bytes + pack->size;
        demand(front.body_size == 0 || (front.body > pack->bytes && front.body_size <= (size_t)(end - front.body)));
        demand((front.kind != PML_FRONT_MATRIX && front.kind != PML_FRONT_KERNELS) || front.inputs <= info->inputs);
    }
    pml_modality none;
    demand(pml_pack_modality(pack, info->modalities > 0 ? info->modalities : 1, &none) == PML_ERROR_MODALITY);
}

static void read_piece(void *context, size_t first, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (float)((int)((first + i) * 89 + *(const uint8_t *)context) % 255 - 127) + 0.5f;
}

/* A query of one of the modalities, unless that would take too long. */
static pml_query choose_query(const pml_pack *pack, const pml_pack_info *info, const float *features, int32_t label,
                              uint8_t *choice)
{
    pml_modality modality;
    const uint32_t index = info->modalities > 0 ? *choice % info->modalities : 0;
    demand(pml_pack_modality(pack, index, &modality) == PML_OK);
    if (modality.kind == PML_FRONT_NONE || (uint64_t)modality.features * info->features > 1u << 20)
        return (pml_query){.features = features, .count = info->features, .label = label, .modality = index};
    return (pml_query){
        .count = modality.features, .label = label, .modality = index, .read = read_piece, .read_context = choice};
}
#endif

/* Features that a query of a modality has. */
static size_t count_of(const pml_pack *pack, uint32_t modality)
{
#if PML_WITH_FRONT
    pml_modality view;
    demand(pml_pack_modality(pack, modality, &view) == PML_OK);
    return view.features;
#else
    (void)modality;
    return pack->features;
#endif
}

#if PML_WITH_HEAD
/* Guesses in memory of exactly the size that is asked for: in order, and no label twice. */
static void use_head(const pml_pack *pack, const pml_pack_info *info, uint8_t choice)
{
    pml_front head;
    const size_t size = pml_guess_size(pack), count = info->labels < PML_GUESSES_MAX ? info->labels : PML_GUESSES_MAX;
    demand(pml_pack_head(pack, &head) == (info->labels > 0 ? PML_OK : PML_ERROR_SECTION) &&
           (size > 0) == (info->labels > 0));
    if (size == 0)
        return;
    demand(head.outputs == info->labels && head.inputs == info->features);
    demand(head.labels + 4 * (size_t)head.outputs <= pack->bytes + pack->size);
    float *features = malloc(info->features * sizeof *features);
    void *memory = malloc(size);
    pml_guess guesses[PML_GUESSES_MAX];
    demand(features && memory);
    for (uint32_t i = 0; i < info->features; i++)
        features[i] = (float)((int)(i * 89 + choice) % 255 - 127) + 0.5f;
    const pml_query query = choose_query(pack, info, features, 0, &choice);
    int status = pml_pack_guess(pack, NULL, &query, memory, size, guesses, count);
    demand(status == PML_OK || (info->modalities > 0 && status == PML_ERROR_FEATURES) ||
           (status == PML_ERROR_DIMENSION && query.count != count_of(pack, query.modality)));
    for (size_t i = 1; i < count && status == PML_OK; i++)
        demand(guesses[i - 1].score > guesses[i].score ||
               (guesses[i - 1].score == guesses[i].score && guesses[i - 1].label < guesses[i].label));
    free(memory);
    free(features);
}
#endif

/* One release from beginning to end, and back to rows. */
static void use_client(pml_client *client, const pml_pack *pack, const pml_pack_info *info, uint8_t choice)
{
    static const uint8_t owner[16];
    pml_budget budget;
    int32_t label = 0;
    uint32_t slot;
    size_t size = pml_client_release_size(client), count = (size_t)info->slots * info->dimensions;
    double gaussian = PML_WITH_GAUSSIAN ? 256.0 : 0.0;
    float *features = malloc(info->features * sizeof *features), *rows = malloc((count + 1) * sizeof *rows);
    uint8_t *release = malloc(size);
    demand(features && rows && release);
    for (uint32_t i = 0; i < info->features; i++)
        features[i] = (float)((int)(i * 89 + choice) % 255 - 127) + 0.5f;
    if (info->classes > 0)
        demand(pml_pack_class(pack, choice % info->classes, &label, &slot) == PML_OK);
    const pml_budget_caps caps = {
        .epsilon_response = 4095.0, .epsilon_gaussian = gaussian, .delta = gaussian > 0 ? 0.5 : 0.0};
    demand(pml_budget_create(&budget, owner, &caps) == PML_OK);
    demand(pml_client_arm(client, &budget) == PML_OK);
#if PML_WITH_FRONT
    const pml_query query = choose_query(pack, info, features, label, &choice);
#else
    const pml_query query = {.features = features, .count = info->features, .label = label};
#endif
    int released = pml_client_release(client, &query, release, size);
    demand(released == (query.count == count_of(pack, query.modality) ? PML_OK : PML_ERROR_DIMENSION));
    if (released != PML_OK)
        goto end;
    pml_release_view view;
    demand(pml_release_parse(pack, release, size, &view) == PML_OK);
    int status = pml_release_rows(pack, release, size, rows, count);
    bool codes = view.mechanism == PML_GAUSSIAN || info->cell_codes;
    demand(status == (codes ? PML_OK : PML_ERROR_SECTION));
    for (size_t i = 0; i < count; i++)
        demand(rows[i] >= -0x1p50f && rows[i] <= 0x1p50f);
end:
    free(release);
    free(rows);
    free(features);
}

static void use_pack(const pml_pack *pack, const pml_pack_info *info, pml_mechanism mechanism, const uint8_t *choices)
{
    static const double epsilons[] = {PML_EPSILON_MIN, 0.1, 1.0, PML_EPSILON_MAX};
    static const double deltas[] = {0x1p-50, 1e-5, 0.5, 0.99};
    const bool gaussian = mechanism == PML_GAUSSIAN;
    pml_config config = {
        .mechanism = mechanism,
        .epsilon = epsilons[choices[0] % 4],
        .delta = gaussian ? deltas[choices[1] % 4] : 0.0,
        .value_bytes = gaussian ? choices[2] % 3 : 0,
        .entropy = fuzz_entropy,
        .persist = fuzz_persist,
        .substitute = info->modalities > 0, /* a front may map to zero */
    };
    size_t size = pml_client_size(pack, &config);
    bool built = gaussian ? PML_WITH_GAUSSIAN : PML_WITH_RESPONSE;
    demand((size > 0) == (built && (gaussian ? info->anchors : info->prototypes) > 0));
    if (size == 0)
        return;
    void *memory = malloc(size);
    pml_client *client;
    int status = pml_client_init(&client, memory, size, pack, &config);
    if (status == PML_OK)
        use_client(client, pack, info, choices[3]);
    else
        demand(gaussian && (status == PML_ERROR_EPSILON || status == PML_ERROR_SENSITIVITY));
    free(memory);
}

/* A ranking in memory of exactly the size that is asked for, of one candidate with some sketch. */
static void use_codes(const pml_pack *pack, const pml_pack_info *info, uint8_t choice)
{
    const size_t size = pml_ranking_size(pack);
    demand((size > 0) == (info->sketch > 0));
    if (info->directions == 0 || info->modalities > 0)
        return;
    float *features = malloc(info->features * sizeof *features);
    void *memory = malloc(size);
    uint8_t answer[ANSWER_HEADER_MAX + LIST_HEAD_MAX + 1 + PML_SKETCH_MAX], *at = answer;
    demand(features && memory);
    for (uint32_t i = 0; i < info->features; i++)
        features[i] = (float)((int)(i * 89 + choice) % 255 - 127) + 0.5f;
    int32_t label = 0;
    uint32_t slot;
    if (info->classes > 0)
        demand(pml_pack_class(pack, choice % info->classes, &label, &slot) == PML_OK);
    at = put_list_head(put_answer_header(at, info->id, 1, info->sketch), 0, 1, 0, 0, 1 + info->sketch);
    *at++ = choice % 128;
    for (uint32_t i = 0; i < info->sketch; i++)
        *at++ = (uint8_t)(choice * (i + 1));
    pml_match match;
    pml_answer_summary summary;
    pml_ranking *ranking;
    const pml_query query = {.features = features, .count = info->features, .label = label};
    const pml_ranking_config config = {.matches = &match, .capacity = 1, .scope = PML_ALL_SLOTS, .crowd = true};
    demand(pml_ranking_begin(&ranking, memory, size, pack, &query, &config) == PML_OK);
    demand(pml_ranking_feed(ranking, answer, (size_t)(at - answer)) == PML_OK);
    demand(pml_ranking_finish(ranking, &summary) == PML_OK && summary.found == 1);
    demand(match.item == choice % 128 && match.score >= -(1 << 30) && match.score <= 1 << 30);
    free(memory);
    free(features);
}

static void try_pack(const uint8_t *bytes, size_t size, const uint8_t *choices)
{
    pml_pack pack;
    pml_pack_info info;
    int status = pml_pack_open(&pack, bytes, size, NULL, NULL);
    if (status != PML_OK) {
        demand(status <= PML_ERROR_PACK && status >= PML_ERROR_PACK_HASH && all_zero(&pack, sizeof pack));
        return;
    }
    demand(pml_pack_describe(&pack, &info) == PML_OK && info.size == size);
    const char *model = pml_pack_model(&pack);
    demand(strlen(model) == pml_model_length(model) && strlen(model) <= PML_MODEL_MAX);
    demand(pml_pack_open(&pack, bytes, size, NULL, model) == (model[0] == 0 ? PML_ERROR_PACK_MODEL : PML_OK));
    demand(pml_pack_open(&pack, bytes, size, NULL, NULL) == PML_OK);
    read_slots(&pack, &info);
    read_anchors_and_classes(&pack, &info);
#if PML_WITH_FRONT
    read_modalities(&pack, &info);
#endif
#if PML_WITH_HEAD
    use_head(&pack, &info, choices[3]);
#endif
    use_codes(&pack, &info, choices[3]);
    use_pack(&pack, &info, PML_RESPONSE, choices);
    use_pack(&pack, &info, PML_GAUSSIAN, choices);
}

static void seal(uint8_t *bytes, size_t size)
{
    memcpy(bytes, "PMPK\0\0", 6);
    const uint32_t sections = load_le32(bytes + AT_SECTIONS);
    bytes[6] = sections >> 17 & 1   ? 5
               : sections >> 16 & 1 ? 4
               : sections >> 13 & 1 ? 3
                                    : 2 - (bytes[6] & 1); /* all versions */
    bytes[7] = 0;
    store_le64(bytes + AT_SIZE, size);
    pml_sha256(bytes + AT_SIZE, size - AT_SIZE, bytes + AT_HASH);
}

/* Norms of the rows in `section`, as far as rows and norms are inside the bytes. */
static void repair_norms(uint8_t *bytes, size_t size, const struct pack_fields *f, unsigned section)
{
    size_t rows = section_offset(f, section), norms = section_offset(f, section + 1);
    size_t count = section_size(f, section + 1) / 4;
    if (rows == 0 || norms == 0 || norms + 4 * count > size || rows + count * f->d > size)
        return;
    for (size_t i = 0; i < count; i++)
        store_le32(bytes + norms + 4 * i, pml_inverse_norm((const int8_t *)bytes + rows + i * f->d, f->d));
}

/* The same of the centres of fronts. */
static void repair_centres(uint8_t *bytes, size_t size, const struct pack_fields *f)
{
    const size_t records = section_offset(f, 13);
    if (records == 0 || records + RECORDS_SIZE > size)
        return;
    size_t body = records + RECORDS_SIZE; /* a multiple of 16 */
    for (size_t v = 0; v < RECORDS_SIZE / RECORD_SIZE; v++) {
        const uint8_t *record = bytes + records + v * RECORD_SIZE;
        const size_t inputs = load_le32(record + 4), centres = load_le32(record + 8);
        if (inputs > PML_FEATURES_MAX || centres > PML_FRONT_CENTRES_MAX || body + front_body_size(record, f->d) > size)
            return;
        uint8_t *norms = bytes + body + 8 * (size_t)f->d;
        for (size_t c = 0; load_le16(record) == PML_FRONT_KERNELS && c < centres; c++)
            store_le32(norms + 12 * c, pml_inverse_norm((const int8_t *)norms + 12 * centres + c * inputs, inputs));
        body += front_body_size(record, f->d);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = exact_copy(data, size), choices[4] = {2, 1, 0, 0};
    try_pack(bytes, size, choices);
    if (size >= HEADER_SIZE) {
        memcpy(choices, data + AT_HASH, sizeof choices);
        seal(bytes, size);
        try_pack(bytes, size, choices);
        struct pack_fields f = read_fields(bytes);
        if (f.d <= PML_FEATURES_MAX && f.n <= PML_ANCHORS_MAX && f.m <= PML_PROTOTYPES_MAX) {
            const size_t code = section_offset(&f, 17); /* of packs without fronts and heads */
            for (size_t b = 0; code > 0 && code + CODE_SIZE <= size && b < 7; b++)
                f.P += 8 * load_le16(bytes + code + 2 * b);
            repair_norms(bytes, size, &f, 1);
            repair_norms(bytes, size, &f, 3);
            repair_norms(bytes, size, &f, 18);
            repair_centres(bytes, size, &f);
            seal(bytes, size);
            try_pack(bytes, size, choices);
        }
    }
    free(bytes);
    return 0;
}
