/* SPDX-License-Identifier: Apache-2.0
 * Counts for Prometheus: of requests, never of what they say. */
#ifndef PML_HTTP_METRICS_H
#define PML_HTTP_METRICS_H

#include "http_connection.h"
#include "server/service/cache.h"

enum { PML_HTTP_CODES = 16, PML_HTTP_BUCKETS = 12 };

struct pml_http_metrics {
    atomic_ullong requests[PML_HTTP_ROUTES][PML_HTTP_CODES];
    atomic_ullong seconds[PML_HTTP_ROUTES][PML_HTTP_BUCKETS + 1]; /* not yet added up */
    atomic_ullong microseconds[PML_HTTP_ROUTES];
    atomic_ullong received, sent, store_failures;
};

void pml_http_count(struct pml_http_metrics *metrics, const struct pml_http_request *request, double seconds);

/* What else is reported. */
struct pml_http_gauges {
    size_t connections, running, packs;
    uint64_t queries, touched;     /* answered; of these: for which the store was read */
    struct pml_cache_counts cache; /* zero: there is none */
};

/* Writes Prometheus' text. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_http_metrics_write(struct pml_http_metrics *metrics, const struct pml_http_gauges *gauges,
                                   struct pml_bytes *text);

#endif
