/* SPDX-License-Identifier: Apache-2.0
 * relay: mixes the messages of a crowd until a signal stops it. Its log never holds an address. */
#define _XOPEN_SOURCE 700
#include "cli/shared/command.h"
#include "common/parallel.h"
#include "server/relay/relay.h"
#include "cli/serve/service_life.h"

#include <privatemail_crowd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES_PLANNED = 20, DESCRIPTORS_SPARE = 1024 /* spools, the gateway */ };

struct arguments {
    const char *gateway, *ca, *listen, *spool, *tokens, *noise, *noise_for, *allow_origin, *log;
    uint64_t epoch, clients, threads, connections, timeout, grace, waiting;
    uint64_t bundle_messages, epoch_messages, spool_bytes, gateway_timeout, gateway_connections;
    bool json;
};

static exit_code refuse(const char *sentence)
{
    return command_fail(&command_relay, EXIT_USAGE, "%s", sentence);
}

/* ---- options ---- */

/* "A,B" or "A,B,C" as numbers. Returns how many there are, 0 when it is something else. */
static int read_numbers(const char *text, double numbers[3])
{
    int count = 0;
    for (const char *at = text; count < 3; at++) {
        char *end;
        numbers[count++] = strtod(at, &end);
        if (end == at || (*end != 0 && *end != ','))
            return 0;
        if (*end == 0)
            return count;
        at = end;
    }
    return 0;
}

static bool is_copies(double copies)
{
    return copies >= 1.0 && copies <= PML_CROWD_COPIES_MAX && copies == (double)(uint32_t)copies;
}

static exit_code read_noise(const struct arguments *arguments, struct pml_relay_noise *noise)
{
    double numbers[3];
    *noise = (struct pml_relay_noise){0};
    if (arguments->noise && arguments->noise_for)
        return refuse("give --noise or --noise-for, not both.");
    if (arguments->noise) {
        if (read_numbers(arguments->noise, numbers) != 2 || !(numbers[0] > 0.0 && numbers[0] <= PML_CROWD_RELAY_MAX) ||
            !is_copies(numbers[1]))
            return refuse("--noise needs R,V: clusters per epoch, above 0 to 16777216, and the largest cluster, 1 to "
                          "64.");
        *noise = (struct pml_relay_noise){.clusters = numbers[0], .copies = (uint32_t)numbers[1]};
    }
    if (arguments->noise_for) {
        const int count = read_numbers(arguments->noise_for, numbers);
        if (count < 2 || !(numbers[0] >= PML_EPSILON_MIN && numbers[0] <= PML_EPSILON_MAX) ||
            !(numbers[1] >= 0x1p-50 && numbers[1] < 1.0) || (count == 3 && !is_copies(numbers[2])))
            return refuse("--noise-for needs EPSILON,DELTA (1e-6 to 16, 1e-15 to below 1), and after another comma, if "
                          "you want, the largest cluster, 1 to 64.");
        *noise = (struct pml_relay_noise){
            .epsilon = numbers[0], .delta = numbers[1], .copies = count == 3 ? (uint32_t)numbers[2] : COPIES_PLANNED};
    }
    return EXIT_OK;
}

static exit_code check(const struct arguments *arguments)
{
    const struct count_limit limits[] = {
        {"epoch", arguments->epoch, 1, 3600},
        {"clients", arguments->clients, 0, UINT32_MAX / 4},
        {"threads", arguments->threads, 1, 256},
        {"connections", arguments->connections, arguments->threads, 100000},
        {"timeout", arguments->timeout, 1, 3600},
        {"grace", arguments->grace, 0, 3600},
        {"waiting", arguments->waiting, 0, arguments->connections},
        {"bundle-messages", arguments->bundle_messages, 1, 65536},
        {"epoch-messages", arguments->epoch_messages, 1, UINT32_MAX / 4},
        {"spool-bytes", arguments->spool_bytes, 1, INT64_MAX / 4},
        {"gateway-timeout", arguments->gateway_timeout, 1, 3600},
        {"gateway-connections", arguments->gateway_connections, 1, 16},
    };
    exit_code code = options_check_limits(&command_relay, limits, sizeof limits / sizeof limits[0], false);
    if (code == EXIT_OK)
        code = service_check_log(&command_relay, arguments->log);
    if (code != EXIT_OK)
        return code;
    if (arguments->clients < 2 && !arguments->noise && !arguments->noise_for)
        return refuse("--clients must be at least 2 without noise of the relay: one bundle is no crowd. Add --noise or "
                      "--noise-for.");
    const char *fault = relay_gateway_fault(arguments->gateway);
    return fault ? refuse(fault) : EXIT_OK;
}

