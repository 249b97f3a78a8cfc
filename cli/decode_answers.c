/* SPDX-License-Identifier: Apache-2.0
 * In: a secret query, which messages of a bundle were own, and answers that may be hostile. Out: the best of all answers to
 * own messages, each item once. */
#include "decode_answers.h"

#include "cli/query/query_results.h"

#include "common/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_FILE_MAX = 4096, ANSWER_MAX = 1 << 30 };

/* The places of own messages in the bundle. */
struct places {
    size_t at[PML_CROWD_OWN_MAX], count;
};

/* Reads {"own": [PLACE, ...]}. */
static bool parse_places(const char *text, struct places *places)
{
    static const char head[] = "{\"own\": [";
    if (strncmp(text, head, sizeof head - 1) != 0)
        return false;
    text += sizeof head - 1;
    for (places->count = 0; places->count < PML_CROWD_OWN_MAX; text += 2) {
        char *end;
        if (*text < '0' || *text > '9')
            return false;
        places->at[places->count++] = (size_t)strtoull(text, &end, 10);
        text = end;
        if (strncmp(text, ", ", 2) != 0)
            break;
    }
    return strcmp(text, "]}\n") == 0;
}

static exit_code read_places(const char *path, size_t count, struct places *places)
{
    char text[OWN_FILE_MAX + 1] = "";
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct pml_message message = {""};
    const pml_outcome outcome = pml_file_read(path, OWN_FILE_MAX, &bytes, &size, &message);
    if (outcome != PML_DONE)
        return command_input(&command_decode, outcome, &message);
    memcpy(text, bytes, size);
    free(bytes);
    if (!parse_places(text, places))
        return command_fail(&command_decode, EXIT_INPUT,
                            "%s does not say which messages are own. Give the file that privatize --own-out wrote.",
                            path);
    for (size_t i = 0; i < places->count; i++) {
        if (places->at[i] >= count)
            return command_fail(&command_decode, EXIT_INPUT,
                                "%s names message %zu, but there are %zu answers. Give the answers to all messages of "
                                "the bundle, in its order.",
                                path, places->at[i], count);
    }
    return EXIT_OK;
}

static exit_code rank(struct query_results *results, const struct private_query *query, pml_scope scope, size_t top,
                      const char *path)
{
    struct pml_message message = {""};
    uint8_t *bytes = NULL;
    size_t size = 0;
    const pml_outcome outcome = pml_file_read(path, ANSWER_MAX, &bytes, &size, &message);
    if (outcome != PML_DONE)
        return command_input(&command_decode, outcome, &message);
    const pml_status begun = query_results_begin(results, query, scope, top);
    pml_status status = begun;
    if (begun == PML_OK)
        status = query_results_take(results, bytes, size);
    if (status == PML_OK)
        status = query_results_finish(results);
    free(bytes);
    if (status == PML_ERROR_ANSWER && query_results_other_version(results) > 0)
        return command_fail(&command_decode, EXIT_INPUT,
                            "%s is an answer of version %u; this command reads 1 and 2. Use a newer privatemail.", path,
                            query_results_other_version(results));
    return status == PML_OK
               ? EXIT_OK
               : command_status(&command_decode, begun == PML_OK ? path : query->arguments->features, status);
}

static void tell(const struct query_results *results, const struct private_query *query, size_t answers)
{
    struct json json = {0};
    if (!query->arguments->json) {
        query_results_print(results);
        return;
    }
    json_open(&json, NULL, '{');
    json_text(&json, "pack", query->file.id);
    json_count(&json, "answers", answers);
    query_results_write(results, &json);
    json_count(&json, "bytes", results->summary.bytes);
    json_close(&json, '}');
}

exit_code decode_answers(struct decode_answers *arguments, const char *const *paths, size_t count)
{
    struct places own = {.count = 0};
    struct private_query query = {.budget = {.lock = -1}};
    struct query_results *results = calloc(1, sizeof *results);
    const bool all = arguments->scope && strcmp(arguments->scope, "all") == 0;
    if (!results)
        return command_no_memory(&command_decode);
    arguments->query.crowd.asked = true; /* answers of one slot */
    arguments->query.bundle = PML_BUNDLE_QUERY;
    exit_code code = arguments->own ? read_places(arguments->own, count, &own) : EXIT_OK;
    if (code == EXIT_OK)
        code = private_query_open(&query, &command_decode, &arguments->query);
    if (code == EXIT_OK)
        code = private_query_read(&query);
    const size_t answers = arguments->own ? own.count : count;
    for (size_t i = 0; i < answers && code == EXIT_OK; i++)
        code = rank(results, &query, all ? PML_ALL_SLOTS : PML_OWN_SLOT, (size_t)arguments->top,
                    paths[arguments->own ? own.at[i] : i]);
    if (code == EXIT_OK)
        tell(results, &query, answers);
    query_results_close(results);
    free(results);
    private_query_close(&query);
    return code;
}
