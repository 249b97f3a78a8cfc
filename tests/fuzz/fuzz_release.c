/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a release of every golden pack, under their own id and under the pack's. */
#include "fuzz_common.h"
#include "support/pack_layout.h"

enum { AT_ID = 5 };

static void read_view(const pml_release_view *view, const struct pack_fields *f, const uint8_t *bytes, size_t size)
{
    demand(view->body > bytes && view->body + view->body_size == bytes + size);
    demand(view->mechanism == PML_RESPONSE || view->mechanism == PML_GAUSSIAN || view->mechanism == PML_CROWD);
    demand((view->step != 0) == (view->mechanism == PML_GAUSSIAN));
    if (view->mechanism == PML_CROWD) {
        demand(f->G > 1 && pml_release_symbol(view, 0) < f->G * f->m);
        return;
    }
    if (view->mechanism == PML_RESPONSE) {
        for (size_t s = 0; s < f->G; s++)
            demand(pml_release_symbol(view, s) < f->m);
        return;
    }
    int32_t limit = view->value_bytes == 1 ? 128 : 32768;
    for (size_t i = 0; i < (size_t)f->G * f->k; i++) {
        int32_t value = pml_release_value(view, i);
        demand(value >= -limit && value < limit);
    }
}

static const pml_pack *pack_of(size_t index)
{
    static pml_pack packs[GOLDEN_PACK_COUNT];
    static bool opened[GOLDEN_PACK_COUNT];
    const struct golden_pack *g = golden_packs + index;
    if (!opened[index])
        demand(pml_pack_open(packs + index, g->bytes, g->size, g->id, NULL) == PML_OK);
    opened[index] = true;
    return packs + index;
}

static void try_release(size_t index, const uint8_t *bytes, size_t size)
{
    const struct golden_pack *g = golden_packs + index;
    const pml_pack *pack = pack_of(index);
    const struct pack_fields f = read_fields(g->bytes);
    const size_t count = (size_t)f.G * f.k;
    uint8_t id[PML_ID_SIZE];
    pml_release_view view;
    int named = pml_release_id(bytes, size, id), status = pml_release_parse(pack, bytes, size, &view);
    float *rows = malloc((count + 1) * sizeof *rows);
    demand(rows != NULL);
    int decoded = pml_release_rows(pack, bytes, size, rows, count);
    if (status == PML_OK) {
        demand(named == PML_OK && memcmp(id, g->id, PML_ID_SIZE) == 0);
        read_view(&view, &f, bytes, size);
        bool codes = view.mechanism == PML_GAUSSIAN || f.sections >> 8 & 1;
        demand(decoded == (codes ? PML_OK : PML_ERROR_SECTION));
    } else {
        demand(decoded == status && all_zero(&view, sizeof view) && all_zero(rows, count * sizeof *rows));
        demand(status == PML_ERROR_RELEASE || (status == PML_ERROR_PACK_ID && named == PML_OK));
    }
    free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = exact_copy(data, size);
    for (size_t i = 0; i < GOLDEN_PACK_COUNT; i++) {
        try_release(i, bytes, size);
        if (size < AT_ID + PML_ID_SIZE)
            continue;
        memcpy(bytes + AT_ID, golden_packs[i].id, PML_ID_SIZE);
        try_release(i, bytes, size);
        memcpy(bytes + AT_ID, data + AT_ID, PML_ID_SIZE);
    }
    free(bytes);
    return 0;
}
