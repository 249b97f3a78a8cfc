/* SPDX-License-Identifier: Apache-2.0
 * Reads packs and releases from files. */
#include "pack_file.h"

#include "common/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <privatemail_platform.h>

enum {
    RELEASE_SIZE_MAX = 65536, /* more than any release has (SPEC 7) */
    MESSAGE_SIZE_MAX = 64,    /* more than any message of a crowd has (SPEC 2) */
    BUNDLE_SIZE_MAX = 1 << 28 /* far more than any bundle has (SPEC 5.16), and enough for a whole epoch */
};

static pml_status adopt(struct pack_file *file, uint8_t *bytes, size_t size, const uint8_t *id, const char *model)
{
    memset(file, 0, sizeof *file);
    pml_status status = pml_pack_open_with(&file->pack, bytes, size, id, model, pml_platform_kernels());
    if (status == PML_OK)
        status = pml_pack_describe(&file->pack, &file->info);
    if (status == PML_OK)
        status = pml_pack_front(&file->pack, 0, &file->front);
    if (status != PML_OK)
        return status;
    file->bytes = bytes;
    file->size = size;
    for (size_t i = 0; i < PML_ID_SIZE; i++)
        snprintf(file->id + 2 * i, 3, "%02x", file->info.id[i]);
    return PML_OK;
}

pml_status pack_file_adopt(struct pack_file *file, uint8_t *bytes, size_t size)
{
    return adopt(file, bytes, size, NULL, NULL);
}

exit_code pack_file_open(const struct command *command, const char *path, struct pack_file *file)
{
    return pack_file_open_pinned(command, path, NULL, NULL, file);
}

/* Says why pml_pack_open refused the bytes. */
static exit_code refuse(const struct command *command, const char *path, const char *model, uint8_t *bytes, size_t size,
                        pml_status status)
{
    struct pack_file other;
    if (status == PML_ERROR_PACK_ID)
        return command_fail(command, EXIT_INPUT,
                            "%s is not the pack that --pack-id names. Use that pack, or check the id.", path);
    if (status == PML_ERROR_PACK_VERSION && size >= 8 && memcmp(bytes, "PMPK", 4) == 0)
        return command_fail(command, EXIT_INPUT,
                            "%s is a pack of version %u.%u; this command reads 0.1 to 0.5. Use a newer privatemail, or "
                            "make the pack with this one.",
                            path, bytes[4] | bytes[5] << 8u, bytes[6] | bytes[7] << 8u);
    if (status == PML_ERROR_PACK_MODEL && pack_file_adopt(&other, bytes, size) == PML_OK) {
        const char *name = pack_file_model(&other);
        return command_fail(command, EXIT_INPUT,
                            "%s is for the model '%s', but --model is '%s'. Use the pack of your model.", path,
                            name ? name : "(it names none)", model);
    }
    return command_status(command, path, status);
}

exit_code pack_file_open_pinned(const struct command *command, const char *path, const uint8_t *id, const char *model,
                                struct pack_file *file)
{
    struct pml_message message = {""};
    uint8_t *bytes = NULL;
    size_t size = 0;
    pml_outcome outcome = pml_file_read(path, SIZE_MAX / 2, &bytes, &size, &message);
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    pml_status status = adopt(file, bytes, size, id, model);
    if (status == PML_OK)
        return EXIT_OK;
    exit_code code = refuse(command, path, model, bytes, size, status);
    free(bytes);
    return code;
}

void pack_file_close(struct pack_file *file)
{
    free(file->bytes);
    memset(file, 0, sizeof *file);
}

const char *pack_file_model(const struct pack_file *file)
{
    const char *name = pml_pack_model(&file->pack);
    return name[0] == 0 ? NULL : name;
}

exit_code pack_file_modality(const struct command *command, const struct pack_file *file, const char *name,
                             uint32_t *modality)
{
    char names[PML_MODALITIES_MAX * (PML_MODALITY_NAME_MAX + 3)] = "";
    pml_modality of_pack;
    *modality = 0;
    if (!name || (file->info.modalities > 0 && pml_pack_find_modality(&file->pack, name, modality) == PML_OK))
        return EXIT_OK;
    for (size_t i = 0; i < file->info.modalities; i++) {
        if (pml_pack_modality(&file->pack, i, &of_pack) == PML_OK)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i > 0 ? ", " : "", of_pack.name);
    }
    if (names[0] == 0)
        return command_fail(command, EXIT_USAGE,
                            "the pack has no modalities, so none is called '%s'. Leave the option out, or build the "
                            "pack with --front.",
                            name);
    return command_fail(command, EXIT_USAGE, "the pack has no modality '%s'. Choose one of: %s.", name, names);
}

exit_code pack_file_ask(const struct command *command, struct pack_file *file, const char *name)
{
    const exit_code code = pack_file_modality(command, file, name, &file->modality);
    if (code != EXIT_OK)
        return code;
    const pml_status status = pml_pack_front(&file->pack, file->modality, &file->front);
    return status == PML_OK ? EXIT_OK : command_status(command, "--modality", status);
}

