/* SPDX-License-Identifier: Apache-2.0
 * Reads whole files, and writes whole files or none: under a temporary name, flushed, then renamed. */
#ifndef PML_FILES_H
#define PML_FILES_H

#include "message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a file is written. With 0 it may replace another file and takes over its permissions. */
enum {
    PML_FILE_EXCLUSIVE = 1, /* an existing file is an error */
    PML_FILE_PRIVATE = 2    /* only the owner may read a new file */
};

/* Writes `size` bytes to `path` atomically: path.tmp-RANDOM, fsync, rename, fsync of the folder. Returns PML_DONE, or
 * another outcome with a message (full disk, unwritable folder, exclusive and the file exists); then no half file is
 * left. Only a process that is killed in between leaves its path.tmp-RANDOM (leftovers.h). */
pml_outcome pml_file_write(const char *path, const void *bytes, size_t size, int how, struct pml_message *message);

/* Tries whether `size` bytes can be written beside `path` now, and removes them again. Returns PML_DONE, or another
 * outcome with a message. */
pml_outcome pml_file_try(const char *path, size_t size, struct pml_message *message);

/* Reads a whole file into memory that the caller frees. Files of more than `limit` bytes are refused. Returns PML_DONE,
 * or another outcome with a message. */
pml_outcome pml_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, struct pml_message *message);

/* The same for the file `name` of the open folder `folder`; a link is refused. Messages call it `path`. */
pml_outcome pml_file_read_in(int folder, const char *name, const char *path, size_t limit, uint8_t **bytes,
                             size_t *size, struct pml_message *message);

/* Opens a plain file for reading. Returns its descriptor, for system.h, or −1 with a message. */
int pml_file_open(const char *path, uint64_t *size, struct pml_message *message);

/* Returns a temporary name beside `path` that most likely nobody uses, to be freed; NULL when out of memory. */
char *pml_file_beside(const char *path);

/* Whether an errno says that there is no room left on the disk, or none for us. */
bool pml_file_is_full(int error);

/* What to do about an errno from writing. The text stands after a colon and has no full stop. */
const char *pml_file_advice(int error);

#endif
