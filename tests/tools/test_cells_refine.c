/* SPDX-License-Identifier: Apache-2.0
 * Refined cells are those of the definition, whatever the number of threads, and no prototype shows a row. */
#define _POSIX_C_SOURCE 200809L
#include "common/rows/nearest.h"
#include "common/rows_support.h"
#include "tools/pack/cells_refine.h"
#include "tools/pack/thin_clusters.h"

enum { ROWS_MAX = 400, PROTOTYPES_MAX = 40, COLUMNS_MAX = 16 };

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- the definition, with a table of all rows and cells ---- */

struct table {
    const struct pml_refining *refining;
    uint32_t parts[ROWS_MAX][PROTOTYPES_MAX];                                        /* of a row's vote, by cell */
    uint32_t nearest[ROWS_MAX][PROTOTYPES_MAX], prototype[ROWS_MAX][PROTOTYPES_MAX]; /* cells by rank; of cells */
    uint64_t votes[PROTOTYPES_MAX][ROWS_MAX];
    bool listed[PROTOTYPES_MAX][ROWS_MAX];
    uint32_t neighbours[ROWS_MAX][17]; /* the row itself first */
};

static int64_t score_of(const struct pml_refining *refining, size_t row, size_t prototype)
{
    const struct pml_rows *rows = refining->rows;
    const int8_t *values = refining->prototypes + prototype * rows->columns;
    return pml_dot(rows->values + row * rows->columns, values, rows->columns) *
           (int64_t)pml_inverse_norm(values, rows->columns);
}

static void rank_neighbours(struct table *table, size_t row)
{
    const struct pml_rows *rows = table->refining->rows;
    int64_t scores[16];
    const struct pml_nearest nearest = {scores, table->neighbours[row] + 1, 16};
    pml_nearest_clear(&nearest);
    table->neighbours[row][0] = (uint32_t)row;
    for (size_t other = 0; other < rows->count; other++)
        if (other != row)
            pml_nearest_offer(
                &nearest,
                pml_dot(rows->values + row * rows->columns, rows->values + other * rows->columns, rows->columns) *
                    (int64_t)rows->inverse[other],
                (uint32_t)other);
}

static void rank_cells(struct table *table, size_t row)
{
    const struct pml_refining *refining = table->refining;
    int64_t best[PROTOTYPES_MAX];
    uint64_t weights[8], sum = 0, first = 0;
    for (size_t j = 0; j < refining->cell_count; j++)
        best[j] = INT64_MIN;
    for (size_t p = 0; p < refining->prototype_count; p++) {
        const uint32_t cell = refining->of_prototypes[p];
        if (score_of(refining, row, p) > best[cell]) {
            best[cell] = score_of(refining, row, p);
            table->prototype[row][cell] = (uint32_t)p;
        }
    }
    for (uint32_t rank = 0; rank < 8; rank++) {
        uint32_t found = 0;
        for (uint32_t j = 1; j < refining->cell_count; j++)
            found = best[j] > best[found] ? j : found;
        const uint64_t distance = pml_rows_distance(best[found], refining->rows->inverse[row]);
        first = rank == 0 ? distance : first;
        uint64_t weight = (first << 16) / distance;
        for (int squared = 0; squared < 3; squared++)
            weight = weight * weight >> 16;
        weights[rank] = weight;
        sum += weight;
        table->nearest[row][rank] = found;
        best[found] = INT64_MIN;
    }
    for (uint32_t rank = 0; rank < 8; rank++)
        table->parts[row][table->nearest[row][rank]] = (uint32_t)(4096 * weights[rank] / sum);
}

static void list_cells(struct table *table)
{
    const size_t rows = table->refining->rows->count;
    const size_t wanted = (size_t)(table->refining->share * (double)rows + 0.5);
    for (size_t j = 0; j < table->refining->cell_count; j++) {
        for (size_t row = 0; row < rows; row++)
            for (unsigned r = 0; r < 17; r++)
                table->votes[j][table->neighbours[row][r]] += (uint64_t)table->parts[row][j] * (232792560u / (r + 4));
        for (size_t n = 0; n < wanted; n++) {
            size_t most = 0;
            uint64_t votes = 0;
            for (size_t row = 0; row < rows; row++)
                if (!table->listed[j][row] && table->votes[j][row] > votes)
                    most = row, votes = table->votes[j][row];
            if (votes > 0)
                table->listed[j][most] = true;
        }
    }
}