exit_code pack_file_columns(const struct command *command, const struct pack_file *file, uint32_t modality,
                            const char *path, size_t columns)
{
    pml_modality of_pack;
    const pml_status status = pml_pack_modality(&file->pack, modality, &of_pack);
    if (status != PML_OK)
        return command_status(command, path, status);
    if (columns == of_pack.features)
        return EXIT_OK;
    if (file->info.modalities == 0)
        return command_fail(command, EXIT_INPUT,
                            "%s has %zu features per row, but the pack has %lu. Use features of the model that the "
                            "pack was built with.",
                            path, columns, (unsigned long)of_pack.features);
    return command_fail(command, EXIT_INPUT,
                        "%s has %zu features per row, but the pack's modality %s has %lu. Use its features, or name "
                        "another modality.",
                        path, columns, of_pack.name, (unsigned long)of_pack.features);
}

size_t pack_file_memory(const struct pack_file *file, pml_mechanism mechanism)
{
    pml_config config = {.mechanism = mechanism};
    return pml_client_size(&file->pack, &config);
}

pml_status pack_file_certify(const struct pack_file *file, pml_certificate *certificate)
{
    memset(certificate, 0, sizeof *certificate);
#if PML_WITH_GAUSSIAN
    if (file->info.anchors == 0)
        return PML_ERROR_SECTION;
    size_t count = (size_t)file->info.slots * file->info.dimensions + 2 * (size_t)file->info.neighbours;
    int64_t *scratch = malloc(count * sizeof *scratch);
    if (!scratch)
        return PML_ERROR_MEMORY;
    pml_status status = pml_pack_certify(&file->pack, scratch, count, certificate);
    free(scratch);
    return status;
#else
    (void)file;
    return PML_ERROR_MECHANISM;
#endif
}

static exit_code refuse_release(const struct command *command, const char *path, const uint8_t *bytes, size_t size,
                                pml_status status)
{
    /* A map of 4 or 5 entries whose first is 0: VERSION (SPEC 2). */
    if (status == PML_ERROR_RELEASE && size > 2 && (bytes[0] == 0xA4 || bytes[0] == 0xA5) && bytes[1] == 0 &&
        bytes[2] > 1 && bytes[2] < 24)
        return command_fail(command, EXIT_INPUT,
                            "%s is a release of version %u; this command reads version 1. Use a newer privatemail.",
                            path, bytes[2]);
    return command_status(command, path, status);
}

exit_code pack_file_release(const struct command *command, const struct pack_file *file, const char *path,
                            uint8_t **bytes, size_t *size, pml_release_view *view)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_file_read(path, RELEASE_SIZE_MAX, bytes, size, &message);
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    pml_status status = pml_release_parse(&file->pack, *bytes, *size, view);
    return status == PML_OK ? EXIT_OK : refuse_release(command, path, *bytes, *size, status);
}

/* The length of the crowd's message that the bytes begin with; 0 when they do not begin with one. No message is the
 * beginning of another. */
static size_t message_length(const struct pack_file *file, const uint8_t *bytes, size_t size)
{
    const pml_mechanism wanted = file->info.slots == 1 ? PML_RESPONSE : PML_CROWD;
    pml_release_view view;
    for (size_t length = 1; length <= size && length < MESSAGE_SIZE_MAX; length++) {
        if (pml_release_parse(&file->pack, bytes, length, &view) == PML_OK)
            return view.mechanism == wanted ? length : 0;
    }
    return 0;
}

exit_code pack_file_bundle(const struct command *command, const struct pack_file *file, const char *path,
                           uint8_t **bytes, size_t *size, size_t *length)
{
    struct pml_message message = {""};
    pml_release_view view;
    pml_outcome outcome = pml_file_read(path, BUNDLE_SIZE_MAX, bytes, size, &message);
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    pml_status status = pml_release_parse(&file->pack, *bytes, *size, &view);
    *length = status == PML_OK ? *size : message_length(file, *bytes, *size);
    if (*length == 0)
        return refuse_release(command, path, *bytes, *size, status);
    for (size_t at = 0; at < *size; at += *length) {
        if (*size - at < *length)
            return command_fail(command, EXIT_INPUT,
                                "%s is a bundle that was cut short: after %zu messages of %zu bytes come %zu more. "
                                "Fetch it again, whole.",
                                path, at / *length, *length, *size - at);
        status = pml_release_parse(&file->pack, *bytes + at, *length, &view);
        if (status == PML_ERROR_PACK_ID)
            return command_fail(command, EXIT_INPUT,
                                "message %zu of the bundle %s belongs to another pack. A bundle must be of one pack.",
                                at / *length, path);
        if (status != PML_OK)
            return command_fail(command, EXIT_INPUT,
                                "message %zu of the bundle %s is not a release of this pack, or is of another length. "
                                "Check that all are of one pack and mechanism.",
                                at / *length, path);
    }
    return EXIT_OK;
}

struct pack_slots pack_file_slots(const struct pack_file *file, const pml_release_view *view)
{
    if (view->mechanism != PML_CROWD)
        return (struct pack_slots){0, file->info.slots};
    const uint32_t slot = pml_release_symbol(view, 0) / file->info.cells;
    return (struct pack_slots){slot, slot + 1};
}

uint32_t pack_file_cell(const struct pack_file *file, const pml_release_view *view, uint32_t slot)
{
    return view->mechanism == PML_CROWD ? pml_release_symbol(view, 0) % file->info.cells
                                        : pml_release_symbol(view, slot);
}

const char *mechanism_name(pml_mechanism mechanism)
{
    return mechanism == PML_GAUSSIAN ? "gaussian" : mechanism == PML_CROWD ? "crowd" : "response";
}
