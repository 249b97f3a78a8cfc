/* SPDX-License-Identifier: Apache-2.0
 * Answers as bytes (SPEC 3): the header, and the list of candidates that a slot gets. */
#ifndef PML_ANSWER_LIST_H
#define PML_ANSWER_LIST_H

#include "candidate.h"

/* The header of an answer with so many slots. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_answer_write_header(struct pml_bytes *bytes, const pml_pack_info *pack, uint32_t slots,
                                    uint64_t gallery);

/* The list of a slot, in the version that follows from the pack: version 1 in the order given, version 2 by item. Returns
 * PML_DONE, PML_NO_MEMORY, or PML_DAMAGED when these candidates cannot stand in one list. */
pml_outcome pml_answer_write_list(struct pml_bytes *bytes, const pml_pack_info *pack, uint32_t slot,
                                  const struct pml_candidate *candidates, size_t count);

/* Reads the candidates of a list one by one. They point into its bytes. */
struct pml_list {
    const uint8_t *bytes;
    size_t size, offset;
    uint32_t version, sketch;
    uint32_t slot, count, left;
    uint32_t form;
    int32_t base;
    uint64_t item;
};

/* Returns false when the bytes at *offset are no list of this pack. */
bool pml_list_open(struct pml_list *list, const pml_pack_info *pack, const uint8_t *bytes, size_t size, size_t offset);

/* Returns false when there is no other, or when it is not sound: then `left` is not 0. After the last one `offset` is
 * behind the list. */
bool pml_list_next(struct pml_list *list, struct pml_candidate *candidate);

#endif
