/* SPDX-License-Identifier: Apache-2.0
 * What a query found: ranks an answer as it arrives, and prints the best. */
#ifndef CLI_QUERY_RESULTS_H
#define CLI_QUERY_RESULTS_H

#include "private_query.h"

#include "common/bytes.h"

struct query_results {
    const char *folder; /* where payloads go; NULL: nowhere */
    bool force;
    uint64_t most;        /* bytes of an answer that are kept */
    pml_ranking *ranking; /* NULL before the first answer */
    /* the ranking's */
    uint8_t memory[PML_RANKING_MEMORY(PML_FEATURES_MAX, PML_SKETCH_MAX, PML_DIRECTIONS_MAX) + PML_FRONT_MEMORY(PML_FEATURES_MAX, PML_FEATURES_MAX)];
    pml_match fresh[PML_MATCHES_MAX];   /* of the answer that is being taken … */
    pml_match matches[PML_MATCHES_MAX]; /* … and of all that were */
    size_t top;
    pml_answer_summary summary; /* of all of them */
    struct pml_bytes answer;    /* kept only for payloads: all answers, one after the other */
    size_t whole;               /* bytes of `answer` that are of finished ones */
    bool no_memory, too_long;   /* why the answer could not be kept */
    uint8_t head[2], heard;     /* the first bytes of the answer that is being taken, and how many there are */
    uint64_t attempts;
};

/* Fails when payloads cannot be written to the folder. */
exit_code query_results_check(const struct query_results *results, const struct command *command);

/* Forgets the answers so far. */
void query_results_restart(struct query_results *results);

/* One answer of several: begin, take piece by piece, finish. After an error nothing of it is left, and it may begin again.
 * query_results_take returns 0 to continue. */
pml_status query_results_begin(struct query_results *results, const struct private_query *query, pml_scope scope,
                               size_t top);
int query_results_take(void *results, const void *bytes, size_t size);
pml_status query_results_finish(struct query_results *results);

/* After PML_ERROR_ANSWER: the version of the answer, when it says one that is not known; else 0. */
unsigned query_results_other_version(const struct query_results *results);

/* Writes the payloads. */
exit_code query_results_save(const struct query_results *results, const struct command *command);

/* Prints on stdout, as text or JSON. `resent`: the privacy of the release is no longer known. */
void query_results_tell(const struct query_results *results, const struct private_query *query, bool resent);

/* The part of it that says what was found. */
void query_results_print(const struct query_results *results);
void query_results_write(const struct query_results *results, struct json *json);

/* Wipes and frees. */
void query_results_close(struct query_results *results);

#endif
