/* SPDX-License-Identifier: Apache-2.0
 * Algorithm 1 of the paper on the server's side, as one function: a release goes in, an answer comes out. Knows no
 * network. Stateless: any thread, any number of processes, the same answer to the same bytes. */
#ifndef PML_SERVICE_H
#define PML_SERVICE_H

#include "cache.h"
#include "server/embedding/embedding.h"

#define PML_NEAREST_DEFAULT 32u

struct pml_service_options {
    uint32_t nearest; /* M of SPEC 6.5; 0: PML_NEAREST_DEFAULT */
    unsigned threads; /* for making the frames; 0: as many as the host has */
    const struct pml_progress *progress;
    struct pml_cache *cache; /* outlives the service; NULL: every part is made anew */
};

struct pml_service;

/* One pack and the store that was indexed with it; both must outlive the service. 0, or not with a message (the store
 * is of another pack, for example). */
int pml_service_open(struct pml_service **service, const pml_pack *pack, struct pml_store *store,
                     const struct pml_service_options *options, struct pml_message *message);
void pml_service_close(struct pml_service *service);

const pml_pack_info *pml_service_pack(const struct pml_service *service);
const struct pml_store_info *pml_service_store(const struct pml_service *service);

/* 0 when the store answers. */
int pml_service_ping(const struct pml_service *service);

/* What was asked for since it was opened. */
struct pml_service_counts {
    uint64_t queries; /* that got an answer */
    uint64_t touched; /* of these: for which the store was read */
};
struct pml_service_counts pml_service_count(const struct pml_service *service);

/* An answer in parts: its header, then one for each slot. */
struct pml_parts {
    struct pml_part **parts;
    size_t count;
    uint64_t size; /* of all */
};
void pml_parts_free(struct pml_parts *parts); /* gives them back */

/* PML_OK; PML_ERROR_RELEASE, PML_ERROR_PACK_ID, PML_ERROR_SECTION (the store has no cells or no places, or the pack no
 * sketches) for the release's fault; PML_STORE_NO_MEMORY or PML_STORE_FAILED for ours. On error there
 * are no parts. */
int pml_service_parts(const struct pml_service *service, const void *release, size_t size, struct pml_parts *parts);

/* Whether response releases can name this cell of this slot here. */
bool pml_service_has_cell(const struct pml_service *service, uint32_t slot, uint32_t cell);

/* The header of every answer, and what a slot gets for a cell of a response release; together they are the answer.
 * PML_ERROR_SECTION when there is no such slot or cell. */
int pml_service_header(const struct pml_service *service, struct pml_part **header);
int pml_service_cell(const struct pml_service *service, uint32_t slot, uint32_t cell, struct pml_part **part);

/* The parts as one. `answer` must be empty, and is on error. */
int pml_service_answer(const struct pml_service *service, const void *release, size_t size, struct pml_bytes *answer);

/* The same slot by slot, for other forms of an answer. `slot` is called for 0 … G−1 in order; what it answers other than
 * 0 ends the visit and is its result. */
typedef int (*pml_slot_fn)(void *context, uint32_t slot, const struct pml_fragment *candidates);
int pml_service_visit(const struct pml_service *service, const void *release, size_t size, pml_slot_fn slot,
                      void *context);

/* SPEC 6.4: where the G rows of a Gaussian release stand among the gallery; k numbers each. Results as above. */
int pml_service_place(const struct pml_service *service, const void *release, size_t size, double *places);

#endif
