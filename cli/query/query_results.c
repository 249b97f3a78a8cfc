/* SPDX-License-Identifier: Apache-2.0
 * What a query found. In: an answer in pieces, which may be hostile. Out: the best of it, on stdout and as files. */
#include "query_results.h"

#include "cli/shared/match_list.h"
#include "cli/shared/output.h"

#include <inttypes.h>
#include <math.h>
#include <privatemail_platform.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- an answer ---- */

void query_results_restart(struct query_results *results)
{
    results->summary = (pml_answer_summary){0};
    results->whole = 0;
}

pml_status query_results_begin(struct query_results *results, const struct private_query *query, pml_scope scope,
                               size_t top)
{
    const pml_query vector = private_query_vector(query);
    const pml_ranking_config config = {.matches = results->fresh,
                                       .capacity = top,
                                       .scope = scope,
                                       .crowd = query->arguments->crowd.asked || query->config.mechanism == PML_CROWD,
                                       .kernels = pml_platform_kernels()};
    results->top = top;
    results->answer.size = results->whole;
    results->too_long = false;
    results->heard = 0;
    return pml_ranking_begin(&results->ranking, results->memory, sizeof results->memory, &query->file.pack, &vector,
                             &config);
}

int query_results_take(void *context, const void *bytes, size_t size)
{
    struct query_results *results = context;
    for (size_t i = 0; i < size && results->heard < sizeof results->head; i++)
        results->head[results->heard++] = ((const uint8_t *)bytes)[i];
    if (results->folder) {
        results->too_long = size > results->most - results->answer.size;
        results->no_memory = !results->too_long && pml_bytes_append(&results->answer, bytes, size) != PML_DONE;
        if (results->too_long || results->no_memory)
            return -1;
    }
    return pml_ranking_feed(results->ranking, bytes, size);
}

pml_status query_results_finish(struct query_results *results)
{
    pml_answer_summary summary;
    const pml_status status = pml_ranking_finish(results->ranking, &summary);
    if (status != PML_OK)
        return status;
    for (size_t i = 0; i < summary.found; i++)
        results->fresh[i].payload_offset += results->whole;
    results->whole = results->answer.size;
    results->summary.found =
        match_list_merge(results->matches, results->summary.found, results->top, results->fresh, summary.found);
    results->summary.carried += summary.carried;
    results->summary.bytes += summary.bytes;
    results->summary.gallery = summary.gallery;
    return PML_OK;
}

/* An answer begins with a list of five, whose first is the version: a small number (SPEC 3). */
unsigned query_results_other_version(const struct query_results *results)
{
    enum { LIST_OF_FIVE = 0x85, NEWEST = 2, SMALL = 24 };
    const bool says = results->heard == sizeof results->head && results->head[0] == LIST_OF_FIVE;
    return says && results->head[1] > NEWEST && results->head[1] < SMALL ? results->head[1] : 0;
}

static void wipe_matches(pml_match matches[PML_MATCHES_MAX])
{
    volatile uint8_t *bytes = (volatile uint8_t *)matches; /* volatile: not to be left out as useless */
    for (size_t i = 0; i < PML_MATCHES_MAX * sizeof *matches; i++)
        bytes[i] = 0;
}

void query_results_close(struct query_results *results)
{
    pml_ranking_wipe(results->ranking);
    wipe_matches(results->fresh);
    wipe_matches(results->matches);
    pml_bytes_free(&results->answer);
}

/* ---- payloads ---- */

static char *payload_path(const struct query_results *results, uint64_t item)
{
    size_t length = strlen(results->folder) + 32;
    char *path = malloc(length);
    if (path)
        snprintf(path, length, "%s/%" PRIu64 ".payload", results->folder, item);
    return path;
}

exit_code query_results_check(const struct query_results *results, const struct command *command)
{
    char *path = results->folder ? payload_path(results, 0) : NULL;
    exit_code code = EXIT_OK;
    if (results->folder)
        code = path ? output_try(command, path, 1) : command_no_memory(command);
    free(path);
    return code;
}

exit_code query_results_save(const struct query_results *results, const struct command *command)
{
    exit_code code = EXIT_OK;
    for (size_t i = 0; results->folder && i < results->summary.found && code == EXIT_OK; i++) {
        const pml_match *match = &results->matches[i];
        char *path = payload_path(results, match->item);
        if (!path)
            return command_no_memory(command);
        code = output_check(command, path, results->force);
        if (code == EXIT_OK)
            code = output_write(command, path, results->force, results->answer.bytes + match->payload_offset,
                                match->payload_size);
        free(path);
    }
    return code;
}

/* ---- telling ---- */

static double share(const struct query_results *results)
{
    return (double)results->summary.carried / (double)results->summary.gallery;
}

void query_results_print(const struct query_results *results)
{
    const pml_answer_summary *summary = &results->summary;
    for (size_t i = 0; i < summary->found; i++)
        printf("%3zu. item %" PRIu64 ", class %" PRId32 ", score %.4f\n", i + 1, results->matches[i].item,
               results->matches[i].label, (double)results->matches[i].score * 0x1p-30);
    if (summary->found == 0)
        printf("nothing was found: the answer has no candidates in the slots that were ranked\n");
    printf("answer: %" PRIu64 " of %" PRIu64 " items (%.3g %%), %" PRIu64 " bytes\n", summary->carried,
           summary->gallery, 100.0 * share(results), summary->bytes);
}

static void print(const struct query_results *results, const struct private_query *query, bool resent)
{
    query_results_print(results);
    printf("%s release of %zu bytes", mechanism_name(query->config.mechanism), query->size);
    if (!resent)
        printf(": epsilon %g, delta %g", query->receipt.price.epsilon, query->receipt.price.delta);
    printf("\n");
    receipt_print_budget(stdout, &query->receipt);
}

void query_results_write(const struct query_results *results, struct json *json)
{
    const pml_answer_summary *summary = &results->summary;
    json_open(json, "results", '[');
    for (size_t i = 0; i < summary->found; i++) {
        json_open(json, NULL, '{');
        json_count(json, "id", results->matches[i].item);
        json_integer(json, "class", results->matches[i].label);
        json_number(json, "score", (double)results->matches[i].score * 0x1p-30);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_count(json, "carried", summary->carried);
    json_count(json, "gallery", summary->gallery);
    json_number(json, "share", share(results));
}

static void write(const struct query_results *results, const struct private_query *query, bool resent)
{
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "pack", query->file.id);
    json_text(&json, "mechanism", mechanism_name(query->config.mechanism));
    json_number(&json, "epsilon", resent ? NAN : query->receipt.price.epsilon);
    json_number(&json, "delta", resent ? NAN : query->receipt.price.delta);
    query_results_write(results, &json);
    json_count(&json, "bytes_up", query->size);
    json_count(&json, "bytes_down", results->summary.bytes);
    json_count(&json, "attempts", results->attempts);
    receipt_write_budget(&json, &query->receipt);
    json_close(&json, '}');
}

void query_results_tell(const struct query_results *results, const struct private_query *query, bool resent)
{
    (query->arguments->json ? write : print)(results, query, resent);
}
