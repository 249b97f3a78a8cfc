/* SPDX-License-Identifier: Apache-2.0
 * Measures of maps are those of their definitions, and pictures show every row. */
#include "map_support.h"

#include "tools/map/look/map_measure.h"
#include "tools/map/look/map_picture.h"
#include "tools/map/map_graph.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- measures ---- */

enum { COUNT = 80, GROUPS = 4 };
static float places[2 * COUNT];
static int32_t labels[COUNT];

static void draw_map(double noise)
{
    struct pml_generator generator = pml_generator_start(2, 1);
    for (size_t i = 0; i < COUNT; i++) {
        labels[i] = (int32_t)(i % GROUPS) * 5 - 3;
        places[2 * i] = (float)((double)(i % GROUPS) + noise * draw_normal(&generator));
        places[2 * i + 1] = (float)(noise * draw_normal(&generator));
    }
}

static struct pml_map_measures measured(const struct pml_rows *rows, bool labelled)
{
    struct pml_map_measures measures;
    const struct pml_map_options options = {.threads = 2};
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_measure(rows, places, labelled ? labels : NULL, &options, &measures));
    return measures;
}

/* The rank of j among the neighbours of i, from 1, on the map or among the rows. */
static size_t rank_of(const struct pml_rows *rows, size_t i, size_t j)
{
    size_t rank = 1;
    for (size_t l = 0; l < COUNT; l++) {
        const double own = rows ? pml_map_square(rows, i, j) : distance(places, i, j);
        const double other = rows ? pml_map_square(rows, i, l) : distance(places, i, l);
        rank += l != i && l != j && (other < own || (!(other > own) && l < j));
    }
    return rank;
}

static void test_ranks_are_those_of_the_definition(void)
{
    struct pml_rows rows = draw_groups(COUNT, 9, GROUPS, 0.5, 3);
    double intruders = 0.0, extruders = 0.0, length = 0.0, fitted = 0.0, best = INFINITY;
    draw_map(0.6);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++) {
            if (i == j)
                continue;
            const size_t true_rank = rank_of(&rows, i, j), shown = rank_of(NULL, i, j);
            intruders += shown <= 12 && true_rank > 12 ? (double)(true_rank - 12) : 0.0;
            extruders += true_rank <= 12 && shown > 12 ? (double)(shown - 12) : 0.0;
            length += sqrt(pml_map_square(&rows, i, j));
        }
    for (double scale = 0.0; scale < 1.5; scale += 5e-3) { /* the best scale of the map, by trying */
        fitted = 0.0;
        for (size_t i = 0; i < COUNT; i++)
            for (size_t j = 0; j < COUNT; j++) {
                const double wanted = sqrt(pml_map_square(&rows, i, j)), gap = wanted - scale * distance(places, i, j);
                fitted += i != j ? gap * gap / wanted : 0.0;
            }
        best = fmin(best, fitted / length);
    }
    const double factor = 2.0 / ((double)COUNT * 12.0 * (2.0 * (double)COUNT - 3.0 * 12.0 - 1.0));
    const struct pml_map_measures measures = measured(&rows, true);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1.0 - factor * intruders, measures.trustworthiness);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1.0 - factor * extruders, measures.continuity);
    TEST_ASSERT_DOUBLE_WITHIN(5e-5, best, measures.stress);
    pml_rows_free(&rows);
}

static void test_labels_are_counted(void)
{
    struct pml_rows rows = draw_groups(COUNT, 9, GROUPS, 0.5, 3);
    draw_map(0.45);
    double wrong = 0.0, pure = 0.0;
    for (size_t i = 0; i < COUNT; i++) {
        size_t counts[GROUPS] = {0}, most = 0;
        for (size_t j = 0; j < COUNT; j++) {
            const size_t rank = j == i ? 0 : rank_of(NULL, i, j);
            wrong += rank == 1 && labels[i] != labels[j];
            counts[j % GROUPS] += rank <= 10;
        }
        for (size_t g = 0; g < GROUPS; g++)
            most = counts[g] > most ? counts[g] : most;
        pure += (double)most / 11.0;
    }
    const struct pml_map_measures measures = measured(&rows, true);
    TEST_ASSERT_TRUE(wrong > 0.0);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, wrong / (double)COUNT, measures.nn_error);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, pure / (double)COUNT, measures.purity[1]);
    const struct pml_map_measures plain = measured(&rows, false);
    TEST_ASSERT_TRUE(isnan(plain.nn_error) && isnan(plain.purity[0]) && isnan(plain.separation[0].mean));
    TEST_ASSERT_DOUBLE_WITHIN(0.0, measures.trustworthiness, plain.trustworthiness);
    pml_rows_free(&rows);
}

