/* SPDX-License-Identifier: Apache-2.0
 * The rounding of prices and of the sampler's rate. Doubles are real numbers here: README.md says why that is sound. */
#include "../../core/base/random.h"
#include "../../core/privacy/budget.c"
