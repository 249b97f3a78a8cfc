/* SPDX-License-Identifier: Apache-2.0
 * Which store is meant, and which pack of it. */
#ifndef CLI_STORE_PACK_H
#define CLI_STORE_PACK_H

#include "cli/shared/pack_file.h"
#include "server/store/store.h"

/* The gallery that --store and --pack name. `pack` is the path of a pack or 32 hexadecimal digits; NULL means the only
 * pack that the store knows. */
struct store_gallery {
    const char *uri, *pack;
    char shown[PML_STORE_SHOWN_MAX]; /* by store_uri_check */
    uint8_t id[PML_ID_SIZE];         /* this and its digits by store_gallery_open */
    char digits[2 * PML_ID_SIZE + 1];
};

/* Opens the store for reading and finds the pack. On failure the store is closed. */
exit_code store_gallery_open(const struct command *command, struct store_gallery *gallery, struct pml_store **store);

/* Prints why what a store holds cannot be used, after the name of the store. Returns EXIT_INPUT or EXIT_FAULT. */
exit_code store_refuse(const struct command *command, const char *shown, pml_outcome outcome,
                       const struct pml_message *message);

/* Checks a store's URI, the value of an option, and shows it. */
exit_code store_uri_check(const struct command *command, const char *option, const char *uri,
                          char shown[PML_STORE_SHOWN_MAX]);

#endif
