/* SPDX-License-Identifier: Apache-2.0
 *
 * What the mechanisms do differently: five steps, each once in pipeline_response.c, pipeline_gaussian.c and
 * pipeline_crowd.c.
 * A build without a mechanism leaves its file out, and BY_MECHANISM is the one place that knows it.
 */
#ifndef PML_PIPELINE_H
#define PML_PIPELINE_H

#include "client.h"

/* lay_out  hands out the memory behind the client from offset `at` on, array by array, and returns the offset behind
 *          them; with `client` NULL it only measures
 * prepare  does what depends on pack and configuration only, and sets `body_size`
 * draw     draws all noise of one release
 * write    makes the body of the release from the (secret) quantised row in the client, the (secret) slot and the noise
 * wipe     wipes the noise */
#define PML_PIPELINE_DECLARE(mechanism)                                                                                \
    size_t pml_lay_out_##mechanism(const pml_pack *pack, pml_client *client, size_t at);                               \
    pml_status pml_prepare_##mechanism(pml_client *client);                                                            \
    void pml_draw_##mechanism(pml_client *client);                                                                     \
    void pml_write_##mechanism(pml_client *client, uint32_t slot, uint8_t *body);                                      \
    void pml_wipe_##mechanism(pml_client *client);
PML_PIPELINE_DECLARE(response)
PML_PIPELINE_DECLARE(gaussian)
PML_PIPELINE_DECLARE(crowd)
#undef PML_PIPELINE_DECLARE

/* The first half of write: the query's row of the embedding, on the grid. */
void pml_place_gaussian(pml_client *client, uint32_t slot, int32_t *update);

/* A call, not a table of functions: the depth of the stack stays computable. */
#if PML_WITH_CROWD && PML_WITH_GAUSSIAN
#define BY_MECHANISM(mechanism, step, ...)                                                                             \
    ((mechanism) == PML_GAUSSIAN ? pml_##step##_gaussian(__VA_ARGS__)                                                  \
     : (mechanism) == PML_CROWD  ? pml_##step##_crowd(__VA_ARGS__)                                                     \
                                 : pml_##step##_response(__VA_ARGS__))
#elif PML_WITH_RESPONSE && PML_WITH_GAUSSIAN
#define BY_MECHANISM(mechanism, step, ...)                                                                             \
    ((mechanism) == PML_GAUSSIAN ? pml_##step##_gaussian(__VA_ARGS__) : pml_##step##_response(__VA_ARGS__))
#elif PML_WITH_CROWD
#define BY_MECHANISM(mechanism, step, ...)                                                                             \
    ((mechanism) == PML_CROWD ? pml_##step##_crowd(__VA_ARGS__) : pml_##step##_response(__VA_ARGS__))
#elif PML_WITH_RESPONSE
#define BY_MECHANISM(mechanism, step, ...) ((void)(mechanism), pml_##step##_response(__VA_ARGS__))
#else
#define BY_MECHANISM(mechanism, step, ...) ((void)(mechanism), pml_##step##_gaussian(__VA_ARGS__))
#endif

#endif
