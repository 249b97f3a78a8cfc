/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESIDUE_CHECKS_H
#define RESIDUE_CHECKS_H

#include "golden/vectors.h"

/* After arm, release and wipe nothing of seed, features or their quantised row is in the client's memory or on the stack. */
void check_residue(const struct golden_release *golden);

#endif
