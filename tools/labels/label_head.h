/* SPDX-License-Identifier: Apache-2.0
 * A head for the device (SPEC 1.2, 5.19): a linear map in int8 that repeats the scores of a network as it can. */
#ifndef PML_LABEL_HEAD_H
#define PML_LABEL_HEAD_H

#include "label_fit.h"

#include "tools/train/front_bytes.h"

#include <privatemail_public.h>

struct pml_rows;

/* Fits the map to `scores` of the training rows by ridge regression. The ridge is the one with the largest micro-F1 on
 * the validation rows, and offsets are such that a score above 0 means that the label is there. Labels are 0, 1, ….
 * Rows must have length 1. The file is to be freed. */
pml_outcome pml_label_head_make(const struct pml_label_part *train, const struct pml_matrix *scores,
                                const struct pml_label_part *validation, struct pml_front_bytes *file,
                                struct pml_message *message);

/* Scores by the integers of the head, as a device computes them, into a matrix that is allocated here. Returns PML_DONE
 * or PML_NO_MEMORY. */
pml_outcome pml_label_head_score(const pml_front *head, const struct pml_rows *rows, struct pml_matrix *scores);

#endif
