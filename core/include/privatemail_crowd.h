/* SPDX-License-Identifier: Apache-2.0
 *
 * PrivateMail in a crowd: many people ask in one epoch through a relay that mixes their messages, and the server sees
 * only the mixture. Among the messages are fakes, in clusters of equal ones. Two promises come with the same bytes:
 *
 *   the floor   One photo has ε₀ of its own, whoever works together against it.
 *   the crowd   If the relay mixes and does not join the server, and at least `clients` clients are honest, what the
 *               server sees is (ε, δ)-DP.
 *
 * Here is the arithmetic of the second promise (docs/PRIVACY.md, section 11): what a policy gives, and which policy gives
 * what is asked for. Nothing of it touches a query. All results are rounded outward: the true δ, ε and μ are never above
 * them.
 */
#ifndef PRIVATEMAIL_CROWD_H
#define PRIVATEMAIL_CROWD_H

#include "privatemail.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- use: the policy itself, pml_crowd, is in privatemail.h ------------------------------------------------------- */

#define PML_CROWD_FAKES_MAX 16.0 /* mean fakes per client that a plan may ask for */
#define PML_CROWD_QUERIES_MAX 1048576u

/* What the policy is used for. */
typedef struct pml_crowd_use {
    uint32_t cells;   /* symbols that a message chooses from: slots × cells of the pack, 2 … 2^20 */
    uint32_t queries; /* of one person, each in an epoch of its own, 1 … 2^20 */
    double floor; /* ε₀ of a drawn cell, 2^-16 … 16; 0 counts on no draw: a kept cell sent again, or presence */
} pml_crowd_use;

/* ---- what a policy gives ----------------------------------------------------------------------------------------- */

/* Returns the doubles of scratch that the functions below need for this policy; 0 when policy or use is out of range. It
 * grows with the fakes per cell and never exceeds PML_CROWD_SCRATCH_MAX, because fakes beyond some hundred thousand per
 * cell are not counted. With 280 fakes per cell in clusters of up to 20 it is 4,400. */
#define PML_CROWD_COUNTS_MAX 131072u
#define PML_CROWD_GRID 512u
#define PML_CROWD_SCRATCH_MAX (2u * PML_CROWD_COUNTS_MAX + 3u * PML_CROWD_GRID)
PML_API size_t pml_crowd_scratch(const pml_crowd *crowd, const pml_crowd_use *use);

/* All functions below return PML_ERROR_CROWD for a policy or use out of range, PML_ERROR_EPSILON and PML_ERROR_DELTA for
 * arguments out of range, PML_ERROR_MEMORY for too little scratch, and leave 1 as δ and infinity as ε and μ then. */

/* δ at ε, 0 ≤ ε ≤ 256. The sampler's error is in it. It is 0 from queries × floor on. */
PML_API PML_CHECKED pml_status pml_crowd_delta(const pml_crowd *crowd, const pml_crowd_use *use, double epsilon,
                                               double *scratch, size_t count, double *delta);

/* The least ε for a δ of 2^-60 to below 1: of the crowd, or of the floor when that is less. Returns PML_ERROR_CROWD when
 * there is none: with so few fakes the crowd promises nothing. */
PML_API PML_CHECKED pml_status pml_crowd_epsilon(const pml_crowd *crowd, const pml_crowd_use *use, double delta,
                                                 double *scratch, size_t count, double *epsilon);

/* The μ that one own message is booked with next to δ₀, 2^-60 … 2^-10: the message is dominated by (0, δ₀) together with
 * a Gaussian mechanism of this μ (PRIVACY, theorem C). Returns PML_ERROR_CROWD when the crowd is too small for this δ₀:
 * a policy that was planned with a δ is often too small for a δ₀ below δ/1000. */
PML_API PML_CHECKED pml_status pml_crowd_mu(const pml_crowd *crowd, uint32_t cells, double delta0, double *scratch,
                                            size_t count, double *mu);

/* ---- which policy gives what is asked for ------------------------------------------------------------------------ */

typedef struct pml_crowd_goal {
    pml_crowd_use use;
    uint64_t clients;    /* that are promised per epoch; 0 with `relay` */
    double honest;       /* share of them that the plan counts on, above 0 … 1 */
    double epsilon;      /* PML_EPSILON_MIN … 16 */
    double delta;        /* 2^-50 … below 1 */
    uint32_t copies_max; /* 1 … 64: large clusters need fewer fakes, and more when clients stay away */
    uint32_t own;        /* 1 … 8 */
    bool relay;          /* the relay makes all fakes; no client is counted on */
} pml_crowd_goal;

typedef struct pml_crowd_planned {
    pml_crowd crowd; /* the policy with fewest fakes; delta0 and mu are 0 */
    double fakes;    /* mean fakes per client, or with `relay` per epoch */
    double delta;    /* of the policy at the ε asked for */
    bool needed;     /* false: the floor alone keeps the promise, so there are no fakes */
} pml_crowd_planned;

/* Finds the policy, with scratch of PML_CROWD_SCRATCH_MAX doubles. Returns PML_ERROR_CROWD when the goal is out of range,
 * or when no policy within PML_CROWD_CLUSTERS_MAX, PML_CROWD_FAKES_MAX and PML_CROWD_RELAY_MAX reaches it. */
PML_API PML_CHECKED pml_status pml_crowd_plan(const pml_crowd_goal *goal, double *scratch, size_t count,
                                              pml_crowd_planned *plan);

/* ---- shuffling alone, and independent fakes ---------------------------------------------------------------------- */

/* Clients that all ask (or send cover) in one epoch, one message each, and a fixed number of fakes with uniform cells that
 * are drawn apart. With 0 fakes it is what mixing alone gives. */
typedef struct pml_shuffle {
    uint64_t clients; /* honest ones with a message, 1 … 2^32 */
    uint64_t fakes;   /* of all of them together, 0 … 2^32 */
    uint32_t cells;   /* 2 … 2^20 */
    double floor;     /* ε₀ of every message, 2^-16 … 16 */
} pml_shuffle;

/* δ at ε, and the least ε for δ, of one message (PRIVACY, theorem B). They need no scratch. */
PML_API PML_CHECKED pml_status pml_shuffle_delta(const pml_shuffle *shuffle, double epsilon, double *delta);
PML_API PML_CHECKED pml_status pml_shuffle_epsilon(const pml_shuffle *shuffle, double delta, double *epsilon);

#ifdef __cplusplus
}
#endif
#endif
