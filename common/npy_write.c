/* SPDX-License-Identifier: Apache-2.0
 * Writes features or labels as a .npy file of version 1, little-endian. */
#include "files.h"
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 128u /* 10 bytes, text, spaces, a newline: a multiple of 64 as numpy wants it */

static pml_outcome write_array(const char *path, const char *dictionary, const void *words, size_t count,
                               struct pml_message *message)
{
    uint8_t *bytes = count <= (SIZE_MAX - HEADER) / 4 ? malloc(HEADER + 4 * count) : NULL;
    if (!bytes)
        return pml_say_memory(message);
    memset(bytes, ' ', HEADER);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = HEADER - 10;
    bytes[9] = 0;
    memcpy(bytes + 10, dictionary, strlen(dictionary));
    bytes[HEADER - 1] = '\n';
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, (const uint8_t *)words + 4 * i, 4);
        for (unsigned part = 0; part < 4; part++)
            bytes[HEADER + 4 * i + part] = (uint8_t)(word >> 8 * part);
    }
    pml_outcome outcome = pml_file_write(path, bytes, HEADER + 4 * count, 0, message);
    free(bytes);
    return outcome;
}

pml_outcome pml_features_write(const char *path, const float *values, size_t rows, size_t columns,
                               struct pml_message *message)
{
    char dictionary[HEADER - 10];
    if (columns > 0 && rows > SIZE_MAX / 4 / columns)
        return pml_say_memory(message);
    snprintf(dictionary, sizeof dictionary, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows,
             columns);
    return write_array(path, dictionary, values, rows * columns, message);
}

pml_outcome pml_labels_write(const char *path, const int32_t *values, size_t rows, struct pml_message *message)
{
    char dictionary[HEADER - 10];
    snprintf(dictionary, sizeof dictionary, "{'descr': '<i4', 'fortran_order': False, 'shape': (%zu,), }", rows);
    return write_array(path, dictionary, values, rows, message);
}
