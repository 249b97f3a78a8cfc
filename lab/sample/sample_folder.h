/* SPDX-License-Identifier: Apache-2.0
 * A folder that appears complete or not at all: filled under another name, then renamed. */
#ifndef CLI_SAMPLE_FOLDER_H
#define CLI_SAMPLE_FOLDER_H

#include "common/message.h"

struct folder {
    char *final;     /* without trailing slashes */
    char *temporary; /* final.tmp-RANDOM; NULL: not made */
};

/* Refuses a path that exists, unless it is an empty folder. Makes the temporary folder, and in it the folders named in
 * `inside` (NULL at the end, parents first). Returns PML_DONE, or PML_REFUSED with a message; then nothing is left behind. A
 * process that is killed leaves the temporary folder. */
pml_outcome folder_begin(struct folder *folder, const char *path, const char *const *inside,
                         struct pml_message *message);

/* Gives the folder its final name. Drop the folder after an error too. */
pml_outcome folder_finish(struct folder *folder, struct pml_message *message);

/* Removes what is under the temporary name, if anything, and frees. */
void folder_drop(struct folder *folder);

#endif
