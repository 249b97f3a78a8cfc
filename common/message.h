/* SPDX-License-Identifier: Apache-2.0
 * How functions of common/, tools/, server/, lab/ and cli/ fail: one of seven outcomes for the program, and a message
 * for a person. */
#ifndef PML_MESSAGE_H
#define PML_MESSAGE_H

/* PML_DONE is 0 and every failure is negative. The values lie apart from those of pml_status, so that a function that
 * also calls the core may return either, as an int. */
typedef enum pml_outcome {
    PML_DONE = 0,
    PML_REFUSED = -101,      /* an argument, a file or a request is not what it should be */
    PML_NO_MEMORY = -102,    /* out of memory */
    PML_UNAVAILABLE = -103,  /* a disk, a database or an address fails now: try again later */
    PML_DAMAGED = -104,      /* what was stored is not what was written */
    PML_ABSENT = -105,       /* there is none of that name */
    PML_OTHER_VERSION = -106 /* it is of a version of its format that this program does not know */
} pml_outcome;

/* What went wrong and what to do next. Empty when nothing did. */
struct pml_message {
    char text[512];
};

/* Fills the message, which may be NULL, and returns PML_REFUSED, so that failing is one line: return pml_say(message, …). */
pml_outcome pml_say(struct pml_message *message, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* The same when memory runs out; returns PML_NO_MEMORY. */
pml_outcome pml_say_memory(struct pml_message *message);

/* The same when `what` is of another version than the one that is read; returns PML_OTHER_VERSION. */
pml_outcome pml_say_version(struct pml_message *message, const char *what, unsigned long found, unsigned long read);

#endif
