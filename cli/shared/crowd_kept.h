/* SPDX-License-Identifier: Apache-2.0
 * The drawn cell of a photo, kept in a file to be sent again in a later epoch (SPEC 4). */
#ifndef CLI_CROWD_KEPT_H
#define CLI_CROWD_KEPT_H

#include "crowd_bundle.h"
#include "pack_file.h"

enum { CROWD_KEPT_MESSAGE_MAX = 64, CROWD_KEPT_FILE_MAX = 128 };

struct crowd_kept {
    uint8_t message[CROWD_KEPT_MESSAGE_MAX];
    size_t size;
    uint32_t floor;    /* what drawing it cost, in 2^-20 */
    uint8_t owner[16]; /* of the budget that paid for it; zeros: none did */
};

/* Whether there is a file at `path`. Then its cell is sent again; otherwise a new one is kept there. */
bool crowd_kept_exists(const char *path);

/* The cell that a bundle was drawn for; false when the bundle has no own message. */
bool crowd_kept_take(struct crowd_kept *kept, const struct crowd_bundle *bundle, double floor, const uint8_t owner[16]);

/* Reads a cell that was kept for this pack and this floor. */
exit_code crowd_kept_read(const struct command *command, const char *path, const struct pack_file *pack, double floor,
                          struct crowd_kept *kept);

/* Writes a file that only its owner can read. There must be none. */
exit_code crowd_kept_write(const struct command *command, const char *path, const struct crowd_kept *kept);

#endif
