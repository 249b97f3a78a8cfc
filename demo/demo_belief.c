/* SPDX-License-Identifier: Apache-2.0
 * What devices would make of public items, for a page that shows what a server believes (PRIVACY, section 12).
 *
 *   demo_belief PACK FEATURES.npy LABELS.npy [MODALITY]
 *
 * Writes {"slots": [N, ...], "cells": [N, ...], "places": [X, ...], "centres": [X, ...]}: slot and cell of each item; and,
 * where the pack has anchors, k numbers per item and per slot, where rows and centres are before they go to a grid. */
#include "common/files.h"
#include "common/npy.h"
#include "lab/belief/belief.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char command_program[] = ""; /* what messages of commands begin with: there is none here */

enum { FILE_MOST = 1 << 30 };

struct job {
    uint8_t *bytes;
    pml_pack pack;
    struct pml_features features;
    struct pml_labels labels;
    struct pml_rows rows;
    struct belief_items items;
    double *places, *centres;
};

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "demo_belief: %s: %s\n", what, why);
    return 1;
}

static int read_rows(struct job *job, const char *path, const char *modality)
{
    pml_front front;
    uint32_t number = 0;
    size_t bad = 0;
    pml_pack_info info;
    if ((modality && pml_pack_find_modality(&job->pack, modality, &number) != PML_OK) ||
        pml_pack_front(&job->pack, number, &front) != PML_OK || pml_pack_describe(&job->pack, &info) != PML_OK)
        return fail(modality, "the pack has no such modality");
    if (front.inputs != job->features.columns || job->labels.rows != job->features.rows)
        return fail(path, "not the pack's features, or not a label for every row");
    if (pml_rows_allocate(&job->rows, job->features.rows, info.features) != PML_DONE ||
        pml_rows_map(&job->rows, &front, job->features.values, pml_parallel_threads(0), NULL, &bad) != PML_DONE)
        return fail(path, "out of memory");
    return bad == job->features.rows ? 0 : fail(path, "a row cannot be mapped");
}

static void print_numbers(const char *name, const double *values, size_t count)
{
    printf(", \"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        printf("%s%.17g", i > 0 ? ", " : "", values[i]);
    putchar(']');
}

static void print_counts(const char *before, const uint32_t *values, size_t count)
{
    printf("%s: [", before);
    for (size_t i = 0; i < count; i++)
        printf("%s%" PRIu32, i > 0 ? ", " : "", values[i]);
    putchar(']');
}

static int tell(struct job *job)
{
    const pml_pack_info *info = &job->items.info;
    const size_t places = job->rows.count * info->dimensions, centres = (size_t)info->slots * info->dimensions;
    struct pml_message message = {""};
    if (info->anchors > 0) {
        job->places = malloc((places + 1) * sizeof *job->places);
        job->centres = malloc((centres + 1) * sizeof *job->centres);
        if (!job->places || !job->centres)
            return fail("places", "out of memory");
        if (belief_places(&job->items, job->places, job->centres, &message) != PML_DONE)
            return fail("places", message.text);
    }
    print_counts("{\"slots\"", job->items.slots, job->rows.count);
    print_counts(", \"cells\"", job->items.cells, job->items.cells ? job->rows.count : 0);
    print_numbers("places", job->places, job->places ? places : 0);
    print_numbers("centres", job->centres, job->centres ? centres : 0);
    puts("}");
    return fflush(stdout) == 0 ? 0 : fail("stdout", "cannot be written");
}

int main(int count, char **words)
{
    static struct job job;
    struct pml_message message = {""};
    size_t size = 0;
    int failed = 1;
    if (count != 4 && count != 5)
        return fail("usage", "demo_belief PACK FEATURES.npy LABELS.npy [MODALITY]");
    if (pml_file_read(words[1], FILE_MOST, &job.bytes, &size, &message) != PML_DONE ||
        pml_features_read(words[2], &job.features, &message) != PML_DONE ||
        pml_labels_read(words[3], &job.labels, &message) != PML_DONE)
        fail(words[1], message.text);
    else if (pml_pack_open(&job.pack, job.bytes, size, NULL, NULL) != PML_OK)
        fail(words[1], "no pack");
    else if (read_rows(&job, words[2], count == 5 ? words[4] : NULL) == 0) {
        if (belief_items_make(&job.items, &job.pack, &job.rows, job.labels.values, 0, &message) != PML_DONE)
            fail(words[3], message.text);
        else
            failed = tell(&job);
    }
    free(job.places);
    free(job.centres);
    belief_items_free(&job.items);
    pml_rows_free(&job.rows);
    pml_labels_free(&job.labels);
    pml_features_free(&job.features);
    free(job.bytes);
    return failed;
}
