/* SPDX-License-Identifier: Apache-2.0
 * serve: answers releases over HTTP until a signal stops it, and writes one log line per request. */
#define _XOPEN_SOURCE 700
#include "cli/serve/serve_galleries.h"
#include "cli/serve/service_life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS_MAX = 256,
    CONNECTIONS_MAX = 100000,
    TIMEOUT_MAX = 3600,
    POLL_MAX = 3600,
    DESCRIPTORS_SPARE = 256 /* files, stores */
};

struct arguments {
    struct option_list packs, stores, connect_to;
    const char *listen, *files, *allow_origin, *log, *ohttp_key;
    uint64_t threads, connections, timeout, grace, nearest, cache_bytes, poll;
    bool log_address, json;
};

struct job {
    const struct arguments *arguments;
    struct pack_file files[OPTION_LIST_MAX];
    struct galleries galleries;
    struct pml_http_pack packs[OPTION_LIST_MAX];
    struct pml_gateway *gateway; /* NULL: none is wanted */
    char address[PML_HTTP_ADDRESS_MAX];
    char connect[1024]; /* origins, a space before each */
    struct pml_http *http;
};

/* ---- packs and galleries ---- */

static exit_code open_packs(struct job *job)
{
    const struct option_list *paths = &job->arguments->packs;
    for (size_t i = 0; i < paths->count; i++) {
        exit_code code = pack_file_open(&command_serve, paths->values[i], &job->files[i]);
        if (code != EXIT_OK)
            return code;
        for (size_t j = 0; j < i; j++) {
            if (memcmp(job->files[i].info.id, job->files[j].info.id, PML_ID_SIZE) == 0)
                return command_fail(&command_serve, EXIT_USAGE, "%s is the same pack as %s. Leave one of them out.",
                                    paths->values[i], paths->values[j]);
        }
    }
    return EXIT_OK;
}

static exit_code open_gateway(struct job *job)
{
    struct pml_message message = {""};
    const char *path = job->arguments->ohttp_key;
    pml_outcome outcome = path ? pml_gateway_open(&job->gateway, path, &message) : PML_DONE;
    return outcome == PML_DONE ? EXIT_OK : command_input(&command_serve, outcome, &message);
}

static exit_code open_galleries(struct job *job)
{
    const struct arguments *arguments = job->arguments;
    job->galleries = (struct galleries){.paths = &arguments->packs,
                                        .uris = &arguments->stores,
                                        .files = job->files,
                                        .nearest = arguments->nearest,
                                        .cache_bytes = arguments->cache_bytes,
                                        .poll = arguments->poll,
                                        .fill = job->gateway != NULL};
    const exit_code code = galleries_open(&job->galleries);
    for (size_t i = 0; i < arguments->packs.count && code == EXIT_OK; i++)
        job->packs[i] =
            (struct pml_http_pack){job->files[i].bytes, job->files[i].size, job->galleries.galleries[i].follow};
    return code;
}

/* ---- log ---- */

static void log_line(void *context, const struct pml_http_entry *entry)
{
    const struct arguments *arguments = context;
    char rest[160];
    snprintf(rest, sizeof rest, " %llu %.1f%s%s", (unsigned long long)entry->bytes, 1000.0 * entry->seconds,
             arguments->log_address ? " " : "", arguments->log_address ? entry->address : "");
    service_log(entry, rest);
}

/* ---- service ---- */

static exit_code start(struct job *job)
{
    const struct arguments *arguments = job->arguments;
    struct pml_message message = {""};
    struct pml_http_options options = {.packs = job->packs,
                                       .pack_count = arguments->packs.count,
                                       .cache = job->galleries.cache,
                                       .gateway = job->gateway,
                                       .threads = (unsigned)arguments->threads,
                                       .connections = (unsigned)arguments->connections,
                                       .timeout = (unsigned)arguments->timeout,
                                       .files = arguments->files,
                                       .connect = job->connect,
                                       .origin = arguments->allow_origin,
                                       .log = strcmp(arguments->log, "off") == 0 ? NULL : log_line,
                                       .log_context = (void *)(uintptr_t)arguments};
    pml_outcome outcome = pml_http_listen(arguments->listen, &options.listener, job->address, &message);
    if (outcome != PML_DONE)
        return command_fail(&command_serve, outcome == PML_REFUSED ? EXIT_USAGE : EXIT_NETWORK, "--listen: %s",
                            message.text);
    outcome = pml_http_start(&job->http, &options, &message);
    if (outcome != PML_DONE)
        return command_fail(&command_serve, outcome == PML_NO_MEMORY ? EXIT_FAULT : EXIT_INPUT, "%s", message.text);
    return EXIT_OK;
}

