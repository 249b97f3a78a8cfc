/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SKETCH_CHECKS_H
#define SKETCH_CHECKS_H

/* Answers of version 2 against the golden vectors, sound ones and others. */
void check_coded_answers(void);

#endif
