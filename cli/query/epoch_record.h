/* SPDX-License-Identifier: Apache-2.0
 * The last epoch in which a person handed over a bundle of a pack. One per epoch is what a crowd's promise is for
 * (PRIVACY, section 11), and a kept cell may be sent once per epoch (SPEC 4). */
#ifndef CLI_EPOCH_RECORD_H
#define CLI_EPOCH_RECORD_H

#include "cli/shared/command.h"

/* The record of a pack beside a file of the person, the budget or a kept cell. Free it. NULL when out of memory. */
char *epoch_record_path(const char *beside, const char *pack);

/* Whether the epoch is later than the recorded one, which is what `free` says then. With `claim`, a later epoch is recorded
 * at once, also when another process tries the same at this moment. */
exit_code epoch_record_check(const struct command *command, const char *path, uint64_t epoch, bool claim,
                             bool *is_free);

#endif
