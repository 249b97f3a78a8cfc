/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_RANKING_H
#define PML_RANKING_H
#include "stages/answer.h"

/* Everything a ranking is: the parser is public, the rest secret until finish. What candidates are compared with follows it
 * in the caller's memory, then the row, which holds something within begin only. */
struct pml_ranking {
    const pml_pack *pack;
    struct answer answer;
    struct shortlist shortlist;
};

#endif
