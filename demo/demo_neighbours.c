/* SPDX-License-Identifier: Apache-2.0
 * The neighbours of the demo: many clients of a relay in one epoch.
 *
 *   demo_neighbours RELAY PACK FEATURES.npy LABELS.npy CLIENTS CLUSTERS COPIES FLOOR
 *
 * Every client asks about a row of FEATURES taken by lot, in the policy of CLUSTERS and COPIES and with the floor
 * FLOOR. It draws its bundle with the core, seals it, hands it to the relay over HTTP, fetches the answer to its
 * own message, opens and ranks it. Clients of one thread share its connection. Writes lines of JSON: {"sent": N}
 * now and then, {"sent": N, "asked": [N, ...]} when all are sent, with how often each symbol was really asked for, and
 * at the end {"sent": N, "messages": N, "answered": N, "seconds": S}. Nothing tells which message was whose. */
#define _POSIX_C_SOURCE 200809L
#include "common/clock.h"
#include "common/files.h"
#include "common/npy.h"
#include "common/parallel.h"
#include "server/gateway/crypto_openssl.h"

#include <privatemail_platform.h>
#include <privatemail_public.h>
#include <privatemail_transport.h>

#include <curl/curl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICKET_SIZE = 16,
    BUNDLE_HEAD = 8 + TICKET_SIZE,
    SMALL = 65536,  /* bytes of a reply that is no answer */
    SENT_STEP = 25, /* clients between two lines */
    TOP = 8,
    WAIT_MOST = 40 /* times 30 seconds that an epoch may take */
};

struct client {
    size_t row;
    unsigned own;    /* index of the own message in the bundle */
    uint32_t symbol; /* that it names */
    uint8_t ticket[TICKET_SIZE];
    pml_opener opener;
    bool sent;
};

struct crowd {
    const char *relay;
    pml_pack pack;
    pml_pack_info info;
    struct pml_features features;
    struct pml_labels labels;
    pml_crowd policy;
    double floor;
    pml_seal_key key;
    uint64_t epoch, message_size, answer_size;
    struct client *clients;
    size_t count, threads;
    atomic_size_t sent, messages, answered;
};

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "demo_neighbours: %s: %s\n", what, why);
    return 1;
}

/* ---- HTTP ---- */

struct reply {
    uint8_t *bytes;
    size_t size, capacity;
};

static size_t take(char *bytes, size_t one, size_t size, void *context)
{
    struct reply *reply = context;
    (void)one; /* always 1 */
    if (size > reply->capacity - reply->size)
        return 0;
    memcpy(reply->bytes + reply->size, bytes, size);
    reply->size += size;
    return size;
}