/* Two groups on a line, at 0 and 1 and at 10 and 12: all pairs are easily counted. */
static void test_separation_by_hand(void)
{
    const uint32_t points[] = {0, 1, 10, 12};
    struct pml_rows rows = draw_groups(COUNT, 9, GROUPS, 0.5, 3), some = pml_rows_slice(&rows, 0, 5);
    struct pml_map_measures measures;
    const struct pml_map_options options = {.threads = 1};
    const int32_t classes[5] = {0, 0, 1, 1, 7}; /* one row alone has no pair within its class */
    memset(places, 0, sizeof places);
    for (size_t i = 0; i < 4; i++)
        places[2 * i] = (float)points[i];
    places[8] = 1000.0f;
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_measure(&some, places, classes, &options, &measures));
    /* Between: 9, 10, 11, 12; within: 1 and 2. */
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, (9.5 / 10.5 + 8.5 / 10.5) / 2.0, measures.separation[2].mean);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 8.5 / 10.5, measures.separation[2].least);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, (8.5 / 9.5 + 7.5 / 9.5) / 2.0, measures.separation[1].mean);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, (8.0 / 9.0 + 7.0 / 9.0) / 2.0, measures.separation[0].mean);
    pml_rows_free(&rows);
}

/* ---- pictures ---- */

static size_t count_text(const struct pml_bytes *bytes, const char *text)
{
    size_t count = 0;
    for (const char *at = (const char *)bytes->bytes; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

static void test_pictures_show_every_row(void)
{
    static const int32_t names[GROUPS] = {-3, 2, 7, 12};
    uint32_t colours[COUNT];
    float shades[COUNT];
    struct pml_bytes plain = {0}, svg = {0}, shaded = {0}, png = {0};
    struct pml_message message = {""};
    draw_map(0.2);
    for (size_t i = 0; i < COUNT; i++) {
        colours[i] = (uint32_t)(i % GROUPS);
        shades[i] = i == 0 ? 1.0f : 0.0f;
    }
    struct pml_map_picture picture = {.places = places, .rows = COUNT};
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_svg(&picture, &plain));
    picture.colours = colours;
    picture.groups = GROUPS;
    picture.names = names;
    picture.title = "class";
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_svg(&picture, &svg));
    const pml_outcome drawn = pml_map_png(&picture, &png, &message);
    picture.shades = shades;
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_svg(&picture, &shaded));
    struct pml_bytes *all[] = {&plain, &svg, &shaded};
    for (size_t i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL(PML_DONE, pml_bytes_append(all[i], "", 1));
        TEST_ASSERT_EQUAL(COUNT, count_text(all[i], "h0"));
        TEST_ASSERT_EQUAL(1, count_text(all[i], "</svg>"));
    }
    TEST_ASSERT_EQUAL(0, count_text(&plain, "<text"));
    TEST_ASSERT_EQUAL(GROUPS, count_text(&svg, "<path"));
    TEST_ASSERT_EQUAL(1, count_text(&svg, ">-3</text>"));
    /* One row has its colour, the others are grey: all of the same. */
    TEST_ASSERT_EQUAL(GROUPS, count_text(&shaded, "<path stroke=\"#cdcdcd\""));
    TEST_ASSERT_EQUAL(GROUPS + 1, count_text(&shaded, "<path"));
#if PML_WITH_PNG
    TEST_ASSERT_EQUAL(PML_DONE, drawn);
    TEST_ASSERT_EQUAL_MEMORY("\x89PNG\r\n\x1a\n", png.bytes, 8);
    TEST_ASSERT_EQUAL_MEMORY("IEND", png.bytes + png.size - 8, 4);
#else
    TEST_ASSERT_EQUAL(PML_REFUSED, drawn);
#endif
    pml_bytes_free(&plain);
    pml_bytes_free(&svg);
    pml_bytes_free(&shaded);
    pml_bytes_free(&png);
}

static void test_colours_can_be_told_apart(void)
{
    for (size_t a = 0; a < 40; a++)
        for (size_t b = 0; b < a; b++) {
            uint8_t left[3], right[3];
            int apart = 0;
            pml_map_colour(a, left);
            pml_map_colour(b, right);
            for (int part = 0; part < 3; part++)
                apart += abs(left[part] - right[part]);
            TEST_ASSERT_TRUE(apart > (a < 12 ? 60 : 8));
        }
}

/* All rows on one place, or one far away: still a picture. */
static void test_pictures_of_odd_maps(void)
{
    struct pml_bytes svg = {0};
    const struct pml_map_picture picture = {.places = places, .rows = COUNT};
    memset(places, 0, sizeof places);
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_svg(&picture, &svg));
    places[0] = 1e30f;
    TEST_ASSERT_EQUAL(PML_DONE, pml_map_svg(&picture, &svg));
    TEST_ASSERT_EQUAL(PML_DONE, pml_bytes_append(&svg, "", 1));
    TEST_ASSERT_EQUAL(0, count_text(&svg, "nan") + count_text(&svg, "inf"));
    pml_bytes_free(&svg);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_ranks_are_those_of_the_definition);
    RUN_TEST(test_labels_are_counted);
    RUN_TEST(test_separation_by_hand);
    RUN_TEST(test_pictures_show_every_row);
    RUN_TEST(test_colours_can_be_told_apart);
    RUN_TEST(test_pictures_of_odd_maps);
    return UNITY_END();
}
