/* SPDX-License-Identifier: Apache-2.0
 * Starting and stopping the relay. */
#include "relay_state.h"

#include "common/clock.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <unistd.h>

#define STEWARD_SECONDS 0.1

/* Ends long polls in time. */
static void *steward(void *context)
{
    struct pml_relay *relay = context;
    pthread_cond_t never;
    pml_clock_condition(&never);
    pthread_mutex_lock(&relay->lock);
    while (!atomic_load(&relay->stopping)) {
        relay_wake_late(relay, pml_clock_now());
        pml_clock_wait(&never, &relay->lock, STEWARD_SECONDS);
    }
    pthread_mutex_unlock(&relay->lock);
    pthread_cond_destroy(&never);
    return NULL;
}

static void free_relay(struct pml_relay *relay)
{
    while (relay->packs) {
        struct relay_pack *pack = relay->packs;
        relay->packs = pack->next;
        relay_pack_free(pack);
    }
    relay_tokens_free(&relay->tokens);
    pml_bytes_free(&relay->keys);
    pthread_cond_destroy(&relay->librarian_wake);
    pthread_mutex_destroy(&relay->lock);
    free(relay->waiters);
    free(relay);
}

/* Everything that can fail before a thread runs. */
static pml_outcome prepare(struct pml_relay *relay, struct pml_message *message)
{
    const struct pml_relay_options *options = &relay->options;
    struct relay_spool trial;
    relay->waiters = malloc((options->waiting + (size_t)1) * sizeof *relay->waiters);
    if (!relay->waiters || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return pml_say_memory(message);
    pml_outcome outcome = relay_spool_open(&trial, options->spool, message);
    if (outcome != PML_DONE)
        return outcome;
    relay_spool_close(&trial);
    if (options->tokens && (outcome = relay_tokens_read(&relay->tokens, options->tokens, message)) != PML_DONE)
        return outcome;
    return relay_keys_fetch(relay, message);
}

static pml_outcome run_threads(struct pml_relay *relay, struct pml_message *message)
{
    if (pthread_create(&relay->librarian, NULL, relay_librarian, relay) == 0) {
        if (pthread_create(&relay->steward, NULL, steward, relay) == 0)
            return PML_DONE;
        pml_relay_drain(relay);
        pthread_join(relay->librarian, NULL);
    }
    pml_say(message, "the system cannot start another thread. Close other programs.");
    return PML_UNAVAILABLE;
}

pml_outcome pml_relay_start(struct pml_relay **relay, const struct pml_relay_options *options,
                            struct pml_message *message)
{
    struct pml_relay *made = calloc(1, sizeof *made);
    *relay = NULL;
    if (!made) {
        close(options->http.listener);
        return pml_say_memory(message);
    }
    made->options = *options;
    made->options.http.site = &relay_site;
    made->options.http.site_context = made;
    pthread_mutex_init(&made->lock, NULL);
    pml_clock_condition(&made->librarian_wake);
    pml_outcome outcome = prepare(made, message);
    if (outcome == PML_DONE)
        outcome = run_threads(made, message);
    if (outcome != PML_DONE) {
        close(options->http.listener);
        free_relay(made);
        return outcome;
    }
    outcome = pml_http_start(&made->http, &made->options.http, message);
    if (outcome != PML_DONE) {
        pml_relay_stop(made);
        return outcome;
    }
    *relay = made;
    return PML_DONE;
}

pml_outcome pml_relay_reload(struct pml_relay *relay, struct pml_message *message)
{
    struct relay_tokens fresh = {0};
    if (!relay->options.tokens)
        return PML_DONE;
    pml_outcome outcome = relay_tokens_read(&fresh, relay->options.tokens, message);
    if (outcome != PML_DONE)
        return outcome;
    pthread_mutex_lock(&relay->lock);
    struct relay_tokens old = relay->tokens;
    relay->tokens = fresh;
    pthread_mutex_unlock(&relay->lock);
    relay_tokens_free(&old);
    return PML_DONE;
}

void pml_relay_drain(struct pml_relay *relay)
{
    pthread_mutex_lock(&relay->lock);
    atomic_store(&relay->stopping, true);
    pthread_cond_signal(&relay->librarian_wake);
    for (struct relay_pack *pack = relay->packs; pack; pack = pack->next)
        pthread_cond_signal(&pack->wake);
    relay_wake(relay, NULL); /* nobody waits from now on */
    pthread_mutex_unlock(&relay->lock);
    if (relay->http)
        pml_http_drain(relay->http);
}

size_t pml_relay_running(struct pml_relay *relay)
{
    return pml_http_running(relay->http);
}

void pml_relay_stop(struct pml_relay *relay)
{
    pml_relay_drain(relay);
    if (relay->http)
        pml_http_stop(relay->http);
    pthread_join(relay->librarian, NULL);
    pthread_join(relay->steward, NULL);
    for (struct relay_pack *pack = relay->packs; pack; pack = pack->next)
        pthread_join(pack->keeper, NULL);
    free_relay(relay);
}
