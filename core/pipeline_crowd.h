/* SPDX-License-Identifier: Apache-2.0
 * What a crowd adds to the client: between the calls (crowd.c) and the stages (pipeline_crowd.c). */
#ifndef PML_PIPELINE_CROWD_H
#define PML_PIPELINE_CROWD_H

#include "pipeline.h"
#include "stages/bundle.h"

/* Behind the client in its memory. */
struct crowd {
    pml_crowd policy;     /* public: as it was when the client was made */
    pml_bundle kind;      /* public: what the client is armed for */
    struct bundle bundle; /* secret: from arm to the last message */
};

/* Is the app's policy what it was? */
bool pml_crowd_unchanged(const pml_client *client);

/* The own messages: the public list of a (secret) symbol. Ends what arm drew for it. */
PML_NOINLINE void pml_crowd_own(pml_client *client, uint32_t symbol);

/* Writes the bundle's next message. */
PML_NOINLINE void pml_crowd_write(pml_client *client, uint8_t *out, unsigned *own);

/* What the messages of a crowd say (SPEC 2, one form). */
static inline pml_mechanism crowd_mechanism(const pml_pack *pack)
{
    return pack->slots > 1 ? PML_CROWD : PML_RESPONSE;
}

#endif
