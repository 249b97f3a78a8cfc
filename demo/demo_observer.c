/* SPDX-License-Identifier: Apache-2.0
 * What the server of the demo can read of an epoch: counts how often each symbol was named.
 *
 *   demo_observer KEYS PACK <REQUESTS
 *
 * REQUESTS are copies of the requests of one epoch (SPEC 10.6), one after the other, as the relay sent them. KEYS are
 * the gateway's. Writes {"epoch": N, "messages": N, "message_size": N, "counts": [N, ...]}, a count per symbol. The
 * service itself keeps no messages and has no such counts. */
#define _POSIX_C_SOURCE 200809L
#include "common/files.h"
#include "server/gateway/crypto_openssl.h"
#include "server/gateway/gateway_keys.h"

#include <privatemail_public.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 8 + PML_ID_SIZE + 4 + 4, FILE_MOST = 1 << 30 };

struct observer {
    struct pml_gateway_keys keys;
    pml_pack pack;
    pml_pack_info info;
    uint32_t *counts;
    uint64_t epoch;
    size_t messages, message_size;
};

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "demo_observer: %s: %s\n", what, why);
    return 1;
}

static uint64_t read_number(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* The symbol of a release: of a pack with one slot it is an ordinary response release. */
static pml_status read_symbol(const struct observer *observer, const pml_piece *release, uint32_t *symbol)
{
    pml_release_view view;
    pml_status status = pml_release_parse(&observer->pack, release->bytes, release->size, &view);
    *symbol = status == PML_OK ? pml_release_symbol(&view, 0) : 0;
    return status;
}

static int count_message(struct observer *observer, uint8_t *message, size_t size)
{
    pml_opened opened;
    uint32_t symbol = 0;
    const pml_private_key *key = pml_gateway_keys_find(&observer->keys, message[0]);
    if (!key || pml_message_open(pml_crypto_openssl(), key, observer->epoch, observer->info.id, message, size,
                                 &opened) != PML_OK)
        return fail("a message", "cannot be opened");
    pml_opener_wipe(&opened.opener);
    if (opened.status != 200 || read_symbol(observer, &opened.content, &symbol) != PML_OK)
        return fail("a message", "is no release");
    observer->counts[symbol]++;
    observer->messages++;
    return 0;
}

/* One request. Returns 0 also at the end of the input, and then *more is false. */
static int count_request(struct observer *observer, bool *more)
{
    uint8_t head[HEAD];
    const size_t got = fread(head, 1, sizeof head, stdin);
    *more = got == sizeof head;
    if (!*more)
        return got == 0 ? 0 : fail("the requests", "cut short");
    const uint64_t count = read_number(head + 8 + PML_ID_SIZE, 4), size = read_number(head + 8 + PML_ID_SIZE + 4, 4);
    observer->epoch = read_number(head, 8);
    observer->message_size = size;
    if (memcmp(head + 8, observer->info.id, PML_ID_SIZE) != 0 || count > 1024 || size < PML_SEAL_HEAD_SIZE ||
        size > 65536)
        return fail("the requests", "not of this pack, or not of SPEC 10.6");
    uint8_t *messages = malloc(count * size);
    int failed = messages && fread(messages, size, count, stdin) == count ? 0 : fail("the requests", "cut short");
    for (size_t i = 0; !failed && i < count; i++)
        failed = count_message(observer, messages + i * size, size);
    free(messages);
    return failed;
}

static int observe(struct observer *observer)
{
    const size_t symbols = (size_t)observer->info.slots * observer->info.cells;
    bool more = true;
    int failed = 0;
    observer->counts = calloc(symbols, sizeof *observer->counts);
    if (!observer->counts)
        return fail("the counts", "out of memory");
    while (more && !failed)
        failed = count_request(observer, &more);
    if (!failed) {
        printf("{\"epoch\": %" PRIu64 ", \"messages\": %zu, \"message_size\": %zu, \"counts\": [", observer->epoch,
               observer->messages, observer->message_size);
        for (size_t i = 0; i < symbols; i++)
            printf("%s%" PRIu32, i > 0 ? ", " : "", observer->counts[i]);
        printf("]}\n");
    }
    free(observer->counts);
    return failed;
}

int main(int count, char **words)
{
    static struct observer observer;
    struct pml_message message = {{0}};
    uint8_t *pack = NULL;
    size_t size = 0;
    int failed = 1;
    if (count != 3)
        return fail("usage", "demo_observer KEYS PACK <REQUESTS");
    if (pml_gateway_keys_read(&observer.keys, words[1], &message) != PML_DONE ||
        pml_file_read(words[2], FILE_MOST, &pack, &size, &message) != PML_DONE)
        fail(words[1], message.text);
    else if (pml_pack_open(&observer.pack, pack, size, NULL, NULL) != PML_OK ||
             pml_pack_describe(&observer.pack, &observer.info) != PML_OK)
        fail(words[2], "no pack");
    else
        failed = observe(&observer);
    pml_gateway_keys_wipe(&observer.keys);
    free(pack);
    return failed;
}
