/* SPDX-License-Identifier: Apache-2.0
 * Graphs with wrong edges that are known: their eigenvectors, and which edges are removed. */
#include "tools/groups/groups.h"

#include "common/generator.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 4, EACH = 24, NODES = GROUPS * EACH, REACH = 4, WRONG = 20 };

static const pml_laplacian laplacians[] = {PML_LAPLACIAN_PLAIN, PML_LAPLACIAN_WALK, PML_LAPLACIAN_SYMMETRIC};

void setUp(void)
{
    TEST_ASSERT_TRUE(pml_groups_has_arpack());
}

void tearDown(void)
{
}

/* ---- graphs ---- */

static int by_ends(const void *left, const void *right)
{
    const struct pml_group_edge *a = left, *b = right;
    if (a->ends[0] != b->ends[0])
        return a->ends[0] < b->ends[0] ? -1 : 1;
    return a->ends[1] < b->ends[1] ? -1 : a->ends[1] > b->ends[1];
}

/* Rings, in which a node is joined with the REACH next ones on both sides, and `wrong` random edges between them. Weights
 * are 1, or some of 0.5 and 1. */
static struct pml_group_graph draw_rings(size_t wrong, bool weighted, uint64_t seed)
{
    struct pml_generator generator = {seed};
    struct pml_group_edge *edges = malloc((NODES * REACH + wrong) * sizeof *edges);
    struct pml_group_graph graph;
    size_t count = 0, kept = 0;
    TEST_ASSERT_NOT_NULL(edges);
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t step = 1; step <= REACH; step++) {
            const uint32_t other = i / EACH * EACH + (i % EACH + step) % EACH;
            edges[count++] = (struct pml_group_edge){{i < other ? i : other, i < other ? other : i}, 1.0};
        }
    for (size_t i = 0; i < wrong; i++) {
        const uint32_t one = (uint32_t)pml_generator_below(&generator, NODES);
        const uint32_t other =
            (uint32_t)((one / EACH + 1 + pml_generator_below(&generator, GROUPS - 1)) % GROUPS * EACH +
                       pml_generator_below(&generator, EACH));
        edges[count++] = (struct pml_group_edge){{one < other ? one : other, one < other ? other : one}, 1.0};
    }
    qsort(edges, count, sizeof *edges, by_ends);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_ends(&edges[kept - 1], &edges[i]) != 0)
            edges[kept++] = edges[i];
    for (size_t i = 0; weighted && i < kept; i++)
        edges[i].weight = pml_generator_below(&generator, 2) == 0 ? 0.5 : 1.0;
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_group_graph_finish(edges, kept, NODES, &graph));
    return graph;
}

static bool is_wrong(const struct pml_group_edge *edge)
{
    return edge->ends[0] / EACH != edge->ends[1] / EACH;
}

static void find_spectrum(const struct pml_group_graph *graph, const uint8_t *removed, pml_laplacian laplacian,
                          size_t count, struct pml_spectrum *spectrum)
{
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL_INT_MESSAGE(PML_DONE, pml_spectrum_find(graph, removed, laplacian, count, spectrum, &message),
                                  message.text);
}

static void test_neighbours_are_joined_once(void)
{
    const uint32_t lists[] = {1, 2, 0, 2, 1, 0, 2, 1}; /* of four rows; nobody has the last one in a list */
    struct pml_group_graph graph;
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_group_graph_join(lists, 4, 2, 0.0, 0, &graph));
    TEST_ASSERT_EQUAL_UINT64(5, graph.count); /* 0-1, 0-2, 1-2, 1-3, 2-3 */
    for (uint32_t i = 0; i < 4; i++)
        for (size_t at = graph.starts[i]; at < graph.starts[i + 1]; at++)
            TEST_ASSERT_TRUE(graph.edges[graph.incident[at]].ends[0] == i ||
                             graph.edges[graph.incident[at]].ends[1] == i);
    TEST_ASSERT_EQUAL_UINT64(2, graph.starts[4] - graph.starts[3]);
    TEST_ASSERT_EQUAL_UINT64(10, graph.starts[4]);
    pml_group_graph_free(&graph);
}

/* ---- eigenvectors ---- */

/* (Laplacian − value)·vector, for the matrix that this one makes of the edges. */
static double residual(const struct pml_group_graph *graph, pml_laplacian laplacian, const double *degrees,
                       const double *vector, double value)
{
    double out[NODES], worst = 0.0;
    for (size_t i = 0; i < NODES; i++)
        out[i] = laplacian == PML_LAPLACIAN_PLAIN ? degrees[i] * vector[i] : vector[i];
    for (size_t e = 0; e < graph->count; e++)
        for (size_t end = 0; end < 2; end++) {
            const uint32_t i = graph->edges[e].ends[end], j = graph->edges[e].ends[!end];
            const double divisor = laplacian == PML_LAPLACIAN_PLAIN  ? 1.0
                                   : laplacian == PML_LAPLACIAN_WALK ? degrees[i]
                                                                     : sqrt(degrees[i] * degrees[j]);
            out[i] -= graph->edges[e].weight / divisor * vector[j];
        }
    for (size_t i = 0; i < NODES; i++)
        worst = fmax(worst, fabs(out[i] - value * vector[i]));
    return worst;
}

