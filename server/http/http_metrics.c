/* SPDX-License-Identifier: Apache-2.0
 * Counts requests that are over, and writes the counts as text for Prometheus. */
#include "http_metrics.h"

#include "http_text.h"

/* Everything the service answers; 0 stands for none and for others, which libmicrohttpd may give. */
static const unsigned codes[PML_HTTP_CODES] = {200, 204, 206, 304, 400, 404, 405, 408, 409, 413, 415, 416, 500, 503, 0};

static const double bounds[PML_HTTP_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};

void pml_http_count(struct pml_http_metrics *metrics, const struct pml_http_request *request, double seconds)
{
    size_t code = 0, bucket = 0;
    while (codes[code] != request->status && codes[code] != 0)
        code++;
    while (bucket < PML_HTTP_BUCKETS && seconds > bounds[bucket])
        bucket++;
    metrics->requests[request->route][code]++;
    metrics->seconds[request->route][bucket]++;
    metrics->microseconds[request->route] += (unsigned long long)(seconds * 1e6);
    metrics->received += request->received;
    metrics->sent += request->sent;
}

static bool write_requests(struct pml_http_metrics *metrics, struct pml_bytes *text)
{
    bool fine = pml_http_print(text, "# HELP privatemail_requests_total Requests that are over.\n"
                                     "# TYPE privatemail_requests_total counter\n");
    for (enum pml_http_route route = 0; route < PML_HTTP_ROUTES; route++) {
        for (size_t code = 0; code < PML_HTTP_CODES; code++) {
            unsigned long long count = metrics->requests[route][code];
            if (count > 0)
                fine = fine && pml_http_print(text, "privatemail_requests_total{route=\"%s\",code=\"%u\"} %llu\n",
                                              pml_http_route_name(route), codes[code], count);
        }
    }
    return fine;
}

static bool write_seconds(struct pml_http_metrics *metrics, struct pml_bytes *text)
{
    bool fine = pml_http_print(text, "# HELP privatemail_request_seconds From a request's first line to its end.\n"
                                     "# TYPE privatemail_request_seconds histogram\n");
    for (enum pml_http_route route = 0; route < PML_HTTP_ROUTES; route++) {
        const char *name = pml_http_route_name(route);
        unsigned long long count = 0;
        for (size_t i = 0; i < PML_HTTP_BUCKETS; i++) {
            count += metrics->seconds[route][i];
            fine = fine && pml_http_print(text, "privatemail_request_seconds_bucket{route=\"%s\",le=\"%g\"} %llu\n",
                                          name, bounds[i], count);
        }
        count += metrics->seconds[route][PML_HTTP_BUCKETS];
        fine = fine && pml_http_print(text,
                                      "privatemail_request_seconds_bucket{route=\"%s\",le=\"+Inf\"} %llu\n"
                                      "privatemail_request_seconds_sum{route=\"%s\"} %.6f\n"
                                      "privatemail_request_seconds_count{route=\"%s\"} %llu\n",
                                      name, count, name, 1e-6 * (double)metrics->microseconds[route], name, count);
    }
    return fine;
}

static bool write_one(struct pml_bytes *text, const char *name, const char *type, const char *help,
                      unsigned long long value)
{
    return pml_http_print(text, "# HELP privatemail_%s %s\n# TYPE privatemail_%s %s\nprivatemail_%s %llu\n", name, help,
                          name, type, name, value);
}

pml_outcome pml_http_metrics_write(struct pml_http_metrics *metrics, const struct pml_http_gauges *gauges,
                                   struct pml_bytes *text)
{
    bool fine = write_requests(metrics, text) && write_seconds(metrics, text);
    fine = fine && write_one(text, "received_bytes_total", "counter", "Bytes of requests' bodies.", metrics->received);
    fine = fine && write_one(text, "sent_bytes_total", "counter", "Bytes of answers' bodies.", metrics->sent);
    fine = fine && write_one(text, "store_failures_total", "counter", "Queries that the store could not answer.",
                             metrics->store_failures);
    fine = fine && write_one(text, "queries_total", "counter", "Queries that were answered.", gauges->queries);
    fine = fine &&
           write_one(text, "queries_from_store_total", "counter",
                     "Queries for which the store was read; the others were answered from memory.", gauges->touched);
    fine =
        fine && write_one(text, "cache_hits_total", "counter", "Parts of answers found in memory.", gauges->cache.hits);
    fine = fine && write_one(text, "cache_misses_total", "counter", "Parts that were not.", gauges->cache.misses);
    fine =
        fine && write_one(text, "cache_evictions_total", "counter", "Parts that had to go.", gauges->cache.evictions);
    fine = fine && write_one(text, "cache_bytes", "gauge", "Bytes of parts in memory.", gauges->cache.bytes);
    fine = fine && write_one(text, "cache_limit_bytes", "gauge", "Bytes there may be.", gauges->cache.limit);
    fine = fine && write_one(text, "connections", "gauge", "Open connections.", gauges->connections);
    fine = fine && write_one(text, "requests_in_flight", "gauge", "Requests that are not over.", gauges->running);
    fine = fine && write_one(text, "packs", "gauge", "Packs that are served.", gauges->packs);
    return fine ? PML_DONE : PML_NO_MEMORY;
}
