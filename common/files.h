/* SPDX-License-Identifier: Apache-2.0
 * Whole files or none: written beside their place, flushed, renamed. */
#ifndef PML_FILES_H
#define PML_FILES_H

#include "npy.h"

/* How a file is written; 0: it may replace another, whose permissions it takes over. */
enum {
    PML_FILE_EXCLUSIVE = 1, /* only when none is there */
    PML_FILE_PRIVATE = 2    /* a new one is for its owner alone */
};

/* Writes `size` bytes to `path` atomically: path.tmp-RANDOM, fsync, rename, fsync of the folder. On failure (full disk,
 * unwritable folder, exclusive and the file exists) not 0, with a message, and no half file is left; only a process
 * killed in between leaves its path.tmp-RANDOM (leftovers.h). */
int pml_file_write(const char *path, const void *bytes, size_t size, int how, struct pml_message *message);

/* Whether `size` bytes can be written beside `path` now; they are taken away again. 0, or not with a message. */
int pml_file_try(const char *path, size_t size, struct pml_message *message);

/* Reads a whole file into memory that the caller frees; not 0 with a message. `limit`: larger files are refused. */
int pml_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, struct pml_message *message);

/* The same for the file `name` of the open folder `folder`; a link is refused. `path`: what messages call it. */
int pml_file_read_in(int folder, const char *name, const char *path, size_t limit, uint8_t **bytes, size_t *size,
                     struct pml_message *message);

/* Opens a plain file to read: its descriptor, or −1 with a message. */
int pml_file_open(const char *path, uint64_t *size, struct pml_message *message);

/* Reads up to `size` bytes; fewer only at the end of the file. 0 or an errno. */
int pml_file_take(int file, void *bytes, size_t size, size_t *got);

/* A name beside `path` that nobody has, most likely; to be freed. NULL without memory. */
char *pml_file_beside(const char *path);

/* What to do about an errno from writing: words after a colon, without a full stop. */
const char *pml_file_advice(int error);

#endif
