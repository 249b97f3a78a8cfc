/* SPDX-License-Identifier: Apache-2.0
 * Pins key configurations. In: a configuration that may be hostile, and the pinned one. */
#define _POSIX_C_SOURCE 200809L
#include "key_pin.h"

#include "common/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- where a configuration comes from ---- */

enum key_source { FROM_FILE, FROM_PIN, FROM_RELAY };

/* The server's own configuration must be the same: it is asked without the relay in between. */
static exit_code compare_server(const struct command *command, const struct ask_arguments *arguments,
                                const struct relay_link *link, const struct pml_bytes *keys)
{
    struct relay_link direct = {.exchange = {.server = arguments->server, .ca = arguments->ca},
                                .pack = link->pack,
                                .deadline = link->deadline,
                                .timeout = link->timeout};
    struct pml_bytes own = {0};
    const enum relay_result result = relay_fetch(&direct, "/.well-known/ohttp-gateway", &own, RELAY_KEYS_MAX);
    exit_code code = EXIT_OK;
    if (result != RELAY_OK)
        code = relay_tell(&direct, command, result);
    else if (own.size != keys->size || memcmp(own.bytes, keys->bytes, own.size) != 0)
        code = command_fail(command, EXIT_PRIVACY,
                            "%s has other keys than %s. Somebody between them may have put in its own: use another "
                            "relay, or fetch the keys by the way the pack came.",
                            arguments->server, arguments->relay);
    exchange_close(&direct.exchange);
    pml_bytes_free(&own);
    return code;
}

static exit_code read_file(const struct command *command, const char *path, struct pml_bytes *keys)
{
    struct pml_message message = {""};
    uint8_t *bytes = NULL;
    size_t size = 0;
    pml_outcome outcome = pml_file_read(path, RELAY_KEYS_MAX, &bytes, &size, &message);
    if (outcome == PML_DONE)
        outcome = pml_bytes_append(keys, bytes, size);
    free(bytes);
    return outcome == PML_DONE ? EXIT_OK : command_input(command, outcome, &message);
}

static exit_code store(const struct command *command, const char *path, const struct pml_bytes *keys)
{
    struct pml_message message = {""};
    const pml_outcome outcome = pml_file_write(path, keys->bytes, keys->size, 0, &message);
    return outcome == PML_DONE ? EXIT_OK : command_output(command, outcome, &message);
}

/* The first key of `keys` that can be used. The relay, who passes on what the server has, must give it out too. */
static exit_code choose(const struct command *command, enum key_source source, const char *name,
                        const struct pml_bytes *keys, const struct ask_arguments *arguments,
                        const struct pml_bytes *relays, pml_seal_key *key)
{
    if (pml_keys_choose(pml_crypto_bearssl(), keys->bytes, keys->size, key) != PML_OK)
        return command_fail(command, source == FROM_RELAY ? EXIT_NETWORK : EXIT_INPUT,
                            "%s has no key configuration with a key that can be used. Fetch the keys by the way the "
                            "pack came, and give them with --ohttp-keys.",
                            name);
    if (pml_keys_hold(relays->bytes, relays->size, key) == PML_OK)
        return EXIT_OK;
    return command_fail(
        command, source == FROM_PIN ? EXIT_PRIVACY : EXIT_INPUT,
        "%s does not give out the key of %s: the server has dropped it, or somebody has put in a key of "
        "his own. Fetch the keys that everybody uses by the way the pack came, and give them with "
        "--ohttp-keys.",
        arguments->relay, name);
}

static exit_code get(const struct command *command, const struct ask_arguments *arguments, const char *pin,
                     struct relay_link *link, pml_seal_key *key)
{
    struct stat found;
    const enum key_source source = arguments->ohttp_keys ? FROM_FILE : lstat(pin, &found) == 0 ? FROM_PIN : FROM_RELAY;
    const char *name = source == FROM_FILE ? arguments->ohttp_keys : source == FROM_PIN ? pin : arguments->relay;
    struct pml_bytes keys = {0}, relays = {0};
    exit_code code = source == FROM_RELAY ? EXIT_OK : read_file(command, name, &keys);
    const enum relay_result result = code == EXIT_OK ? relay_keys(link, &relays) : RELAY_OK;
    if (result != RELAY_OK)
        code = relay_tell(link, command, result);
    const struct pml_bytes *used = source == FROM_RELAY ? &relays : &keys;
    if (code == EXIT_OK)
        code = choose(command, source, name, used, arguments, &relays, key);
    if (code == EXIT_OK && arguments->server)
        code = compare_server(command, arguments, link, &relays);
    if (code == EXIT_OK && source != FROM_PIN)
        code = store(command, pin, used);
    pml_bytes_free(&keys);
    pml_bytes_free(&relays);
    return code;
}

exit_code key_pin_get(const struct command *command, const struct ask_arguments *arguments, struct relay_link *link,
                      pml_seal_key *key)
{
    const size_t length = strlen(arguments->query.pack) + sizeof ".ohttp-keys";
    char *pin = malloc(length);
    if (!pin)
        return command_no_memory(command);
    snprintf(pin, length, "%s.ohttp-keys", arguments->query.pack);
    const exit_code code = get(command, arguments, pin, link, key);
    free(pin);
    return code;
}
