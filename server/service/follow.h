/* SPDX-License-Identifier: Apache-2.0
 * A gallery that lives: the version of it that is served now. A new version is built beside the old one and takes its place
 * at once; answers under way end with the version they began with. For any number of threads. */
#ifndef PML_FOLLOW_H
#define PML_FOLLOW_H

#include "service.h"

struct pml_follow_options {
    struct pml_service_options service; /* `counts` is set by the follower */
    /* Makes a version ready before it is served, the first one too. An outcome other than PML_DONE, with a message, refuses
     * it. May be NULL. */
    pml_outcome (*prepare)(void *context, const struct pml_service *version, struct pml_message *message);
    void *context;
};

struct pml_follow;

/* Begins with the version that the store names. Returns what pml_service_open returns; pack and store outlive it. */
pml_outcome pml_follow_open(struct pml_follow **follow, const pml_pack *pack, struct pml_store *store,
                            const struct pml_follow_options *options, struct pml_message *message);
void pml_follow_close(struct pml_follow *follow); /* when nobody uses a service of it; NULL does nothing */

const pml_pack_info *pml_follow_pack(const struct pml_follow *follow);

/* What pml_service_read does; whether a release is sound does not depend on the version. */
pml_status pml_follow_read(const struct pml_follow *follow, const void *release, size_t size, pml_release_view *view);

/* A reference to the version that is served now; give it back by pml_service_unref. */
struct pml_service *pml_follow_take(struct pml_follow *follow);

/* Asks the store for a newer version, and serves it from now on when there is one: *switched, which may be NULL, says so.
 * Returns PML_DONE, or another outcome with a message; then the version stays. */
pml_outcome pml_follow_look(struct pml_follow *follow, bool *switched, struct pml_message *message);

/* The answer to a release, and the version it is of. When a part is gone with its version, a newer version is looked for,
 * once. Returns what pml_service_parts returns; *service is NULL unless that is PML_DONE. */
pml_outcome pml_follow_answer(struct pml_follow *follow, const pml_release_view *view, struct pml_service **service,
                              struct pml_parts *parts);

/* The part of this name, if it is of the version that is served or of the one before. Returns PML_ABSENT when it is of
 * neither, or was of the one before and is gone; PML_DAMAGED also when it should be there and is not. */
pml_outcome pml_follow_part(struct pml_follow *follow, const struct pml_name *name, struct pml_part **part);

/* Whether the store can be read now. */
pml_outcome pml_follow_ping(const struct pml_follow *follow);

struct pml_follow_counts {
    uint64_t queries, touched;   /* of all versions, see pml_service_counts */
    uint64_t switches, failures; /* versions that came; looks that found one which cannot be served */
};
struct pml_follow_counts pml_follow_count(const struct pml_follow *follow);

#endif
