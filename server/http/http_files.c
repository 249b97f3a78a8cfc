/* SPDX-License-Identifier: Apache-2.0
 * Files of one folder. In: a path, from anybody. Out: a plain file below the folder, or 404. */
#define _POSIX_C_SOURCE 200809L
#include "http_files.h"

#include "common/system.h"
#include "http_fields.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_LENGTH_MAX = 255 };

static const char *type_of(const char *path)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".json", "application/json"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".wasm", "application/wasm"},
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(dot, types[i].ending) == 0)
            return types[i].type;
    }
    return "application/octet-stream";
}

/* Opens name after name from the folder on, none of them a link, so that there is no way out. −1 when there is none. */
static int open_below(int root, const char *path)
{
    int folder = dup(root);
    while (folder >= 0) {
        char name[NAME_LENGTH_MAX + 1];
        size_t length = strcspn(path, "/");
        bool last = path[length] == 0;
        int next = -1;
        if (length > 0 && length <= NAME_LENGTH_MAX && path[0] != '.') {
            snprintf(name, sizeof name, "%.*s", (int)length, path);
            /* O_NONBLOCK: opening a pipe must not wait for its other end */
            next = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (last ? 0 : O_DIRECTORY));
        }
        close(folder);
        if (last)
            return next;
        folder = next;
        path += length + 1;
    }
    return -1;
}

struct pml_http_reply pml_http_file(int root, const char *path, const char *tag, const char *connect)
{
    char longer[1024], own_tag[64], policy[2048];
    struct pml_found found;
    int length = snprintf(longer, sizeof longer, "%s%s", path + 1, path[strlen(path) - 1] == '/' ? "index.html" : "");
    int file = length > 0 && (size_t)length < sizeof longer ? open_below(root, longer) : -1;
    if (file >= 0 && (pml_system_look_open(file, &found) != 0 || found.kind != PML_KIND_FILE)) {
        close(file);
        file = -1;
    }
    if (file < 0)
        return pml_http_not_found();
    snprintf(own_tag, sizeof own_tag, "\"%llx-%llx-%lx\"", (unsigned long long)found.size,
             (unsigned long long)found.changed_seconds, (unsigned long)found.changed_nanoseconds);
    struct pml_http_reply reply;
    if (pml_http_has_tag(tag, own_tag)) {
        close(file);
        reply = pml_http_reply_kept(MHD_HTTP_NOT_MODIFIED, NULL, "", 0);
    } else {
        reply = pml_http_reply_file(type_of(longer), file, 0, found.size);
    }
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_ETAG, own_tag);
    pml_http_reply_field(&reply, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    snprintf(policy, sizeof policy,
             "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
             "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
             "connect-src 'self'%s",
             connect ? connect : "");
    pml_http_reply_field(&reply, "Content-Security-Policy", policy);
    return reply;
}