static uint32_t chosen_by(const struct table *table, size_t row)
{
    uint32_t chosen = 0;
    uint64_t most = 0;
    for (uint32_t rank = 0; rank < 8; rank++) {
        const uint32_t cell = table->nearest[row][rank];
        uint64_t held = 0;
        for (unsigned r = 0; r < 17; r++)
            held += table->listed[cell][table->neighbours[row][r]] ? 232792560u / (r + 4) : 0;
        if (rank == 0 || held > most)
            chosen = table->prototype[row][cell], most = held;
    }
    return chosen;
}

static void refine_plainly(const struct pml_refining *refining)
{
    static struct table table;
    uint32_t chosen[ROWS_MAX], members[ROWS_MAX];
    const size_t rows = refining->rows->count;
    memset(&table, 0, sizeof table);
    table.refining = refining;
    for (size_t row = 0; row < rows; row++) {
        rank_neighbours(&table, row);
        rank_cells(&table, row);
    }
    list_cells(&table);
    for (size_t row = 0; row < rows; row++)
        chosen[row] = chosen_by(&table, row);
    for (size_t p = 0; p < refining->prototype_count; p++) {
        size_t count = 0;
        for (uint32_t row = 0; row < rows; row++)
            if (chosen[row] == p)
                members[count++] = row;
        count = pml_rows_open(refining->rows, refining->public_count, members, count, refining->rows_per_prototype);
        if (count > 0)
            (void)pml_rows_mean(refining->rows, members, NULL, count,
                                refining->prototypes + p * refining->rows->columns);
    }
}

/* ---- against it ---- */

static struct pml_refining start(const struct pml_rows *rows, size_t cells, size_t per_cell, int8_t *prototypes,
                                 uint32_t *of_prototypes)
{
    const size_t count = cells * per_cell;
    for (size_t i = 0; i < count * rows->columns; i++) /* between a row and the next */
        prototypes[i] = (int8_t)((2 * rows->values[i] + rows->values[i + rows->columns]) / 3);
    for (uint32_t p = 0; p < count; p++)
        of_prototypes[p] = p % (uint32_t)cells;
    return (struct pml_refining){.rows = rows,
                                 .public_count = rows->count,
                                 .prototypes = prototypes,
                                 .of_prototypes = of_prototypes,
                                 .prototype_count = count,
                                 .cell_count = cells,
                                 .rows_per_prototype = 2,
                                 .share = 0.05,
                                 .rounds = 1,
                                 .threads = 1};
}

