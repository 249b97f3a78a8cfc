/* SPDX-License-Identifier: Apache-2.0
 * Opens and ranks sealed answers. In: bytes from the relay, which may be hostile. */
#include "own_answers.h"

struct opening {
    const struct own_answers *own;
    const pml_opener *opener;
    pml_open open;
    pml_status status; /* why nothing more of it is used */
    uint64_t left;     /* bytes that it may still have */
    bool ignores;      /* an earlier one was invalid: it is fetched all the same */
    uint8_t buffer[PML_OPEN_BUFFER];
};

/* Only the content of an answer that comes with 200 is one (SPEC 3). */
static pml_status rank(void *context, const uint8_t *bytes, size_t size)
{
    struct opening *opening = context;
    if (!opening->own->results || pml_open_status(&opening->open) != 200)
        return PML_OK;
    return query_results_take(opening->own->results, bytes, size) == 0 ? PML_OK : PML_ERROR_ANSWER;
}

static int begin(void *context)
{
    struct opening *opening = context;
    const struct own_answers *own = opening->own;
    opening->left = own->size;
    opening->status = pml_open_begin(&opening->open, pml_crypto_bearssl(), opening->opener, opening->buffer,
                                     sizeof opening->buffer, own->size);
    if (opening->status == PML_OK && own->results)
        opening->status = query_results_begin(own->results, own->query, own->scope, own->top);
    return opening->status != PML_OK;
}

/* Takes all of it, whatever is inside: the relay sees when we hang up. */
static int take(void *context, const void *bytes, size_t size)
{
    struct opening *opening = context;
    if (size > opening->left) {
        opening->status = PML_ERROR_SEALED;
        return -1;
    }
    opening->left -= size;
    if (opening->status == PML_OK && !opening->ignores)
        opening->status = pml_open_feed(&opening->open, bytes, size, rank, opening);
    return 0;
}

static exit_code tell_invalid(const struct own_answers *own, const struct relay_link *link, pml_status status)
{
    const char *relay = link->exchange.server;
    if (own->results && own->results->no_memory)
        return command_no_memory(own->command);
    if (own->results && own->results->too_long)
        return command_fail(own->command, EXIT_NETWORK,
                            "the answers have more than %llu bytes, too long to keep for --payloads. Give a larger "
                            "--most-bytes, or leave out --payloads.",
                            (unsigned long long)own->results->most);
    if (status == PML_ERROR_SEALED)
        return command_fail(own->command, EXIT_NETWORK,
                            "an answer from %s cannot be opened: it was changed on the way, or the server has another "
                            "key. Nothing of it was used. Check the relay and the keys.",
                            relay);
    const unsigned version = own->results ? query_results_other_version(own->results) : 0;
    if (status == PML_ERROR_ANSWER && version > 0)
        return command_fail(
            own->command, EXIT_NETWORK,
            "the server behind %s sent an answer of version %u; this command reads 1 and 2. Use a newer "
            "privatemail.",
            relay, version);
    if (status == PML_ERROR_ANSWER)
        return command_fail(own->command, EXIT_NETWORK,
                            "the server behind %s sent an invalid answer. Check that it serves this pack.", relay);
    return command_status(own->command, own->query->arguments->features, status);
}

/* One answer. It counts when its last chunk is opened and it is whole. */
static exit_code take_one(struct opening *opening, struct relay_link *link, const char *ticket, size_t place,
                          bool *fetched, bool *lost)
{
    const struct own_answers *own = opening->own;
    const struct relay_taker taker = {begin, take, opening};
    const enum relay_result result = relay_answer(link, ticket, place, &taker);
    unsigned inside = 0;
    const pml_status ended = pml_open_end(&opening->open, &inside);
    *lost = result == RELAY_LOST;
    *fetched = result == RELAY_OK;
    if (*lost || (*fetched && opening->ignores))
        return EXIT_OK;
    if (result == RELAY_NOT_TAKEN || (result == RELAY_OK && opening->status != PML_OK))
        return tell_invalid(own, link, opening->status);
    if (result != RELAY_OK)
        return relay_tell(link, own->command, result);
    if (ended != PML_OK)
        return tell_invalid(own, link, PML_ERROR_SEALED);
    if (inside != 200)
        return command_fail(own->command, EXIT_NETWORK,
                            "the server behind %s refused the message with status %u. Check that it serves pack %s.",
                            link->exchange.server, inside, link->pack);
    if (own->results && query_results_finish(own->results) != PML_OK)
        return tell_invalid(own, link, PML_ERROR_ANSWER);
    return EXIT_OK;
}

exit_code own_answers_take(const struct own_answers *own, struct relay_link *link, const struct sealed_bundle *sealed,
                           bool *lost)
{
    struct opening opening = {.own = own};
    exit_code code = EXIT_OK;
    bool fetched = true;
    *lost = false;
    if (own->results)
        query_results_restart(own->results);
    for (size_t i = 0; i < sealed->own && fetched; i++) {
        opening.opener = &sealed->openers[i];
        const exit_code one = take_one(&opening, link, sealed->ticket, sealed->places[i], &fetched, lost);
        code = code == EXIT_OK ? one : code;
        opening.ignores = code != EXIT_OK;
    }
    volatile uint8_t *buffer = opening.buffer; /* volatile: a compiler may not leave this out as useless */
    for (size_t i = 0; i < sizeof opening.buffer; i++)
        buffer[i] = 0;
    if (sealed->own > 0 && fetched) /* whatever was in them */
        relay_forget(link, sealed->ticket);
    return code;
}
