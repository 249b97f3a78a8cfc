/* SPDX-License-Identifier: Apache-2.0
 * The report of index, as text or as JSON. */
#include "index_report.h"

#include <math.h>
#include <stdio.h>

#define DRIFT_MOST 0.1

double index_drift(const struct pml_settings *settings, uint64_t items)
{
    if (settings->list == 0 || settings->fixed_at == 0)
        return (double)NAN;
    return ((double)items - (double)settings->fixed_at) / (double)settings->fixed_at;
}

double index_share(const struct pml_settings *settings, uint64_t items, uint32_t slots)
{
    if (settings->list == 0)
        return (double)NAN;
    const double share = (double)settings->list * slots / (double)items;
    return share < 1.0 ? share : 1.0;
}

static const char *lists_of(const struct pml_change_report *change)
{
    return change->settings.list > 0 ? "list" : change->settings.cells_per_item > 0 ? "own" : "none";
}

/* Lists of a fixed length carry less and less of a gallery that grows. */
static void tell_drift(const struct index_report *report)
{
    const struct pml_change_report *change = &report->change;
    const double drift = index_drift(&change->settings, change->items);
    if (fabs(drift) > DRIFT_MOST)
        fprintf(
            stderr,
            "privatemail index: the gallery has %.0f %% %s items than when the length of its lists was chosen. A list "
            "of %lu items now carries the share %.3g. To choose again, index all features with --list or --share and "
            "--force.\n",
            100.0 * fabs(drift), drift > 0 ? "more" : "fewer", (unsigned long)change->settings.list,
            index_share(&change->settings, change->items, report->pack->info.slots));
    if (change->unswept.text[0] != 0)
        fprintf(stderr,
                "privatemail index: the new version is served, but what nobody needs any more is still there: %s\n",
                change->unswept.text);
}

static void print_text(const struct index_report *report)
{
    const struct pml_change_report *change = &report->change;
    const struct pml_parts_report *parts = &change->parts;
    char version[PML_NAME_DIGITS + 1];
    pml_name_write(&change->version, version);
    printf("%s: %llu items for pack %s\n", report->store, (unsigned long long)change->items, report->pack->id);
    printf("version %s\n", version);
    printf("%zu items came, %zu were replaced, %zu went; %zu of %zu parts are new, %llu bytes\n", change->added,
           change->replaced, change->removed, parts->added, parts->parts, (unsigned long long)parts->added_bytes);
    if (parts->cells > 0)
        printf("response: %zu cells of %g to %g items, median %g, %zu empty; ", parts->cells, parts->smallest,
               parts->largest, parts->median, parts->empty);
    if (change->settings.list > 0 && parts->cells > 0)
        printf("each lists %lu, the share %.3g of its slot\n", (unsigned long)change->settings.list,
               index_share(&change->settings, change->items, report->pack->info.slots));
    else if (parts->cells > 0)
        printf("%s per item\n", change->settings.cells_per_item == 1 ? "one" : "two");
    if (change->dimensions > 0)
        printf("gaussian: places of %lu numbers, %lu iterations\n", (unsigned long)change->dimensions,
               (unsigned long)change->settings.iterations);
    if (change->payloads > 0)
        printf("payloads: %zu items have one, %llu bytes together\n", change->payloads,
               (unsigned long long)change->payload_bytes);
    printf("%.3g seconds\n", report->seconds);
}

static void write_json(const struct index_report *report)
{
    static const char *const stages[] = {"", "rows", "neighbours"};
    const struct pml_change_report *change = &report->change;
    const struct pml_parts_report *parts = &change->parts;
    char version[PML_NAME_DIGITS + 1];
    struct json json = {0};
    pml_name_write(&change->version, version);
    json_open(&json, NULL, '{');
    json_text(&json, "store", report->store);
    json_text(&json, "pack", report->pack->id);
    json_text(&json, "version", version);
    json_count(&json, "items", change->items);
    json_count(&json, "added", change->added);
    json_count(&json, "replaced", change->replaced);
    json_count(&json, "removed", change->removed);
    json_count(&json, "cells", parts->cells);
    json_text(&json, "lists", lists_of(change));
    json_count(&json, "list", change->settings.list);
    json_count(&json, "cells_per_item", change->settings.cells_per_item);
    json_number(&json, "share", index_share(&change->settings, change->items, report->pack->info.slots));
    json_number(&json, "drift", index_drift(&change->settings, change->items));
    json_number(&json, "smallest_cell", parts->smallest);
    json_number(&json, "median_cell", parts->median);
    json_number(&json, "largest_cell", parts->largest);
    json_count(&json, "empty_cells", parts->empty);
    json_count(&json, "parts", parts->parts);
    json_count(&json, "new_parts", parts->added);
    json_count(&json, "new_bytes", parts->added_bytes);
    json_count(&json, "swept", change->swept);
    json_count(&json, "payloads", change->payloads);
    json_count(&json, "payload_bytes", change->payload_bytes);
    json_count(&json, "dimensions", change->dimensions);
    json_count(&json, "iterations", change->settings.iterations);
    json_text(&json, "resumed", stages[change->resumed]);
    json_number(&json, "seconds", report->seconds);
    json_close(&json, '}');
}

void index_report_write(const struct index_report *report)
{
    tell_drift(report);
    (report->json ? write_json : print_text)(report);
}
