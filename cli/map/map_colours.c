/* SPDX-License-Identifier: Apache-2.0
 * What the rows of a map are coloured by: their class, the cell of a pack, or a cluster. */
#include "map_inputs.h"

#include "common/rows/kmeans.h"
#include "tools/map/look/map_measure.h"

#include <stdlib.h>
#include <string.h>

/* Groups in ascending order of these numbers. */
static exit_code group_by(struct map_inputs *inputs, const int32_t *numbers)
{
    if (pml_map_number(numbers, inputs->rows.count, inputs->colours, &inputs->names, &inputs->groups) != PML_DONE)
        return command_no_memory(&command_map);
    return EXIT_OK;
}

/* ---- cells ---- */

/* Prototypes of a slot as rows like those of the map: of a store, their sketches. */
static exit_code read_prototypes(const struct map_inputs *inputs, uint32_t slot, struct pml_rows *prototypes,
                                 uint32_t *cells)
{
    const struct pack_file *pack = &inputs->pack;
    const size_t count = pack->info.prototypes, columns = pack->info.features;
    const int8_t *rows;
    uint32_t *norms = malloc(count * sizeof *norms);
    pml_status status = norms ? pml_pack_prototypes(&pack->pack, slot, &rows, norms, cells) : PML_OK;
    exit_code code = norms && pml_rows_allocate(prototypes, count, inputs->rows.columns) == PML_DONE
                         ? EXIT_OK
                         : command_no_memory(&command_map);
    for (size_t i = 0; code == EXIT_OK && status == PML_OK && i < count; i++) {
        int8_t *out = prototypes->values + i * prototypes->columns;
        int8_t sketch[PML_SKETCH_MAX];
        if (!inputs->sketches)
            memcpy(out, rows + i * columns, columns);
        else if ((status = pml_sketch(&pack->pack, pml_rows_kernels(), rows + i * columns, sketch)) == PML_OK)
            status = pml_sketch_row(&pack->pack, sketch, out);
        pml_rows_measure(prototypes, i);
    }
    free(norms);
    return code == EXIT_OK && status != PML_OK ? command_status(&command_map, "--pack", status) : code;
}

/* The cell of each row of the slot (SPEC 5.4): that of its first-ranked prototype. */
static exit_code find_cells(const struct map_inputs *inputs, const uint32_t *slots, uint32_t slot, int32_t *found)
{
    const size_t n = inputs->rows.count, count = inputs->pack.info.prototypes;
    struct pml_rows prototypes = {0};
    uint32_t *cells = malloc(count * sizeof *cells);
    int32_t *dots = malloc(count * sizeof *dots);
    exit_code code =
        cells && dots ? read_prototypes(inputs, slot, &prototypes, cells) : command_no_memory(&command_map);
    for (size_t i = 0; code == EXIT_OK && i < n; i++) {
        size_t best = 0;
        if (slots[i] != slot)
            continue;
        pml_dots(inputs->rows.values + i * inputs->rows.columns, prototypes.values, prototypes.columns, count, dots);
        for (size_t p = 1; p < count; p++)
            if (dots[p] * (int64_t)prototypes.inverse[p] > dots[best] * (int64_t)prototypes.inverse[best])
                best = p;
        found[i] = (int32_t)(slot * inputs->pack.info.cells + cells[best]);
    }
    pml_rows_free(&prototypes);
    free(cells);
    free(dots);
    return code;
}

static exit_code find_slots(const struct map_inputs *inputs, uint32_t *slots)
{
    const pml_pack_info *info = &inputs->pack.info;
    memset(slots, 0, inputs->rows.count * sizeof *slots);
    if (info->slots > 1 && !inputs->labels.values)
        return command_fail(&command_map, EXIT_USAGE, "the pack has %u slots: cells depend on classes. Give --labels.",
                            info->slots);
    for (size_t i = 0; info->slots > 1 && i < inputs->rows.count; i++)
        if (pml_pack_slot(&inputs->pack.pack, inputs->labels.values[i], &slots[i]) != PML_OK)
            return command_fail(&command_map, EXIT_INPUT,
                                "the pack has no class %d, which row %zu (counting from 0) has. "
                                "Use the pack that the rows were labelled for.",
                                (int)inputs->labels.values[i], i);
    return EXIT_OK;
}

