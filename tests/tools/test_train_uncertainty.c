/* SPDX-License-Identifier: Apache-2.0
 * Uncertain rows widen kernels as the mean over their distributions does, and bad uncertainty is refused. */
#include "train_support.h"

#include "tools/train/train_kernels.h"

#include <string.h>

void setUp(void)
{
}

void tearDown(void)
{
}

enum { IN = CROSS_COLUMNS };

static struct trained_rows rows;
static float variances[ROWS_MAX * COLUMNS_MAX];
static struct pml_features uncertainty;

static void set_uncertainty(struct trained_rows *to, size_t columns)
{
    uncertainty = (struct pml_features){variances, to->set.count, columns};
    to->set.uncertainty = &uncertainty;
}

static double lambda_of(const struct pml_train_result *result, size_t outputs, size_t centre)
{
    return (double)load_le(result->bytes[0] + PML_FRONT_FILE_HEADER + 8 * outputs + 12 * centre + 4, 4) * 0x1p-16;
}

static void test_no_uncertainty_changes_no_byte(void)
{
    for (int method = PML_TRAIN_KPCA; method <= PML_TRAIN_KMFA; method++) {
        draw_cross(&rows, 120, 3);
        struct pml_train_result certain = trained((pml_train_method)method, &rows.set, 1, 20);
        for (size_t columns = 1; columns <= IN; columns += IN - 1) {
            memset(variances, 0, sizeof variances);
            set_uncertainty(&rows, columns);
            struct pml_train_result zero = trained((pml_train_method)method, &rows.set, 1, 20);
            TEST_ASSERT_EQUAL_UINT64(certain.sizes[0], zero.sizes[0]);
            TEST_ASSERT_EQUAL_MEMORY(certain.bytes[0], zero.bytes[0], zero.sizes[0]);
            pml_train_free(&zero);
        }
        pml_train_free(&certain);
    }
}

/* Rows of class 1 are uncertain. Their centres are wider, by exactly what was given. */
static void test_uncertainty_widens_its_centres(void)
{
    enum { CENTRES = 12 };
    size_t wide = 0;
    draw_cross(&rows, 200, 7);
    for (size_t i = 0; i < 200; i++) { /* of length 1, so that variances are those of unit rows */
        double square = 0.0;
        for (size_t j = 0; j < IN; j++)
            square += (double)rows.values[0][i * IN + j] * rows.values[0][i * IN + j];
        for (size_t j = 0; j < IN; j++)
            rows.values[0][i * IN + j] /= (float)sqrt(square);
        variances[i] = rows.labels[i] == 1 ? 0.25f : 0.0f;
    }
    set_uncertainty(&rows, 1);
    struct pml_train_result result = trained(PML_TRAIN_KDA, &rows.set, 1, CENTRES);
    const double square = result.widths[0] * result.widths[0];
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 0.125, result.uncertainty);
    for (size_t c = 0; c < CENTRES; c++) {
        const double lambda = lambda_of(&result, 1, c);
        const double sharp = 2.0 / (square + 2.0 * 0.125), flat = 2.0 / (square + 2.0 * (0.125 + 0.25));
        TEST_ASSERT_TRUE(fabs(lambda - sharp) < 1e-3 || fabs(lambda - flat) < 1e-3);
        wide += fabs(lambda - flat) < 1e-3;
    }
    TEST_ASSERT_TRUE(wide > 0 && wide < CENTRES);
    pml_train_free(&result);
}

/* Variances have the unit of squared features; those of single features count by their mean. */
static void test_uncertainty_follows_the_unit_of_features(void)
{
    for (size_t form = 0; form < 2; form++) {
        draw_cross(&rows, 120, 9);
        for (size_t i = 0; i < 120; i++)
            variances[i] = (float)(i % 5) / 16.0f;
        set_uncertainty(&rows, 1);
        struct pml_train_result plain = trained(PML_TRAIN_KDA, &rows.set, 1, 20);
        for (size_t i = 120; i-- > 0;)
            for (size_t j = 0; form == 0 && j < IN; j++)
                rows.values[0][i * IN + j] *= 4.0f;
        for (size_t i = 120; i-- > 0;)
            for (size_t j = IN; j-- > 0;)
                if (form == 1) /* 0 and twice as much, in turn */
                    variances[i * IN + j] = (float)(i % 5) / 16.0f * (j % 2 == 0 ? 2.0f : 0.0f);
                else if (j == 0)
                    variances[i] *= 16.0f;
        set_uncertainty(&rows, form == 0 ? 1 : IN);
        struct pml_train_result other = trained(PML_TRAIN_KDA, &rows.set, 1, 20);
        TEST_ASSERT_EQUAL_MEMORY(plain.bytes[0], other.bytes[0], plain.sizes[0]);
        TEST_ASSERT_TRUE(plain.uncertainty > 0.0);
        pml_train_free(&plain);
        pml_train_free(&other);
    }
}

enum { POINTS = 6 };

/* A side of points on the sphere, with their variances. */
static struct pml_kernel_side make_side(double values[POINTS][IN], double *own, double mean, double width)
{
    return (struct pml_kernel_side){
        .places = {values[0], POINTS, IN}, .variances = own, .variance = mean, .width = width};
}

