/* SPDX-License-Identifier: Apache-2.0
 * The last step of writing a whole file: from the name beside its place into its place, for good. */
#ifndef PML_FILE_PLACE_H
#define PML_FILE_PLACE_H

/* Flushes the file `from`, renames it to `path` and flushes the folder they share. `exclusive`: only when nothing is
 * there. 0 or an errno, and then `from` is still there unless only the flush of the folder failed. */
int pml_file_place(const char *from, const char *path, int exclusive);

/* The same for a file that has been flushed. */
int pml_file_put(const char *from, const char *path, int exclusive);

#endif
