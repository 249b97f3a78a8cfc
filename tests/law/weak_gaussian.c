/* SPDX-License-Identifier: Apache-2.0
 * The real core/stages/gaussian.c with its functions weak, so that tests/law/law_hooks.c can replace some of them. */
#include "stages/stages.h"

#define static __attribute__((weak))
#include LAW_GAUSSIAN
