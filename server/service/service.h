/* SPDX-License-Identifier: Apache-2.0
 * The server's side of a query, without a network: a release goes in, an answer comes out. A service is one pack and one
 * version of its gallery; it never changes. Any thread of any number of processes gives the same answer to the same
 * bytes, as long as the version is the same. */
#ifndef PML_SERVICE_H
#define PML_SERVICE_H

#include "cache.h"
#include "longest.h"
#include "server/embedding/embedding.h"
#include "server/store/store.h"

#define PML_NEAREST_DEFAULT 32u

/* What was asked for. */
struct pml_service_counts {
    atomic_ullong queries; /* that got an answer */
    atomic_ullong touched; /* of these: for which the store was read */
};

/* What it points to outlives the service. */
struct pml_service_options {
    uint32_t nearest; /* R of SPEC 6.5; 0: PML_NEAREST_DEFAULT */
    unsigned threads; /* for making the embedding; 0: as many as the host has */
    const struct pml_progress *progress;
    struct pml_cache *cache;           /* NULL: every part is read from the store */
    struct pml_service_counts *counts; /* NULL: nobody counts */
    uint64_t answer_max;               /* a gallery with longer answers is refused; 0: all are taken */
};

struct pml_service;

/* The version that the store's pointer names; pack and store must outlive the service. Returns PML_DONE, or another outcome
 * with a message: PML_ABSENT when the store has no gallery of this pack, for example. The caller has one reference. */
pml_outcome pml_service_open(struct pml_service **service, const pml_pack *pack, struct pml_store *store,
                             const struct pml_service_options *options, struct pml_message *message);

/* Another version of the same gallery, which has what did not change in common with this one. */
pml_outcome pml_service_next(struct pml_service **next, const struct pml_service *service,
                             const struct pml_name *version, struct pml_message *message);

/* Counted: the last pml_service_unref closes it; NULL does nothing. */
struct pml_service *pml_service_ref(struct pml_service *service); /* returns the service */
void pml_service_unref(struct pml_service *service);

const pml_pack_info *pml_service_pack(const struct pml_service *service);
const struct pml_name *pml_service_version(const struct pml_service *service);
const struct pml_manifest *pml_service_manifest(const struct pml_service *service);
const struct pml_longest *pml_service_longest(const struct pml_service *service);

/* Places of a slot; NULL when the gallery has none. */
const struct pml_places *pml_service_places(const struct pml_service *service, uint32_t slot);

/* Reads a release, once: checks every byte of it. The view points into the release. Returns what pml_release_parse
 * returns. */
pml_status pml_service_read(const struct pml_service *service, const void *release, size_t size,
                            pml_release_view *view);

/* The functions below return PML_DONE; PML_REFUSED when the gallery has nothing for the release's mechanism; PML_ABSENT when
 * a part is no longer in the store; PML_NO_MEMORY, PML_UNAVAILABLE or PML_DAMAGED. */

/* The answer to a release, in parts; without parts unless PML_DONE is returned. pml_list_next reads the candidates of all
 * parts but the first, which is the header. */
pml_outcome pml_service_parts(const struct pml_service *service, const pml_release_view *view, struct pml_parts *parts);

/* SPEC 6.4: where the G rows of a Gaussian release are among the gallery; k numbers each. */
pml_outcome pml_service_place(const struct pml_service *service, const pml_release_view *view, double *places);

/* What this version's lists and pages take of a cache's limit, at most. Reading them all into the cache is worth it where
 * the time of an answer should not show what was asked for before. */
uint64_t pml_service_parts_cost(const struct pml_service *service);
pml_outcome pml_service_fill_cache(const struct pml_service *service);

/* The header of every answer to a response or Gaussian release. */
const struct pml_part *pml_service_header(const struct pml_service *service);

/* Whether the version has a part of this name: its manifest, a list, places or a page; and its bytes. */
bool pml_service_has(const struct pml_service *service, const struct pml_name *name);
pml_outcome pml_service_part(const struct pml_service *service, const struct pml_name *name, struct pml_part **part);

#endif
