/* SPDX-License-Identifier: Apache-2.0
 * One query that becomes releases. In: a pack, secret features, a secret class, a budget. Out: releases and what they
 * cost. Never reveals anything else about the query. */
#include "private_query.h"

#include "cli/shared/output.h"

#include <privatemail_platform.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- before the price is paid ---- */

/* A bundle that is idle, or sends a kept cell again. */
static bool has_no_query(const struct query_arguments *arguments)
{
    return arguments->crowd.asked && arguments->bundle != PML_BUNDLE_QUERY;
}

/* The answers to a kept cell are ranked by the photo, so it is read all the same. */
static bool needs_features(const struct query_arguments *arguments)
{
    return !has_no_query(arguments) || (arguments->ranks && arguments->bundle == PML_BUNDLE_KEPT);
}

static exit_code check_class(struct private_query *query)
{
    const struct query_arguments *arguments = query->arguments;
    uint32_t slot;
    if (query->file.info.slot_kind == PML_SLOTS_ONE || !needs_features(arguments))
        return EXIT_OK;
    if (!arguments->has_label && !arguments->labels)
        return command_fail(query->command, EXIT_USAGE,
                            "%s has classes. Give the class of the query with --label Y or --labels QL.npy.",
                            arguments->pack);
    if (arguments->has_label && pml_pack_slot(&query->file.pack, (int32_t)arguments->label, &slot) != PML_OK)
        return command_fail(query->command, EXIT_USAGE, "%s has no such class. Use --label with a class of the pack.",
                            arguments->pack);
    return EXIT_OK;
}

exit_code private_query_open(struct private_query *query, const struct command *command,
                             const struct query_arguments *arguments)
{
    *query = (struct private_query){.command = command, .arguments = arguments, .budget = {.lock = -1}};
    exit_code code = pack_file_open_pinned(command, arguments->pack, arguments->pack_id ? arguments->id : NULL,
                                           arguments->model, &query->file);
    query->receipt.pack = query->file.id;
    query->receipt.bundle = arguments->bundle;
    if (code == EXIT_OK)
        code = pack_file_ask(command, &query->file, arguments->modality);
    if (code == EXIT_OK && arguments->crowd.kept)
        code = crowd_kept_read(command, arguments->keep, &query->file, arguments->crowd.floor, &query->kept);
    return code == EXIT_OK ? check_class(query) : code;
}

/* The policy of a crowd. Without a budget nothing is booked. */
static exit_code make_policy(struct private_query *query)
{
    const struct query_arguments *arguments = query->arguments;
    const pml_pack_info *info = &query->file.info;
    if (arguments->crowd.own > info->cells)
        return command_fail(query->command, EXIT_USAGE, "%s has %u cells per slot, so --own must be at most that.",
                            arguments->pack, info->cells);
    exit_code code = crowd_policy_make(query->command, &arguments->crowd, arguments->epsilon, arguments->delta,
                                       (uint64_t)info->slots * info->cells, &query->promise);
    query->policy = query->promise.policy;
    if (!arguments->budget)
        query->policy.mu = query->policy.delta0 = 0.0;
    query->receipt.crowd = &query->promise;
    return code;
}

/* Makes the client again where a budget books less than the policy says. */
static pml_status make_client(struct private_query *query)
{
    size_t size = pml_client_size(&query->file.pack, &query->config);
    pml_status status = pml_client_init(&query->client, query->memory, size, &query->file.pack, &query->config);
    return status == PML_OK ? pml_client_receipt(query->client, &query->receipt.price) : status;
}

exit_code private_query_client(struct private_query *query)
{
    const struct query_arguments *arguments = query->arguments;
    const bool gaussian = strcmp(arguments->mechanism, "gaussian") == 0, crowd = arguments->crowd.asked;
    exit_code code = crowd ? make_policy(query) : EXIT_OK;
    if (code != EXIT_OK)
        return code;
    query->config = (pml_config){.mechanism = gaussian ? PML_GAUSSIAN : PML_RESPONSE,
                                 .epsilon = crowd ? arguments->crowd.floor : arguments->epsilon,
                                 .delta = gaussian ? arguments->delta : 0.0,
                                 .crowd = crowd ? &query->policy : NULL,
                                 .value_bytes = (unsigned)arguments->value_bytes,
                                 .entropy = pml_platform_entropy,
                                 .persist = budget_file_store,
                                 .persist_context = &query->budget,
                                 .kernels = pml_platform_kernels()};
    size_t size = pml_client_size(&query->file.pack, &query->config);
    query->memory = malloc(size > 0 ? size : 1);
    if (!query->memory)
        return command_no_memory(query->command);
    pml_status status = make_client(query);
    if (status == PML_OK && crowd)
        status = crowd_bundle_open(&query->bundle, query->client);
    if (status == PML_ERROR_SECTION)
        return command_fail(query->command, EXIT_PRIVACY, "%s has no %s, which %s needs. Use --mechanism %s.",
                            arguments->pack, gaussian ? "anchors" : "cells", mechanism_name(query->config.mechanism),
                            gaussian ? "response" : "gaussian");
    if (status == PML_ERROR_MEMORY)
        return command_no_memory(query->command);
    if (status != PML_OK)
        return command_status(query->command, arguments->pack, status);
    query->release = crowd ? query->bundle.bytes : malloc(query->receipt.price.bytes);
    return query->release ? EXIT_OK : command_no_memory(query->command);
}