/* POST when there is a body. Returns the status, 0 when there was no reply. */
static long ask(CURL *curl, const char *method, const char *url, const void *body, size_t size, struct reply *reply)
{
    static struct curl_slist fields = {(char *)"Content-Type: application/x-privatemail-bundle", NULL};
    long status = 0;
    reply->size = 0;
    curl_easy_reset(curl); /* the connection stays */
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    if (body) {
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, &fields);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    }
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static void write_hex(char *out, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* A number of the relay's flat JSON; 0 when it is not there. */
static uint64_t read_number(const char *json, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(json, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Key, epoch and lengths: what every client gets from the relay. */
static int look(struct crowd *crowd)
{
    uint8_t room[SMALL + 1];
    struct reply reply = {.bytes = room, .capacity = SMALL};
    char url[1024], id[2 * PML_ID_SIZE + 1];
    CURL *curl = curl_easy_init();
    if (!curl)
        return fail("libcurl", "out of memory");
    snprintf(url, sizeof url, "%s/v1/keys", crowd->relay);
    bool good = ask(curl, "GET", url, NULL, 0, &reply) == 200 &&
                pml_keys_choose(pml_crypto_openssl(), reply.bytes, reply.size, &crowd->key) == PML_OK;
    write_hex(id, crowd->info.id, PML_ID_SIZE);
    snprintf(url, sizeof url, "%s/v1/pack/%s/epoch", crowd->relay, id);
    good = good && ask(curl, "GET", url, NULL, 0, &reply) == 200;
    room[reply.size] = 0;
    curl_easy_cleanup(curl);
    crowd->epoch = good ? read_number((char *)room, "epoch") : 0;
    crowd->message_size = good ? read_number((char *)room, "message") : 0;
    crowd->answer_size = good ? read_number((char *)room, "answer") : 0;
    return crowd->epoch && crowd->message_size && crowd->answer_size ? 0 : fail(crowd->relay, "no keys, or no epoch");
}

/* ---- one client ---- */

static int keep_nothing(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size; /* a neighbour lives for one epoch, and so does its budget */
    return 0;
}

static pml_query query_of(const struct crowd *crowd, const struct client *client)
{
    return (pml_query){.features = crowd->features.values + client->row * crowd->features.columns,
                       .count = crowd->features.columns,
                       .label = crowd->labels.values[client->row]};
}

/* Pays, draws and begins a bundle. */
static pml_status begin(const struct crowd *crowd, struct client *client, void *memory, size_t size, pml_client **core)
{
    const pml_config config = {.epsilon = crowd->floor,
                               .entropy = pml_platform_entropy,
                               .persist = keep_nothing,
                               .crowd = &crowd->policy,
                               .kernels = pml_platform_kernels()};
    const pml_budget_caps caps = {.epsilon_floor = crowd->floor};
    const uint8_t owner[PML_ID_SIZE] = {1};
    const pml_query query = query_of(crowd, client);
    pml_budget budget;
    pml_status status = pml_client_init(core, memory, size, &crowd->pack, &config);
    if (status == PML_OK)
        status = pml_budget_create(&budget, owner, &caps);
    if (status == PML_OK)
        status = pml_crowd_arm(*core, &budget, PML_BUNDLE_QUERY);
    if (status == PML_OK)
        status = pml_crowd_begin(*core, &(pml_crowd_content){.query = &query});
    return status;
}

/* Writes and seals all messages into `bundle`; *size grows by them. */
static pml_status seal(const struct crowd *crowd, struct client *client, pml_client *core, uint8_t *bundle,
                       size_t *size)
{
    uint8_t release[64];
    const size_t release_size = pml_client_release_size(core);
    pml_status status = release_size <= sizeof release && pml_message_size(release_size) == crowd->message_size
                            ? PML_OK
                            : PML_ERROR_BUFFER;
    for (unsigned index = 0; status == PML_OK && pml_crowd_left(core) > 0; index++) {
        pml_opener opener;
        unsigned own;
        status = pml_crowd_next(core, release, sizeof release, &own);
        if (status == PML_OK)
            status =
                pml_message_seal(pml_crypto_openssl(), &crowd->key, crowd->epoch, crowd->info.id, release, release_size,
                                 pml_platform_entropy, NULL, bundle + *size, crowd->message_size, &opener);
        if (status == PML_OK && own == 1) {
            pml_release_view view;
            client->own = index;
            client->opener = opener;
            status = pml_release_parse(&crowd->pack, release, release_size, &view);
            client->symbol = status == PML_OK ? pml_release_symbol(&view, 0) : 0;
        }
        pml_opener_wipe(&opener);
        *size += crowd->message_size;
    }
    return status;
}

static pml_status make_bundle(const struct crowd *crowd, struct client *client, void *memory, size_t memory_size,
                              uint8_t *bundle, size_t *size)
{
    pml_client *core = NULL;
    uint32_t lot[2];
    if (pml_platform_entropy(NULL, (uint8_t *)lot, sizeof lot) != 0 ||
        pml_platform_entropy(NULL, client->ticket, TICKET_SIZE) != 0)
        return PML_ERROR_ENTROPY;
    client->row = (((uint64_t)lot[0] << 32) | lot[1]) % crowd->features.rows;
    for (int i = 0; i < 8; i++)
        bundle[i] = (uint8_t)(crowd->epoch >> (56 - 8 * i));
    memcpy(bundle + 8, client->ticket, TICKET_SIZE);
    *size = BUNDLE_HEAD;
    pml_status status = begin(crowd, client, memory, memory_size, &core);
    if (status == PML_OK)
        status = seal(crowd, client, core, bundle, size);
    if (core)
        pml_client_wipe(core);
    return status;
}

static void tell_sent(size_t sent)
{
    printf("{\"sent\": %zu}\n", sent);
    fflush(stdout);
}

/* How often each symbol was really asked for: what an adversary may know who knows everybody else. */
static int tell_asked(const struct crowd *crowd)
{
    const size_t symbols = (size_t)crowd->info.slots * crowd->info.cells;
    uint32_t *counts = calloc(symbols, sizeof *counts);
    if (!counts)
        return fail("the counts", "out of memory");
    for (size_t i = 0; i < crowd->count; i++)
        counts[crowd->clients[i].symbol] += crowd->clients[i].sent;
    printf("{\"sent\": %zu, \"asked\": [", (size_t)crowd->sent);
    for (size_t i = 0; i < symbols; i++)
        printf("%s%" PRIu32, i > 0 ? ", " : "", counts[i]);
    printf("]}\n");
    fflush(stdout);
    free(counts);
    return 0;
}

/* ---- sending: every thread has its share of the clients ---- */

static pml_outcome send_share(void *context, size_t thread)
{
    struct crowd *crowd = context;
    const size_t memory_size = pml_client_size(&crowd->pack, &(pml_config){.crowd = &crowd->policy});
    const size_t most = BUNDLE_HEAD + (1 + 63u * (size_t)crowd->policy.copies) * crowd->message_size;
    void *memory = malloc(memory_size);
    uint8_t *bundle = malloc(most), room[SMALL];
    struct reply reply = {.bytes = room, .capacity = sizeof room};
    char url[1024], id[2 * PML_ID_SIZE + 1];
    CURL *curl = curl_easy_init();
    bool good = memory && bundle && curl;
    write_hex(id, crowd->info.id, PML_ID_SIZE);
    snprintf(url, sizeof url, "%s/v1/pack/%s/bundle", crowd->relay, id);
    for (size_t i = thread; good && i < crowd->count; i += crowd->threads) {
        size_t size = 0;
        pml_status status = make_bundle(crowd, &crowd->clients[i], memory, memory_size, bundle, &size);
        good = status == PML_OK || !fail("a bundle", pml_status_text(status));
        if (!good)
            break;
        crowd->clients[i].sent = ask(curl, "POST", url, bundle, size, &reply) == 201;
        if (!crowd->clients[i].sent)
            continue; /* the epoch has closed without it: the end tells how many were there */
        crowd->messages += (size - BUNDLE_HEAD) / crowd->message_size;
        const size_t sent = ++crowd->sent;
        if (sent % SENT_STEP == 0)
            tell_sent(sent);
    }
    curl_easy_cleanup(curl);
    free(memory);
    free(bundle);
    return good ? PML_DONE : PML_REFUSED;
}

/* ---- fetching ---- */

static pml_status feed(void *ranking, const uint8_t *bytes, size_t size)
{
    return pml_ranking_feed(ranking, bytes, size);
}

/* Whether the bytes are the answer to this client's own message, and all of it can be ranked. */
static bool is_answer(const struct crowd *crowd, const struct client *client, const struct reply *reply, void *memory,
                      size_t memory_size)
{
    uint8_t buffer[PML_OPEN_BUFFER];
    pml_match matches[TOP];
    const pml_ranking_config config = {
        .matches = matches, .capacity = TOP, .crowd = true, .kernels = pml_platform_kernels()};
    const pml_query query = query_of(crowd, client);
    pml_ranking *ranking;
    pml_answer_summary summary;
    pml_open open;
    unsigned inside = 0;
    if (reply->size != crowd->answer_size ||
        pml_ranking_begin(&ranking, memory, memory_size, &crowd->pack, &query, &config) != PML_OK)
        return false;
    bool good =
        pml_open_begin(&open, pml_crypto_openssl(), &client->opener, buffer, sizeof buffer, reply->size) == PML_OK &&
        pml_open_feed(&open, reply->bytes, reply->size, feed, ranking) == PML_OK &&
        pml_open_end(&open, &inside) == PML_OK && inside == 200 && pml_ranking_finish(ranking, &summary) == PML_OK;
    if (!good)
        pml_ranking_wipe(ranking);
    return good;
}

static pml_outcome fetch_share(void *context, size_t thread)
{
    struct crowd *crowd = context;
    const size_t memory_size = pml_ranking_size(&crowd->pack);
    const size_t capacity = crowd->answer_size > SMALL ? crowd->answer_size : SMALL;
    void *memory = malloc(memory_size);
    struct reply reply = {.bytes = malloc(capacity), .capacity = capacity};
    CURL *curl = curl_easy_init();
    bool good = memory && reply.bytes && curl;
    for (size_t i = thread; good && i < crowd->count; i += crowd->threads) {
        struct client *client = &crowd->clients[i];
        char url[1024], ticket[2 * TICKET_SIZE + 1];
        long status = client->sent ? 202 : 0;
        write_hex(ticket, client->ticket, TICKET_SIZE);
        snprintf(url, sizeof url, "%s/v1/ticket/%s/%u?wait=30", crowd->relay, ticket, client->own);
        for (int wait = 0; status == 202 && wait < WAIT_MOST; wait++)
            status = ask(curl, "GET", url, NULL, 0, &reply);
        crowd->answered += status == 200 && is_answer(crowd, client, &reply, memory, memory_size);
        snprintf(url, sizeof url, "%s/v1/ticket/%s", crowd->relay, ticket);
        if (client->sent)
            ask(curl, "DELETE", url, NULL, 0, &reply); /* a thousand answers need not lie there for a minute */
        pml_opener_wipe(&client->opener);
    }
    curl_easy_cleanup(curl);
    free(memory);
    free(reply.bytes);
    return good ? PML_DONE : PML_NO_MEMORY;
}

/* ---- all ---- */

static int run(struct crowd *crowd)
{
    const double start = pml_clock_now();
    crowd->threads = pml_parallel_threads(0);
    crowd->clients = calloc(crowd->count, sizeof *crowd->clients);
    if (!crowd->clients)
        return fail("the clients", "out of memory");
    int failed = look(crowd);
    if (!failed)
        failed = pml_parallel((unsigned)crowd->threads, crowd->threads, send_share, crowd, NULL) != PML_DONE;
    if (!failed)
        failed = tell_asked(crowd);
    if (!failed)
        failed = pml_parallel((unsigned)crowd->threads, crowd->threads, fetch_share, crowd, NULL) != PML_DONE;
    printf("{\"sent\": %zu, \"messages\": %zu, \"answered\": %zu, \"seconds\": %.2f}\n", (size_t)crowd->sent,
           (size_t)crowd->messages, (size_t)crowd->answered, pml_clock_now() - start);
    free(crowd->clients);
    if (!failed && crowd->answered != crowd->count)
        failed = fail(crowd->relay, "not every client got its answer");
    return failed;
}

int main(int count, char **words)
{
    static struct crowd crowd;
    struct pml_message message = {{0}};
    uint8_t *pack = NULL;
    size_t pack_size = 0;
    if (count != 9)
        return fail("usage", "demo_neighbours RELAY PACK FEATURES.npy LABELS.npy CLIENTS CLUSTERS COPIES FLOOR");
    crowd.relay = words[1];
    crowd.count = strtoul(words[5], NULL, 10);
    crowd.floor = strtod(words[8], NULL);
    crowd.policy = (pml_crowd){.clients = crowd.count,
                               .clusters = strtod(words[6], NULL),
                               .copies = (uint32_t)strtoul(words[7], NULL, 10),
                               .own = 1};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int failed = 1;
    if (pml_file_read(words[2], (size_t)1 << 30, &pack, &pack_size, &message) != PML_DONE ||
        pml_features_read(words[3], &crowd.features, &message) != PML_DONE ||
        pml_labels_read(words[4], &crowd.labels, &message) != PML_DONE)
        fail(words[2], message.text);
    else if (crowd.labels.rows != crowd.features.rows)
        fail(words[4], "not a label for every row");
    else if (pml_pack_open(&crowd.pack, pack, pack_size, NULL, NULL) != PML_OK ||
             pml_pack_describe(&crowd.pack, &crowd.info) != PML_OK)
        fail(words[2], "no pack");
    else
        failed = run(&crowd);
    pml_features_free(&crowd.features);
    pml_labels_free(&crowd.labels);
    free(pack);
    curl_global_cleanup();
    return failed;
}
