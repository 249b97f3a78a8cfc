/* SPDX-License-Identifier: Apache-2.0
 * Made-up rows, packs and clients to measure with. None of it is the data of a person. */
#ifndef BENCH_SYNTHETIC_H
#define BENCH_SYNTHETIC_H

#include "privatemail_public.h"
#include "tools/pack/slots_build.h"

/* n×d floats in clusters, as features of pictures are; the same for the same seed. Free with free(). */
float *synthetic_features(size_t rows, size_t columns, uint64_t seed);

/* Int8 rows without that detour, for sizes that would not fit as floats. */
struct pml_rows synthetic_rows(size_t rows, size_t columns, uint64_t seed);

/* A pack of `rows`: anchors of one slot for the Gaussian, else prototypes of `slots` slots, `cells` cells each (slots must
 * divide their number). Codes, lists and cells are made up; a device takes it like any other. */
struct synthetic_pack {
    uint8_t *bytes;
    pml_pack pack;
};
void synthetic_pack(struct synthetic_pack *pack, const struct pml_rows *rows, int mechanism, unsigned neighbours,
                    size_t slots, unsigned cells);
void synthetic_pack_free(struct synthetic_pack *pack);

/* A client with the system's entropy, a store that always returns 0, and a budget that is full at every start. */
struct synthetic_client {
    pml_client *client;
    pml_budget full, budget;
    uint8_t *message;
    size_t capacity;
};
void synthetic_client(struct synthetic_client *client, const pml_pack *pack, pml_mechanism mechanism,
                      const struct pml_kernels *kernels);
void synthetic_client_free(struct synthetic_client *client);

void synthetic_arm(struct synthetic_client *client);

/* One whole release. Returns the length of the message. */
size_t synthetic_release(struct synthetic_client *client, const float *features, size_t count, int32_t label);

void synthetic_check(int status);

#endif
