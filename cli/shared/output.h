/* SPDX-License-Identifier: Apache-2.0
 * Output files: looked at before the work (or the price) is spent, then written whole or not at all. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "command.h"

/* Whether both name one file, also under other spellings and through links, or would if there were one. */
bool output_is(const char *left, const char *right);

/* −1 when `path` is not the file of an input, which `what` names in the message; else the exit code. `input`
 * may be NULL. */
int output_apart(const struct command *command, const char *path, const char *input, const char *what);

/* −1 when `path` may become a file: nothing is there, or a plain file and `force`; else the exit code. */
int output_check(const struct command *command, const char *path, bool force);

/* −1 when `size` bytes can be written beside `path` now (they are taken away again); else the exit code. */
int output_try(const struct command *command, const char *path, size_t size);

/* −1, or the exit code with a message. */
int output_write(const struct command *command, const char *path, bool force, const void *bytes, size_t size);

#endif
