/* SPDX-License-Identifier: Apache-2.0
 * Which hosts are this machine: only to these may HTTP go without TLS. */
#ifndef PML_LOOPBACK_H
#define PML_LOOPBACK_H

#include <stdbool.h>

/* Of a host as it stands in a URL. Names are not looked up: whoever answers for a name could lie. */
bool pml_is_loopback(const char *host);

#endif
