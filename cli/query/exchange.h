/* SPDX-License-Identifier: Apache-2.0
 * One HTTP exchange with a server, by libcurl. The server may be hostile. */
#ifndef CLI_EXCHANGE_H
#define CLI_EXCHANGE_H

#include "cli/shared/command.h"

struct exchange {
    /* in */
    const char *server; /* base URL, http or https */
    const char *ca;     /* file of certificates to trust; NULL: the system's */
    unsigned timeout;   /* seconds for all of it */
    const void *release;
    size_t size;
    /* Takes the answer piece by piece. A result other than 0 ends the exchange. */
    int (*take)(void *context, const void *bytes, size_t size);
    void *context;
    /* out */
    unsigned status;    /* the HTTP status; 0: there was no answer */
    uint64_t received;  /* bytes of the answer */
    char refusal[1024]; /* the body of an answer whose status is not 200, cut */
    char trouble[256];  /* what libcurl says went wrong */
};

/* Fails when a release cannot be sent to `url`. Warns of plain HTTP to another machine. */
exit_code exchange_check(const struct command *command, const char *url);

enum exchange_result {
    EXCHANGE_OK,          /* 200, and everything was taken */
    EXCHANGE_UNREACHABLE, /* no connection, no answer, broken off, not trusted: see trouble */
    EXCHANGE_REFUSED,     /* the status is not 200: see status and refusal */
    EXCHANGE_NOT_TAKEN    /* `take` ended it */
};

/* Posts the release to SERVER/v1/query. */
enum exchange_result exchange_post(struct exchange *exchange);

#endif
