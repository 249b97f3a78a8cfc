/* SPDX-License-Identifier: Apache-2.0
 * A socket to listen on. In: "HOST:PORT". Out: the socket, and where it really listens. */
#define _POSIX_C_SOURCE 200809L
#include "common/message.h"
#include "http.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes that may wait in the system to be sent: with megabytes of them libmicrohttpd would see nothing move for the
 * whole of its timeout, and cut those who read slowly but steadily. What is on its way does not count. */
enum { BACKLOG = 1024, HOST_MAX = 255, PORT_MAX = 5, UNSENT_MAX = 1 << 16 };

/* Parts of "HOST:PORT" or "[HOST]:PORT". −1 when it is neither. */
static int split(const char *text, char host[HOST_MAX + 1], char port[PORT_MAX + 1])
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text)
        return -1;
    size_t length = (size_t)(colon - text), digits = strlen(colon + 1);
    bool bracketed = text[0] == '[' && text[length - 1] == ']';
    if (bracketed) {
        text++;
        length -= 2;
    }
    if (length == 0 || length > HOST_MAX || (!bracketed && memchr(text, ':', length)) || digits == 0 ||
        digits > PORT_MAX || strspn(colon + 1, "0123456789") != digits)
        return -1;
    snprintf(host, HOST_MAX + 1, "%.*s", (int)length, text);
    snprintf(port, PORT_MAX + 1, "%s", colon + 1);
    return 0;
}

static int open_socket(const struct addrinfo *at)
{
    int on = 1, unsent = UNSENT_MAX, listener = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
    if (listener < 0)
        return -1;
    if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        setsockopt(listener, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent) == 0 &&
        bind(listener, at->ai_addr, at->ai_addrlen) == 0 && listen(listener, BACKLOG) == 0)
        return listener;
    int reason = errno;
    close(listener);
    errno = reason;
    return -1;
}

static int tell_address(int listener, char *address)
{
    struct sockaddr_storage found;
    socklen_t size = sizeof found;
    char host[64], port[8];
    if (getsockname(listener, (struct sockaddr *)&found, &size) != 0 ||
        getnameinfo((struct sockaddr *)&found, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -1;
    snprintf(address, PML_HTTP_ADDRESS_MAX, found.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return 0;
}

static const char *advice(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "another program listens there. Choose another port, or 0 for any that is free";
    case EACCES:
        return "ports below 1024 need rights. Choose a larger one, and a reverse proxy for 80 and 443";
    case EADDRNOTAVAIL:
        return "this machine has no such address. Use one of its own, such as 127.0.0.1 or 0.0.0.0";
    default:
        return "choose another address";
    }
}

int pml_http_listen(const char *text, char *address, struct pml_message *message)
{
    char host[HOST_MAX + 1], port[PORT_MAX + 1];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    if (split(text, host, port) != 0 || getaddrinfo(host, port, &hints, &found) != 0) {
        pml_say(message, "'%s' is no address to listen on. Give HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080.",
                text);
        return PML_HTTP_BAD_ADDRESS;
    }
    int listener = -1;
    for (const struct addrinfo *at = found; at && listener < 0; at = at->ai_next)
        listener = open_socket(at);
    int reason = errno;
    freeaddrinfo(found);
    if (listener < 0)
        return pml_say(message, "cannot listen on %s (%s): %s.", text, strerror(reason), advice(reason));
    if (tell_address(listener, address) != 0) {
        close(listener);
        return pml_say(message, "cannot tell the address of %s. Choose another.", text);
    }
    return listener;
}
