/* SPDX-License-Identifier: Apache-2.0
 * One whole query on the device, stage by stage, for bench/energy.py: the same on a board and on this machine. */
#ifndef ENERGY_QUERY_H
#define ENERGY_QUERY_H

#include "base/kernels.h"

#include <privatemail.h>

/* `arm` to `rank` are a query; `open` and `init` happen once. */
enum energy_stage {
    ENERGY_OPEN,
    ENERGY_INIT,
    ENERGY_ARM,
    ENERGY_RELEASE,
    ENERGY_BEGIN,
    ENERGY_FEED,
    ENERGY_FINISH,
    ENERGY_STAGES
};

enum { ENERGY_FEATURES = 256, ENERGY_MESSAGE_MAX = 64, ENERGY_MATCHES = 8 };

struct energy_material {
    const uint8_t *pack, *answer;
    size_t pack_size, answer_size; /* no answer: the query ends with its release */
    const float *features;         /* ENERGY_FEATURES of them */
};

struct energy_result {
    uint8_t message[ENERGY_MESSAGE_MAX];
    size_t message_size;
    pml_match matches[ENERGY_MATCHES];
    pml_answer_summary summary;
};

/* Runs all stages; `done` is called after each. Entropy is always the same and nothing is stored, so the message always
 * has the same bytes, and what is counted is the library's. Returns the first status that is not PML_OK. */
pml_status energy_query(const struct energy_material *material, const struct pml_kernels *kernels,
                        void (*done)(enum energy_stage stage), struct energy_result *result);

#endif
