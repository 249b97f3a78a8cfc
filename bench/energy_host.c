/* SPDX-License-Identifier: Apache-2.0
 * The query of bench/energy.py on this machine, where callgrind counts the instructions of the public functions.
 *
 *     energy_host KERNELS PACK FEATURES [ANSWER]      prints the message and the ranked list, in hexadecimal */
#include "energy_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pml_kernels *kernels_named(const char *name)
{
#define COMPARE(set)                                                                                                   \
    if (strcmp(name, #set) == 0)                                                                                       \
        return &pml_kernels_##set;
    PML_KERNEL_LIST(COMPARE)
    return NULL;
}

static uint8_t *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        goto bad;
    const long length = ftell(file);
    uint8_t *bytes = length > 0 ? malloc((size_t)length) : NULL;
    rewind(file);
    if (!bytes || fread(bytes, 1, (size_t)length, file) != (size_t)length)
        goto bad;
    fclose(file);
    *size = (size_t)length;
    return bytes;
bad:
    fprintf(stderr, "energy_host: %s cannot be read\n", path);
    exit(3);
}

static void print_hex(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        printf("%02x", ((const uint8_t *)bytes)[i]);
}

static void done(enum energy_stage stage)
{
    (void)stage;
}

int main(int argc, char **argv)
{
    const struct pml_kernels *kernels = argc == 4 || argc == 5 ? kernels_named(argv[1]) : NULL;
    if (!kernels) {
        fprintf(stderr, "usage: energy_host KERNELS PACK FEATURES [ANSWER]\n");
        return 2;
    }
    static struct energy_result result;
    struct energy_material material = {0};
    size_t features_size;
    material.pack = read_all(argv[2], &material.pack_size);
    material.features = (const float *)(void *)read_all(argv[3], &features_size);
    if (argc == 5)
        material.answer = read_all(argv[4], &material.answer_size);
    if (features_size != ENERGY_FEATURES * sizeof(float)) {
        fprintf(stderr, "energy_host: %s has not %d features\n", argv[3], ENERGY_FEATURES);
        return 3;
    }
    const pml_status status = energy_query(&material, kernels, done, &result);
    if (status != PML_OK) {
        fprintf(stderr, "energy_host: %s\n", pml_status_text(status));
        return 1;
    }
    printf("message ");
    print_hex(result.message, result.message_size);
    printf("\nmatches ");
    for (size_t i = 0; i < result.summary.found; i++) {
        printf("%u:", (unsigned)result.matches[i].item);
        print_hex(&result.matches[i].score, sizeof result.matches[i].score);
        printf(" ");
    }
    printf("\n");
    return 0;
}
