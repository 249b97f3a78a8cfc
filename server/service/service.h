/* SPDX-License-Identifier: Apache-2.0
 * The server's side of a query, without a network: a release goes in, an answer comes out. It keeps no state: any thread
 * of any number of processes gives the same answer to the same bytes. */
#ifndef PML_SERVICE_H
#define PML_SERVICE_H

#include "cache.h"
#include "longest.h"
#include "server/embedding/embedding.h"

#define PML_NEAREST_DEFAULT 32u

struct pml_service_options {
    uint32_t nearest; /* R of SPEC 6.5; 0: PML_NEAREST_DEFAULT */
    unsigned threads; /* for making the embedding; 0: as many as the host has */
    const struct pml_progress *progress;
    struct pml_cache *cache; /* outlives the service; NULL: every part is read from the store */
    bool measure;            /* how long answers can get, which a gateway needs; reads the sizes of the whole store */
};

struct pml_service;

/* One pack and the store that was indexed with it; both must outlive the service. Returns PML_DONE, or another outcome
 * with a message (the store is of another pack, for example). */
pml_outcome pml_service_open(struct pml_service **service, const pml_pack *pack, struct pml_store *store,
                             const struct pml_service_options *options, struct pml_message *message);
void pml_service_close(struct pml_service *service);

const pml_pack_info *pml_service_pack(const struct pml_service *service);
const struct pml_store_info *pml_service_store(const struct pml_service *service);

/* How long answers can get; all zeros unless the service was opened to measure it. */
const struct pml_longest *pml_service_longest(const struct pml_service *service);

/* Whether the store can be read now. */
pml_outcome pml_service_ping(const struct pml_service *service);

/* What was asked for since the service was opened. */
struct pml_service_counts {
    uint64_t queries; /* that got an answer */
    uint64_t touched; /* of these: for which the store was read */
};
struct pml_service_counts pml_service_count(const struct pml_service *service);

/* Reads a release, once: checks every byte of it. The view points into the release. Returns what pml_release_parse
 * returns. */
pml_status pml_service_read(const struct pml_service *service, const void *release, size_t size,
                            pml_release_view *view);

/* The functions below return PML_DONE; PML_ABSENT when the store has nothing for the release's mechanism or there is no
 * such cell; PML_NO_MEMORY, PML_UNAVAILABLE or PML_DAMAGED for a fault of the server. */

/* The answer to a release, in parts; without parts unless PML_DONE is returned. */
pml_outcome pml_service_parts(const struct pml_service *service, const pml_release_view *view, struct pml_parts *parts);

/* The same slot by slot, for other forms of an answer. `slot` is called for 0 … G−1 in order, or for the one slot of a
 * crowd's message; an outcome other than PML_DONE ends the visit and is its result. */
typedef pml_outcome (*pml_slot_fn)(void *context, uint32_t slot, const struct pml_fragment *candidates);
pml_outcome pml_service_visit(const struct pml_service *service, const pml_release_view *view, pml_slot_fn slot,
                              void *context);

/* SPEC 6.4: where the G rows of a Gaussian release are among the gallery; k numbers each. */
pml_outcome pml_service_place(const struct pml_service *service, const pml_release_view *view, double *places);

/* What the parts of all cells take of a cache's limit; only when the service was opened to measure it. Reading them all
 * into the cache is worth it where the time of an answer should not show which cells were asked for before. */
uint64_t pml_service_parts_cost(const struct pml_service *service);
pml_outcome pml_service_fill_cache(const struct pml_service *service);

/* Whether response releases can name this cell of this slot. */
bool pml_service_has_cell(const struct pml_service *service, struct pml_cell cell);

/* The header of every answer to a response or Gaussian release, and what a slot gets for a cell of a response release;
 * together they are the answer. */
pml_outcome pml_service_header(const struct pml_service *service, struct pml_part **header);
pml_outcome pml_service_cell(const struct pml_service *service, struct pml_cell cell, struct pml_part **part);

#endif
