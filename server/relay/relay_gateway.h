/* SPDX-License-Identifier: Apache-2.0
 * What the relay asks the gateway, by libcurl (SPEC 7 and 10). The gateway may be hostile: every length is checked. */
#ifndef RELAY_GATEWAY_H
#define RELAY_GATEWAY_H

#include "common/bytes.h"

#include <privatemail.h>
#include <stdatomic.h>

struct relay_gateway {
    const char *url;      /* of its root */
    const char *ca;       /* file of certificates to trust; NULL: the system's */
    unsigned timeout;     /* seconds for one exchange */
    unsigned connections; /* at once, for the messages of an epoch */
};

/* Why `url` is not the address of a gateway, as a sentence; NULL when it may be one. */
const char *relay_gateway_fault(const char *url);

/* GET of a path, at most `most` bytes. `body` must be empty, and is unless PML_DONE is returned; PML_ABSENT: 404;
 * PML_UNAVAILABLE: everything else; the message, which may be NULL, says what. */
pml_outcome relay_gateway_get(const struct relay_gateway *gateway, const char *path, size_t most,
                              struct pml_bytes *body, struct pml_message *message);

/* Bytes of a message of this pack and of a sealed answer (SPEC 10.5). Outcomes as above. */
struct relay_lengths {
    uint32_t message, answer;
};
pml_outcome relay_gateway_lengths(const struct relay_gateway *gateway, const char *pack, struct relay_lengths *lengths);

/* Reads the lengths out of the gallery's description; false when it has none. Text from anybody goes in. */
bool relay_lengths_read(const char *text, struct relay_lengths *lengths);

/* All messages of an epoch, one after the other as `read` gives them, and their answers, piece by piece as they come. Both
 * return 0, or fail the exchange. */
struct relay_exchange {
    uint64_t epoch;
    const uint8_t *pack;
    uint32_t count;
    struct relay_lengths lengths;
    int (*read)(void *context, uint32_t position, uint8_t *message);
    int (*write)(void *context, uint32_t position, uint32_t offset, const uint8_t *piece, size_t size);
    void *context;
    const atomic_bool *stop; /* set from outside: give up */
};

/* Returns PML_DONE when every answer is there, all of one gallery and of the right length. Otherwise nothing of what was
 * written may be used. No request is sent twice, whatever happens. */
pml_outcome relay_gateway_exchange(const struct relay_gateway *gateway, const struct relay_exchange *exchange);

/* ---- for the files of the gateway alone ---- */

struct curl_slist;

/* A curl handle with what is common to all requests; NULL when out of memory. `fields` may be NULL. */
void *relay_gateway_handle(const struct relay_gateway *gateway, const char *path, struct curl_slist *fields);

#endif
