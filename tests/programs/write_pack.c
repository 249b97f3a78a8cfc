/* SPDX-License-Identifier: Apache-2.0
 * Writes a pack for programs that read one.
 *
 *   write_pack INDEX FILE    one of the golden packs
 *   write_pack large FILE    one of more than 2 MiB: response only, one slot with 8 cells, 512 features */
#include "golden/vectors.h"
#include "privatemail_public.h"
#include "support/pack_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 512, CELLS = 8, PROTOTYPES = 4096 };

static int write_file(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return perror(path), 1;
    size_t written = fwrite(bytes, 1, size, file);
    return fclose(file) == 0 && written == size ? 0 : 1;
}

static int write_large(const char *path)
{
    const struct pack_fields fields = {
        .d = FEATURES, .G = 1, .m = CELLS, .M = PROTOTYPES, .sections = 1u << 1 | 1u << 2 | 1u << 10};
    const size_t rows = section_offset(&fields, 1), norms = section_offset(&fields, 2),
                 cells = section_offset(&fields, 10), size = cells + section_size(&fields, 10);
    uint8_t *bytes = calloc(1, size);
    if (!bytes)
        return 1;
    memcpy(bytes, "PMPK\0\0\1\0", 8);
    store_le64(bytes + AT_SIZE, size);
    store_le32(bytes + AT_FIELDS, fields.d);
    store_le(bytes + 60, 2, fields.G);
    store_le32(bytes + 64, fields.m);
    store_le32(bytes + AT_SECTIONS, fields.sections);
    store_le32(bytes + AT_PROTOTYPES, fields.M);
    for (size_t i = 0; i < PROTOTYPES; i++) {
        int8_t *row = (int8_t *)bytes + rows + i * FEATURES;
        row[i % FEATURES] = 127;
        row[(i + 1 + i / FEATURES) % FEATURES] = 64;
        store_le32(bytes + norms + 4 * i, pml_inverse_norm(row, FEATURES));
        store_le(bytes + cells + 2 * i, 2, i % CELLS);
    }
    pml_pack_seal(bytes, size);
    int failed = write_file(path, bytes, size);
    free(bytes);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "large") == 0)
        return write_large(argv[2]);
    size_t index = argc == 3 ? strtoul(argv[1], NULL, 10) : SIZE_MAX;
    if (index >= sizeof golden_packs / sizeof golden_packs[0])
        return fprintf(stderr, "usage: write_pack INDEX|large FILE\n"), 2;
    return write_file(argv[2], golden_packs[index].bytes, golden_packs[index].size);
}
