/* SPDX-License-Identifier: Apache-2.0
 * The best matches of several answers to one query. */
#ifndef CLI_MATCH_LIST_H
#define CLI_MATCH_LIST_H

#include <privatemail.h>

/* Puts the matches of one more answer among the first `found`: by score, then by smaller item, each item once, with its
 * best score. Returns how many there are then, at most `capacity`. */
size_t match_list_merge(pml_match *matches, size_t found, size_t capacity, const pml_match *more, size_t count);

#endif
