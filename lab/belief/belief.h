/* SPDX-License-Identifier: Apache-2.0
 * What a server believes after a release (PRIVACY, section 12): the posterior over the items of a gallery, under a uniform
 * prior. In: public items, and messages as the server has them. Everything here is post-processing of the messages. */
#ifndef PML_BELIEF_H
#define PML_BELIEF_H

#include "common/message.h"
#include "common/rows/rows.h"

#include <privatemail_public.h>

/* What a device would make of each item. The pack and the rows must outlive it. */
struct belief_items {
    const pml_pack *pack;
    pml_pack_info info;
    const struct pml_rows *rows;
    uint32_t *slots;
    uint32_t *cells; /* NULL when the pack has none */
    unsigned threads;
};

/* `rows`: of the pack's features, behind its front. `labels`: a class per row; may be NULL when the pack has one slot.
 * Returns PML_DONE, or another outcome with a message. A zeroed struct may be freed. */
pml_outcome belief_items_make(struct belief_items *items, const pml_pack *pack, const struct pml_rows *rows,
                              const int32_t *labels, unsigned threads, struct pml_message *message);
void belief_items_free(struct belief_items *items);

/* Each of the three writes P(item | message), one per row; together they are 1. They return PML_DONE, or another outcome
 * with a message: also when the message cannot have been made with these parameters. */

/* Theorem 11. */
pml_outcome belief_response(const struct belief_items *items, const pml_release_view *view, double epsilon,
                            double *posterior, struct pml_message *message);

/* Theorem 12. */
pml_outcome belief_gaussian(const struct belief_items *items, const pml_release_view *view, double epsilon,
                            double delta, double *posterior, struct pml_message *message);

/* Theorem 13. `counts`: how often each of the slots × cells symbols is left in the epoch when the messages of everybody
 * else are taken out, clusters aside. `crowd->clients` made clusters, the asker among them. */
pml_outcome belief_crowd(const struct belief_items *items, const uint32_t *counts, const pml_crowd *crowd, double floor,
                         double *posterior, struct pml_message *message);

/* For a page that computes the same beliefs for every ε: where the rows of items and the centres of slots are before they
 * go to a grid, in embedding units. `places` has k numbers per item, `centres` k per slot. */
pml_outcome belief_places(const struct belief_items *items, double *places, double *centres,
                          struct pml_message *message);

/* What is left to know. */
struct belief_summary {
    double largest; /* of the posterior */
    double entropy; /* in bits; log2 of the number of items when nothing was learnt */
};
struct belief_summary belief_summarise(const double *posterior, size_t count);

#endif
