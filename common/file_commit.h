/* SPDX-License-Identifier: Apache-2.0
 * The last step of writing a whole file: renames it from its temporary name to its final path, durably. */
#ifndef PML_FILE_COMMIT_H
#define PML_FILE_COMMIT_H

#include <stdbool.h>

/* Flushes the file `from`, renames it to `path` and flushes the folder of both. If `exclusive`, an existing file at
 * `path` is an error. Returns 0 or an errno; after an error `from` still exists, unless only the flush of the folder
 * failed. */
int pml_file_commit(const char *from, const char *path, bool exclusive);

/* The same for a file that has been flushed already. */
int pml_file_rename(const char *from, const char *path, bool exclusive);

#endif
