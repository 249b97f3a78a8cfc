/* SPDX-License-Identifier: Apache-2.0
 * What commands share that serve until a signal stops them. */
#ifndef CLI_SERVICE_LIFE_H
#define CLI_SERVICE_LIFE_H

#include "cli/shared/command.h"
#include "server/http/http.h"

/* Every connection needs a descriptor; the default limit is often 1024. `files`: how many others there may be. */
void service_raise_limit(uint64_t connections, uint64_t threads, uint64_t files);

/* From now on signals are waited for, SIGHUP too when it means `reload`; call it before there are threads that could get
 * them instead. */
void service_block_signals(bool reloads);

/* A running service. */
struct service_life {
    void *service;
    void (*reload)(void *service); /* on SIGHUP; NULL: that signal ends it too */
    void (*drain)(void *service);
    size_t (*running)(void *service); /* requests that are not over */
    uint64_t grace;                   /* seconds that these get; a second signal ends at once */
};

/* Returns when a signal has come and the requests are over. */
void service_wait(const struct service_life *life);

/* Of --log: "text" or "off". */
exit_code service_check_log(const struct command *command, const char *log);

/* Writes a line to stderr: when, method, route, status, then `rest`. */
void service_log(const struct pml_http_entry *entry, const char *rest);

#endif