static exit_code parse(int argc, char **argv, struct arguments *a)
{
    struct option_spec specs[] = {
        {"gateway", OPTION_TEXT, &a->gateway, true, false},
        {"epoch", OPTION_COUNT, &a->epoch, true, false},
        {"clients", OPTION_COUNT, &a->clients, true, false},
        {"listen", OPTION_TEXT, &a->listen, false, false},
        {"noise", OPTION_TEXT, &a->noise, false, false},
        {"noise-for", OPTION_TEXT, &a->noise_for, false, false},
        {"tokens", OPTION_TEXT, &a->tokens, false, false},
        {"spool", OPTION_TEXT, &a->spool, false, false},
        {"spool-bytes", OPTION_COUNT, &a->spool_bytes, false, false},
        {"bundle-messages", OPTION_COUNT, &a->bundle_messages, false, false},
        {"epoch-messages", OPTION_COUNT, &a->epoch_messages, false, false},
        {"waiting", OPTION_COUNT, &a->waiting, false, false},
        {"ca", OPTION_TEXT, &a->ca, false, false},
        {"gateway-timeout", OPTION_COUNT, &a->gateway_timeout, false, false},
        {"gateway-connections", OPTION_COUNT, &a->gateway_connections, false, false},
        {"threads", OPTION_COUNT, &a->threads, false, false},
        {"connections", OPTION_COUNT, &a->connections, false, false},
        {"timeout", OPTION_COUNT, &a->timeout, false, false},
        {"grace", OPTION_COUNT, &a->grace, false, false},
        {"allow-origin", OPTION_TEXT, &a->allow_origin, false, false},
        {"log", OPTION_TEXT, &a->log, false, false},
        {"json", OPTION_FLAG, &a->json, false, false},
    };
    const char *folder = getenv("TMPDIR");
    *a = (struct arguments){.listen = "127.0.0.1:8090",
                            .spool = folder && folder[0] != 0 ? folder : "/var/tmp",
                            .log = "text",
                            .threads = pml_parallel_threads(0),
                            .connections = 4000,
                            .timeout = 30,
                            .grace = 10,
                            .bundle_messages = 4096,
                            .epoch_messages = 4u << 20,
                            .spool_bytes = (uint64_t)16 << 30,
                            .gateway_timeout = 60,
                            .gateway_connections = 4};
    exit_code code = options_parse(&command_relay, argc, argv, specs, sizeof specs / sizeof specs[0], NULL, 0, 0);
    if (!specs[11].given)
        a->waiting = a->connections / 2;
    return code == EXIT_OK ? check(a) : code;
}

/* ---- service ---- */

/* When, what and how it ended; neither who nor how much, which would tell the size of a bundle. */
static void log_line(void *context, const struct pml_http_entry *entry)
{
    (void)context;
    service_log(entry, "");
}

static void reload(void *relay)
{
    struct pml_message message = {""};
    if (pml_relay_reload(relay, &message) != PML_DONE)
        fprintf(stderr, "privatemail relay: the old tokens stay: %s\n", message.text);
}

static void drain(void *relay)
{
    pml_relay_drain(relay);
}

static size_t running(void *relay)
{
    return pml_relay_running(relay);
}

static exit_code tell_start(const struct arguments *arguments, const char *address)
{
    if (arguments->json) {
        struct json json = {0};
        json_open(&json, NULL, '{');
        json_text(&json, "listen", address);
        json_text(&json, "gateway", arguments->gateway);
        json_count(&json, "epoch_seconds", arguments->epoch);
        json_count(&json, "clients", arguments->clients);
        json_close(&json, '}');
    } else {
        printf("privatemail relay: http://%s/ mixes for %s, epochs of %llu s and %llu clients\n", address,
               arguments->gateway, (unsigned long long)arguments->epoch, (unsigned long long)arguments->clients);
    }
    if (fflush(stdout) == 0)
        return EXIT_OK;
    return command_fail(&command_relay, EXIT_OUTPUT, "stdout cannot be written. Send it elsewhere.");
}

static struct pml_relay_options options_of(const struct arguments *a)
{
    return (struct pml_relay_options){
        .http = {.threads = (unsigned)a->threads,
                 .connections = (unsigned)a->connections,
                 .timeout = (unsigned)a->timeout,
                 .origin = a->allow_origin,
                 .log = strcmp(a->log, "off") == 0 ? NULL : log_line},
        .gateway = {a->gateway, a->ca, (unsigned)a->gateway_timeout, (unsigned)a->gateway_connections},
        .spool = a->spool,
        .tokens = a->tokens,
        .epoch_seconds = (unsigned)a->epoch,
        .clients = (uint32_t)a->clients,
        .bundle_messages = (uint32_t)a->bundle_messages,
        .epoch_messages = (uint32_t)a->epoch_messages,
        .spool_bytes = a->spool_bytes,
        .waiting = (uint32_t)a->waiting};
}

