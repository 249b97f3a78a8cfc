/* SPDX-License-Identifier: Apache-2.0
 * The relay's interface (SPEC 11.2) as a client uses it. Whatever the relay says is shown or compared, and never trusted
 * beyond that. */
#ifndef CLI_RELAY_LINK_H
#define CLI_RELAY_LINK_H

#include "exchange.h"

#include "common/bytes.h"

#include <privatemail.h>

enum { RELAY_TICKET_SIZE = 16, RELAY_KEYS_MAX = 65536 };

struct relay_link {
    struct exchange exchange;       /* with the relay */
    const char *pack;               /* id, hexadecimal */
    double deadline;                /* of pml_clock_now: until then, what fails is tried again */
    unsigned timeout;               /* seconds for one attempt */
    unsigned attempts;              /* of the last exchange */
    bool heard;                     /* the relay has answered something */
    char token[EXCHANGE_TOKEN_MAX]; /* that admits this client; empty: none */
};

enum relay_result {
    RELAY_OK,
    RELAY_LATE,        /* the deadline passed before it was done: `exchange` says what happened last */
    RELAY_OTHER_EPOCH, /* the bundle says another epoch than the open one, and is in none: seal again */
    RELAY_LOST,        /* the ticket's answers will never come: send again in a later epoch */
    RELAY_REFUSED,     /* see the exchange's status and reply */
    RELAY_INVALID,     /* the reply is not what SPEC 11 says */
    RELAY_NOT_TAKEN    /* whoever took the answer ended it */
};

/* What the relay says it does; after RELAY_INVALID perhaps in another version than RELAY_VERSION. */
enum { RELAY_VERSION = 1 };
struct relay_about {
    uint64_t version, epoch_seconds, clients;
};
enum relay_result relay_describe(struct relay_link *link, struct relay_about *about);

/* The gateway's key configuration, added to `keys`. */
enum relay_result relay_keys(struct relay_link *link, struct pml_bytes *keys);

/* The same from the gateway itself, at `path`: any server. */
enum relay_result relay_fetch(struct relay_link *link, const char *path, struct pml_bytes *bytes, size_t most);

/* The pack's open epoch. */
struct relay_epoch {
    uint64_t number, message, answer; /* bytes of a message and of a sealed answer */
    double closes;                    /* seconds until it may close */
    bool noisy;                       /* the relay says that it adds clusters … */
    double clusters;                  /* … so many on average … */
    uint32_t copies;                  /* … of up to so many equal messages */
};
enum relay_result relay_epoch_now(struct relay_link *link, struct relay_epoch *epoch);

/* Hands over a bundle. The same bytes may arrive twice. Returns RELAY_OK also when it is not known whether they arrived at
 * all before the epoch closed: the ticket tells. */
enum relay_result relay_hand_over(struct relay_link *link, const void *bundle, size_t size);

/* How an answer is taken: begun again after every failure on the way. Both return 0 to go on. */
struct relay_taker {
    int (*begin)(void *context);
    int (*take)(void *context, const void *bytes, size_t size);
    void *context;
};

/* Waits for the answer to the message at `place` of the ticket's bundle. */
enum relay_result relay_answer(struct relay_link *link, const char *ticket, size_t place,
                               const struct relay_taker *taker);

/* Lets the relay forget the ticket's answers. Nothing depends on whether it does. */
void relay_forget(struct relay_link *link, const char *ticket);

/* Sleeps, but not beyond the deadline. Returns false when that has passed. */
bool relay_pause(const struct relay_link *link, double seconds);

/* After RELAY_LATE: whether the relay, which has answered before, was only too slow at last. */
bool relay_slow(const struct relay_link *link);

/* Prints what went wrong: after results other than RELAY_OK, _OTHER_EPOCH, _LOST and _NOT_TAKEN. Returns EXIT_NETWORK. */
exit_code relay_tell(const struct relay_link *link, const struct command *command, enum relay_result result);

#endif
