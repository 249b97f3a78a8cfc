/* SPDX-License-Identifier: Apache-2.0
 * The smallest end of a Laplacian is the largest end of top − Laplacian, where ARPACK needs no factorisation. The value 0
 * occurs once per component, and Lanczos' method sees one vector of several with the same value; but those are known
 * beforehand: the components themselves. So they are moved to the other end, and only the others are looked for. */
#include "spectrum.h"
#include "common/generator.h"
#include "tools/algebra/arpack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* top·I − Laplacian, of which every eigenvalue is in [−top, top]. */
struct shifted {
    size_t nodes;
    double top;
    size_t *starts; /* what is not on the diagonal, row after row */
    uint32_t *columns;
    double *values;
    double *diagonal;
    double *known;        /* per node: its entry in the vector of its component, which has length 1 */
    uint32_t *components; /* per node */
    size_t component_count;
    double *degrees;
    double *sums; /* room for one number per component */
    double *start;
};

static void release(struct shifted *shifted)
{
    free(shifted->diagonal);
    free(shifted->known);
    free(shifted->components);
    free(shifted->degrees);
    free(shifted->sums);
    free(shifted->start);
    free(shifted->starts);
    free(shifted->columns);
    free(shifted->values);
}

static pml_outcome allocate(const struct pml_group_graph *graph, struct shifted *shifted)
{
    const size_t nodes = graph->nodes, entries = 2 * graph->count + 1;
    shifted->diagonal = malloc(nodes * sizeof *shifted->diagonal);
    shifted->known = malloc(nodes * sizeof *shifted->known);
    shifted->components = malloc(nodes * sizeof *shifted->components);
    shifted->degrees = calloc(nodes, sizeof *shifted->degrees);
    shifted->sums = malloc(nodes * sizeof *shifted->sums);
    shifted->start = malloc(nodes * sizeof *shifted->start);
    shifted->starts = malloc((nodes + 1) * sizeof *shifted->starts);
    shifted->columns = malloc(entries * sizeof *shifted->columns);
    shifted->values = malloc(entries * sizeof *shifted->values);
    return shifted->diagonal && shifted->known && shifted->components && shifted->degrees && shifted->sums &&
                   shifted->start && shifted->starts && shifted->columns && shifted->values
               ? PML_DONE
               : PML_NO_MEMORY;
}

static void add_degrees(const struct pml_group_graph *graph, const uint8_t *removed, struct shifted *shifted)
{
    for (size_t e = 0; e < graph->count; e++)
        for (size_t end = 0; end < 2 && !(removed && removed[e]); end++)
            shifted->degrees[graph->edges[e].ends[end]] += graph->edges[e].weight;
}

static void fill_matrix(const struct pml_group_graph *graph, const uint8_t *removed, bool plain,
                        struct shifted *shifted)
{
    const double *degrees = shifted->degrees;
    size_t filled = 0;
    double largest = 0.0;
    for (size_t i = 0; i < graph->nodes; i++)
        largest = fmax(largest, degrees[i]);
    shifted->top = plain ? 2.0 * largest : 1.0;
    for (uint32_t i = 0; i < graph->nodes; i++) {
        shifted->starts[i] = filled;
        shifted->diagonal[i] = plain ? shifted->top - degrees[i] : 0.0;
        for (size_t at = graph->starts[i]; at < graph->starts[i + 1]; at++) {
            const struct pml_group_edge *edge = &graph->edges[graph->incident[at]];
            const uint32_t other = pml_group_edge_other(edge, i);
            if (removed && removed[graph->incident[at]])
                continue;
            shifted->columns[filled] = other;
            shifted->values[filled++] = plain ? edge->weight : edge->weight / sqrt(degrees[i] * degrees[other]);
        }
    }
    shifted->starts[graph->nodes] = filled;
    shifted->nodes = graph->nodes;
}

/* The vector of a component: the same entry for each of its nodes, or √degree when the Laplacian is normalised. */
static void fill_known(size_t nodes, bool plain, struct shifted *shifted)
{
    memset(shifted->sums, 0, shifted->component_count * sizeof *shifted->sums);
    for (size_t i = 0; i < nodes; i++)
        shifted->sums[shifted->components[i]] += plain ? 1.0 : shifted->degrees[i];
    for (size_t i = 0; i < nodes; i++)
        shifted->known[i] = sqrt((plain ? 1.0 : shifted->degrees[i]) / shifted->sums[shifted->components[i]]);
}

