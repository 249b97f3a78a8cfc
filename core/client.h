/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_CLIENT_H
#define PML_CLIENT_H

#include "base/kernels.h"
#include "base/random.h"
#include "pack/pack.h"
#include "privacy/budget.h"

/* BUSY only while a callback runs: it cannot call back into its own client. WRITING only in a crowd. */
enum client_state { CLIENT_IDLE, CLIENT_ARMED, CLIENT_BUSY, CLIENT_WRITING };

/* Everything a client is. The arrays follow it in the caller's memory. Public: what depends on pack and configuration
 * only. Secret: wiped as soon as it is used. */
struct pml_client {
    /* public, set by init */
    const pml_pack *pack;
    pml_config config;
    enum client_state state;
    size_t body_size;
    uint8_t charged[PML_BUDGET_IDENTITY]; /* owner and caps of the budget that paid */
    uint64_t keep;                        /* response, crowd: SPEC 5.11's P */
    struct crowd *crowd;                  /* crowd: its policy, and secret what is still to be written; else NULL */
    pml_certificate certificate;          /* Gaussian */
    pml_calibration calibration;          /* Gaussian */
    int64_t *label_rows;                  /* Gaussian: per slot and dimension */
    int64_t *centres;                     /* Gaussian: per slot and dimension, on the grid */

    /* secret: noise, from arm to release */
    pml_random random;
    uint32_t shift;   /* response, crowd: T */
    uint16_t *others; /* response: U, per slot */
    int32_t *noise;   /* Gaussian: per slot and dimension */

    /* secret: the query, within a release only */
    int8_t *row;      /* per feature */
    int64_t *scratch; /* Gaussian: 2 per neighbour */
};

/* client.c: what an arm costs; and charges it, draws, stores, and arms, for a client that is idle. */
struct pml_price pml_client_price(const pml_client *client);
pml_status pml_client_pay(pml_client *client, pml_budget *budget);

/* pipeline.c: the stages in their order; no state is checked or changed. Those that see secrets have a frame of their
 * own, for pml_wipe_stack. */
size_t pml_pipeline_lay_out(pml_mechanism mechanism, const pml_pack *pack, pml_client *client);
pml_status pml_pipeline_prepare(pml_client *client);
PML_NOINLINE pml_status pml_pipeline_draw(pml_client *client);
/* In a crowd `out` is NULL: the release is not written but becomes a part of the bundle. */
PML_NOINLINE pml_status pml_pipeline_release(pml_client *client, const pml_query *query, uint8_t *out);
void pml_pipeline_wipe_noise(pml_client *client);

#endif
