/* SPDX-License-Identifier: Apache-2.0
 * What a query through a relay found and cost, with both promises next to each other. */
#ifndef CLI_RELAY_REPORT_H
#define CLI_RELAY_REPORT_H

#include "query_results.h"
#include "relay_link.h"

struct relay_report {
    const struct private_query *query;
    const struct query_results *results; /* NULL: the bundle was idle */
    const char *relay;
    const struct relay_about *about;
    const struct relay_epoch *epoch; /* the one that was answered */
    uint64_t rounds;                 /* how many it took */
    uint64_t up, down;               /* bytes of HTTP, all in */
};

/* Prints on stdout, as text or JSON. */
void relay_report(const struct relay_report *report, bool json);

#endif
