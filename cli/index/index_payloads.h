/* SPDX-License-Identifier: Apache-2.0
 * A folder of payloads: the file whose name, up to its first dot, is an item's number belongs to that item. */
#ifndef CLI_INDEX_PAYLOADS_H
#define CLI_INDEX_PAYLOADS_H

#include "cli/shared/command.h"

struct index_payloads {
    const char *folder;
    int opened;      /* the folder, or −1; files are read from here, even if its path changes */
    char **names;    /* of each row's file; NULL: it has none */
    size_t rows;     /* entries of `names` */
    size_t found;    /* rows that have a file */
    size_t unused;   /* files of the folder that belong to no row */
    uint64_t bytes;  /* of all files that are used */
    uint8_t *loaded; /* the last one that was read */
};

/* A row and its number; ascending by number. */
struct index_number {
    uint64_t item;
    size_t row;
};

/* Free the payloads after a failure too. */
exit_code index_payloads_find(const struct command *command, const char *folder, const struct index_number *numbers,
                              size_t rows, struct index_payloads *payloads);
void index_payloads_free(struct index_payloads *payloads);

/* The payload of a row, empty when it has none; valid until the next call. `context` is a struct index_payloads. Returns
 * PML_DONE, or another outcome with a message. */
pml_outcome index_payloads_load(void *context, size_t row, const uint8_t **bytes, size_t *size,
                                struct pml_message *message);

/* Reads digits up to `end` (which may be the text's end) as a number below 2^63. */
bool index_number_read(const char *text, const char *end, uint64_t *number);

#endif
