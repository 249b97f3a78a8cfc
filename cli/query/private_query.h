/* SPDX-License-Identifier: Apache-2.0
 * One query that becomes releases: the client, the budget that pays, and the private data. Commands call these functions
 * in this order, and close the query after a failure too. */
#ifndef CLI_PRIVATE_QUERY_H
#define CLI_PRIVATE_QUERY_H

#include "cli/shared/budget_file.h"
#include "cli/shared/crowd_kept.h"
#include "cli/shared/pack_file.h"
#include "common/npy.h"
#include "query_options.h"
#include "receipt.h"

struct private_query {
    const struct command *command;
    const struct query_arguments *arguments;
    struct pack_file file;
    pml_config config;
    struct crowd_promise promise; /* in a crowd */
    pml_crowd policy;             /* the promise's, as far as the budget books it */
    struct crowd_bundle bundle;
    struct crowd_kept kept; /* the cell that is sent again, or the one to keep */
    struct budget_file budget;
    void *memory; /* the client's */
    pml_client *client;
    struct pml_features features;
    int32_t label;
    uint8_t *release; /* in a crowd: the bundle's bytes */
    size_t size;      /* of the release or bundle that was made */
    struct receipt receipt;
};

/* Opens the pack. A class must be given if the pack has classes. The struct need not be initialised. */
exit_code private_query_open(struct private_query *query, const struct command *command,
                             const struct query_arguments *arguments);

/* Makes the client, and learns the price of its releases. */
exit_code private_query_client(struct private_query *query);

/* Opens the budget and checks that it pays for `count` releases or bundles. Without --budget, prints that nothing is
 * counted. */
exit_code private_query_budget(struct private_query *query, uint64_t count);

/* Fails when the output `path` would overwrite an input, the budget or its lock. `option` names the output. */
exit_code private_query_apart(const struct private_query *query, const char *path, const char *option);

/* Pays for a release and draws its noise. The first is paid before the query is read, because the time it takes depends
 * on the noise. */
exit_code private_query_pay(struct private_query *query);

/* Reads features and class. */
exit_code private_query_read(struct private_query *query);

/* The features and class for the library; they point into `query`. */
pml_query private_query_vector(const struct private_query *query);

/* Makes the release or bundle that was paid for. */
exit_code private_query_release(struct private_query *query);

/* All of it in this order, for one release: pays, reads, makes, and gives the price back when that fails. */
exit_code private_query_make(struct private_query *query);

/* Then keeps the cell that was drawn, with --keep. */
exit_code private_query_keep(struct private_query *query);

/* Gives the price back if no release was made with it. */
void private_query_refund(struct private_query *query);

/* Fills in the end of the receipt, and unlocks the budget for others. */
void private_query_settle(struct private_query *query);

/* Wipes and frees. */
void private_query_close(struct private_query *query);

#endif
