/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "loopback.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

bool pml_is_loopback(const char *host)
{
    uint8_t address[4]; /* a name may begin with 127. too */
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (inet_pton(AF_INET, host, address) == 1 && address[0] == 127);
}
