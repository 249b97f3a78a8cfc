/* SPDX-License-Identifier: Apache-2.0
 * keys: makes the keys of a gateway, adds and drops some, and writes their configuration for clients. Never prints a
 * private key. */
#define _POSIX_C_SOURCE 200809L
#include "cli/shared/output.h"

#include "server/gateway/gateway_keys.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *file, *out, *public_file;
    uint64_t drop;
    bool adds, drops, json;
};

/* ---- what is changed ---- */

static exit_code add_key(struct pml_gateway_keys *keys)
{
    struct pml_message message = {""};
    pml_outcome outcome = pml_gateway_keys_add(keys, &message);
    return outcome == PML_DONE
               ? EXIT_OK
               : command_fail(&command_keys, outcome == PML_REFUSED ? EXIT_USAGE : EXIT_FAULT, "%s", message.text);
}

static exit_code drop_key(struct pml_gateway_keys *keys, const struct arguments *arguments)
{
    if (arguments->drop > UINT8_MAX || pml_gateway_keys_drop(keys, (uint8_t)arguments->drop) != PML_DONE)
        return command_fail(&command_keys, EXIT_USAGE, "%s has no key %llu. Give one that privatemail keys %s lists.",
                            arguments->file, (unsigned long long)arguments->drop, arguments->file);
    if (keys->count == 0)
        return command_fail(&command_keys, EXIT_USAGE,
                            "%llu is the only key. Add another with --add, and drop this one when no client uses it.",
                            (unsigned long long)arguments->drop);
    return EXIT_OK;
}

static exit_code get_keys(struct pml_gateway_keys *keys, const struct arguments *arguments)
{
    struct pml_message message = {""};
    if (arguments->out)
        return add_key(keys);
    pml_outcome outcome = pml_gateway_keys_read(keys, arguments->file, &message);
    if (outcome != PML_DONE)
        return command_input(&command_keys, outcome, &message);
    exit_code code = arguments->adds ? add_key(keys) : EXIT_OK;
    return code == EXIT_OK && arguments->drops ? drop_key(keys, arguments) : code;
}

/* ---- what is written ---- */

static exit_code write_keys(const struct pml_gateway_keys *keys, const struct arguments *arguments)
{
    struct pml_bytes text = {0};
    exit_code code = pml_gateway_keys_print(keys, &text) == PML_DONE ? EXIT_OK : command_no_memory(&command_keys);
    if (code == EXIT_OK)
        code = output_write_private(&command_keys, arguments->out ? arguments->out : arguments->file, !arguments->out,
                                    text.bytes, text.size);
    pml_gateway_keys_forget(&text);
    return code;
}

static exit_code write_public(const struct pml_gateway_keys *keys, const char *path)
{
    struct pml_bytes configuration = {0};
    exit_code code =
        pml_gateway_keys_publish(keys, &configuration) == PML_DONE ? EXIT_OK : command_no_memory(&command_keys);
    if (code == EXIT_OK)
        code = output_write(&command_keys, path, false, configuration.bytes, configuration.size);
    pml_bytes_free(&configuration);
    return code;
}

static void show(const struct pml_gateway_keys *keys, bool as_json)
{
    struct json json = {0};
    if (as_json) {
        json_open(&json, NULL, '{');
        json_open(&json, "keys", '[');
    }
    for (size_t i = 0; i < keys->count; i++) {
        const struct pml_gateway_key *key = &keys->keys[i];
        if (as_json) {
            json_open(&json, NULL, '{');
            json_count(&json, "id", key->key.id);
            json_text(&json, "made", key->made);
            json_close(&json, '}');
        } else {
            printf("key %u, made %s%s\n", (unsigned)key->key.id, key->made,
                   i == 0 ? ": clients seal for this one" : "");
        }
    }
    if (as_json) {
        json_close(&json, ']');
        json_close(&json, '}');
    }
}

/* ---- command ---- */

static exit_code check_new(const char *path)
{
    return access(path, F_OK) != 0 ? EXIT_OK
                                   : command_fail(&command_keys, EXIT_OUTPUT,
                                                  "%s exists already and is not replaced. Name another file.", path);
}

static exit_code check(const struct arguments *arguments)
{
    if (!arguments->out == !arguments->file)
        return command_fail(&command_keys, EXIT_USAGE,
                            "give --out FILE to make new keys, or the name of a file that privatemail keys made.");
    if (arguments->out && (arguments->adds || arguments->drops))
        return command_fail(
            &command_keys, EXIT_USAGE,
            "--out makes a new file. To change one, name it without --out: privatemail keys FILE --add.");
    const char *path = arguments->out ? arguments->out : arguments->file;
    if (arguments->public_file && output_is(arguments->public_file, path))
        return command_fail(&command_keys, EXIT_USAGE, "--public %s would overwrite the keys. Name another file.",
                            arguments->public_file);
    /* Both are checked before either is written. */
    exit_code code = arguments->out ? check_new(arguments->out) : EXIT_OK;
    return code == EXIT_OK && arguments->public_file ? check_new(arguments->public_file) : code;
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct option_spec specs[] = {
        {"out", OPTION_TEXT, &arguments.out, false, false},
        {"add", OPTION_FLAG, &arguments.adds, false, false},
        {"drop", OPTION_COUNT, &arguments.drop, false, false},
        {"public", OPTION_TEXT, &arguments.public_file, false, false},
        {"json", OPTION_FLAG, &arguments.json, false, false},
    };
    struct pml_gateway_keys keys = {0};
    exit_code code =
        options_parse(&command_keys, argc, argv, specs, sizeof specs / sizeof specs[0], &arguments.file, 0, 1);
    arguments.drops = specs[2].given;
    if (code == EXIT_OK)
        code = check(&arguments);
    if (code == EXIT_OK)
        code = get_keys(&keys, &arguments);
    if (code == EXIT_OK && (arguments.out || arguments.adds || arguments.drops))
        code = write_keys(&keys, &arguments);
    if (code == EXIT_OK && arguments.public_file)
        code = write_public(&keys, arguments.public_file);
    if (code == EXIT_OK)
        show(&keys, arguments.json);
    pml_gateway_keys_wipe(&keys);
    return code;
}

static const char help[] =
    "Usage: privatemail keys --out FILE [--public P] [--json]\n"
    "       privatemail keys FILE [--add] [--drop ID] [--public P] [--json]\n\n"
    "Makes a file with the private key of a gateway (serve --ohttp-key), or changes one: adds a key in front, drops a "
    "key.\n"
    "Lists the keys it has then. A running gateway reads the file again when it gets SIGHUP.\n\n"
    "Options:\n"
    "  --out FILE    make a new file with one key, which only its owner can read; an existing file is never replaced\n"
    "  --add         put a new key in front, which clients use from now on; at most 8 keys\n"
    "  --drop ID     remove the key of this id; what was sealed for it cannot be opened any more\n"
    "  --public P    also write the configuration for clients (application/ohttp-keys), which is no secret\n"
    "  --json        JSON on stdout instead of text (docs/CLI.md): ids and dates\n"
    "  --help        this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 a file cannot be read or is not one of keys, 4 an output cannot be "
    "written,\n"
    "7 out of memory or of random bytes.\n\n"
    "Example: privatemail keys --out gateway.keys --public gateway.ohttp-keys\n";

const struct command command_keys = {"keys", "make and change the keys of a gateway", help, run};