/* The pack, the version of its gallery and how many items that has. */
static void tell_pack(const struct job *job, size_t index, struct json *json)
{
    struct pml_service *service = pml_follow_take(job->packs[index].follow);
    char version[PML_NAME_DIGITS + 1];
    pml_name_write(pml_service_version(service), version);
    if (json) {
        json_open(json, NULL, '{');
        json_text(json, "pack", job->files[index].id);
        json_text(json, "version", version);
        json_count(json, "gallery", pml_service_manifest(service)->items);
        json_close(json, '}');
    } else {
        printf("  pack %s: gallery %s, %llu items\n", job->files[index].id, version,
               (unsigned long long)pml_service_manifest(service)->items);
    }
    pml_service_unref(service);
}

static exit_code tell_start(const struct job *job)
{
    size_t count = job->arguments->packs.count;
    struct json json = {0};
    if (job->arguments->json) {
        json_open(&json, NULL, '{');
        json_text(&json, "listen", job->address);
        json_open(&json, "packs", '[');
    } else {
        printf("privatemail serve: http://%s/ answers for %zu pack%s, the newest %s\n", job->address, count,
               count == 1 ? "" : "s", job->files[0].id);
    }
    for (size_t i = 0; i < count; i++)
        tell_pack(job, i, job->arguments->json ? &json : NULL);
    if (job->arguments->json) {
        json_close(&json, ']');
        json_close(&json, '}');
    }
    if (fflush(stdout) == 0)
        return EXIT_OK;
    return command_fail(&command_serve, EXIT_OUTPUT, "stdout cannot be written. Send it elsewhere.");
}

/* What is wrong with galleries or keys does not stop the service. */
static void reload(void *context)
{
    struct job *job = context;
    struct pml_message message = {""};
    galleries_look(&job->galleries);
    if (!job->gateway)
        return;
    if (pml_gateway_reload(job->gateway, &message) == PML_DONE)
        fprintf(stderr, "privatemail serve: the keys were read again\n");
    else
        command_fail(&command_serve, EXIT_INPUT, "%s The keys stay as they were.", message.text);
}

static void drain(void *context)
{
    const struct job *job = context;
    pml_http_drain(job->http);
}

static size_t running(void *context)
{
    const struct job *job = context;
    return pml_http_running(job->http);
}

static exit_code serve(struct job *job)
{
    const struct service_life life = {
        .service = job, .reload = reload, .drain = drain, .running = running, .grace = job->arguments->grace};
    service_block_signals(true);
    exit_code code = start(job);
    if (code != EXIT_OK)
        return code;
    code = galleries_follow(&job->galleries);
    if (code == EXIT_OK)
        code = tell_start(job);
    if (code == EXIT_OK)
        service_wait(&life);
    pml_http_stop(job->http);
    return code;
}

/* ---- command ---- */

static exit_code check(const struct arguments *arguments)
{
    const struct count_limit limits[] = {
        {"threads", arguments->threads, 1, THREADS_MAX},
        {"connections", arguments->connections, arguments->threads, CONNECTIONS_MAX},
        {"timeout", arguments->timeout, 1, TIMEOUT_MAX},
        {"grace", arguments->grace, 0, TIMEOUT_MAX},
        {"nearest", arguments->nearest, 1, PML_CANDIDATES_MAX},
        {"cache-bytes", arguments->cache_bytes, 0, SIZE_MAX / 4},
        {"poll", arguments->poll, 0, POLL_MAX},
    };
    exit_code code = options_check_limits(&command_serve, limits, sizeof limits / sizeof limits[0], false);
    if (code == EXIT_OK)
        code = service_check_log(&command_serve, arguments->log);
    return code;
}

/* Origins become a part of a header field, so nothing but an origin may be in them. */
static exit_code join_origins(struct job *job)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]*";
    const struct option_list *origins = &job->arguments->connect_to;
    size_t size = 0;
    for (size_t i = 0; i < origins->count; i++) {
        const char *origin = origins->values[i], *host = strstr(origin, "://");
        const bool good = host && (strncmp(origin, "http:", 5) == 0 || strncmp(origin, "https:", 6) == 0) &&
                          host[3] != 0 && host[3 + strspn(host + 3, letters)] == 0;
        const size_t room = sizeof job->connect - size;
        const int length = good ? snprintf(job->connect + size, room, " %s", origin) : -1;
        if (length < 0 || (size_t)length >= room)
            return command_fail(&command_serve, EXIT_USAGE,
                                "--connect-to needs an origin, such as https://relay.example, without a path.");
        size += (size_t)length;
    }
    return EXIT_OK;
}

