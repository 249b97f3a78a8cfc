/* SPDX-License-Identifier: Apache-2.0
 * The options of every command that makes a release of a query. */
#ifndef CLI_QUERY_OPTIONS_H
#define CLI_QUERY_OPTIONS_H

#include "cli/shared/crowd_policy.h"

#include <privatemail.h>

struct query_arguments {
    const char *pack, *pack_id, *model, *features, *labels, *modality, *mechanism, *budget, *budget_new, *budget_crowd,
        *owner;
    double label, epsilon, delta;
    uint64_t row, value_bytes;
    uint8_t id[PML_ID_SIZE]; /* pack_id as bytes */
    bool has_label, has_epsilon, has_delta, has_value_bytes, json;
    bool may_lack_features;       /* set before parsing: the command checks itself that there are features */
    bool ranks;                   /* the command ranks answers, so it reads the photo of a kept cell too */
    struct crowd_arguments crowd; /* of commands that ask in a crowd; they check it before the rest */
    pml_bundle bundle;            /* what a crowd's bundle is about */
    const char *keep;             /* file of the kept cell; NULL: it is not kept */
};

enum { QUERY_OWN_OPTIONS_MAX = 32 };

/* Parses them together with the command's own, at most QUERY_OWN_OPTIONS_MAX, whose `given` it sets. */
exit_code query_options_parse(const struct command *command, int argc, char **argv, struct query_arguments *arguments,
                              struct option_spec *own, size_t count);

/* Checks the options of the class; query_options_parse does so too. */
exit_code query_options_label(const struct command *command, const struct query_arguments *arguments);

/* Then checks the options of privacy and budget, and fills in the defaults. */
exit_code query_options_check(const struct command *command, struct query_arguments *arguments);

#endif
