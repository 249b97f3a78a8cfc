/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a pack: raw; with magic, size and hash made right; and with the norms of its rows made right too. What
 * opens is read through every getter and used for a release of either mechanism. The bytes of the hash, which are
 * overwritten, choose the configuration. */
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
    const pml_query query = {.features = features, .count = info->features, .label = label};
    demand(pml_client_release(client, &query, release, size) == PML_OK);
    pml_release_view view;
    demand(pml_release_parse(pack, release, size, &view) == PML_OK);
    int status = pml_release_rows(pack, release, size, rows, count);
    bool codes = view.mechanism == PML_GAUSSIAN || info->cell_codes;
    demand(status == (codes ? PML_OK : PML_ERROR_SECTION));
    for (size_t i = 0; i < count; i++)
        demand(rows[i] >= -0x1p50f && rows[i] <= 0x1p50f);
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
    use_pack(&pack, &info, PML_RESPONSE, choices);
    use_pack(&pack, &info, PML_GAUSSIAN, choices);
}

static void seal(uint8_t *bytes, size_t size)
{
    memcpy(bytes, "PMPK\0\0", 6);
    bytes[6] = 2 - (bytes[6] & 1); /* both versions */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = exact_copy(data, size), choices[4] = {2, 1, 0, 0};
    try_pack(bytes, size, choices);
    if (size >= HEADER_SIZE) {
        memcpy(choices, data + AT_HASH, sizeof choices);
        seal(bytes, size);
        try_pack(bytes, size, choices);
        const struct pack_fields f = read_fields(bytes);
        if (f.d <= PML_FEATURES_MAX && f.n <= PML_ANCHORS_MAX && f.m <= PML_PROTOTYPES_MAX) {
            repair_norms(bytes, size, &f, 1);
            repair_norms(bytes, size, &f, 3);
            seal(bytes, size);
            try_pack(bytes, size, choices);
        }
    }
    free(bytes);
    return 0;
}
