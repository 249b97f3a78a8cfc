/* SPDX-License-Identifier: Apache-2.0
 * HTTP exchanges with one server, by libcurl. The server may be hostile. */
#ifndef CLI_EXCHANGE_H
#define CLI_EXCHANGE_H

#include "cli/shared/command.h"

enum { EXCHANGE_TOKEN_MAX = 512 };

/* What is asked for. */
struct exchange_request {
    enum { EXCHANGE_GET, EXCHANGE_POST, EXCHANGE_DELETE } method;
    const char *path;   /* after the server's address; begins with a slash */
    const char *type;   /* of the body; NULL: there is none */
    const char *accept; /* NULL: anything */
    const char *token;  /* shown as Authorization: Bearer; NULL: none */
    const void *body;   /* of a POST */
    size_t size;        /* of the body */
    /* Takes the body of a 200 piece by piece. A result other than 0 ends the exchange. NULL: `reply` keeps it. */
    int (*take)(void *context, const void *bytes, size_t size);
    void *context;
};

struct exchange {
    /* in */
    const char *server; /* base URL, http or https */
    const char *ca;     /* file of certificates to trust; NULL: the system's */
    unsigned timeout;   /* seconds for one exchange */
    /* out, of the last exchange */
    unsigned status;      /* the HTTP status; 0: there was no answer */
    bool slow;            /* it took longer than `timeout` */
    unsigned retry_after; /* seconds that the server wants to be left alone */
    uint64_t received;    /* bytes of the body */
    char reply[1024];     /* a body that was not taken, cut */
    char trouble[256];    /* what libcurl says went wrong */
    /* out, of all exchanges: bytes of HTTP, fields included */
    uint64_t up, down;
    void *connection; /* kept open for the next exchange: exchange_close */
};

/* Whether plain HTTP to another machine is refused, or allowed with a warning. */
enum exchange_plain { EXCHANGE_PLAIN_WARNS, EXCHANGE_PLAIN_FAILS };

/* Fails when nothing can be sent to `url`, the value of --`option`. */
exit_code exchange_check(const struct command *command, const char *option, const char *url, enum exchange_plain plain);

enum exchange_result {
    EXCHANGE_OK,          /* 200, and everything was taken */
    EXCHANGE_UNREACHABLE, /* no connection, no answer, broken off, not trusted: see trouble */
    EXCHANGE_REFUSED,     /* the status is not 200: see status and reply */
    EXCHANGE_NOT_TAKEN    /* `take` ended it */
};

enum exchange_result exchange_run(struct exchange *exchange, const struct exchange_request *request);

/* Closes the connection. */
void exchange_close(struct exchange *exchange);

#endif
