/* SPDX-License-Identifier: Apache-2.0
 * The relay of a crowd (SPEC 11): takes bundles of sealed messages, holds them until an epoch ends, sends all of them to
 * the gateway in one random order, and hands out the answers when all of them are there. Plain HTTP: TLS is the task of
 * a reverse proxy (docs/RELAY.md). */
#ifndef PML_RELAY_H
#define PML_RELAY_H

#include "relay_gateway.h"
#include "relay_noise.h"
#include "server/http/http.h"

struct pml_relay_options {
    struct pml_http_options http; /* listener, threads, connections, timeout, origin, log; the rest is the relay's */
    struct relay_gateway gateway;
    const char *spool;        /* folder of the unnamed files */
    const char *tokens;       /* file of digests of tokens; NULL: everybody is admitted */
    unsigned epoch_seconds;   /* E */
    uint32_t clients;         /* N, bundles that an epoch has at least; 0: empty epochs go too */
    uint32_t bundle_messages; /* of one bundle, at most */
    uint32_t epoch_messages;  /* of one epoch, bundles counted too, at most */
    uint64_t spool_bytes;     /* on disk, of all epochs together */
    uint32_t waiting;         /* requests that may wait for an epoch at the same time */
    struct pml_relay_noise noise;
};

struct pml_relay;

/* Fetches the gateway's keys and starts. Returns PML_DONE; or with a message PML_REFUSED when an option or file is wrong,
 * PML_UNAVAILABLE when the gateway, the spool or the system fails, PML_NO_MEMORY. What the options point to must outlive
 * the relay. It closes the listener, also when it cannot start. */
pml_outcome pml_relay_start(struct pml_relay **relay, const struct pml_relay_options *options,
                            struct pml_message *message);

/* Reads the tokens again. On failure the old ones stay, and the message says why. */
pml_outcome pml_relay_reload(struct pml_relay *relay, struct pml_message *message);

/* Closing time: drops the epochs that have no answers yet, tells those who wait, takes no more connections. */
void pml_relay_drain(struct pml_relay *relay);

/* Requests that are not over. */
size_t pml_relay_running(struct pml_relay *relay);

/* Ends everything at once. */
void pml_relay_stop(struct pml_relay *relay);

#endif
