/* SPDX-License-Identifier: Apache-2.0
 * Opens a socket to listen on, from "HOST:PORT". */
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

/* Parts of "HOST:PORT" or "[HOST]:PORT"; false when it is neither. */
static bool split(const char *text, char host[HOST_MAX + 1], char port[PORT_MAX + 1])
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text)
        return false;
    size_t length = (size_t)(colon - text), digits = strlen(colon + 1);
    bool bracketed = text[0] == '[' && text[length - 1] == ']';
    if (bracketed) {
        text++;
        length -= 2;
    }
    if (length == 0 || length > HOST_MAX || (!bracketed && memchr(text, ':', length)) || digits == 0 ||
        digits > PORT_MAX || strspn(colon + 1, "0123456789") != digits)
        return false;
    snprintf(host, HOST_MAX + 1, "%.*s", (int)length, text);
    snprintf(port, PORT_MAX + 1, "%s", colon + 1);
    return true;
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

static bool tell_address(int listener, char *address)
{
    struct sockaddr_storage found;
    socklen_t size = sizeof found;
    char host[64], port[8];
    if (getsockname(listener, (struct sockaddr *)&found, &size) != 0 ||
        getnameinfo((struct sockaddr *)&found, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    snprintf(address, PML_HTTP_ADDRESS_MAX, found.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return true;
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

pml_outcome pml_http_listen(const char *text, int *listener, char address[PML_HTTP_ADDRESS_MAX],
                            struct pml_message *message)
{
    char host[HOST_MAX + 1], port[PORT_MAX + 1];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    *listener = -1;
    if (!split(text, host, port) || getaddrinfo(host, port, &hints, &found) != 0)
        return pml_say(message,
                       "'%s' is not an address to listen on. Give HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080.",
                       text);
    for (const struct addrinfo *at = found; at && *listener < 0; at = at->ai_next)
        *listener = open_socket(at);
    const int reason = errno;
    freeaddrinfo(found);
    if (*listener >= 0 && tell_address(*listener, address))
        return PML_DONE;
    if (*listener < 0) {
        pml_say(message, "cannot listen on %s (%s): %s.", text, strerror(reason), advice(reason));
    } else {
        close(*listener);
        pml_say(message, "cannot tell the address of %s. Choose another.", text);
    }
    return PML_UNAVAILABLE;
}