static void test_rounds_are_those_of_the_definition(void)
{
    static const struct {
        size_t rows, columns, classes, cells, per_cell, public_count;
    } cases[] = {{400, 12, 20, 16, 1, 400}, {300, 16, 40, 10, 4, 300}, {350, 8, 30, 12, 2, 100}, {200, 3, 9, 9, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int8_t plain[PROTOTYPES_MAX * COLUMNS_MAX], made[sizeof plain], before[sizeof plain];
        uint32_t cells[PROTOTYPES_MAX];
        struct pml_rows rows = drawn(i + 1, cases[i].rows, cases[i].columns, cases[i].classes);
        const size_t bytes = cases[i].cells * cases[i].per_cell * cases[i].columns;
        struct pml_refining refining = start(&rows, cases[i].cells, cases[i].per_cell, plain, cells);
        refining.public_count = cases[i].public_count;
        memcpy(made, plain, bytes);
        memcpy(before, plain, bytes);
        for (unsigned round = 0; round < 3; round++)
            refine_plainly(&refining);
        refining.prototypes = made;
        refining.rounds = 3;
        refining.threads = i % 2 == 0 ? 3 : 1;
        TEST_ASSERT_EQUAL(PML_DONE, pml_cells_refine(&refining));
        TEST_ASSERT_EQUAL_MEMORY(plain, made, bytes);
        TEST_ASSERT_TRUE(memcmp(before, made, bytes) != 0);
        refining.rounds = 0;
        TEST_ASSERT_EQUAL(PML_DONE, pml_cells_refine(&refining));
        TEST_ASSERT_EQUAL_MEMORY(plain, made, bytes);
        pml_rows_free(&rows);
    }
}

/* Two cells with a row of the gallery each among public rows: it is in no mean. */
static void test_a_single_row_of_the_gallery_moves_no_prototype(void)
{
    float values[22 * 2];
    for (size_t i = 0; i < 22; i++) {
        const float side = i % 2 == 0 ? 1.0f : -1.0f;
        values[2 * i] = side;
        values[2 * i + 1] = i < 20 ? 0.02f * (float)(i / 2) : 0.9f; /* the last two are the gallery's */
    }
    struct pml_rows rows = quantised(values, 22, 2);
    int8_t prototypes[4] = {127, 3, -127, 3}, of_public[2];
    const uint32_t cells[2] = {0, 1};
    uint32_t members[10];
    const struct pml_refining refining = {.rows = &rows,
                                          .public_count = 20,
                                          .prototypes = prototypes,
                                          .of_prototypes = cells,
                                          .prototype_count = 2,
                                          .cell_count = 2,
                                          .rows_per_prototype = 2,
                                          .share = 0.5,
                                          .rounds = 2,
                                          .threads = 1};
    TEST_ASSERT_EQUAL(PML_DONE, pml_cells_refine(&refining));
    for (uint32_t i = 0; i < 10; i++)
        members[i] = 2 * i;
    TEST_ASSERT_EQUAL(PML_DONE, pml_rows_mean(&rows, members, NULL, 10, of_public));
    TEST_ASSERT_EQUAL_MEMORY(of_public, prototypes, 2);
    pml_rows_free(&rows);
}

/* A cell that only one row chooses keeps the prototype that it had. */
static void test_no_prototype_becomes_a_row(void)
{
    enum { ROWS = 60, COLUMNS = 16, CELLS = 30 };
    struct pml_rows rows = drawn(2, ROWS, COLUMNS, ROWS);
    int8_t prototypes[CELLS * COLUMNS];
    uint32_t cells[CELLS];
    for (size_t least = 1; least <= 2; least++) {
        struct pml_refining refining = start(&rows, CELLS, 1, prototypes, cells);
        size_t copies = 0;
        refining.rows_per_prototype = least;
        refining.rounds = 4;
        TEST_ASSERT_EQUAL(PML_DONE, pml_cells_refine(&refining));
        for (size_t c = 0; c < CELLS; c++)
            for (size_t i = 0; i < ROWS; i++)
                copies += memcmp(prototypes + c * COLUMNS, rows.values + i * COLUMNS, COLUMNS) == 0;
        TEST_ASSERT_TRUE(least == 1 ? copies > 0 : copies == 0);
    }
    pml_rows_free(&rows);
}

/* Many rows, whose neighbours are not found by comparing all: the same with any number of threads. */
static void test_many_rows_are_refined_the_same_by_any_threads(void)
{
    enum { ROWS = 17000, COLUMNS = 8, CELLS = 20 };
    struct pml_rows rows = drawn(5, ROWS, COLUMNS, 300);
    int8_t one[CELLS * COLUMNS], three[sizeof one];
    uint32_t cells[CELLS];
    struct pml_refining refining = start(&rows, CELLS, 1, three, cells);
    refining.threads = 3;
    TEST_ASSERT_EQUAL(PML_DONE, pml_cells_refine(&refining));
    refining = start(&rows, CELLS, 1, one, cells);
    TEST_ASSERT_EQUAL(PML_DONE, pml_cells_refine(&refining));
    TEST_ASSERT_EQUAL_MEMORY(one, three, sizeof one);
    pml_rows_free(&rows);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_rounds_are_those_of_the_definition);
    RUN_TEST(test_a_single_row_of_the_gallery_moves_no_prototype);
    RUN_TEST(test_no_prototype_becomes_a_row);
    RUN_TEST(test_many_rows_are_refined_the_same_by_any_threads);
    return UNITY_END();
}
