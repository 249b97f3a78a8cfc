/* SPDX-License-Identifier: Apache-2.0
 * Output files. They are checked before any work is done or any price is paid, then written whole or not at all. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "command.h"

/* Whether both paths name the same file, also through links or other spellings. The file need not exist. */
bool output_is(const char *left, const char *right);

/* Fails when `path` is the file of an input, which the message calls `what`. `input` may be NULL. */
exit_code output_apart(const struct command *command, const char *path, const char *input, const char *what);

/* Fails unless nothing exists at `path`, or a plain file and `force` is set. */
exit_code output_check(const struct command *command, const char *path, bool force);

/* Fails unless `size` bytes can be written beside `path` now. They are removed again. */
exit_code output_try(const struct command *command, const char *path, size_t size);

/* Writes the whole file. The second form makes a file that only its owner can read. */
exit_code output_write(const struct command *command, const char *path, bool force, const void *bytes, size_t size);
exit_code output_write_private(const struct command *command, const char *path, bool force, const void *bytes,
                               size_t size);

#endif
