/* SPDX-License-Identifier: Apache-2.0
 * Counts for Prometheus: of requests, never of what they say. */
#ifndef PML_HTTP_METRICS_H
#define PML_HTTP_METRICS_H

#include "http_site.h"

enum { PML_HTTP_CODES = 24, PML_HTTP_BUCKETS = 12 };

struct pml_http_metrics {
    atomic_ullong requests[PML_HTTP_ROUTES_MAX][PML_HTTP_CODES];
    atomic_ullong seconds[PML_HTTP_ROUTES_MAX][PML_HTTP_BUCKETS + 1]; /* not yet added up */
    atomic_ullong microseconds[PML_HTTP_ROUTES_MAX];
    atomic_ullong received, sent, store_failures;
};

void pml_http_count(struct pml_http_metrics *metrics, const struct pml_http_request *request, double seconds);

/* Appends in Prometheus' text what is told of every site: requests, seconds, connections. Both return false when out of
 * memory. */
bool pml_http_metrics_write(struct pml_http *http, struct pml_bytes *text);

/* The reply to GET /metrics: what `write` appends. */
struct pml_http_reply pml_http_reply_metrics(struct pml_http *http,
                                             bool (*write)(struct pml_http *http, struct pml_bytes *text));

/* One number of a site's own: a "counter" or a "gauge". */
bool pml_http_metric(struct pml_bytes *text, const char *name, const char *type, const char *help,
                     unsigned long long value);

#endif
