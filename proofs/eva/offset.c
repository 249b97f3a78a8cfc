/* SPDX-License-Identifier: Apache-2.0 */
#include "arbitrary.h"

size_t eva_offset;
