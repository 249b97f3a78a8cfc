/* SPDX-License-Identifier: Apache-2.0
 * A pack read from a file, and what every command wants to know of it. */
#ifndef CLI_PACK_FILE_H
#define CLI_PACK_FILE_H

#include "command.h"

#include <privatemail_public.h>

struct pack_file {
    uint8_t *bytes; /* owned: pack_file_close */
    size_t size;
    pml_pack pack;
    pml_pack_info info;
    char id[2 * PML_ID_SIZE + 1]; /* hexadecimal */
};

/* −1 to go on, else the exit code, with a message printed and nothing to close. */
int pack_file_open(const struct command *command, const char *path, struct pack_file *file);

/* The same for the pack with this id of PML_ID_SIZE bytes and no other; NULL: any. */
int pack_file_open_pinned(const struct command *command, const char *path, const uint8_t *id, struct pack_file *file);

/* Takes over bytes that are a pack, with this id unless it is NULL. A pml_status; the bytes stay the caller's on
 * error. */
int pack_file_adopt(struct pack_file *file, uint8_t *bytes, size_t size, const uint8_t *id);

void pack_file_close(struct pack_file *file);

/* Bytes of a client; 0 when the pack or the build lacks the mechanism. */
size_t pack_file_memory(const struct pack_file *file, int mechanism);

/* A pml_status: PML_ERROR_SECTION or PML_ERROR_MECHANISM when there is no Gaussian to certify. */
int pack_file_certify(const struct pack_file *file, pml_certificate *certificate);

/* "response" or "gaussian". */
const char *mechanism_name(int mechanism);

#endif
