/* SPDX-License-Identifier: Apache-2.0
 * Makes codes: draws them, or puts points that follow the rows onto a sphere. For a given largest length R of a code the
 * noise is the same (PRIVACY theorem 3), so every code has that length. */
#include "codes.h"
#include "codes_parts.h"
#include "common/rows/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CODE_MAX 32767
#define NEIGHBOURS 10u /* of lists that nobody gave */
#define VANISHED 1e-9  /* of the longest point: what is shorter has no direction */

int16_t pml_codes_round(double code)
{
    const double rounded = floor(code + 0.5);
    return (int16_t)(rounded > CODE_MAX ? CODE_MAX : rounded < -CODE_MAX ? -CODE_MAX : rounded);
}

int pml_codes_named(const char *name)
{
    static const char *const names[] = {[PML_CODES_RANDOM] = "random",
                                        [PML_CODES_CLASS] = "class",
                                        [PML_CODES_PCA] = "pca",
                                        [PML_CODES_SPECTRAL] = "spectral",
                                        [PML_CODES_LDA] = "lda"};
    for (int kind = 0; kind <= PML_CODES_LDA; kind++)
        if (strcmp(name, names[kind]) == 0)
            return kind;
    return -1;
}

/* ---- what the kinds share ---- */

pml_outcome pml_codes_dimensions(unsigned *dimensions, size_t possible, const char *why, struct pml_message *message)
{
    if (*dimensions > possible)
        return pml_say(message, "Codes of %u dimensions are wanted, but %s %zu: give fewer --dims, or other --codes.",
                       *dimensions, why, possible);
    if (*dimensions == 0)
        *dimensions = possible < PML_CODES_DIMENSIONS ? (unsigned)possible : PML_CODES_DIMENSIONS;
    return PML_DONE;
}

void pml_codes_means(const struct pml_rows *rows, const uint32_t *classes, size_t class_count, double *means,
                     double *members)
{
    const size_t columns = rows->columns;
    memset(means, 0, class_count * columns * sizeof *means);
    memset(members, 0, class_count * sizeof *members);
    for (size_t i = 0; i < rows->count; i++) {
        const size_t class = classes ? classes[i] : 0;
        const double scale = 1.0 / sqrt((double)rows->squared[i]);
        for (size_t j = 0; j < columns; j++)
            means[class * columns + j] += rows->values[i * columns + j] * scale;
        members[class] += 1.0;
    }
    for (size_t c = 0; c < class_count; c++)
        for (size_t j = 0; j < columns; j++)
            means[c * columns + j] /= members[c];
}

struct projection {
    const struct pml_rows *rows;
    const struct pml_directions *directions;
    unsigned dimensions;
    const double *scale;
    double offset[PML_DIMENSIONS_MAX];
    double *points;
};

static pml_outcome project_row(void *context, size_t row)
{
    const struct projection *projection = context;
    const struct pml_rows *rows = projection->rows;
    const int8_t *values = rows->values + row * rows->columns;
    const double length = sqrt((double)rows->squared[row]);
    for (unsigned c = 0; c < projection->dimensions; c++) {
        double sum = 0.0;
        for (size_t j = 0; j < rows->columns; j++)
            sum += values[j] * *pml_direction(projection->directions, c, j);
        projection->points[row * projection->dimensions + c] =
            projection->scale[c] * (sum / length - projection->offset[c]);
    }
    return PML_DONE;
}

pml_outcome pml_codes_project(const struct pml_code_source *source, const struct pml_directions *directions, unsigned k,
                              const double *mean, const double *scale, double **points)
{
    struct projection projection = {
        .rows = source->rows, .directions = directions, .dimensions = k, .scale = scale, .offset = {0}};
    *points = projection.points = malloc(source->rows->count * k * sizeof **points);
    if (!*points)
        return PML_NO_MEMORY;
    for (unsigned c = 0; c < k; c++)
        for (size_t j = 0; j < source->rows->columns; j++)
            projection.offset[c] += mean[j] * *pml_direction(directions, c, j);
    return pml_parallel(source->threads, source->rows->count, project_row, &projection, source->progress);
}

pml_outcome pml_codes_lists(const struct pml_code_source *source, struct pml_code_lists *lists)
{
    const size_t most = source->rows->count - 1;
    *lists = (struct pml_code_lists){source->lists, NULL, source->neighbours};
    if (source->lists)
        return PML_DONE;
    lists->length = most < NEIGHBOURS ? (unsigned)most : NEIGHBOURS;
    lists->values = lists->own = malloc(source->rows->count * lists->length * sizeof *lists->own);
    if (!lists->own)
        return PML_NO_MEMORY;
    return pml_knn(source->rows, lists->length, source->threads, source->progress, lists->own);
}

/* ---- from points to codes ---- */