/* ---- paying ---- */

/* The floor of a kept cell was paid by the budget that is open now, as far as the owner tells. */
static exit_code check_kept(const struct private_query *query)
{
    uint8_t owner[sizeof query->kept.owner];
    budget_file_owner(query->arguments->owner, owner);
    if (!query->budget.is_new && query->kept.owner[0] != 0 && memcmp(owner, query->kept.owner, sizeof owner) == 0)
        return EXIT_OK;
    return command_fail(query->command, EXIT_BUDGET,
                        "%s was not paid for by %s, so its floor would be missing there. Give the budget and the "
                        "--owner that it was drawn with.",
                        query->arguments->keep, query->arguments->budget);
}

/* A budget that keeps no promise in a crowd books the floor alone. One that keeps a promise refuses a policy that makes
 * none, and one without a floor pays for no bundle. An idle bundle costs nothing. */
static exit_code book_crowd(struct private_query *query)
{
    const pml_budget_left *left = &query->receipt.left;
    const char *path = query->arguments->budget;
    if (!query->arguments->crowd.asked || query->arguments->bundle == PML_BUNDLE_IDLE)
        return EXIT_OK;
    exit_code code = query->arguments->crowd.kept ? check_kept(query) : EXIT_OK;
    if (code != EXIT_OK)
        return code;
    if (left->floor_cap <= 0.0)
        return command_fail(query->command, EXIT_BUDGET,
                            "%s allows nothing in a crowd. Start another budget with --budget-crowd.", path);
    if (left->crowd_mu2_cap > 0.0 && query->policy.mu <= 0.0)
        return command_fail(
            query->command, EXIT_BUDGET,
            "%s keeps a promise in a crowd, and %s. Choose a smaller --epsilon or --delta, or use a "
            "budget of the floor alone.",
            path, query->promise.crowded ? "these fakes are too few to be counted in it" : "only the floor holds here");
    if (left->crowd_mu2_cap > 0.0)
        return EXIT_OK;
    query->policy.mu = query->policy.delta0 = 0.0;
    pml_status status = make_client(query);
    return status == PML_OK ? EXIT_OK : command_status(query->command, query->arguments->pack, status);
}

exit_code private_query_budget(struct private_query *query, uint64_t count)
{
    const struct query_arguments *arguments = query->arguments;
    if (!arguments->budget) {
        fprintf(stderr,
                "privatemail %s: no --budget, so nothing is counted. Every release of the same photo "
                "adds its epsilon; see --budget.\n",
                query->command->name);
        return EXIT_OK;
    }
    exit_code code = budget_file_open(query->command, &query->budget, arguments->budget, arguments->owner,
                                      (struct budget_caps){arguments->budget_new, arguments->budget_crowd});
    if (code != EXIT_OK)
        return code;
    query->receipt.budget_path = arguments->budget;
    if (pml_budget_remaining(&query->budget.budget, &query->receipt.left) != PML_OK)
        return command_status(query->command, arguments->budget, PML_ERROR_BUDGET);
    code = book_crowd(query);
    if (code != EXIT_OK)
        return code;
    double more = receipt_releases_left(&query->receipt);
    if (more < (double)count)
        return command_fail(
            query->command, EXIT_BUDGET,
            "%s is spent: it pays for %.0f more such releases, and %llu are wanted. Send a release that "
            "was already made, or choose a smaller --%s.",
            arguments->budget, more, (unsigned long long)count,
            arguments->crowd.asked && !arguments->crowd.kept ? "floor" : "epsilon");
    return EXIT_OK;
}

exit_code private_query_apart(const struct private_query *query, const char *path, const char *option)
{
    const struct {
        const char *path, *what;
    } inputs[] = {
        {query->arguments->pack, "the pack"},           {query->arguments->features, "the features"},
        {query->arguments->labels, "the labels"},       {query->budget.path, "the budget"},
        {query->budget.lock_path, "the budget's lock"}, {query->arguments->keep, "the kept cell"},
    };
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        if (inputs[i].path && inputs[i].path != path && output_is(path, inputs[i].path))
            return command_fail(query->command, EXIT_USAGE, "--%s %s would overwrite %s. Choose another --%s.", option,
                                path, inputs[i].what, option);
    }
    return EXIT_OK;
}

exit_code private_query_pay(struct private_query *query)
{
    const struct query_arguments *arguments = query->arguments;
    pml_status status = PML_OK;
    if (!arguments->budget)
        status = budget_file_throwaway(&query->budget, &query->config);
    if (status == PML_OK)
        status = arguments->crowd.asked ? crowd_bundle_arm(query->client, &query->budget.budget, arguments->bundle)
                                        : pml_client_arm(query->client, &query->budget.budget);
    if (status == PML_ERROR_PERSIST)
        return command_fail(query->command, EXIT_OUTPUT, "the budget could not be stored, so no release was made: %s",
                            query->budget.message.text);
    return status == PML_OK ? EXIT_OK
                            : command_status(query->command, arguments->budget ? arguments->budget : "paying", status);
}

