/* SPDX-License-Identifier: Apache-2.0
 * The classes that labels name, in ascending order. */
#ifndef PML_CLASSES_H
#define PML_CLASSES_H

#include "common/message.h"

#include <stddef.h>
#include <stdint.h>

/* Writes the different ones of the labels, ascending; the caller frees them. Returns PML_DONE or PML_NO_MEMORY. */
pml_outcome pml_classes_find(const int32_t *labels, size_t rows, int32_t **classes, size_t *count);

/* The index of a label, which must be among the classes. */
uint32_t pml_classes_of(const int32_t *classes, size_t count, int32_t label);

#endif