static double length_of(const double *point, unsigned dimensions)
{
    double squares = 0.0;
    for (unsigned c = 0; c < dimensions; c++)
        squares += point[c] * point[c];
    return sqrt(squares);
}

static void put_on_sphere(struct pml_code_book *book, const double *points, size_t count)
{
    const unsigned k = book->dimensions;
    double longest = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double length = length_of(points + i * k, k);
        longest = length > longest ? length : longest;
    }
    for (size_t i = 0; i < count; i++) {
        const double length = length_of(points + i * k, k);
        for (unsigned c = 0; c < k; c++)
            book->anchors[i * k + c] =
                length > VANISHED * longest ? pml_codes_round(PML_CODES_RADIUS * (points[i * k + c] / length)) : 0;
    }
}

/* ⌊sum / count + ½⌋ */
static int16_t round_mean(int64_t sum, int64_t count)
{
    int64_t numerator = 2 * sum + count, denominator = 2 * count;
    int64_t quotient = numerator / denominator;
    return (int16_t)(quotient - (numerator % denominator < 0));
}

/* One slot of several is at the mean of its anchors: the label graph then pulls least, and costs least noise. */
static void place_slots(struct pml_code_book *book, const struct pml_code_source *source)
{
    const unsigned k = book->dimensions;
    memset(book->slots, 0, source->slots * k * sizeof *book->slots);
    for (size_t s = 0; source->slots > 1 && s < source->slots; s++)
        for (unsigned c = 0; c < k; c++) {
            int64_t sum = 0;
            for (size_t j = source->starts[s]; j < source->starts[s + 1]; j++)
                sum += book->anchors[j * k + c];
            book->slots[s * k + c] = round_mean(sum, (int64_t)source->starts[s + 1] - source->starts[s]);
        }
}

/* ---- codes ---- */

static int rows_vary(const struct pml_rows *rows)
{
    for (size_t i = 1; i < rows->count; i++)
        if (memcmp(rows->values, rows->values + i * rows->columns, rows->columns) != 0)
            return 1;
    return 0;
}

static pml_outcome find_points(enum pml_codes kind, const struct pml_code_source *source, unsigned *dimensions,
                               double **points, struct pml_message *message)
{
    *points = NULL;
    if (kind == PML_CODES_RANDOM || kind == PML_CODES_CLASS) {
        *dimensions = *dimensions > 0 ? *dimensions : PML_CODES_DRAWN_DIMENSIONS;
        return PML_DONE;
    }
    if (!rows_vary(source->rows))
        return pml_say(message, "All rows are equal, so codes cannot follow them: give other features, or --codes "
                                "random.");
    if (kind == PML_CODES_PCA)
        return pml_codes_principal(source, dimensions, points, message);
    return kind == PML_CODES_SPECTRAL ? pml_codes_graph(source, dimensions, points, message)
                                      : pml_codes_classes(source, dimensions, points, message);
}

pml_outcome pml_codes_make(struct pml_code_book *book, enum pml_codes kind, const struct pml_code_source *source,
                           struct pml_message *message)
{
    const size_t count = source->starts[source->slots];
    double *points;
    pml_outcome outcome = find_points(kind, source, &book->dimensions, &points, message);
    if (outcome == PML_DONE) {
        book->slots = malloc(source->slots * book->dimensions * sizeof *book->slots);
        book->anchors = malloc(count * book->dimensions * sizeof *book->anchors);
        if (!book->slots || !book->anchors)
            outcome = pml_say_memory(message);
    }
    if (outcome == PML_DONE && points) {
        put_on_sphere(book, points, count);
        place_slots(book, source);
    } else if (outcome == PML_DONE) {
        pml_codes_draw(book, kind, source);
    }
    free(points);
    return outcome;
}

pml_outcome pml_codes_average(struct pml_code_book *book, size_t slot, const uint32_t *starts, const uint32_t *cells,
                              size_t cell_count, size_t used)
{
    const unsigned k = book->dimensions;
    const size_t first = starts[slot], count = starts[slot + 1] - first;
    int64_t *sums = calloc(used * k, sizeof *sums), *members = calloc(used, sizeof *members);
    pml_outcome outcome = sums && members ? PML_DONE : PML_NO_MEMORY;
    for (size_t j = 0; outcome == PML_DONE && j < count; j++) {
        members[cells[j]]++;
        for (unsigned i = 0; i < k; i++)
            sums[cells[j] * k + i] += book->anchors[(first + j) * k + i];
    }
    for (size_t c = 0; outcome == PML_DONE && c < cell_count; c++)
        for (unsigned i = 0; i < k; i++) {
            size_t cell = c % used;
            book->cells[(slot * cell_count + c) * k + i] =
                members[cell] > 0 ? round_mean(sums[cell * k + i], members[cell]) : book->slots[slot * k + i];
        }
    free(sums);
    free(members);
    return outcome;
}
