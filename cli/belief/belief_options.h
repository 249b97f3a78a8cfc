/* SPDX-License-Identifier: Apache-2.0
 * Options about what a server believes after a release, and the belief that follows (PRIVACY, section 12). */
#ifndef CLI_BELIEF_OPTIONS_H
#define CLI_BELIEF_OPTIONS_H

#include "cli/shared/pack_file.h"
#include "common/rows/rows.h"

struct belief_arguments {
    const char *release, *known, *posterior;
    double epsilon, delta, floor, clusters, relay_clusters;
    uint64_t clients, copies, own;
    bool asked;    /* there is a release */
    bool in_crowd; /* it is an epoch */
};

enum belief_option {
    BELIEF_RELEASE,
    BELIEF_POSTERIOR,
    BELIEF_EPSILON,
    BELIEF_DELTA,
    BELIEF_CROWD, /* from here on options of a crowd */
    BELIEF_COPIES,
    BELIEF_FLOOR,
    BELIEF_OWN,
    BELIEF_RELAY_CLUSTERS,
    BELIEF_KNOWN,
    BELIEF_OPTIONS
};

/* Fills in the defaults, and the options with these names. `clusters` is filled in by the command before the check: its
 * option of this name may mean something else without a crowd. */
void belief_options_fill(struct belief_arguments *arguments, struct option_spec specs[BELIEF_OPTIONS]);

/* Checks them once they are parsed. */
exit_code belief_options_check(const struct command *command, struct belief_arguments *arguments,
                               const struct option_spec specs[BELIEF_OPTIONS]);

/* P(item | release) of each row, to be freed, and what is left to know. `rows` lie behind the pack's front; `labels` may be
 * NULL when the pack has one slot. Writes --posterior, if it is asked for. */
struct belief {
    double *posterior;
    float *shades; /* of each row, 0 to 1 */
    size_t count;
    double largest, entropy;
};
exit_code belief_make(const struct command *command, const struct belief_arguments *arguments,
                      const struct pack_file *file, const struct pml_rows *rows, const int32_t *labels,
                      struct belief *belief);
void belief_free(struct belief *belief);

/* A shade is 0 for an item that is no likelier than before, 1 for one that is this many times as likely, and in between by
 * the logarithm. */
#define BELIEF_FULL 32.0

/* The keys of --json, and a line for a person. */
void belief_write(const struct belief *belief, struct json *json);
void belief_print(const struct belief *belief);

#endif
