/* SPDX-License-Identifier: Apache-2.0
 * One query that becomes releases: the client, the budget that pays and the private data, for commands to call in this
 * order. Every function returns −1 to go on, else the exit code with a message printed; close whatever happened. */
#ifndef CLI_PRIVATE_QUERY_H
#define CLI_PRIVATE_QUERY_H

#include "cli/shared/budget_file.h"
#include "cli/shared/pack_file.h"
#include "query_options.h"
#include "receipt.h"

struct private_query {
    const struct command *command;
    const struct query_arguments *arguments;
    struct pack_file file;
    pml_config config;
    struct budget_file budget;
    void *memory; /* the client's */
    pml_client *client;
    struct pml_features features;
    int32_t label;
    uint8_t *release;
    size_t size; /* of the release that was made */
    struct receipt receipt;
};

/* Opens the pack; a class must be given if it has classes. Begins with a structure that holds anything. */
int private_query_open(struct private_query *query, const struct command *command,
                       const struct query_arguments *arguments);

/* The client, and the price of a release of it. */
int private_query_client(struct private_query *query);

/* Opens the budget and sees that it pays for `count` releases; without --budget says that nothing is counted. */
int private_query_budget(struct private_query *query, uint64_t count);

/* An output must not take the place of an input, the budget or its lock; `option` is the one that names it. */
int private_query_apart(const struct private_query *query, const char *path, const char *option);

/* Pays for a release and draws its noise. The first is paid before the query is read: how long that takes depends on
 * the noise. */
int private_query_pay(struct private_query *query);

/* Reads features and class. */
int private_query_read(struct private_query *query);

/* What was read, as the library takes it; points into `query`. */
pml_query private_query_vector(const struct private_query *query);

/* Makes the release that was paid. */
int private_query_release(struct private_query *query);

/* Gives the price back when nothing has left. */
void private_query_refund(struct private_query *query);

/* Fills in what the receipt tells at the end, and gives the budget free for others. */
void private_query_settle(struct private_query *query);

/* Wipes and frees. */
void private_query_close(struct private_query *query);

#endif
