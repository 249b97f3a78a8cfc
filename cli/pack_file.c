/* SPDX-License-Identifier: Apache-2.0
 * A pack read from a file. In: a path. Out: an opened pack, or a message that names the file. */
#include "pack_file.h"

#include "../server/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pack_file_adopt(struct pack_file *file, uint8_t *bytes, size_t size, const uint8_t *id)
{
    memset(file, 0, sizeof *file);
    int status = pml_pack_open(&file->pack, bytes, size, id);
    if (status == PML_OK)
        status = pml_pack_describe(&file->pack, &file->info);
    if (status != PML_OK)
        return status;
    file->bytes = bytes;
    file->size = size;
    for (size_t i = 0; i < PML_ID_SIZE; i++)
        snprintf(file->id + 2 * i, 3, "%02x", file->info.id[i]);
    return PML_OK;
}

int pack_file_open(const struct command *command, const char *path, struct pack_file *file)
{
    return pack_file_open_pinned(command, path, NULL, file);
}

int pack_file_open_pinned(const struct command *command, const char *path, const uint8_t *id, struct pack_file *file)
{
    struct pml_message message = {""};
    uint8_t *bytes = NULL;
    size_t size = 0;
    int failed = pml_file_read(path, SIZE_MAX / 2, &bytes, &size, &message);
    if (failed)
        return command_input(command, failed, &message);
    int status = pack_file_adopt(file, bytes, size, id);
    if (status == PML_OK)
        return -1;
    free(bytes);
    if (status == PML_ERROR_PACK_ID)
        return command_fail(command, EXIT_INPUT, "%s is not the pack of --pack-id. Use that pack, or check the id.",
                            path);
    return command_status(command, path, status);
}

void pack_file_close(struct pack_file *file)
{
    free(file->bytes);
    memset(file, 0, sizeof *file);
}

size_t pack_file_memory(const struct pack_file *file, int mechanism)
{
    pml_config config = {.mechanism = mechanism};
    return pml_client_size(&file->pack, &config);
}

int pack_file_certify(const struct pack_file *file, pml_certificate *certificate)
{
    memset(certificate, 0, sizeof *certificate);
#if PML_WITH_GAUSSIAN
    if (file->info.anchors == 0)
        return PML_ERROR_SECTION;
    size_t count = (size_t)file->info.slots * file->info.dimensions + 2 * (size_t)file->info.neighbours;
    int64_t *scratch = malloc(count * sizeof *scratch);
    if (!scratch)
        return PML_ERROR_MEMORY;
    int status = pml_pack_certify(&file->pack, scratch, count, certificate);
    free(scratch);
    return status;
#else
    (void)file;
    return PML_ERROR_MECHANISM;
#endif
}

const char *mechanism_name(int mechanism)
{
    return mechanism == PML_GAUSSIAN ? "gaussian" : "response";
}
