/* SPDX-License-Identifier: Apache-2.0
 * Says what went wrong, in words for a person. */
#ifndef PML_MESSAGES_H
#define PML_MESSAGES_H

#include "npy.h"

/* Fills the message (which may be NULL) and answers −1, so that failing is one line: return pml_say(message, …). */
int pml_say(struct pml_message *message, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* The same for memory that is missing; answers PML_NO_MEMORY. */
int pml_say_memory(struct pml_message *message);

#endif
