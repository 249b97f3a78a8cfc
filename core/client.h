/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_CLIENT_H
#define PML_CLIENT_H

#include "answer.h"
#include "budget.h"
#include "kernels.h"
#include "pack.h"
#include "random.h"

/* BUSY only while a callback runs: it cannot call back into its own client. */
enum client_state { CLIENT_IDLE, CLIENT_ARMED, CLIENT_LOADED, CLIENT_SPENT, CLIENT_FAILED, CLIENT_BUSY };

/* Everything a client is. The arrays follow it in the caller's memory. Public: what depends on pack and configuration
 * only. Secret: wiped as soon as it is used. */
struct pml_client {
    /* public, set by init */
    const pml_pack *pack;
    pml_config config;
    enum client_state state;
    uint64_t price;
    uint64_t keep; /* response: SPEC 5.11's P */
    pml_certificate certificate;
    pml_calibration calibration;
    int64_t *label_rows; /* Gaussian: G·k */
    int64_t *centres;    /* Gaussian: G·k, on the grid */
    size_t body_size;
    uint8_t charged[PML_BUDGET_IDENTITY]; /* owner and caps of the budget that paid */

    /* secret: noise, from arm to the first release */
    pml_random random;
    uint32_t shift;   /* response: T */
    uint16_t *others; /* response: U, G values */
    int32_t *noise;   /* Gaussian: G·k */

    /* secret: the query, from load to release; `row` and `scratch` within a call only */
    uint32_t slot;
    uint32_t cell;                      /* response */
    int32_t update[PML_DIMENSIONS_MAX]; /* Gaussian */
    int8_t *row;                        /* d */
    int64_t *scratch;                   /* Gaussian: 2K */

    /* answer: parser public, ranking secret */
    struct answer answer;
    struct ranking ranking;
};

/* pipeline.c: the stages in their order; no state is checked or changed. Those that see secrets have a frame of their
 * own, for pml_wipe_stack. */
int pml_pipeline_prepare(pml_client *client);
PML_NOINLINE int pml_pipeline_draw(pml_client *client);
PML_NOINLINE int pml_pipeline_load(pml_client *client, const float *features, int32_t label);
PML_NOINLINE void pml_pipeline_emit(const pml_client *client, uint8_t *out);
PML_NOINLINE int pml_pipeline_rank(pml_client *client, const float *features, int32_t label);
void pml_pipeline_wipe_noise(pml_client *client);
void pml_pipeline_wipe_query(pml_client *client);

#endif
