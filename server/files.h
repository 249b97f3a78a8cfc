/* SPDX-License-Identifier: Apache-2.0
 * Whole files or none: written beside their place, flushed, renamed. */
#ifndef PML_FILES_H
#define PML_FILES_H

#include "npy.h"

/* Writes `size` bytes to `path` atomically: path.tmp-PID, fsync, rename, fsync of the folder. On failure (full disk,
 * unwritable folder, `exclusive` and the file exists) −1 with a message, and no half file is left. */
int pml_file_write(const char *path, const void *bytes, size_t size, int exclusive, struct pml_message *message);

/* Reads a whole file into memory that the caller frees; −1 with a message. `limit`: larger files are refused. */
int pml_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, struct pml_message *message);

#endif
