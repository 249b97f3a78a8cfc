/* SPDX-License-Identifier: Apache-2.0
 * The options of evaluate. */
#ifndef CLI_EVALUATE_OPTIONS_H
#define CLI_EVALUATE_OPTIONS_H

#include "cli/shared/crowd_policy.h"
#include "cli/shared/front_options.h"

#include <privatemail_public.h>

enum { EVALUATE_LIST_MAX = 16, EVALUATE_RELEASES_MAX = 1000 };

struct evaluate_list {
    double values[EVALUATE_LIST_MAX];
    size_t count;
};

struct evaluate_files {
    const char *features, *labels; /* NULL: not given */
};

struct evaluate_options {
    struct evaluate_files public, gallery, queries; /* no features: the sample gallery is drawn */
    struct evaluate_files voters;                   /* no features: only items vote for lists, or … */
    bool public_votes;                              /* … public rows do too */
    struct front_arguments fronts;                  /* --modality is that of the gallery */
    const char *public_modality, *ask;              /* of public rows and queries; NULL: that of the gallery */
    const char *voters_modality;                    /* NULL: that of the queries */
    struct evaluate_list epsilons, shares;
    double delta; /* 0 for response without a crowd */
    struct crowd_arguments crowd;
    pml_mechanism mechanism;
    int slots; /* PML_SLOTS_… */
    pml_scope scope;
    uint64_t cells;              /* m; 0: by the rule (cells_rule.h) */
    uint64_t cells_per_item;     /* 0: lists of a share */
    uint64_t slot_count;         /* of groups; 0: the default of pack */
    uint64_t rows_per_prototype; /* 0: the default of pack */
    int refine;                  /* likewise; negative: none */
    bool with_gallery;           /* packs are built as `pack --gallery` does */
    uint64_t releases, sketch, seed, threads;
    int codes;                             /* an enum pml_codes: of the Gaussian */
    uint64_t dims, neighbours, iterations; /* likewise; 0 for dims and neighbours: the defaults of pack */
    uint64_t looks;                        /* rows of --queries that make one query */
    const char *head;                      /* NULL: none */
    const char *class_from; /* where a device gets the class of its query from: true, predicted or head */
    bool soft, plain_sketches, json;
};

/* Reads and checks all options, and fills in the defaults. */
exit_code evaluate_options_parse(int argc, char **argv, struct evaluate_options *options);

#endif