static exit_code serve(const struct arguments *arguments, struct pml_relay_options *options)
{
    struct pml_message message = {""};
    struct pml_relay *relay = NULL;
    char address[PML_HTTP_ADDRESS_MAX];
    service_block_signals(true);
    pml_outcome outcome = pml_http_listen(arguments->listen, &options->http.listener, address, &message);
    if (outcome != PML_DONE)
        return command_fail(&command_relay, outcome == PML_REFUSED ? EXIT_USAGE : EXIT_NETWORK, "--listen: %s",
                            message.text);
    outcome = pml_relay_start(&relay, options, &message);
    if (outcome != PML_DONE)
        return command_fail(&command_relay,
                            outcome == PML_NO_MEMORY     ? EXIT_FAULT
                            : outcome == PML_UNAVAILABLE ? EXIT_NETWORK
                                                         : EXIT_INPUT,
                            "%s", message.text);
    exit_code code = tell_start(arguments, address);
    if (code == EXIT_OK)
        service_wait(&(struct service_life){
            .service = relay, .reload = reload, .drain = drain, .running = running, .grace = arguments->grace});
    pml_relay_stop(relay);
    return code;
}

static exit_code run(int argc, char **argv)
{
    struct arguments arguments;
    exit_code code = parse(argc, argv, &arguments);
    struct pml_relay_options options;
    if (code != EXIT_OK)
        return code;
    options = options_of(&arguments);
    code = read_noise(&arguments, &options.noise);
    if (code != EXIT_OK)
        return code;
    service_raise_limit(arguments.connections, arguments.threads, DESCRIPTORS_SPARE + arguments.connections);
    return serve(&arguments, &options);
}

static const char help[] =
    "Usage: privatemail relay --gateway URL --epoch SECONDS --clients N [OPTIONS]\n\n"
    "Mixes the sealed messages of a crowd (docs/RELAY.md) until SIGTERM or SIGINT. It holds bundles until an epoch "
    "ends\n"
    "and at least N are there, sends all messages to the gateway in one random order, and hands out the answers when "
    "all\n"
    "of them are there. Plain HTTP: put a reverse proxy with TLS in front of it.\n\n"
    "Options:\n"
    "  --gateway URL          the server that opens the messages: serve --ohttp-key; https, or http on this machine\n"
    "  --epoch SECONDS        how long an epoch is open at least, 1 to 3600\n"
    "  --clients N            bundles that an epoch has at least; with noise of the relay it may be 1, and\n"
    "                         0 sends empty epochs too, which hides whether anybody asked\n"
    "  --noise R,V            add R clusters of fakes per epoch and pack on average, sizes 1 to V. Default: none\n"
    "  --noise-for E,D[,V]    add what keeps epsilon E and delta D alone, in clusters of up to V. Default V: 20\n"
    "  --listen HOST:PORT     where to listen; port 0 takes a free one. Default 127.0.0.1:8090\n"
    "  --tokens FILE          admit only who shows a token (Authorization: Bearer), each once per epoch; one SHA-256\n"
    "                         digest per line; read again on SIGHUP. Default: everybody\n"
    "  --spool DIR            folder for files without names. Default: TMPDIR, else /var/tmp\n"
    "  --spool-bytes N        bytes of messages and answers on disk; beyond that, bundles get 503. Default "
    "17179869184\n"
    "  --bundle-messages N    messages of one bundle, up to 65536. Default 4096\n"
    "  --epoch-messages N     messages and bundles of one epoch. Default 4194304\n"
    "  --connections N        open connections, up to 100000. Default 4000\n"
    "  --waiting N            requests that may wait for an epoch; others are told when to ask again. Default: half "
    "of\n"
    "                         the connections\n"
    "  --threads N            threads that answer requests, 1 to 256. Default: the number of processors\n"
    "  --timeout S            seconds that a bundle may take to arrive, and an epoch waits for it, 1 to 3600. Default "
    "30\n"
    "  --gateway-timeout S    seconds for one request to the gateway. Default 60\n"
    "  --gateway-connections N  requests to the gateway at once, 1 to 16. Default 4\n"
    "  --ca FILE              certificates to trust for the gateway. Default: the system's\n"
    "  --grace S              seconds for running requests to end after SIGTERM. Default 10\n"
    "  --allow-origin O       let web pages of origin O take part. Default: none\n"
    "  --log text|off         one line per request on stderr: time, method, route, status. Default text\n"
    "  --json                 print the line that says where it listens as JSON (docs/CLI.md)\n"
    "  --help                 this text\n\n"
    "Exit codes: 0 stopped by a signal, 2 wrong options, 3 the tokens cannot be read, 4 stdout cannot be written, 7 "
    "out\n"
    "of memory, 8 it cannot listen there, the gateway has no keys, or the spool cannot be written.\n\n"
    "Example: privatemail relay --gateway https://search.example --epoch 600 --clients 1000 --listen 127.0.0.1:8090\n";

const struct command command_relay = {"relay", "mix the messages of a crowd", help, run};
