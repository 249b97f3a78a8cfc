/* SPDX-License-Identifier: Apache-2.0
 * The functions of base.h, for the proofs: a header alone is no file to compile. */
#include "base/base.h"
