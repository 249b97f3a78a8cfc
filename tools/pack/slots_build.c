/* SPDX-License-Identifier: Apache-2.0
 * Sorts the classes in ascending order, gives each a slot, and orders the rows slot by slot. No slot stays empty. */
#include "slots_build.h"
#include "common/generator.h"
#include "common/message.h"
#include "common/rows/kmeans.h"
#include "privatemail_public.h"
#include "tools/codes/classes.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS_DEFAULT 128u

void pml_slots_free(struct pml_slot_map *map)
{
    free(map->labels);
    free(map->class_slots);
    free(map->order);
    free(map->starts);
    *map = (struct pml_slot_map){0};
}

/* ---- classes ---- */

static pml_outcome find_classes(struct pml_slot_map *map, const struct pml_labels *labels)
{
    if (pml_classes_find(labels->values, labels->rows, &map->labels, &map->classes) != PML_DONE)
        return PML_NO_MEMORY;
    map->class_slots = malloc(map->classes * sizeof *map->class_slots);
    return map->class_slots ? PML_DONE : PML_NO_MEMORY;
}

static uint32_t class_of(const struct pml_slot_map *map, int32_t label)
{
    return pml_classes_of(map->labels, map->classes, label);
}

/* ---- rows by bin: `order` and `starts` from the bin of each row ---- */

static void sort_rows(const uint32_t *bins, size_t rows, size_t bin_count, uint32_t *order, uint32_t *starts)
{
    memset(starts, 0, (bin_count + 1) * sizeof *starts);
    for (size_t i = 0; i < rows; i++)
        starts[bins[i] + 1]++;
    for (size_t b = 0; b < bin_count; b++)
        starts[b + 1] += starts[b];
    for (size_t i = rows; i-- > 0;)
        order[--starts[bins[i] + 1]] = (uint32_t)i;
    memmove(starts, starts + 1, bin_count * sizeof *starts);
    starts[bin_count] = (uint32_t)rows;
}

/* ---- groups ---- */

/* Means of the classes, as rows. `bins`: class of each row. */
static pml_outcome average_classes(const struct pml_rows *rows, const uint32_t *bins, struct pml_rows *means)
{
    uint32_t *order = malloc(rows->count * sizeof *order), *starts = malloc((means->count + 1) * sizeof *starts);
    pml_outcome outcome = order && starts ? PML_DONE : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        sort_rows(bins, rows->count, means->count, order, starts);
    for (size_t c = 0; outcome == PML_DONE && c < means->count; c++) {
        int8_t *mean = means->values + c * rows->columns;
        /* Rows that cancel out have no mean direction; then the first stands for the class. */
        memcpy(mean, rows->values + order[starts[c]] * rows->columns, rows->columns);
        if (pml_rows_mean(rows, order + starts[c], NULL, starts[c + 1] - starts[c], mean) == PML_NO_MEMORY)
            outcome = PML_NO_MEMORY;
        pml_rows_measure(means, c);
    }
    free(order);
    free(starts);
    return outcome;
}

/* Classes of equal means leave groups empty: each such group takes the last class of the largest one. */
static void fill_empty_groups(uint32_t *groups, size_t classes, uint32_t *sizes, size_t count)
{
    memset(sizes, 0, count * sizeof *sizes);
    for (size_t c = 0; c < classes; c++)
        sizes[groups[c]]++;
    for (uint32_t empty = 0; empty < count; empty++) {
        if (sizes[empty] != 0)
            continue;
        uint32_t largest = 0;
        for (uint32_t g = 1; g < count; g++)
            largest = sizes[g] > sizes[largest] ? g : largest;
        size_t c = classes - 1;
        while (groups[c] != largest)
            c--;
        groups[c] = empty;
        sizes[empty]++;
        sizes[largest]--;
    }
}

/* Numbers the groups in the order of their smallest class. */
static void order_groups(uint32_t *groups, size_t classes, uint32_t *numbers, size_t count)
{
    uint32_t next = 0;
    memset(numbers, 0xFF, count * sizeof *numbers);
    for (size_t c = 0; c < classes; c++) {
        if (numbers[groups[c]] == UINT32_MAX)
            numbers[groups[c]] = next++;
        groups[c] = numbers[groups[c]];
    }
}

