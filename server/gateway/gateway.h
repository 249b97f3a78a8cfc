/* SPDX-License-Identifier: Apache-2.0
 * The gateway of SPEC 10: opens sealed messages and requests, has somebody answer what is inside, and seals the answers.
 * It knows neither HTTP nor the service. Nothing that it opens is kept or logged. */
#ifndef PML_GATEWAY_H
#define PML_GATEWAY_H

#include "gateway_epoch.h"

#include <sys/types.h>

struct pml_gateway;

/* Reads the keys of a file (privatemail keys); reloading reads them again, and keeps the old ones when that fails.
 * Return PML_DONE, or another outcome with a message. `path` must outlive the gateway. For any number of threads. */
pml_outcome pml_gateway_open(struct pml_gateway **gateway, const char *path, struct pml_message *message);
pml_outcome pml_gateway_reload(struct pml_gateway *gateway, struct pml_message *message);
void pml_gateway_close(struct pml_gateway *gateway);

/* Appends the key configuration for clients. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_gateway_configuration(struct pml_gateway *gateway, struct pml_bytes *configuration);

/* ---- lengths (SPEC 10.3 to 10.5) ---- */

#define PML_SEALED_LEAST 512u               /* A is never smaller */
#define PML_SEALED_MOST (UINT32_C(1) << 28) /* and never larger */

/* Bytes of the message around a release, and of the sealed answer of a message with A bytes of plaintext. */
size_t pml_gateway_message_size(size_t release);
uint64_t pml_gateway_answer_size(size_t plaintext);

/* A of answers whose content has up to so many bytes; 0 when that is above PML_SEALED_MOST. */
size_t pml_gateway_padded(uint64_t content);

/* ---- answering ---- */

/* What goes into a sealed answer: a status, its content, and A, the length of the plaintext after padding. */
struct pml_inner {
    unsigned status;
    struct pml_bytes content;
    size_t padded;
};

/* Answers a release. `refusal` is 0; or it is the status of the refusal, and there is no release: 400 for what is no
 * Binary HTTP, 404 for what is not POST /v1/query, 409 when the epoch inside is another. Fills `inner`, whose content is
 * empty. When `padded` is set already, it stays so. */
typedef void (*pml_inner_fn)(void *context, unsigned refusal, const void *release, size_t size,
                             struct pml_inner *inner);

/* One request on its own (SPEC 10.2), which is opened in place. Appends the reply. Returns PML_DONE; PML_ABSENT when
 * there is no key of its id; PML_REFUSED when it cannot be opened; PML_NO_MEMORY; PML_UNAVAILABLE when there is no
 * randomness. */
pml_outcome pml_gateway_single(struct pml_gateway *gateway, uint8_t *request, size_t size, pml_inner_fn answer,
                               void *context, struct pml_bytes *reply);

/* The answers to an epoch's messages (SPEC 10.6), as a stream: one answer is made at a time, when it is its turn. */
struct pml_gateway_batch;

struct pml_batch_options {
    struct pml_epoch epoch; /* its messages are opened in place, and must outlive the batch */
    uint64_t gallery;       /* digest of the one that answers */
    size_t padded;          /* A */
    pml_inner_fn answer;
    void *context;
};

/* Takes all memory that the batch will ever need. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_gateway_batch_open(struct pml_gateway_batch **batch, struct pml_gateway *gateway,
                                   const struct pml_batch_options *options);
void pml_gateway_batch_close(struct pml_gateway_batch *batch);

uint64_t pml_gateway_batch_size(const struct pml_gateway_batch *batch); /* bytes of all */

/* Copies the next bytes, at most `most`, and makes at most one answer for that. Returns how many; 0 at the end; −1 when
 * there is no randomness. */
ssize_t pml_gateway_batch_read(struct pml_gateway_batch *batch, void *bytes, size_t most);

#endif
