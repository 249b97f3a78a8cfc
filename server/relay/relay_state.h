/* SPDX-License-Identifier: Apache-2.0
 * What the files of the relay share; for them alone. */
#ifndef RELAY_STATE_H
#define RELAY_STATE_H

#include "relay.h"
#include "relay_spool.h"
#include "relay_table.h"
#include "relay_tokens.h"
#include "server/http/http_state.h"

#include <pthread.h>

enum { RELAY_BUNDLE_HEAD = 24, RELAY_ID_TEXT = 2 * PML_ID_SIZE + 1 };

struct relay_bundle {
    uint8_t ticket[RELAY_KEY_SIZE];
    uint8_t digest[RELAY_KEY_SIZE]; /* of all its bytes */
    uint32_t first, count;          /* its messages */
    bool forgotten;
};

enum relay_phase {
    RELAY_OPEN,
    RELAY_CLOSING,  /* uploads that began in time are still coming */
    RELAY_FETCHING, /* messages are on their way; nobody but its keeper touches the epoch */
    RELAY_READY     /* all answers are there */
};

struct relay_digest {
    uint8_t bytes[RELAY_KEY_SIZE];
};

struct relay_epoch {
    struct relay_epoch *older;
    uint64_t number;
    enum relay_phase phase;
    double opened, ready; /* by the clock that never jumps */
    unsigned uploads;     /* bundles that began to arrive and are not here yet */
    struct relay_lengths lengths;
    struct pml_bytes keys; /* the configuration when it opened: its messages are sealed for one of these */
    bool stale;            /* clients were given others since: it must not be sent */
    struct relay_bundle *bundles;
    struct relay_digest *messages; /* digests, so that equal ones are seen; only until it is closed */
    struct relay_digest *used;     /* digests of tokens; only until it is closed */
    uint32_t bundle_count, message_count, used_count;
    uint32_t bundle_room, message_room, used_room;
    struct relay_table tickets, digests, tokens; /* where bundles, messages and used stand */
    struct relay_spool sealed, fakes, answers;
    uint32_t fake_count;
    bool has_noise; /* it is drawn, or none is wanted */
    uint64_t spooled;
};

/* A pack that the gateway serves, and its epochs. It is never freed before the relay ends, because replies point to its
 * bytes. */
struct relay_pack {
    struct pml_relay *relay;
    struct relay_pack *next;
    char id[RELAY_ID_TEXT];
    struct pml_bytes bytes;
    pml_pack pack;
    pml_pack_info info;
    double clusters; /* R and V for this pack */
    uint32_t copies;
    uint64_t last_epoch;               /* numbers grow */
    bool gone;                         /* the gateway does not serve it now */
    struct relay_epoch *open, *epochs; /* the open one is the first of all */
    pthread_t keeper;
    pthread_cond_t wake; /* of the keeper: a crowd is complete, an upload is over, or the relay stops */
};

/* A request that waits. */
struct relay_waiter {
    struct MHD_Connection *connection;
    const void *what; /* an epoch, or the relay's `asked` */
    double until;
};

struct relay_asked {
    char id[RELAY_ID_TEXT];
    bool absent; /* the gateway has no such pack; else nobody has asked it yet */
    double when;
};

enum { RELAY_ASKED = 64 };

struct relay_counts { /* of crowds: their number and size, nothing else */
    uint64_t epochs, lost, bundles, last;
};

struct pml_relay {
    struct pml_relay_options options;
    pthread_mutex_t lock; /* of everything here */
    atomic_bool stopping;
    struct pml_http *http;
    struct pml_bytes keys; /* the gateway's key configuration */
    struct relay_pack *packs;
    uint64_t spooled, uploading;
    struct relay_tokens tokens;
    struct relay_waiter *waiters; /* room for options.waiting */
    size_t waiter_count;
    struct relay_asked asked[RELAY_ASKED]; /* packs that somebody wanted and that are not known */
    pthread_cond_t librarian_wake;
    pthread_t librarian, steward;
    struct relay_counts counts;
};