static void draw_points(struct pml_generator *generator, double values[POINTS][IN])
{
    for (size_t i = 0; i < POINTS; i++) {
        double square = 0.0;
        for (size_t j = 0; j < IN; j++) {
            values[i][j] = (j == 0) + 0.5 * draw_normal(generator);
            square += values[i][j] * values[i][j];
        }
        for (size_t j = 0; j < IN; j++)
            values[i][j] /= sqrt(square);
    }
}

/* The kernel of two distributions is the mean of the kernel of what is drawn from them. */
static void test_the_kernel_is_the_mean_over_both_distributions(void)
{
    enum { DRAWS = 100000 };
    struct pml_generator generator = pml_generator_start(2, 9);
    double places[POINTS][IN], own[POINTS] = {0.0, 0.1, 0.02, 0.05, 0.2, 0.0};
    double values[POINTS * POINTS];
    struct pml_matrix kernels = {values, POINTS, POINTS};
    draw_points(&generator, places);
    const struct pml_kernel_side side = make_side(places, own, 0.04, 0.9);
    pml_kernel_side_norm(&side, &kernels);
    const double unit = pow(0.81 / (0.81 + 4.0 * 0.04), IN / 2.0); /* what kernels are divided by */
    for (size_t i = 0; i + 1 < POINTS; i++) {
        double sum = 0.0;
        for (size_t draw = 0; draw < DRAWS; draw++) {
            double square = 0.0;
            for (size_t j = 0; j < IN; j++) {
                const double step = places[i][j] - places[i + 1][j] + sqrt(own[i]) * draw_normal(&generator) -
                                    sqrt(own[i + 1]) * draw_normal(&generator);
                square += step * step;
            }
            sum += exp(-square / 0.81) / DRAWS;
        }
        TEST_ASSERT_DOUBLE_WITHIN(0.02 * sum, sum, unit * pml_matrix_row(&kernels, i)[i + 1]);
    }
}

/* DESIGN, rejected: a release with noise of one size and items that are certain have the order of their distances.
 * Items that are uncertain themselves need not. */
static void test_the_kernel_of_one_noise_keeps_the_order(void)
{
    struct pml_generator generator = pml_generator_start(4, 4);
    size_t changed = 0;
    for (size_t trial = 0; trial < 400; trial++) {
        double places[POINTS][IN], own[POINTS] = {0.0}, values[POINTS * POINTS];
        struct pml_matrix kernels = {values, POINTS, POINTS};
        const bool uneven = trial % 2 == 1;
        draw_points(&generator, places);
        own[0] = 0.001 * pow(10.0, (double)(trial % 5)); /* the release is the first */
        for (size_t i = 1; i < POINTS && uneven; i++)
            own[i] = 0.1 * (double)i;
        const struct pml_kernel_side side = make_side(places, own, 0.0, 0.3 + 0.01 * (double)(trial % 90));
        pml_kernel_side_norm(&side, &kernels);
        for (size_t a = 1; a < POINTS; a++)
            for (size_t b = 1; b < a; b++) {
                double near = 0.0;
                for (size_t j = 0; j < IN; j++)
                    near += places[0][j] * (places[a][j] - places[b][j]);
                const double more = values[a] - values[b];
                TEST_ASSERT_TRUE(uneven || fabs(near) < 1e-9 || more * near > 0.0);
                changed += uneven && more * near < 0.0;
            }
    }
    TEST_ASSERT_TRUE(changed > 100);
}

/* ---- what is refused ---- */

static void refuse(const struct pml_train_options *options, const char *part)
{
    struct pml_train_result result;
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_train(options, &rows.set, &result, &message));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(message.text, part), message.text);
    TEST_ASSERT_NULL(result.bytes[0]);
}

static void test_bad_uncertainty_is_refused(void)
{
    struct pml_train_options options = {.method = PML_TRAIN_KDA, .dimensions = 1, .centres = 20, .threads = 1};
    draw_cross(&rows, 120, 3);
    memset(variances, 0, sizeof variances);
    set_uncertainty(&rows, 1);
    const float bad[] = {-1e-6f, NAN, INFINITY};
    for (size_t i = 0; i < 3; i++) {
        variances[77] = bad[i];
        refuse(&options, "row 77");
    }
    variances[77] = 0.0f;
    uncertainty.rows = 119;
    refuse(&options, "119 rows");
    uncertainty = (struct pml_features){variances, 120, IN - 1};
    refuse(&options, "of 5 numbers");
    uncertainty.columns = 1;
    rows.set.root = true;
    refuse(&options, "--root");
    rows.set.root = false;
    options.dimensions = 2;
    refuse(&options, "at most 1 dimensions");
    options.method = PML_TRAIN_KMFA;
    options.dimensions = 21;
    refuse(&options, "at most 20 dimensions");
    memset(rows.labels, 0, sizeof rows.labels);
    options.dimensions = 1;
    refuse(&options, "one class");
    rows.set.labels = NULL;
    refuse(&options, "--labels");
}

int main(void)
{
    UNITY_BEGIN();
    if (!pml_train_has_lapack())
        return UNITY_END();
    RUN_TEST(test_no_uncertainty_changes_no_byte);
    RUN_TEST(test_uncertainty_widens_its_centres);
    RUN_TEST(test_uncertainty_follows_the_unit_of_features);
    RUN_TEST(test_the_kernel_is_the_mean_over_both_distributions);
    RUN_TEST(test_the_kernel_of_one_noise_keeps_the_order);
    RUN_TEST(test_bad_uncertainty_is_refused);
    return UNITY_END();
}
