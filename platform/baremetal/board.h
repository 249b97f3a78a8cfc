/* SPDX-License-Identifier: Apache-2.0
 * What a board brings to example_main.c. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

/* A pml_entropy_fn (privatemail.h): entropy_example.c. */
int board_entropy(void *context, uint8_t *out, size_t size);

/* A pml_persist_fn, and its reverse: budget_flash_example.c. */
int board_store(void *context, const uint8_t *bytes, size_t size);

enum board_stored { BOARD_STORED, BOARD_BLANK, BOARD_DAMAGED };

/* Fills `bytes`, which has room for *size, and sets *size when it returns BOARD_STORED. A budget of version 1 is shorter:
 * pml_budget_restore reads both. BOARD_BLANK: nothing was ever stored; a first storing that was cut short
 * counts as none. */
enum board_stored board_restore(uint8_t *bytes, size_t *size);

/* The radio, the wire. The bytes are public once they are a release. */
void board_send(const uint8_t *message, size_t size);

#endif
