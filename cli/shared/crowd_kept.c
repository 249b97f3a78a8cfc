/* SPDX-License-Identifier: Apache-2.0
 * In: a file that may be damaged or of another pack, or a bundle. Out: the cell that may be sent again. */
#include "crowd_kept.h"

#include "common/digest.h"
#include "common/files.h"
#include "common/system.h"
#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0, VERSION = 4, FLOOR = 8, LENGTH = 12, OWNER = 16, MESSAGE = 32, DIGEST_SIZE = 8, KNOWN = 1 };
_Static_assert(MESSAGE + CROWD_KEPT_MESSAGE_MAX + DIGEST_SIZE <= CROWD_KEPT_FILE_MAX, "a file holds every message");

static void put(uint8_t *bytes, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t get(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

/* What the floor's ledger is charged for a draw (SPEC 4). */
static uint32_t units_of(double floor)
{
    return (uint32_t)ceil(ldexp(floor, 20));
}

bool crowd_kept_exists(const char *path)
{
    return pml_system_exists(path);
}

bool crowd_kept_take(struct crowd_kept *kept, const struct crowd_bundle *bundle, double floor, const uint8_t owner[16])
{
    size_t at = 0;
    while (at < bundle->count && bundle->own[at] != 1)
        at++;
    *kept = (struct crowd_kept){.size = bundle->length, .floor = units_of(floor)};
    if (at == bundle->count || bundle->length > sizeof kept->message)
        return false;
    memcpy(kept->message, bundle->bytes + at * bundle->length, bundle->length);
    memcpy(kept->owner, owner, sizeof kept->owner);
    return true;
}

/* ---- file ---- */

exit_code crowd_kept_write(const struct command *command, const char *path, const struct crowd_kept *kept)
{
    uint8_t bytes[CROWD_KEPT_FILE_MAX] = "PMLK";
    const size_t end = MESSAGE + kept->size;
    put(bytes + VERSION, KNOWN, 4);
    put(bytes + FLOOR, kept->floor, 4);
    put(bytes + LENGTH, kept->size, 4);
    memcpy(bytes + OWNER, kept->owner, sizeof kept->owner);
    memcpy(bytes + MESSAGE, kept->message, kept->size);
    put(bytes + end, pml_digest_string(0, bytes, end), DIGEST_SIZE);
    return output_write_private(command, path, false, bytes, end + DIGEST_SIZE);
}

static bool is_kept(const uint8_t *bytes, size_t size)
{
    return size >= LENGTH + 4 && memcmp(bytes + MAGIC, "PMLK", 4) == 0;
}

/* Returns what is wrong with a file of the known version, or NULL. */
static const char *parse(const uint8_t *bytes, size_t size, struct crowd_kept *kept)
{
    if (!is_kept(bytes, size))
        return "is no kept cell. Name the file that --keep wrote, or a new one";
    kept->size = (size_t)get(bytes + LENGTH, 4);
    const size_t end = MESSAGE + kept->size;
    if (kept->size > sizeof kept->message || size != end + DIGEST_SIZE)
        return "is a kept cell that was cut short or grew. Name another file to draw a new one";
    if (get(bytes + end, DIGEST_SIZE) != pml_digest_string(0, bytes, end))
        return "is a kept cell that is damaged. Name another file to draw a new one";
    kept->floor = (uint32_t)get(bytes + FLOOR, 4);
    memcpy(kept->owner, bytes + OWNER, sizeof kept->owner);
    memcpy(kept->message, bytes + MESSAGE, kept->size);
    return NULL;
}

exit_code crowd_kept_read(const struct command *command, const char *path, const struct pack_file *pack, double floor,
                          struct crowd_kept *kept)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct pml_message message = {""};
    pml_release_view view;
    *kept = (struct crowd_kept){0};
    const pml_outcome outcome = pml_file_read(path, 4096, &bytes, &size, &message);
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    const unsigned version = is_kept(bytes, size) ? (unsigned)get(bytes + VERSION, 4) : KNOWN;
    const char *wrong = version == KNOWN ? parse(bytes, size, kept) : NULL;
    free(bytes);
    if (version != KNOWN)
        return command_fail(command, EXIT_INPUT,
                            "%s is a kept cell of version %u; this command reads version %d. Use a newer privatemail.",
                            path, version, KNOWN);
    if (wrong)
        return command_fail(command, EXIT_INPUT, "%s %s.", path, wrong);
    const pml_status status = pml_release_parse(&pack->pack, kept->message, kept->size, &view);
    if (status == PML_ERROR_PACK_ID)
        return command_fail(command, EXIT_INPUT,
                            "%s is a cell of another pack than %s. Give --pack that one, or name another file to "
                            "draw a new cell.",
                            path, pack->id);
    if (status != PML_OK)
        return command_status(command, path, status);
    if (kept->floor != units_of(floor))
        return command_fail(command, EXIT_USAGE, "%s was drawn with a floor of %g. Give --floor %g.", path,
                            kept->floor * 0x1p-20, kept->floor * 0x1p-20);
    return EXIT_OK;
}
