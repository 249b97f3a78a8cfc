/* SPDX-License-Identifier: Apache-2.0
 * What a release cost, for a person or a program. Nothing in it depends on the query. */
#ifndef CLI_RECEIPT_H
#define CLI_RECEIPT_H

#include "cli/shared/crowd_policy.h"

#include <stdio.h>

struct receipt {
    const char *pack; /* id, hexadecimal */
    pml_receipt price;
    char *const *paths; /* of the releases or bundles */
    size_t count;
    const struct crowd_promise *crowd; /* NULL: these are releases without a crowd */
    const size_t *messages;            /* of each bundle */
    pml_bundle bundle;                 /* what they are about */
    const char *budget_path;           /* NULL: not counted */
    pml_budget_left left;
};

/* How many more releases like this one the budget pays for; infinite when it costs nothing. */
double receipt_releases_left(const struct receipt *receipt);

void receipt_print(FILE *stream, const struct receipt *receipt);
void receipt_write(const struct receipt *receipt); /* JSON */

/* In a crowd, the part of both that says what is promised: floor and crowd next to each other, with what the second rests
 * on. */
void receipt_print_promises(FILE *stream, const struct receipt *receipt);
void receipt_write_promises(struct json *json, const struct receipt *receipt);

/* The budget's part of both. When nothing is counted they print nothing, or null. */
void receipt_print_budget(FILE *stream, const struct receipt *receipt);
void receipt_write_budget(struct json *json, const struct receipt *receipt);

#endif