static void check_spectrum(const struct pml_group_graph *graph, pml_laplacian laplacian, size_t components)
{
    enum { COUNT = 9 };
    struct pml_spectrum spectrum;
    double degrees[NODES] = {0};
    for (size_t e = 0; e < graph->count; e++)
        for (size_t end = 0; end < 2; end++)
            degrees[graph->edges[e].ends[end]] += graph->edges[e].weight;
    find_spectrum(graph, NULL, laplacian, COUNT, &spectrum);
    TEST_ASSERT_EQUAL_UINT64(components, spectrum.components);
    for (size_t k = 0; k < COUNT; k++) {
        const double *vector = spectrum.vectors + k * NODES;
        TEST_ASSERT_TRUE(residual(graph, laplacian, degrees, vector, spectrum.values[k]) < 1e-8);
        TEST_ASSERT_TRUE(k < components ? spectrum.values[k] == 0.0 : spectrum.values[k] > 1e-6);
        TEST_ASSERT_TRUE(k == 0 || spectrum.values[k] >= spectrum.values[k - 1] - 1e-10);
        for (size_t other = 0; other <= k; other++) {
            double product = 0.0;
            for (size_t i = 0; i < NODES; i++)
                product += vector[i] * spectrum.vectors[other * NODES + i] *
                           (laplacian == PML_LAPLACIAN_WALK ? degrees[i] : 1.0);
            TEST_ASSERT_DOUBLE_WITHIN(1e-8, other == k ? 1.0 : 0.0, product);
        }
    }
    pml_spectrum_free(&spectrum);
}

/* A value that occurs several times is what Lanczos' method misses: 0 in a graph of several parts. */
static void test_eigenvectors_of_each_laplacian(void)
{
    struct pml_group_graph joined = draw_rings(WRONG, true, 1), apart = draw_rings(0, true, 2);
    for (size_t l = 0; l < 3; l++) {
        check_spectrum(&joined, laplacians[l], 1);
        check_spectrum(&apart, laplacians[l], GROUPS);
    }
    pml_group_graph_free(&joined);
    pml_group_graph_free(&apart);
}

static void test_more_parts_than_groups_are_refused(void)
{
    struct pml_group_graph apart = draw_rings(0, false, 2);
    struct pml_spectrum spectrum;
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL_INT(PML_REFUSED,
                          pml_spectrum_find(&apart, NULL, PML_LAPLACIAN_WALK, GROUPS - 1, &spectrum, &message));
    TEST_ASSERT_NOT_NULL(strstr(message.text, "4 parts"));
    find_spectrum(&apart, NULL, PML_LAPLACIAN_WALK, GROUPS, &spectrum);
    pml_spectrum_free(&spectrum);
    pml_group_graph_free(&apart);
}

/* ---- removing edges ---- */

static void test_wrong_edges_go_first(void)
{
    for (uint64_t seed = 1; seed <= 5; seed++)
        for (size_t l = 0; l < 3; l++) {
            struct pml_group_graph graph = draw_rings(WRONG, false, seed);
            struct pml_suspect chosen[WRONG];
            struct pml_spectrum spectrum;
            size_t count = 0, wrong = 0;
            find_spectrum(&graph, NULL, laplacians[l], GROUPS, &spectrum);
            TEST_ASSERT_EQUAL_INT(PML_DONE, pml_prune(&graph, &spectrum, laplacians[l], WRONG / 2, chosen, &count));
            for (size_t i = 0; i < count; i++)
                wrong += is_wrong(&graph.edges[chosen[i].edge]);
            TEST_ASSERT_EQUAL_UINT64(WRONG / 2, count);
            TEST_ASSERT_EQUAL_UINT64(count, wrong);
            pml_spectrum_free(&spectrum);
            pml_group_graph_free(&graph);
        }
}

/* Whatever may be removed: every node keeps at least half of its edges, and no edge is removed twice. */
static void test_every_node_keeps_half_of_its_edges(void)
{
    for (size_t l = 0; l < 3; l++) {
        struct pml_group_graph graph = draw_rings(10 * WRONG, true, 3);
        struct pml_suspect *chosen = malloc(graph.count * sizeof *chosen);
        uint8_t *removed = calloc(graph.count, 1);
        struct pml_spectrum spectrum;
        size_t count = 0, full = 0;
        TEST_ASSERT_TRUE(chosen && removed);
        find_spectrum(&graph, NULL, laplacians[l], GROUPS, &spectrum);
        TEST_ASSERT_EQUAL_INT(PML_DONE, pml_prune(&graph, &spectrum, laplacians[l], graph.count, chosen, &count));
        for (size_t i = 0; i < count; i++) {
            TEST_ASSERT_TRUE(chosen[i].score > 0.0);
            TEST_ASSERT_EQUAL_UINT8(0, removed[chosen[i].edge]++);
        }
        for (size_t node = 0; node < NODES; node++) {
            const size_t edges = graph.starts[node + 1] - graph.starts[node];
            size_t lost = 0;
            for (size_t at = graph.starts[node]; at < graph.starts[node + 1]; at++)
                lost += removed[graph.incident[at]];
            TEST_ASSERT_TRUE(lost <= edges / 2);
            full += lost == edges / 2;
        }
        TEST_ASSERT_TRUE(full > NODES / 8); /* the limit is felt */
        free(chosen);
        free(removed);
        pml_spectrum_free(&spectrum);
        pml_group_graph_free(&graph);
    }
}

