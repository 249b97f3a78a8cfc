/* SPDX-License-Identifier: Apache-2.0
 * Makes the releases of an audit: many, of two records in turn, by the same calls that an app makes. In a crowd a trial is
 * an epoch: the bundles of all clients, mixed. */
#ifndef CLI_AUDIT_TRIALS_H
#define CLI_AUDIT_TRIALS_H

#include "cli/shared/crowd_bundle.h"
#include "cli/shared/pack_file.h"

#include "common/bytes.h"
#include "server/mixing/relay_clusters.h"

enum { AUDIT_THREADS = 2 };

/* A query that the auditor made up. */
struct audit_record {
    const float *features;
    int32_t label;
    uint32_t slot;
    const char *kind; /* where the features are from */
};

struct audit_pair {
    struct audit_record sides[2];
    double expected; /* Gaussian: distance of the rows by public arithmetic, embedding units */
};

struct audit_client {
    void *memory;
    pml_client *client;
    pml_budget budget;
    struct crowd_bundle bundle;
};

struct audit_worker {
    struct audit_client asker;
    struct audit_client idle; /* in a crowd: makes the bundles of everybody else */
    uint8_t *release;
    uint64_t releases;
    struct relay_release fake;    /* in a crowd: what the relay adds */
    struct pml_bytes sent, epoch; /* all messages: as they came, the asker's first; and mixed */
    struct pml_bytes order;
};

struct audit_bench {
    const struct pack_file *file;
    pml_config config;
    pml_crowd crowd;       /* the asker's policy, in a crowd */
    uint64_t idle_bundles; /* per epoch: those of all other clients */
    struct relay_law law;  /* of the relay's clusters */
    pml_receipt receipt;
    struct audit_worker workers[AUDIT_THREADS];
};

/* One run: `trials` releases of each side, or fewer when the deadline (pml_clock_now) comes first. */
struct audit_run {
    const struct audit_pair *pair;
    const char *stage; /* for the progress bar; NULL shows none */
    uint64_t trials;
    double deadline;
    /* Is given each release, or all messages of each epoch; workers run at once. */
    pml_status (*sink)(void *context, unsigned worker, unsigned side, const uint8_t *release, size_t size);
    void *context;
    uint64_t done; /* out: trials of each side */
};

/* `crowd`: NULL, or a policy that is booked with nothing (μ = δ₀ = 0); ε is then the floor, and each epoch has as many
 * clients as the policy counts on. When the relay makes the fakes, the asker is the only client. Close the bench after a
 * failure too. */
pml_status audit_bench_open(struct audit_bench *bench, const struct pack_file *file, pml_mechanism mechanism,
                            double epsilon, double delta, const pml_crowd *crowd);
pml_status audit_bench_run(struct audit_bench *bench, struct audit_run *run);
void audit_bench_close(struct audit_bench *bench);

uint64_t audit_bench_releases(const struct audit_bench *bench);

#endif
