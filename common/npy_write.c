/* SPDX-License-Identifier: Apache-2.0
 * Writes features, labels or numbers as a .npy file of version 1, little-endian. */
#include "files.h"
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 128u /* 10 bytes, text, spaces, a newline: a multiple of 64 as numpy wants it */

/* `count` words of `size` bytes, in the machine's order. */
static pml_outcome write_array(const char *path, const char *dictionary, const void *words, size_t count, size_t size,
                               struct pml_message *message)
{
    const uint16_t one = 1;
    const size_t last = *(const uint8_t *)&one == 1 ? 0 : size - 1; /* where a word's least byte stands */
    uint8_t *bytes = count <= (SIZE_MAX - HEADER) / size ? malloc(HEADER + size * count) : NULL;
    if (!bytes)
        return pml_say_memory(message);
    memset(bytes, ' ', HEADER);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = HEADER - 10;
    bytes[9] = 0;
    memcpy(bytes + 10, dictionary, strlen(dictionary));
    bytes[HEADER - 1] = '\n';
    for (size_t i = 0; i < size * count; i++)
        bytes[HEADER + i] = ((const uint8_t *)words)[i ^ last];
    pml_outcome outcome = pml_file_write(path, bytes, HEADER + size * count, 0, message);
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
    return write_array(path, dictionary, values, rows * columns, 4, message);
}

pml_outcome pml_labels_write(const char *path, const int32_t *values, size_t rows, struct pml_message *message)
{
    char dictionary[HEADER - 10];
    snprintf(dictionary, sizeof dictionary, "{'descr': '<i4', 'fortran_order': False, 'shape': (%zu,), }", rows);
    return write_array(path, dictionary, values, rows, 4, message);
}

pml_outcome pml_doubles_write(const char *path, const double *values, size_t count, struct pml_message *message)
{
    char dictionary[HEADER - 10];
    snprintf(dictionary, sizeof dictionary, "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu,), }", count);
    return write_array(path, dictionary, values, count, 8, message);
}
