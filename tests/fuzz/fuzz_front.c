/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a front file: raw; with magic, size and hash made right; and with the norms of its centres made right too.
 * What opens maps features, some of them out of the domain, within the scratch that it asks for. The bytes of the hash,
 * which are overwritten, are the features. */
#include "base/kernels.h"
#include "fuzz_common.h"
#include "privatemail_public.h"
#include "support/pack_layout.h"

enum { FILE_HEADER = 128, AT_OUTPUTS = 48, AT_RECORD = 64 };

static void map(const pml_front *front, const uint8_t *bits)
{
    const size_t scratch_size = pml_front_scratch(front);
    float *features = malloc(front->inputs * sizeof *features);
    int64_t *scratch = malloc(scratch_size);
    int8_t *row = malloc(front->outputs);
    demand(features && scratch && row);
    for (size_t i = 0; i < front->inputs; i++)
        memcpy(features + i, bits + 4 * (i % 8), sizeof *features);
    int status = pml_front_map(front, NULL, features, front->inputs, scratch, row);
    demand(status == PML_OK || status == PML_ERROR_FEATURES);
    int largest = 0;
    for (size_t i = 0; i < front->outputs; i++) {
        demand(row[i] != -128);
        largest = row[i] > largest ? row[i] : -row[i] > largest ? -row[i] : largest;
    }
    demand(largest == 127); /* also the public row, which stands for what cannot be mapped */
    demand(pml_front_map(front, NULL, features, front->inputs + 1, scratch, row) == PML_ERROR_DIMENSION);
    free(row);
    free(scratch);
    free(features);
}

static void try_front(const uint8_t *bytes, size_t size, const uint8_t *bits)
{
    pml_front front;
    int status = pml_front_open(&front, bytes, size);
    if (status != PML_OK) {
        demand(status == PML_ERROR_FRONT && all_zero(&front, sizeof front));
        return;
    }
    demand(front.kind >= PML_FRONT_NONE && front.kind <= PML_FRONT_KERNELS && front.outputs - 1 < PML_FEATURES_MAX);
    const size_t labels = front.labels ? 4 * (size_t)front.outputs : 0;
    demand(front.body_size + labels == size - FILE_HEADER && front.inputs - 1 < PML_FRONT_INPUTS_MAX);
    if ((uint64_t)front.inputs * front.outputs <= 1u << 18)
        map(&front, bits);
}

static void seal(uint8_t *bytes, size_t size)
{
    memcpy(bytes, "PMFR\0\0", 6);
    bytes[6] = bytes[52] == 1 ? 2 : 1; /* both versions */
    bytes[7] = 0;
    store_le64(bytes + AT_SIZE, size);
    pml_front_seal(bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = exact_copy(data, size), bits[32] = {0, 0, 128, 63};
    try_front(bytes, size, bits);
    if (size >= FILE_HEADER) {
        memcpy(bits, data + AT_HASH, sizeof bits);
        seal(bytes, size);
        try_front(bytes, size, bits);
        const uint8_t *record = bytes + AT_RECORD;
        const size_t outputs = load_le32(bytes + AT_OUTPUTS), inputs = load_le32(record + 4),
                     centres = load_le32(record + 8);
        if (load_le16(record) == PML_FRONT_KERNELS && outputs <= PML_FEATURES_MAX && inputs <= PML_FEATURES_MAX &&
            centres <= PML_FRONT_CENTRES_MAX && front_body_size(record, outputs) <= size - FILE_HEADER) {
            uint8_t *norms = bytes + FILE_HEADER + 8 * outputs;
            for (size_t c = 0; c < centres; c++)
                store_le32(norms + 12 * c, pml_inverse_norm((const int8_t *)norms + 12 * centres + c * inputs, inputs));
            seal(bytes, size);
            try_front(bytes, size, bits);
        }
    }
    free(bytes);
    return 0;
}
