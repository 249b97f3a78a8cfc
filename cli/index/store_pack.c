/* SPDX-License-Identifier: Apache-2.0
 * Finds the id of a pack by its file, by its digits, or because there is no other. */
#include "store_pack.h"

#include <stdio.h>
#include <string.h>

static bool read_digits(const char *text, uint8_t id[PML_ID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(text) != 2 * PML_ID_SIZE || strspn(text, digits) != 2 * PML_ID_SIZE)
        return false;
    for (size_t i = 0; i < PML_ID_SIZE; i++)
        id[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 | (strchr(digits, text[2 * i + 1]) - digits));
    return true;
}

struct packs {
    uint8_t *id;
    size_t count;
};

static pml_outcome take_pack(void *context, const uint8_t pack[PML_ID_SIZE], const struct pml_pointer *pointer)
{
    struct packs *packs = context;
    (void)pointer;
    memcpy(packs->id, pack, PML_ID_SIZE);
    packs->count++;
    return PML_DONE;
}

static exit_code find_only(const struct command *command, struct pml_store *store, uint8_t id[PML_ID_SIZE])
{
    struct packs packs = {id, 0};
    if (pml_store_packs(store, take_pack, &packs) != PML_DONE)
        return command_fail(command, EXIT_INPUT, "the store cannot be read now. Check it, and try again.");
    if (packs.count == 0)
        return command_fail(command, EXIT_INPUT, "the store has no gallery. Make one: privatemail index --features.");
    if (packs.count > 1)
        return command_fail(command, EXIT_USAGE, "the store has galleries of %zu packs. Choose one by --pack.",
                            packs.count);
    return EXIT_OK;
}

static exit_code find_pack(const struct command *command, struct store_gallery *gallery, struct pml_store *store)
{
    struct pack_file pack;
    exit_code code = EXIT_OK;
    if (!gallery->pack) {
        code = find_only(command, store, gallery->id);
    } else if (!read_digits(gallery->pack, gallery->id)) {
        code = pack_file_open(command, gallery->pack, &pack);
        if (code == EXIT_OK) {
            memcpy(gallery->id, pack.info.id, PML_ID_SIZE);
            pack_file_close(&pack);
        }
    }
    for (size_t i = 0; i < PML_ID_SIZE && code == EXIT_OK; i++)
        snprintf(gallery->digits + 2 * i, 3, "%02x", gallery->id[i]);
    return code;
}

exit_code store_gallery_open(const struct command *command, struct store_gallery *gallery, struct pml_store **store)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_store_open(store, gallery->uri, PML_STORE_READ, &message);
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    exit_code code = find_pack(command, gallery, *store);
    if (code != EXIT_OK)
        pml_store_close(*store);
    return code;
}

exit_code store_refuse(const struct command *command, const char *shown, pml_outcome outcome,
                       const struct pml_message *message)
{
    if (outcome == PML_NO_MEMORY)
        return command_no_memory(command);
    return command_fail(command, EXIT_INPUT, "%s: %s", shown, message->text);
}

exit_code store_uri_check(const struct command *command, const char *option, const char *uri,
                          char shown[PML_STORE_SHOWN_MAX])
{
    struct pml_message message = {""};
    if (pml_store_check(uri, &message) != PML_DONE)
        return command_fail(command, EXIT_USAGE, "--%s: %s", option, message.text);
    pml_store_show(uri, shown);
    return EXIT_OK;
}
