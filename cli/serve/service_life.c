/* SPDX-License-Identifier: Apache-2.0
 * Signals, limits and log lines of a service. */
#define _XOPEN_SOURCE 700
#include "service_life.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

void service_raise_limit(uint64_t connections, uint64_t threads, uint64_t files)
{
    struct rlimit limit;
    rlim_t wanted = pml_http_descriptors((unsigned)connections, (unsigned)threads);
    wanted += files;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void name_signals(sigset_t *signals, bool reloads)
{
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    if (reloads)
        sigaddset(signals, SIGHUP);
}

void service_block_signals(bool reloads)
{
    sigset_t signals;
    name_signals(&signals, reloads);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* writing then fails, as on a full disk */
}

/* Asks which signals wait: sigtimedwait is not on every system. */
static void drain(const struct service_life *life)
{
    const struct timespec moment = {.tv_nsec = 50000000};
    sigset_t waiting;
    life->drain(life->service);
    for (uint64_t i = 0; i < 20 * life->grace && life->running(life->service) > 0; i++) {
        nanosleep(&moment, NULL);
        if (sigpending(&waiting) == 0 && (sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1))
            return; /* a second signal */
    }
}

void service_wait(const struct service_life *life)
{
    sigset_t signals;
    int told;
    name_signals(&signals, life->reload != NULL);
    while (sigwait(&signals, &told) != 0 || told == SIGHUP) {
        if (told == SIGHUP)
            life->reload(life->service);
    }
    drain(life);
}

exit_code service_check_log(const struct command *command, const char *log)
{
    if (strcmp(log, "text") == 0 || strcmp(log, "off") == 0)
        return EXIT_OK;
    return command_fail(command, EXIT_USAGE, "--log must be text or off, not '%s'.", log);
}

void service_log(const struct pml_http_entry *entry, const char *rest)
{
    char when[32], line[256];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    snprintf(line, sizeof line, "%s %s %s %u%s\n", when, entry->method, entry->route, entry->status, rest);
    fputs(line, stderr); /* in one call, so that lines of several threads do not mix */
}
