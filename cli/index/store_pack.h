/* SPDX-License-Identifier: Apache-2.0
 * Which pack of a store is meant. */
#ifndef CLI_STORE_PACK_H
#define CLI_STORE_PACK_H

#include "cli/shared/pack_file.h"
#include "server/store/store.h"

/* `given`: the path of a pack, or 32 hexadecimal digits; NULL: the only pack that the store knows. Fills the id and its
 * digits. */
exit_code store_pack_find(const struct command *command, struct pml_store *store, const char *given,
                          uint8_t id[PML_ID_SIZE], char digits[2 * PML_ID_SIZE + 1]);

/* Checks a store's URI, the value of an option, and shows it. */
exit_code store_uri_check(const struct command *command, const char *option, const char *uri,
                          char shown[PML_STORE_SHOWN_MAX]);

#endif
