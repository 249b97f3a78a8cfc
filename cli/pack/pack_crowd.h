/* SPDX-License-Identifier: Apache-2.0
 * pack --crowd: the options of a crowd, and what is planned for them. */
#ifndef CLI_PACK_CROWD_H
#define CLI_PACK_CROWD_H

#include "cli/shared/crowd_policy.h"
#include "tools/pack/cells_crowd.h"

struct pack_crowd {
    struct crowd_arguments arguments;
    double epsilon, delta; /* of the crowd; 0: the default */
    double down;           /* share of the gallery that may come down to a client; 0: the default */
    struct pml_crowd_cells cells;
    pml_crowd_planned plan;
};

/* Fills in defaults and checks. */
exit_code pack_crowd_check(struct pack_crowd *crowd, const struct option_spec specs[CROWD_OPTIONS]);

/* Fills `cells` and `plan`. */
exit_code pack_crowd_plan(struct pack_crowd *crowd, size_t rows);

void pack_crowd_tell(const struct pack_crowd *crowd);
void pack_crowd_write(const struct pack_crowd *crowd, struct json *json);

#endif