/* ---- relay_epoch.c; all under the lock ---- */

/* Opens an epoch of the pack, which becomes its open one. Returns PML_DONE, PML_NO_MEMORY or PML_UNAVAILABLE. */
pml_outcome relay_epoch_open(struct relay_pack *pack, const struct relay_lengths *lengths);

/* The relay's keys are new: marks the open epochs that opened with others. */
void relay_epochs_compare_keys(struct pml_relay *relay);

/* The configuration's key that stands at *at; moves *at behind it. Returns NULL after the last one. */
const uint8_t *relay_keys_next(const struct pml_bytes *keys, size_t *at, size_t *size);

/* Takes it out of its pack, wakes those who wait for it, and frees it. */
void relay_epoch_drop(struct relay_pack *pack, struct relay_epoch *epoch);

/* Frees what only an open epoch needs. */
void relay_epoch_seal(struct relay_epoch *epoch);

/* Whether so many more bytes fit on the disk by the options; counts them when they do. */
bool relay_epoch_charge(struct pml_relay *relay, struct relay_epoch *epoch, uint64_t bytes);

/* The bundle with this ticket and its epoch; NULL when there is none. `pack` may be NULL: any. */
struct relay_bundle *relay_find_ticket(struct pml_relay *relay, struct relay_pack *only,
                                       const uint8_t ticket[RELAY_KEY_SIZE], struct relay_epoch **epoch);

/* Where the keys of the three tables are. */
static inline struct relay_keys relay_ticket_keys(const struct relay_epoch *epoch)
{
    return (struct relay_keys){epoch->bundles, sizeof *epoch->bundles};
}

static inline struct relay_keys relay_digest_keys(const struct relay_digest *digests)
{
    return (struct relay_keys){digests, sizeof *digests};
}

/* ---- relay_bundle.c ---- */

enum relay_verdict {
    RELAY_TAKEN,
    RELAY_KNOWN, /* the same bytes are there already */
    RELAY_MALFORMED,
    RELAY_OTHER_EPOCH,
    RELAY_DUPLICATE,
    RELAY_NO_TOKEN,
    RELAY_FULL
};

/* Takes a bundle that arrived for `epoch` (the one that was open when it began to arrive), or refuses it whole. `token`
 * is what the client shows, or NULL. Locks. */
enum relay_verdict relay_bundle_take(struct relay_pack *pack, struct relay_epoch *epoch, const struct pml_bytes *body,
                                     const char *token);

/* Under the lock: the answers of a bundle are not needed any more. Its messages go with the others'. */
void relay_bundle_forget(struct relay_epoch *epoch, struct relay_bundle *bundle);

/* ---- relay_waiting.c; all under the lock ---- */

/* Suspends the connection until `what` changes or the time is over. Returns false when too many wait or the relay
 * stops. */
bool relay_wait(struct pml_relay *relay, struct MHD_Connection *connection, const void *what, double until);

/* Lets all go on that wait for it; NULL: that wait for anything. */
void relay_wake(struct pml_relay *relay, const void *what);

/* Those whose time is over. */
void relay_wake_late(struct pml_relay *relay, double now);

/* ---- relay_library.c: what is known of the gateway ---- */

/* Under the lock: the pack, NULL when it is not known. Then *absent says that the gateway has none; else it will be asked,
 * and relay->asked is woken. */
struct relay_pack *relay_pack_find(struct pml_relay *relay, const char *id, bool *absent);

/* Fetches the keys. */
pml_outcome relay_keys_fetch(struct pml_relay *relay, struct pml_message *message);

void *relay_librarian(void *relay);

/* Without a keeper, and without requests that use it. */
void relay_pack_free(struct relay_pack *pack);

/* ---- relay_keeper.c: one thread per pack ---- */

void *relay_keeper(void *pack);

/* ---- relay_site.c ---- */

extern const struct pml_http_site relay_site;

#endif
