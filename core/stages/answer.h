/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_ANSWER_H
#define PML_ANSWER_H
#include "base/kernels.h"
#include "pack/pack.h"

/* The private side of an answer: what candidates are compared with. Wiped at the end. */
struct shortlist {
    const struct pml_kernels *kernels;
    const int8_t *sketch;         /* of the true query, where sketches are plain … */
    struct pml_coded coded;       /* … or its coordinates, where they are coded */
    struct pml_compared compared; /* with what has come of the candidate's sketch */
    uint32_t inverse;             /* inverse norm of the plain sketch */
    uint32_t slot;                /* of the query */
    uint64_t all;                 /* mask: every slot counts */
    uint64_t none;                /* mask: nothing counts (substituted input) */
    pml_match *matches;
    size_t capacity;
};

/* The public side: where the parser stands in the answer. */
struct answer {
    pml_status status; /* the first error, or PML_OK */
    bool open;         /* between begin and finish */
    bool first;        /* the next candidate is the first of a list of version 2 */
    bool one;          /* the answer to a message of a crowd: it has one slot, any of the pack's */
    uint8_t field;
    uint8_t version;
    uint8_t form;      /* of a list of version 2 */
    uint8_t major;     /* of the head being read … */
    uint8_t head_left; /* … and its bytes still to come */
    uint8_t head_size;
    uint32_t body_left; /* bytes of an id, a sketch or a payload still to come */
    uint64_t value;     /* of the head, so far */
    uint64_t list_left; /* bytes of a list of version 2 still to come */
    uint64_t offset;    /* bytes consumed */
    uint64_t gallery, carried;
    uint32_t slot, candidates_left;
    int32_t base; /* class of a list of version 2 */
    pml_match candidate;
};

/* answer.c: consumes bytes; calls rank for every candidate, in a frame of its own, for pml_wipe_stack. */
void pml_answer_start(struct answer *answer, bool one);
PML_NOINLINE pml_status pml_answer_parse(struct answer *answer, const pml_pack *pack, struct shortlist *shortlist,
                                         const uint8_t *bytes, size_t size);
bool pml_answer_complete(const struct answer *answer);

/* answer_rank.c: compares a candidate's sketch as it comes (values `at` and following), then offers the candidate to the
 * list; `again`: one with the same item may have come before. Time and addresses depend on L, `again` and the list's
 * capacity only. */
void pml_rank_start(struct shortlist *shortlist);
void pml_rank_compare(struct shortlist *shortlist, size_t at, const uint8_t *sketch, size_t count);
void pml_rank_offer(struct shortlist *shortlist, const pml_match *offered, bool again);
size_t pml_rank_count(const struct shortlist *shortlist);

#endif