static pml_outcome group_classes(struct pml_slot_map *map, const struct pml_rows *rows, const uint32_t *bins,
                                 uint64_t seed, unsigned threads)
{
    struct pml_rows means = {0};
    struct pml_kmeans result = {.clusters = map->class_slots};
    result.centres = malloc(map->slots * rows->columns);
    uint32_t *scratch = malloc(map->slots * sizeof *scratch);
    pml_outcome outcome =
        result.centres && scratch ? pml_rows_allocate(&means, map->classes, rows->columns) : PML_NO_MEMORY;
    if (outcome == PML_DONE)
        outcome = average_classes(rows, bins, &means);
    if (outcome == PML_DONE) {
        struct pml_generator generator = pml_generator_start(seed, PML_STREAM_GROUPS);
        outcome = pml_kmeans(&means, map->slots, pml_generator_next(&generator), threads, NULL, &result);
    }
    if (outcome == PML_DONE) {
        fill_empty_groups(map->class_slots, map->classes, scratch, map->slots);
        order_groups(map->class_slots, map->classes, scratch, map->slots);
    }
    pml_rows_free(&means);
    free(result.centres);
    free(scratch);
    return outcome;
}

/* ---- slots ---- */

static pml_outcome count_slots(struct pml_slot_map *map, int kind, unsigned groups, struct pml_message *message)
{
    if (map->classes == 1)
        return pml_say(message, "All labels are %d, so there is one class only: use --slots one.", (int)map->labels[0]);
    if (kind == PML_SLOTS_CLASS && map->classes > PML_SLOTS_MAX)
        return pml_say(message, "There are %zu classes, and at most %u slots: use --slots group.", map->classes,
                       PML_SLOTS_MAX);
    if (map->classes > PML_CLASSES_MAX)
        return pml_say(message, "There are %zu classes; a pack holds at most %u: merge some, or use --slots one.",
                       map->classes, PML_CLASSES_MAX);
    if (groups > map->classes)
        return pml_say(message, "%u groups of only %zu classes: give a smaller --slot-count.", groups, map->classes);
    map->slots = map->classes;
    if (kind == PML_SLOTS_GROUP && groups > 0)
        map->slots = groups;
    else if (kind == PML_SLOTS_GROUP && map->classes > GROUPS_DEFAULT)
        map->slots = GROUPS_DEFAULT;
    return PML_DONE;
}

static pml_outcome map_rows(struct pml_slot_map *map, const uint32_t *bins, size_t rows)
{
    map->order = malloc(rows * sizeof *map->order);
    map->starts = malloc((map->slots + 1) * sizeof *map->starts);
    if (!map->order || !map->starts)
        return PML_NO_MEMORY;
    sort_rows(bins, rows, map->slots, map->order, map->starts);
    return PML_DONE;
}

pml_outcome pml_slots_build(struct pml_slot_map *map, const struct pml_rows *rows, const struct pml_labels *labels,
                            int kind, unsigned groups, uint64_t seed, unsigned threads, struct pml_message *message)
{
    *map = (struct pml_slot_map){.slots = 1};
    uint32_t *bins = calloc(rows->count, sizeof *bins);
    pml_outcome outcome = bins ? PML_DONE : pml_say_memory(message);
    if (outcome == PML_DONE && kind != PML_SLOTS_ONE) {
        outcome =
            find_classes(map, labels) == PML_DONE ? count_slots(map, kind, groups, message) : pml_say_memory(message);
        for (size_t i = 0; outcome == PML_DONE && i < rows->count; i++)
            bins[i] = class_of(map, labels->values[i]);
        for (uint32_t c = 0; outcome == PML_DONE && c < map->classes; c++)
            map->class_slots[c] = c;
        if (outcome == PML_DONE && kind == PML_SLOTS_GROUP && map->slots < map->classes &&
            group_classes(map, rows, bins, seed, threads) != PML_DONE)
            outcome = pml_say_memory(message);
        for (size_t i = 0; outcome == PML_DONE && i < rows->count; i++)
            bins[i] = map->class_slots[bins[i]];
    }
    if (outcome == PML_DONE && map_rows(map, bins, rows->count) != PML_DONE)
        outcome = pml_say_memory(message);
    free(bins);
    return outcome;
}
