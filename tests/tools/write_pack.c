/* SPDX-License-Identifier: Apache-2.0
 * write_pack INDEX FILE: one of the golden packs as a file, for programs that read one. */
#include "golden/vectors.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    size_t index = argc == 3 ? strtoul(argv[1], NULL, 10) : SIZE_MAX;
    if (index >= sizeof golden_packs / sizeof golden_packs[0])
        return fprintf(stderr, "usage: write_pack INDEX FILE\n"), 2;
    FILE *file = fopen(argv[2], "wb");
    if (!file)
        return perror(argv[2]), 1;
    size_t written = fwrite(golden_packs[index].bytes, 1, golden_packs[index].size, file);
    return fclose(file) == 0 && written == golden_packs[index].size ? 0 : 1;
}
