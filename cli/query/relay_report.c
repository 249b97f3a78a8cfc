/* SPDX-License-Identifier: Apache-2.0
 * Reports on a query through a relay. In: what was found, on this device alone, and public numbers. */
#include "relay_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void print(const struct relay_report *report)
{
    static const char *const names[] = {[PML_BUNDLE_QUERY] = "a bundle",
                                        [PML_BUNDLE_KEPT] = "a kept cell sent again, a bundle",
                                        [PML_BUNDLE_IDLE] = "an idle bundle, about no query,"};
    const struct relay_about *about = report->about;
    const size_t messages = report->query->bundle.count;
    if (report->results)
        query_results_print(report->results);
    printf("%s of %zu message%s in epoch %" PRIu64 ": %" PRIu64 " bytes up, %" PRIu64 " bytes down, all in\n",
           names[report->query->arguments->bundle], messages, messages == 1 ? "" : "s", report->epoch->number,
           report->up, report->down);
    receipt_print_promises(stdout, &report->query->receipt);
    printf("relay: %s says that it mixes at least %" PRIu64 " bundle%s", report->relay, about->clients,
           about->clients == 1 ? "" : "s");
    if (report->epoch->noisy)
        printf(" and adds %g clusters of 1 to %" PRIu32 " messages", report->epoch->clusters, report->epoch->copies);
    printf(" per epoch of at least %" PRIu64 " s; nobody can verify that\n", about->epoch_seconds);
    receipt_print_budget(stdout, &report->query->receipt);
}

static void write_about(struct json *json, const struct relay_report *report)
{
    const struct relay_about *about = report->about;
    json_open(json, "relay", '{');
    json_text(json, "address", report->relay);
    json_count(json, "epoch_seconds", about->epoch_seconds);
    json_count(json, "clients", about->clients);
    json_number(json, "clusters", report->epoch->noisy ? report->epoch->clusters : (double)NAN);
    json_number(json, "copies", report->epoch->noisy ? (double)report->epoch->copies : (double)NAN);
    json_close(json, '}');
}

static void write(const struct relay_report *report)
{
    const struct private_query *query = report->query;
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "pack", query->file.id);
    json_text(&json, "mechanism", mechanism_name(query->receipt.price.mechanism));
    json_number(&json, "epsilon", query->promise.epsilon);
    json_number(&json, "delta", query->promise.delta);
    receipt_write_promises(&json, &query->receipt);
    json_count(&json, "epoch", report->epoch->number);
    json_count(&json, "attempts", report->rounds);
    json_count(&json, "messages", query->bundle.count);
    if (report->results)
        query_results_write(report->results, &json);
    json_count(&json, "bytes_up", report->up);
    json_count(&json, "bytes_down", report->down);
    json_text(&json, "kept", query->arguments->keep);
    write_about(&json, report);
    receipt_write_budget(&json, &query->receipt);
    json_close(&json, '}');
}

void relay_report(const struct relay_report *report, bool json)
{
    (json ? write : print)(report);
}
