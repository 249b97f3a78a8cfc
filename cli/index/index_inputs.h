/* SPDX-License-Identifier: Apache-2.0
 * What `privatemail index` reads: a gallery, checked against the pack before any work is done. */
#ifndef CLI_INDEX_INPUTS_H
#define CLI_INDEX_INPUTS_H

#include "cli/shared/pack_file.h"
#include "common/npy.h"
#include "common/rows/rows.h"
#include "index_payloads.h"

#include "server/index/record.h"

struct index_paths {
    const char *features, *labels, *ids, *payloads; /* each may be NULL */
    const char *modality;                           /* of the features; NULL: the first */
    const char *voters, *voters_labels, *voters_modality;
    const char *removed; /* numbers of items that go; NULL: none do */
};

/* Features of a file, and the rows that the pack's front of their modality makes of them. */
struct index_rows {
    struct pml_features features; /* until they are mapped */
    struct pml_labels labels;     /* none: values is NULL */
    uint32_t modality;
    uint32_t *slots; /* slot of each row, of voters PML_LISTS_NO_SLOT for a class that the pack lacks; NULL: of none */
    struct pml_rows rows; /* once they are mapped */
};

struct index_inputs {
    struct index_rows gallery, voters;
    size_t count;    /* rows of the gallery */
    uint64_t *items; /* number of each */
    struct index_payloads payloads;
    uint64_t *removed; /* numbers of items that go */
    size_t removed_count;
};

/* Rows, slots, voters, and numbers of items that go. Free the inputs after a failure too. */
exit_code index_inputs_read(const struct command *command, const struct index_paths *paths,
                            const struct pack_file *pack, struct index_inputs *inputs);
void index_inputs_free(struct index_inputs *inputs);

/* The number of every row: those of the file, or `first` and so on; and the payloads of these numbers. */
exit_code index_inputs_number(const struct command *command, const struct index_paths *paths, uint64_t first,
                              struct index_inputs *inputs);

/* Maps the features, which are freed. */
exit_code index_inputs_map(const struct command *command, const struct index_paths *paths, const struct pack_file *pack,
                           unsigned threads, struct index_inputs *inputs);

/* 32 bytes that change with everything the gallery depends on: digests (SPEC 8.4) of pack and settings, of features,
 * modality and voters, of labels and numbers, of payloads. Payloads are read for it, which can fail; it comes before
 * mapping. */
exit_code index_inputs_digest(const struct command *command, struct index_inputs *inputs, const struct pack_file *pack,
                              const struct pml_settings *settings, uint8_t digest[32]);

#endif