static exit_code colour_cells(struct map_inputs *inputs)
{
    const size_t n = inputs->rows.count;
    if (!inputs->pack.bytes || inputs->pack.info.cells == 0)
        return command_fail(&command_map, EXIT_USAGE, "--colour cell needs a pack that has cells. Give --pack.");
    uint32_t *slots = malloc(n * sizeof *slots);
    int32_t *found = malloc(n * sizeof *found);
    exit_code code = slots && found ? find_slots(inputs, slots) : command_no_memory(&command_map);
    for (uint32_t slot = 0; code == EXIT_OK && slot < inputs->pack.info.slots; slot++)
        code = find_cells(inputs, slots, slot, found);
    if (code == EXIT_OK)
        code = group_by(inputs, found);
    free(slots);
    free(found);
    return code;
}

/* ---- clusters ---- */

static exit_code colour_clusters(struct map_inputs *inputs, uint64_t clusters, uint64_t seed, unsigned threads)
{
    const size_t n = inputs->rows.count;
    struct pml_kmeans kmeans = {.clusters = malloc(n * sizeof *kmeans.clusters)};
    int32_t *found = malloc(n * sizeof *found);
    kmeans.centres = malloc((size_t)clusters * inputs->rows.columns);
    exit_code code = EXIT_OK;
    if (clusters > n)
        code = command_fail(&command_map, EXIT_INPUT, "%zu rows make no %zu clusters. Give --clusters %zu or less.", n,
                            (size_t)clusters, n);
    else if (!kmeans.clusters || !kmeans.centres || !found ||
             pml_kmeans(&inputs->rows, (size_t)clusters, seed, threads, NULL, &kmeans) != PML_DONE)
        code = command_no_memory(&command_map);
    for (size_t i = 0; code == EXIT_OK && i < n; i++)
        found[i] = (int32_t)kmeans.clusters[i];
    if (code == EXIT_OK)
        code = group_by(inputs, found);
    free(kmeans.clusters);
    free(kmeans.centres);
    free(found);
    return code;
}

exit_code map_inputs_colour(struct map_inputs *inputs, const char *colour, uint64_t clusters, uint64_t seed,
                            unsigned threads)
{
    static const char *const names[] = {"none", "class", "cell", "cluster"};
    const bool cells = inputs->pack.bytes && inputs->pack.info.cells > 0 && inputs->pack.info.slots == 1;
    inputs->colour = inputs->labels.values ? MAP_COLOUR_CLASS : cells ? MAP_COLOUR_CELL : MAP_COLOUR_NONE;
    for (int i = 0; colour && i < 4; i++)
        if (strcmp(colour, names[i]) == 0) {
            inputs->colour = (map_colour)i;
            colour = NULL;
        }
    if (colour)
        return command_fail(&command_map, EXIT_USAGE, "--colour must be class, cell, cluster or none, not '%s'.",
                            colour);
    if (inputs->colour == MAP_COLOUR_CLASS && !inputs->labels.values)
        return command_fail(&command_map, EXIT_USAGE, "--colour class needs the class of each row. Give --labels.");
    if (inputs->colour == MAP_COLOUR_NONE)
        return EXIT_OK;
    inputs->colours = malloc(inputs->rows.count * sizeof *inputs->colours);
    if (!inputs->colours)
        return command_no_memory(&command_map);
    return inputs->colour == MAP_COLOUR_CLASS  ? group_by(inputs, inputs->labels.values)
           : inputs->colour == MAP_COLOUR_CELL ? colour_cells(inputs)
                                               : colour_clusters(inputs, clusters, seed, threads);
}