/* Lemmas 4.1 and 5.1: a score is how fast the sum of the eigenvalues falls when the edge loses weight. */
static void test_a_score_is_the_fall_of_the_trace(void)
{
    enum { TRIED = 6 };
    const double step = 1e-5;
    for (size_t l = 0; l < 2; l++) {
        struct pml_group_graph graph = draw_rings(2 * WRONG, true, 6);
        struct pml_spectrum spectrum, lighter;
        struct pml_suspect chosen[TRIED];
        size_t count = 0;
        find_spectrum(&graph, NULL, laplacians[l], GROUPS, &spectrum);
        TEST_ASSERT_EQUAL_INT(PML_DONE, pml_prune(&graph, &spectrum, laplacians[l], TRIED, chosen, &count));
        TEST_ASSERT_EQUAL_UINT64(TRIED, count);
        for (size_t i = 0; i < TRIED; i++) {
            double *weight = &graph.edges[chosen[i].edge].weight;
            const double whole = *weight;
            *weight *= 1.0 - step;
            find_spectrum(&graph, NULL, laplacians[l], GROUPS, &lighter);
            const double fall = (pml_spectrum_trace(&spectrum) - pml_spectrum_trace(&lighter)) / step;
            TEST_ASSERT_DOUBLE_WITHIN(1e-3 * chosen[i].score, chosen[i].score, fall);
            *weight = whole;
            pml_spectrum_free(&lighter);
        }
        pml_spectrum_free(&spectrum);
        pml_group_graph_free(&graph);
    }
}

/* What lemma 5.2 makes large: Σ a·⟨hᵢ, hⱼ⟩ / √(dᵢ·dⱼ) over the edges, without one of them. */
static double objective(const struct pml_group_graph *graph, const struct pml_spectrum *spectrum, size_t without)
{
    double degrees[NODES] = {0}, sum = 0.0;
    for (size_t e = 0; e < graph->count; e++)
        for (size_t end = 0; end < 2 && e != without; end++)
            degrees[graph->edges[e].ends[end]] += graph->edges[e].weight;
    for (size_t e = 0; e < graph->count; e++) {
        const uint32_t *ends = graph->edges[e].ends;
        double product = 0.0;
        for (size_t k = 0; k < spectrum->count; k++)
            product += spectrum->vectors[k * NODES + ends[0]] * spectrum->vectors[k * NODES + ends[1]];
        if (e != without)
            sum += graph->edges[e].weight * product / sqrt(degrees[ends[0]] * degrees[ends[1]]);
    }
    return sum;
}

/* The first gain of algorithm 2 is exactly what the objective gains, and no other edge gains more. */
static void test_the_greedy_gain_is_that_of_the_objective(void)
{
    struct pml_group_graph graph = draw_rings(2 * WRONG, true, 4);
    struct pml_spectrum spectrum;
    struct pml_suspect chosen;
    size_t count = 0;
    find_spectrum(&graph, NULL, PML_LAPLACIAN_SYMMETRIC, GROUPS, &spectrum);
    TEST_ASSERT_EQUAL_INT(PML_DONE, pml_prune(&graph, &spectrum, PML_LAPLACIAN_SYMMETRIC, 1, &chosen, &count));
    TEST_ASSERT_EQUAL_UINT64(1, count);
    const double whole = objective(&graph, &spectrum, graph.count);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, objective(&graph, &spectrum, chosen.edge) - whole, chosen.score);
    for (size_t e = 0; e < graph.count; e++)
        TEST_ASSERT_TRUE(objective(&graph, &spectrum, e) - whole <= chosen.score + 1e-12);
    pml_spectrum_free(&spectrum);
    pml_group_graph_free(&graph);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_neighbours_are_joined_once);
    RUN_TEST(test_eigenvectors_of_each_laplacian);
    RUN_TEST(test_more_parts_than_groups_are_refused);
    RUN_TEST(test_wrong_edges_go_first);
    RUN_TEST(test_every_node_keeps_half_of_its_edges);
    RUN_TEST(test_a_score_is_the_fall_of_the_trace);
    RUN_TEST(test_the_greedy_gain_is_that_of_the_objective);
    return UNITY_END();
}
