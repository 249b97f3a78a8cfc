/* SPDX-License-Identifier: Apache-2.0
 * What is the same in every kind of store: which items fit, what is digested (SPEC 8), when a candidate is right. */
#ifndef PML_STORE_CONTENT_H
#define PML_STORE_CONTENT_H

#include "store.h"

/* The word for the cell lists: none, own or share. */
const char *pml_store_lists_name(const struct pml_store_info *info);

/* Whether both are the same, apart from the digest. */
bool pml_store_same_info(const struct pml_store_info *left, const struct pml_store_info *right);

/* Returns PML_DONE, or PML_REFUSED with a message. */
pml_outcome pml_store_check_item(const struct pml_store_info *info, const struct pml_store_item *item,
                                 struct pml_message *message);

/* Writes a place as SPEC 8 keeps it and returns the number of bytes. */
size_t pml_store_place_bytes(const float *place, uint32_t dimensions, uint8_t *bytes);

/* Appends a candidate that was read, when it has its digest; else returns PML_DAMAGED. The digest proves that the bytes
 * are those that were written, so they are not decoded. */
pml_outcome pml_store_take_candidate(uint64_t digest, const uint8_t *bytes, size_t size, struct pml_fragment *fragment);

/* Whether the bytes at *offset are a candidate of this item with a sketch of the store's length; moves *offset behind
 * it. For stores whose author may have computed the digest of false bytes (SPEC 9). */
bool pml_store_is_candidate(const struct pml_store_info *info, uint64_t item, const uint8_t *bytes, size_t size,
                            size_t *offset);

/* ---- the digest of a whole store, row by row ---- */

struct pml_store_digest {
    const struct pml_store_info *info;
    uint64_t value;
    uint64_t items, listed;         /* rows so far */
    uint64_t slot, cell, item, run; /* the last row of cells; how many its cell has so far */
};

void pml_store_digest_begin(struct pml_store_digest *digest, const struct pml_store_info *info);

/* All items in ascending order, then all rows of cells. `place`: as above; ignored without dimensions. */
void pml_store_digest_item(struct pml_store_digest *digest, uint64_t item, uint64_t slot, const uint8_t *place,
                           uint64_t own);

/* PML_CELL_OK; _UNORDERED: the row does not ascend; _FULL: an answer cannot carry so many items of a cell. */
enum pml_cell_row { PML_CELL_OK, PML_CELL_UNORDERED, PML_CELL_FULL };
enum pml_cell_row pml_store_digest_cell(struct pml_store_digest *digest, uint64_t slot, uint64_t cell, uint64_t item);

/* Whether there were as many rows as the store must have. */
bool pml_store_digest_complete(const struct pml_store_digest *digest);

/* For both kinds of stores, named by what a person calls it. */
pml_outcome pml_store_say_full(const char *name, struct pml_message *message);
pml_outcome pml_store_say_twice(uint64_t item, struct pml_message *message);

#endif
