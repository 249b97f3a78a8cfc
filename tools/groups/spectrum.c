/* SPDX-License-Identifier: Apache-2.0
 * The smallest end of a Laplacian is the largest end of top − Laplacian, where ARPACK needs no factorisation. The value 0
 * occurs once per component, and Lanczos' method sees one vector of several with the same value; but those are known
 * beforehand: the components themselves. So they are moved to the other end, and only the others are looked for. */
#include "spectrum.h"
#include "tools/algebra/eigen_sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* top·I − Laplacian, of which every eigenvalue is in [−top, top]. */
struct operator
{
    struct pml_sparse off; /* what is not on the diagonal */
    double top;
    double *diagonal;
    double *known;        /* per node: its entry in the vector of its component, which has length 1 */
    uint32_t *components; /* per node */
    size_t component_count;
    double *degrees;
    double *sums; /* room for one number per component */
    size_t *starts;
    uint32_t *columns;
    double *values;
};

static void release(struct operator* operator)
{
    free(operator->diagonal);
    free(operator->known);
    free(operator->components);
    free(operator->degrees);
    free(operator->sums);
    free(operator->starts);
    free(operator->columns);
    free(operator->values);
}

static pml_outcome allocate(const struct pml_group_graph *graph, struct operator* operator)
{
    const size_t nodes = graph->nodes, entries = 2 * graph->count + 1;
    operator->diagonal = malloc(nodes * sizeof *operator->diagonal);
    operator->known = malloc(nodes * sizeof *operator->known);
    operator->components = malloc(nodes * sizeof *operator->components);
    operator->degrees = calloc(nodes, sizeof *operator->degrees);
    operator->sums = malloc(nodes * sizeof *operator->sums);
    operator->starts = malloc((nodes + 1) * sizeof *operator->starts);
    operator->columns = malloc(entries * sizeof *operator->columns);
    operator->values = malloc(entries * sizeof *operator->values);
    return operator->diagonal && operator->known && operator->components && operator->degrees &&
               operator->sums &&
               operator->starts &&
               operator->columns &&
               operator->values
               ? PML_DONE
               : PML_NO_MEMORY;
}

static void add_degrees(const struct pml_group_graph *graph, const uint8_t *removed, struct operator* operator)
{
    for (size_t e = 0; e < graph->count; e++)
        for (size_t end = 0; end < 2 && !(removed && removed[e]); end++)
            operator->degrees[graph->edges[e].ends[end]] += graph->edges[e].weight;
}

static void fill_matrix(const struct pml_group_graph *graph, const uint8_t *removed, bool plain,
                        struct operator* operator)
{
    const double *degrees = operator->degrees;
    size_t filled = 0;
    double largest = 0.0;
    for (size_t i = 0; i < graph->nodes; i++)
        largest = fmax(largest, degrees[i]);
    operator->top = plain ? 2.0 * largest : 1.0;
    for (uint32_t i = 0; i < graph->nodes; i++) {
        operator->starts[i] = filled;
        operator->diagonal[i] = plain ? operator->top - degrees[i] : 0.0;
        for (size_t at = graph->starts[i]; at < graph->starts[i + 1]; at++) {
            const struct pml_group_edge *edge = &graph->edges[graph->incident[at]];
            const uint32_t other = pml_group_edge_other(edge, i);
            if (removed && removed[graph->incident[at]])
                continue;
            operator->columns[filled] = other;
            operator->values[filled++] = plain ? edge->weight : edge->weight / sqrt(degrees[i] * degrees[other]);
        }
    }
    operator->starts[graph->nodes] = filled;
    operator->off =(struct pml_sparse){graph->nodes, operator->starts, operator->columns, operator->values };
}

/* The vector of a component: the same entry for each of its nodes, or √degree when the Laplacian is normalised. */
static void fill_known(size_t nodes, bool plain, struct operator* operator)
{
    memset(operator->sums, 0, operator->component_count * sizeof * operator->sums);
    for (size_t i = 0; i < nodes; i++)
        operator->sums[operator->components[i]] += plain ? 1.0 : operator->degrees[i];
    for (size_t i = 0; i < nodes; i++)
        operator->known[i] = sqrt((plain ? 1.0 : operator->degrees[i]) / operator->sums[operator->components[i]]);
}

static void multiply(const void *context, const double *in, double *out)
{
    const struct operator* operator= context;
    const size_t nodes = operator->off.count;
    pml_sparse_multiply(&operator->off, in, out);
    memset(operator->sums, 0, operator->component_count * sizeof * operator->sums);
    for (size_t i = 0; i < nodes; i++)
        operator->sums[operator->components[i]] += operator->known[i] * in[i];
    for (size_t i = 0; i < nodes; i++)
        out[i] += operator->diagonal[i] * in[i] - 2.0 * operator->top * operator->known[i] *
                  operator->sums[operator->components[i]];
}

static pml_outcome solve(struct operator* operator, struct pml_spectrum * spectrum, struct pml_message *message)
{
    const size_t nodes = spectrum->nodes, known = operator->component_count;
    for (size_t i = 0; i < nodes; i++)
        spectrum->vectors[operator->components[i] * nodes + i] = operator->known[i];
    if (spectrum->count == known)
        return PML_DONE;
    const pml_outcome outcome = pml_eigen_operator(multiply, operator, nodes, spectrum->count - known,
                                                   spectrum->values + known, spectrum->vectors + known * nodes);
    if (outcome == PML_REFUSED)
        return pml_say(message, "the eigenvectors of the graph did not converge. Use more --neighbours, or fewer "
                                "groups.");
    for (size_t i = known; outcome == PML_DONE && i < spectrum->count; i++)
        spectrum->values[i] = fmax(0.0, operator->top - spectrum->values[i]);
    return outcome;
}

pml_outcome pml_spectrum_find(const struct pml_group_graph *graph, const uint8_t *removed, pml_laplacian laplacian,
                              size_t count, struct pml_spectrum *spectrum, struct pml_message *message)
{
    const bool plain = laplacian == PML_LAPLACIAN_PLAIN;
    struct operator operator= {0};
    *spectrum = (struct pml_spectrum){.count = count, .nodes = graph->nodes};
    pml_outcome outcome = allocate(graph, &operator);
    if (outcome == PML_DONE)
        outcome = pml_group_graph_components(graph, removed, operator.components, &operator.component_count);
    spectrum->components = operator.component_count;
    if (outcome == PML_DONE && operator.component_count> count)
        outcome = pml_say(message,
                          "the graph of neighbours falls into %zu parts that no edge joins, which is more than %zu "
                          "groups. Use more --neighbours, or a --count of %zu.",
                          operator.component_count, count, operator.component_count);
    if (outcome == PML_DONE) {
        spectrum->values = calloc(count, sizeof *spectrum->values);
        spectrum->vectors = calloc(count * graph->nodes, sizeof *spectrum->vectors);
        outcome = spectrum->values && spectrum->vectors ? PML_DONE : PML_NO_MEMORY;
    }
    if (outcome == PML_DONE) {
        add_degrees(graph, removed, &operator);
        fill_matrix(graph, removed, plain, &operator);
        fill_known(graph->nodes, plain, &operator);
        outcome = solve(&operator, spectrum, message);
    }
    for (size_t i = 0; outcome == PML_DONE && laplacian == PML_LAPLACIAN_WALK && i < count * graph->nodes; i++)
        spectrum->vectors[i] /= sqrt(operator.degrees[i % graph->nodes]);
    if (outcome != PML_DONE)
        pml_spectrum_free(spectrum);
    release(&operator);
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
