/* SPDX-License-Identifier: Apache-2.0
 * Counts requests that are over, and writes the counts as text for Prometheus. */
#include "http_state.h"
#include "http_text.h"

/* Everything the service answers; 0 stands for none and for others, which libmicrohttpd may give. */
static const unsigned codes[PML_HTTP_CODES] = {200, 201, 202, 204, 206, 304, 400, 401, 404, 405,
                                               408, 409, 410, 413, 415, 416, 500, 503, 0};

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

static bool write_requests(struct pml_http *http, struct pml_bytes *text)
{
    struct pml_http_metrics *metrics = &http->metrics;
    bool fine = pml_http_print(text, "# HELP privatemail_requests_total Requests that are over.\n"
                                     "# TYPE privatemail_requests_total counter\n");
    for (unsigned route = 0; route < http->options.site->routes; route++) {
        for (size_t code = 0; code < PML_HTTP_CODES; code++) {
            unsigned long long count = metrics->requests[route][code];
            if (count > 0)
                fine = fine && pml_http_print(text, "privatemail_requests_total{route=\"%s\",code=\"%u\"} %llu\n",
                                              http->options.site->names[route], codes[code], count);
        }
    }
    return fine;
}

static bool write_seconds(struct pml_http *http, struct pml_bytes *text)
{
    struct pml_http_metrics *metrics = &http->metrics;
    bool fine = pml_http_print(text, "# HELP privatemail_request_seconds From a request's first line to its end.\n"
                                     "# TYPE privatemail_request_seconds histogram\n");
    for (unsigned route = 0; route < http->options.site->routes; route++) {
        const char *name = http->options.site->names[route];
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

bool pml_http_metric(struct pml_bytes *text, const char *name, const char *type, const char *help,
                     unsigned long long value)
{
    return pml_http_print(text, "# HELP privatemail_%s %s\n# TYPE privatemail_%s %s\nprivatemail_%s %llu\n", name, help,
                          name, type, name, value);
}

bool pml_http_metrics_write(struct pml_http *http, struct pml_bytes *text)
{
    size_t running, connections = pml_http_connections_count(&http->connections, &running);
    return write_requests(http, text) && write_seconds(http, text) &&
           pml_http_metric(text, "connections", "gauge", "Open connections.", connections) &&
           pml_http_metric(text, "requests_in_flight", "gauge", "Requests that are not over.", running);
}

struct pml_http_reply pml_http_reply_metrics(struct pml_http *http,
                                             bool (*write)(struct pml_http *http, struct pml_bytes *text))
{
    struct pml_bytes text = {0};
    if (write(http, &text))
        return pml_http_no_store(pml_http_reply_bytes(MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", &text));
    pml_bytes_free(&text);
    return (struct pml_http_reply){0};
}
