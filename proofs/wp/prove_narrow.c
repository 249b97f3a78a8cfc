/* SPDX-License-Identifier: Apache-2.0
 * The multiplication of CPUs that have no wide one, for the proofs: the other units see that of x86-64. */
#define PML_NARROW_MULTIPLICATION 1
#include "base/exact.h"
