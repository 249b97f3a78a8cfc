/* SPDX-License-Identifier: Apache-2.0
 * A pack read from a file, and what every command needs to know about it. */
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
    uint32_t modality;            /* that queries are of: the first, until pack_file_ask chooses another … */
    pml_front front;              /* … and its front */
};

/* After a failure there is nothing to close. */
exit_code pack_file_open(const struct command *command, const char *path, struct pack_file *file);

/* The same, but accepts only a pack with this id of PML_ID_SIZE bytes and this model name; NULL accepts any. */
exit_code pack_file_open_pinned(const struct command *command, const char *path, const uint8_t *id, const char *model,
                                struct pack_file *file);

/* Takes over the bytes of a pack. On error they still belong to the caller. */
pml_status pack_file_adopt(struct pack_file *file, uint8_t *bytes, size_t size);

/* The name of the pack's model, NULL when it has none. */
const char *pack_file_model(const struct pack_file *file);

/* The number of the modality of this name; NULL: the first. */
exit_code pack_file_modality(const struct command *command, const struct pack_file *file, const char *name,
                             uint32_t *modality);

/* Chooses the modality of queries; NULL: the first. */
exit_code pack_file_ask(const struct command *command, struct pack_file *file, const char *name);

/* Refuses the features of a file whose rows are not as long as the modality's. */
exit_code pack_file_columns(const struct command *command, const struct pack_file *file, uint32_t modality,
                            const char *path, size_t columns);

void pack_file_close(struct pack_file *file);

/* Bytes of memory that a client needs; 0 when the pack or the build lacks the mechanism. */
size_t pack_file_memory(const struct pack_file *file, pml_mechanism mechanism);

/* Returns PML_ERROR_SECTION or PML_ERROR_MECHANISM when there is no Gaussian to certify. */
pml_status pack_file_certify(const struct pack_file *file, pml_certificate *certificate);

/* Reads a release of this pack: its bytes, which the caller frees, also on error, and a view of them. */
exit_code pack_file_release(const struct command *command, const struct pack_file *file, const char *path,
                            uint8_t **bytes, size_t *size, pml_release_view *view);

/* Reads one release, or the bundle of a crowd (SPEC 2): messages of `length` bytes each, all of them checked. The caller
 * frees the bytes, also on error. */
exit_code pack_file_bundle(const struct command *command, const struct pack_file *file, const char *path,
                           uint8_t **bytes, size_t *size, size_t *length);

/* The slots that a release of this pack speaks of, from `first` to before `end`: all, or the one of a crowd's message. */
struct pack_slots {
    uint32_t first, end;
};
struct pack_slots pack_file_slots(const struct pack_file *file, const pml_release_view *view);

/* The cell that a response release, or a message of a crowd, names in one of these slots. */
uint32_t pack_file_cell(const struct pack_file *file, const pml_release_view *view, uint32_t slot);

/* "response", "gaussian" or "crowd". */
const char *mechanism_name(pml_mechanism mechanism);

#endif