static pml_outcome multiply(void *context, const double *in, double *out)
{
    const struct shifted *shifted = context;
    const size_t nodes = shifted->nodes;
    memset(shifted->sums, 0, shifted->component_count * sizeof *shifted->sums);
    for (size_t i = 0; i < nodes; i++)
        shifted->sums[shifted->components[i]] += shifted->known[i] * in[i];
    for (size_t i = 0; i < nodes; i++) {
        double sum = shifted->diagonal[i] * in[i];
        for (size_t at = shifted->starts[i]; at < shifted->starts[i + 1]; at++)
            sum += shifted->values[at] * in[shifted->columns[at]];
        out[i] = sum - 2.0 * shifted->top * shifted->known[i] * shifted->sums[shifted->components[i]];
    }
    return PML_DONE;
}

static pml_outcome solve(struct shifted *shifted, struct pml_spectrum *spectrum, struct pml_message *message)
{
    const size_t nodes = spectrum->nodes, known = shifted->component_count;
    for (size_t i = 0; i < nodes; i++)
        spectrum->vectors[shifted->components[i] * nodes + i] = shifted->known[i];
    if (spectrum->count == known)
        return PML_DONE;
    struct pml_generator generator = {0};
    for (size_t i = 0; i < nodes; i++)
        shifted->start[i] = (double)pml_generator_normal(&generator, 1000);
    const pml_outcome outcome = pml_arpack_largest(multiply, shifted, nodes, spectrum->count - known, shifted->start,
                                                   spectrum->values + known, spectrum->vectors + known * nodes);
    if (outcome == PML_REFUSED)
        return pml_say(message, "the eigenvectors of the graph did not converge. Use more --neighbours, or fewer "
                                "groups.");
    for (size_t i = known; outcome == PML_DONE && i < spectrum->count; i++)
        spectrum->values[i] = fmax(0.0, shifted->top - spectrum->values[i]);
    return outcome;
}

pml_outcome pml_spectrum_find(const struct pml_group_graph *graph, const uint8_t *removed, pml_laplacian laplacian,
                              size_t count, struct pml_spectrum *spectrum, struct pml_message *message)
{
    const bool plain = laplacian == PML_LAPLACIAN_PLAIN;
    struct shifted shifted = {0};
    *spectrum = (struct pml_spectrum){.count = count, .nodes = graph->nodes};
    pml_outcome outcome = allocate(graph, &shifted);
    if (outcome == PML_DONE)
        outcome = pml_group_graph_components(graph, removed, shifted.components, &shifted.component_count);
    spectrum->components = shifted.component_count;
    if (outcome == PML_DONE && shifted.component_count > count)
        outcome = pml_say(message,
                          "the graph of neighbours falls into %zu parts that no edge joins, which is more than %zu "
                          "groups. Use more --neighbours, or a --count of %zu.",
                          shifted.component_count, count, shifted.component_count);
    if (outcome == PML_DONE) {
        spectrum->values = calloc(count, sizeof *spectrum->values);
        spectrum->vectors = calloc(count * graph->nodes, sizeof *spectrum->vectors);
        outcome = spectrum->values && spectrum->vectors ? PML_DONE : PML_NO_MEMORY;
    }
    if (outcome == PML_DONE) {
        add_degrees(graph, removed, &shifted);
        fill_matrix(graph, removed, plain, &shifted);
        fill_known(graph->nodes, plain, &shifted);
        outcome = solve(&shifted, spectrum, message);
    }
    for (size_t i = 0; outcome == PML_DONE && laplacian == PML_LAPLACIAN_WALK && i < count * graph->nodes; i++)
        spectrum->vectors[i] /= sqrt(shifted.degrees[i % graph->nodes]);
    if (outcome != PML_DONE)
        pml_spectrum_free(spectrum);
    release(&shifted);
    return outcome;
}

void pml_spectrum_free(struct pml_spectrum *spectrum)
{
    free(spectrum->values);
    free(spectrum->vectors);
    spectrum->values = spectrum->vectors = NULL;
}

double pml_spectrum_trace(const struct pml_spectrum *spectrum)
{
    double trace = 0.0;
    for (size_t i = 0; i < spectrum->count; i++)
        trace += spectrum->values[i];
    return trace;
}