static void close_job(struct job *job)
{
    galleries_close(&job->galleries);
    for (size_t i = 0; i < OPTION_LIST_MAX; i++)
        pack_file_close(&job->files[i]);
    pml_gateway_close(job->gateway);
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments = {.listen = "127.0.0.1:8080",
                                  .log = "text",
                                  .threads = pml_parallel_threads(0),
                                  .connections = 1000,
                                  .timeout = 30,
                                  .grace = 10,
                                  .nearest = PML_NEAREST_DEFAULT,
                                  .cache_bytes = 256u << 20,
                                  .poll = 1};
    struct option_spec specs[] = {
        {"pack", OPTION_LIST, &arguments.packs, true, false},
        {"store", OPTION_LIST, &arguments.stores, true, false},
        {"listen", OPTION_TEXT, &arguments.listen, false, false},
        {"threads", OPTION_COUNT, &arguments.threads, false, false},
        {"connections", OPTION_COUNT, &arguments.connections, false, false},
        {"timeout", OPTION_COUNT, &arguments.timeout, false, false},
        {"grace", OPTION_COUNT, &arguments.grace, false, false},
        {"nearest", OPTION_COUNT, &arguments.nearest, false, false},
        {"cache-bytes", OPTION_COUNT, &arguments.cache_bytes, false, false},
        {"poll", OPTION_COUNT, &arguments.poll, false, false},
        {"ohttp-key", OPTION_TEXT, &arguments.ohttp_key, false, false},
        {"files", OPTION_TEXT, &arguments.files, false, false},
        {"connect-to", OPTION_LIST, &arguments.connect_to, false, false},
        {"allow-origin", OPTION_TEXT, &arguments.allow_origin, false, false},
        {"log", OPTION_TEXT, &arguments.log, false, false},
        {"log-address", OPTION_FLAG, &arguments.log_address, false, false},
        {"json", OPTION_FLAG, &arguments.json, false, false},
    };
    exit_code code = options_parse(&command_serve, argc, argv, specs, sizeof specs / sizeof specs[0], NULL, 0, 0);
    if (code == EXIT_OK)
        code = check(&arguments);
    if (code != EXIT_OK)
        return code;
    service_raise_limit(arguments.connections, arguments.threads, DESCRIPTORS_SPARE);
    struct job job = {.arguments = &arguments};
    exit_code (*const steps[])(struct job *) = {join_origins, open_packs, open_gateway, open_galleries, serve};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && code == EXIT_OK; i++)
        code = steps[i](&job);
    close_job(&job);
    return code;
}

static const char help[] =
    "Usage: privatemail serve --pack P.pmpk --store STORE [OPTIONS]\n\n"
    "Answers releases over HTTP (docs/SERVER.md) until SIGTERM or SIGINT, and follows changes of the galleries. Plain "
    "HTTP:\n"
    "put a reverse proxy with TLS in front of it.\n\n"
    "Options:\n"
    "  --pack P.pmpk       a pack to serve; give it up to 16 times, the newest pack first\n"
    "  --store STORE       where galleries are (privatemail index): sqlite:FILE, postgres:URI or dir:FOLDER; give it "
    "up to\n"
    "                      16 times. A pack's gallery is taken from the first store that has one\n"
    "  --listen HOST:PORT  where to listen; [::1]:8080 for IPv6; port 0 takes a free one. Default 127.0.0.1:8080\n"
    "  --threads N         threads that answer requests, 1 to 256. Default: the number of processors\n"
    "  --connections N     open connections, up to 100000; beyond it, queries get status 503. Default 1000\n"
    "  --timeout S         seconds that a request may take to arrive, an answer may stall and a connection may idle,\n"
    "                      1 to 3600. Default 30\n"
    "  --grace S           seconds for running requests to end after SIGTERM; a second signal ends at once. Default "
    "10\n"
    "  --nearest M         gaussian: candidates per slot in an answer, 1 to 1048576. Default 32\n"
    "  --cache-bytes N     memory for parts of answers that are kept; 0 keeps none. Default 268435456\n"
    "  --poll S            seconds between looks for a newer gallery, up to 3600; 0: SIGHUP only. SIGHUP always looks "
    "at\n"
    "                      once. Default 1\n"
    "  --ohttp-key FILE    be the gateway of a relay too, with these keys (privatemail keys); SIGHUP reads them again\n"
    "  --files DIR         also serve the files of this folder, such as a web page. Default: none\n"
    "  --connect-to O      let its pages ask origin O too, such as a relay's; up to 16 times. Default: none\n"
    "  --allow-origin O    let web pages of origin O (such as https://app.example, or *) send queries. Default: none\n"
    "  --log text|off      one line per request on stderr: time, method, route, status, bytes, milliseconds. Default\n"
    "                      text\n"
    "  --log-address       add the client's address to the log\n"
    "  --json              print the line that says where it listens as JSON (docs/CLI.md)\n"
    "  --help              this text\n\n"
    "Exit codes: 0 stopped by a signal, 2 wrong options, 3 an input cannot be read or does not fit, 4 stdout cannot "
    "be\n"
    "written, 7 out of memory, 8 it cannot listen there.\n\n"
    "Example: privatemail serve --pack collection.pmpk --store sqlite:collection.db --listen 127.0.0.1:8080\n";

const struct command command_serve = {"serve", "answer releases over HTTP", help, run};
