/* SPDX-License-Identifier: Apache-2.0
 * What the files of the service share; for them alone. */
#ifndef PML_SERVICE_STATE_H
#define PML_SERVICE_STATE_H

#include "service.h"

/* These do not change from one version to the next, so versions share them. */
struct service_embedding {
    atomic_uint references;
    uint32_t iterations;
    struct pml_embedding *embedding;
};

struct service_places {
    atomic_uint references;
    struct pml_places places;
};

struct pml_service {
    atomic_uint references;
    const pml_pack *pack;
    pml_pack_info info;
    struct pml_store *store;
    struct pml_service_options options;
    struct pml_name version;
    struct pml_manifest manifest;
    struct service_places **places; /* of all slots; NULL: the gallery has none */
    struct service_embedding *embedding;
    struct pml_longest longest;
    struct pml_part *header, *message_header; /* of an answer with all slots; with one */
};

/* ---- service.c ---- */

/* Parts by their names: those that are kept, and all the others in one reading of the store, which *touched tells. The
 * parts are all there, or none. */
pml_outcome pml_service_fetch(const struct pml_service *service, const struct pml_name *names, size_t count,
                              struct pml_part **parts, bool *touched);

/* ---- nearest.c ---- */

/* What each slot gets for a Gaussian release. On failure some may be there. */
pml_outcome pml_service_nearest(const struct pml_service *service, const pml_release_view *view,
                                struct pml_part **parts, bool *touched);

#endif