void private_query_refund(struct private_query *query)
{
    pml_status status = pml_client_disarm(query->client, &query->budget.budget);
    if (status != PML_OK && status != PML_ERROR_STATE && query->arguments->budget)
        fprintf(stderr, "privatemail %s: %s: the price could not be given back (%s). It stays spent.\n",
                query->command->name, query->arguments->budget, pml_status_text(status));
}

/* ---- the query ---- */

exit_code private_query_read(struct private_query *query)
{
    const struct query_arguments *arguments = query->arguments;
    struct pml_message message = {""};
    struct pml_labels labels = {0};
    if (!needs_features(arguments))
        return EXIT_OK;
    pml_outcome outcome = pml_features_read(arguments->features, &query->features, &message);
    if (outcome != PML_DONE)
        return command_input(query->command, outcome, &message);
    exit_code code = pack_file_columns(query->command, &query->file, query->file.modality, arguments->features,
                                       query->features.columns);
    if (code != EXIT_OK)
        return code;
    if (arguments->row >= query->features.rows)
        return command_fail(query->command, EXIT_USAGE, "%s has %zu rows. Choose --row 0 to %zu.", arguments->features,
                            query->features.rows, query->features.rows - 1);
    query->label = arguments->has_label ? (int32_t)arguments->label : 0;
    if (!arguments->labels)
        return EXIT_OK;
    outcome = pml_labels_read(arguments->labels, &labels, &message);
    if (outcome != PML_DONE)
        code = command_input(query->command, outcome, &message);
    else if (labels.rows != query->features.rows)
        code =
            command_fail(query->command, EXIT_INPUT, "%s has %zu labels, but %s has %zu rows. Give one label per row.",
                         arguments->labels, labels.rows, arguments->features, query->features.rows);
    else
        query->label = labels.values[arguments->row];
    pml_labels_free(&labels);
    return code;
}

pml_query private_query_vector(const struct private_query *query)
{
    const size_t columns = query->features.columns;
    return (pml_query){.features = query->features.values + (size_t)query->arguments->row * columns,
                       .count = columns,
                       .label = query->label,
                       .modality = query->file.modality};
}

exit_code private_query_release(struct private_query *query)
{
    const struct query_arguments *arguments = query->arguments;
    const bool crowd = arguments->crowd.asked, kept = arguments->crowd.kept;
    const pml_query vector = has_no_query(arguments) ? (pml_query){0} : private_query_vector(query);
    const pml_crowd_content content = {.query = has_no_query(arguments) ? NULL : &vector,
                                       .kept = kept ? query->kept.message : NULL,
                                       .kept_size = query->kept.size};
    pml_status status = crowd ? crowd_bundle_make(&query->bundle, query->client, &content)
                              : pml_client_release(query->client, &vector, query->release, query->receipt.price.bytes);
    query->size = query->receipt.price.bytes * (crowd ? query->bundle.count : 1);
    if (status == PML_ERROR_LABEL)
        return command_status(query->command, arguments->labels ? arguments->labels : "--label", status);
    return status == PML_OK ? EXIT_OK : command_status(query->command, arguments->features, status);
}

exit_code private_query_make(struct private_query *query)
{
    exit_code code = private_query_pay(query);
    if (code == EXIT_OK)
        code = private_query_read(query);
    if (code == EXIT_OK)
        code = private_query_release(query);
    if (code != EXIT_OK)
        private_query_refund(query);
    return code;
}

exit_code private_query_keep(struct private_query *query)
{
    const struct query_arguments *arguments = query->arguments;
    uint8_t owner[sizeof query->kept.owner] = {0};
    if (!arguments->keep || arguments->crowd.kept)
        return EXIT_OK;
    if (arguments->budget)
        budget_file_owner(arguments->owner, owner);
    if (!crowd_kept_take(&query->kept, &query->bundle, arguments->crowd.floor, owner))
        return command_status(query->command, arguments->keep, PML_ERROR_RELEASE);
    return crowd_kept_write(query->command, arguments->keep, &query->kept);
}

/* ---- afterwards ---- */

void private_query_settle(struct private_query *query)
{
    if (query->arguments->budget && pml_budget_remaining(&query->budget.budget, &query->receipt.left) != PML_OK)
        query->receipt.budget_path = NULL;
    budget_file_close(&query->budget);
}

void private_query_close(struct private_query *query)
{
    volatile int32_t *label = &query->label; /* volatile: a compiler may not leave this out as useless */
    volatile uint8_t *kept = query->kept.message;
    *label = 0;
    for (size_t i = 0; i < sizeof query->kept.message; i++)
        kept[i] = 0;
    pml_features_free(&query->features);
    pml_client_wipe(query->client);
    budget_file_close(&query->budget);
    if (query->release != query->bundle.bytes)
        free(query->release);
    crowd_bundle_close(&query->bundle);
    free(query->memory);
    pack_file_close(&query->file);
}
