/* SPDX-License-Identifier: Apache-2.0
 * Conductor: fronts without a pack and without a secret, for trainers and servers: front files (SPEC 1.2), public rows.
 * In: hostile bytes, public features. Out: a view, int8 rows. */
#include "base/kernels.h"
#include "base/sha256.h"
#include "pack/front.h"
#include "query.h"

/* A matrix without roots; its labels stand behind its body. */
static bool head_sound(pml_front *view)
{
    if (view->kind != PML_FRONT_MATRIX || view->root)
        return false;
    view->labels = view->body + view->body_size;
    return pml_head_labels_sound(view);
}

pml_status pml_front_open(pml_front *front, const void *bytes, size_t size)
{
    const uint8_t *file = bytes;
    uint8_t digest[32];
    if (!front)
        return PML_ERROR_ARGUMENT;
    memset(front, 0, sizeof *front);
    if (!bytes)
        return PML_ERROR_ARGUMENT;
    if (size < PML_FRONT_FILE_HEADER || load_le64(file + 40) != size)
        return PML_ERROR_FRONT;
    const bool head = PML_WITH_HEAD && memcmp(file, "PMFR\0\0\2\0", 8) == 0;
    if (!head && memcmp(file, "PMFR\0\0\1\0", 8) != 0)
        return PML_ERROR_FRONT;
    pml_sha256(file + PML_PACK_HASHED, size - PML_PACK_HASHED, digest);
    const uint32_t outputs = load_le32(file + 48);
    pml_front view;
    bool sound = memcmp(digest, file + 8, sizeof digest) == 0 && outputs - 1 < PML_FEATURES_MAX &&
                 load_le32(file + 52) == (head ? 1u : 0u) && pml_all_zero(file + 56, 8) &&
                 pml_front_record(file + 64, outputs, file + PML_FRONT_FILE_HEADER, &view) &&
                 pml_all_zero(file + 64 + PML_FRONT_NAME_AT, PML_FRONT_NAME_SIZE) &&
                 view.body_size + (head ? 4 * (size_t)outputs : 0) == size - PML_FRONT_FILE_HEADER;
    if (!sound || !pml_front_sound(&view) || (head && !head_sound(&view)))
        return PML_ERROR_FRONT;
    *front = view;
    return PML_OK;
}

void pml_front_seal(uint8_t *bytes, size_t size)
{
    if (bytes && size >= PML_FRONT_FILE_HEADER)
        pml_sha256(bytes + PML_PACK_HASHED, size - PML_PACK_HASHED, bytes + 8);
}

size_t pml_front_scratch(const pml_front *front)
{
    return front ? PML_FRONT_MEMORY(front_keeps_row(front) ? front->inputs : 0, front->outputs) : 0;
}

pml_status pml_front_map(const pml_front *front, const struct pml_kernels *kernels, const float *features, size_t count,
                         int64_t *scratch, int8_t *row)
{
    if (!front || !features || !scratch || !row)
        return PML_ERROR_ARGUMENT;
    if (count != front->inputs)
        return PML_ERROR_DIMENSION;
    const pml_query query = {.features = features, .count = count};
    const uint64_t valid = pml_query_map(&query, front, kernels ? kernels : &pml_kernels_portable, row, scratch);
    return valid != 0 ? PML_OK : PML_ERROR_FEATURES;
}
