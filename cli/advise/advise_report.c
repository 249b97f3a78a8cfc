/* SPDX-License-Identifier: Apache-2.0
 * The advice in words and as JSON. */
#include "advise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const char *advise_size_text(double bytes, char text[ADVISE_SIZE_TEXT])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        bytes /= 1000.0;
    snprintf(text, ADVISE_SIZE_TEXT, "%.3g %s", bytes, units[unit]);
    return text;
}

/* ---- text ---- */

static void print_number(double value)
{
    if (isnan(value))
        printf(" %10s", "-");
    else
        printf(" %10.4g", value);
}

static void print_way(const struct advise_way *way)
{
    char bytes[ADVISE_SIZE_TEXT] = "-";
    if (!isnan(way->bytes))
        advise_size_text(way->bytes, bytes);
    printf("%-10s %-4s", way->name, way->fits ? "yes" : "no");
    print_number(way->epsilon);
    print_number(way->delta);
    print_number(way->floor);
    print_number(way->found_most);
    print_number(way->found);
    printf(" %12s\n", bytes);
}

void advise_print(const struct advise_question *question, const struct advise_advice *advice)
{
    const struct advise_way *chosen = &advice->ways[advice->choice];
    printf("choice     %s\n\n%s\n\n", chosen->name, advice->why);
    printf("promise    %s\nassumes    %s\n\n", chosen->promise, chosen->assumption);
    printf("way        fits    epsilon      delta      floor    at most      found  down/query\n");
    for (size_t i = 0; i < ADVISE_WAYS; i++)
        print_way(&advice->ways[i]);
    printf("\nat most: the ceiling of what any method finds of the 8 nearest. found: ");
    if (advice->measured_rows > 0)
        printf("measured on %" PRIu64 " rows of %s, with %" PRIu64 " queries.\n", advice->measured_rows,
               question->features, advice->measured_queries);
    else
        printf("give --features to measure it.\n");
    for (size_t i = 0; i < ADVISE_WAYS; i++) {
        if (i != advice->choice)
            printf("\n%s: %s\n", advice->ways[i].name, advice->ways[i].reason);
    }
}

/* ---- JSON ---- */

static void write_way(struct json *json, const char *key, const struct advise_way *way)
{
    json_open(json, key, '{');
    json_text(json, "way", way->name);
    json_bool(json, "fits", way->fits);
    json_number(json, "epsilon", way->epsilon);
    json_number(json, "delta", way->delta);
    json_number(json, "floor", way->floor);
    json_number(json, "found_most", way->found_most);
    json_number(json, "found", way->found);
    json_number(json, "found_error", way->error);
    json_number(json, "popular", way->popular);
    json_count(json, "items", way->items);
    json_count(json, "items_most", way->items_most);
    json_number(json, "share", way->share);
    json_count(json, "cells", way->cells);
    json_number(json, "answers", way->answers);
    json_number(json, "bytes", way->bytes);
    json_number(json, "bytes_once", way->bytes_once);
    json_number(json, "bytes_daily", way->bytes_daily);
    json_text(json, "promise", way->promise[0] ? way->promise : NULL);
    json_text(json, "assumption", way->assumption[0] ? way->assumption : NULL);
    json_text(json, "reason", way->reason);
    json_close(json, '}');
}

void advise_write(const struct advise_question *question, const struct advise_advice *advice)
{
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "choice", advice->ways[advice->choice].name);
    json_text(&json, "why", advice->why);
    json_count(&json, "items", question->items);
    json_count(&json, "bytes_down", question->bytes_down);
    json_count(&json, "sketch", question->sketch);
    json_count(&json, "users", question->crowd.clients);
    json_number(&json, "changes_per_day", question->changes);
    json_number(&json, "queries_per_day", question->queries);
    json_number(&json, "days", question->days);
    json_number(&json, "found_wanted", question->found);
    json_count(&json, "measured_rows", advice->measured_rows);
    json_count(&json, "measured_queries", advice->measured_queries);
    write_way(&json, "chosen", &advice->ways[advice->choice]);
    json_open(&json, "alternatives", '[');
    for (size_t i = 0; i < ADVISE_WAYS; i++) {
        if (i != advice->choice)
            write_way(&json, NULL, &advice->ways[i]);
    }
    json_close(&json, ']');
    json_close(&json, '}');
}
