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

/* The same for the pack with this id of PML_ID_SIZE bytes and this name of its model, and no other; NULL: any. */
int pack_file_open_pinned(const struct command *command, const char *path, const uint8_t *id, const char *model,
                          struct pack_file *file);

/* Takes over bytes that are a pack. Returns a pml_status; the bytes stay the caller's on error. */
int pack_file_adopt(struct pack_file *file, uint8_t *bytes, size_t size);

/* The name of the pack's model, NULL when it has none. */
const char *pack_file_model(const struct pack_file *file);

void pack_file_close(struct pack_file *file);

/* Bytes of a client; 0 when the pack or the build lacks the mechanism. */
size_t pack_file_memory(const struct pack_file *file, pml_mechanism mechanism);

/* A pml_status: PML_ERROR_SECTION or PML_ERROR_MECHANISM when there is no Gaussian to certify. */
int pack_file_certify(const struct pack_file *file, pml_certificate *certificate);

/* Reads a release of this pack: its bytes, which are the caller's to free, also on error, and a view of them. Returns
 * −1 to go on, else the exit code with a message printed. */
int pack_file_release(const struct command *command, const struct pack_file *file, const char *path, uint8_t **bytes,
                      size_t *size, pml_release_view *view);

/* "response" or "gaussian". */
const char *mechanism_name(pml_mechanism mechanism);

#endif
