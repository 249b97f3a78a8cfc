/* SPDX-License-Identifier: Apache-2.0
 * Networks that tell several labels per row: slopes, losses, measures, training, and the head that is made of them. */
#include "tools/labels/label_fit.h"
#include "tools/labels/label_head.h"
#include "tools/labels/label_losses.h"
#include "tools/labels/label_measures.h"
#include "tools/labels/label_neighbours.h"
#include "tools/labels/label_train.h"
#include "tools/train/scatter.h"
#include "train_support.h"

#include <string.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- slopes ---- */

enum { INPUTS = 5, LABELS = 4, HIDDEN = 6, LATENT = 3, BATCH = 7 };

static void draw_all(struct pml_matrix *matrix, struct pml_generator *generator)
{
    for (size_t i = 0; i < matrix->rows * matrix->columns; i++)
        matrix->values[i] = draw_normal(generator);
}

/* Row 2 has no label, row 3 has all, row 4 is mixed. */
static void draw_marks(struct pml_matrix *marks, struct pml_generator *generator)
{
    for (size_t i = 0; i < marks->rows; i++)
        for (size_t c = 0; c < marks->columns; c++)
            pml_matrix_row(marks, i)[c] = i == 3   ? 1.0
                                          : i == 4 ? 0.3 * (double)(c % 3)
                                                   : i != 2 && pml_generator_below(generator, 3) == 0;
}

static struct pml_network make_network(pml_label_model model, struct pml_pass *pass, uint64_t seed)
{
    struct pml_generator generator = pml_generator_start(seed, 4);
    struct pml_network network = {.model = model,
                                  .inputs = INPUTS,
                                  .labels = LABELS,
                                  .hidden = HIDDEN,
                                  .latent = LATENT,
                                  .divergence = 0.7,
                                  .contrast = 0.9};
    TEST_ASSERT_EQUAL(PML_DONE, pml_network_make(&network, &generator));
    TEST_ASSERT_EQUAL(PML_DONE, pml_pass_make(pass, &network, BATCH));
    for (size_t i = 0; i < network.count; i++)
        draw_all(&network.layers[i].bias.values, &generator);
    draw_all(&pass->rows, &generator);
    draw_all(&pass->noise, &generator);
    draw_marks(&pass->marks, &generator);
    return network;
}

static double loss_of(struct pml_network *network, struct pml_pass *pass)
{
    const struct pml_losses losses = pml_network_learn(network, pass);
    return losses.entropy + network->contrast * losses.contrast + network->divergence * losses.divergence;
}

/* (f(x + h) − f(x − h)) / 2h for each number of a parameter; its slope has been copied before. */
static void compare_slopes(struct pml_network *network, struct pml_pass *pass, struct pml_matrix *values,
                           const double *slope, const char *what)
{
    const double step = 1e-5;
    for (size_t i = 0; i < values->rows * values->columns; i++) {
        const double before = values->values[i];
        values->values[i] = before + step;
        const double above = loss_of(network, pass);
        values->values[i] = before - step;
        const double below = loss_of(network, pass);
        values->values[i] = before;
        TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(1e-6, (above - below) / (2.0 * step), slope[i], what);
    }
}

static void test_slopes_of_every_layer_are_differences(void)
{
    for (int model = 0; model < PML_LABEL_MODELS; model++) {
        struct pml_pass pass;
        struct pml_network network = make_network((pml_label_model)model, &pass, 11);
        double slopes[PML_LAYERS][2][(INPUTS + LATENT) * HIDDEN + 1];
        (void)loss_of(&network, &pass);
        for (size_t i = 0; i < network.count; i++) {
            const struct pml_layer *layer = &network.layers[i];
            const struct pml_matrix *parts[] = {&layer->weights.slope, &layer->bias.slope};
            for (size_t p = 0; p < 2; p++)
                memcpy(slopes[i][p], parts[p]->values, parts[p]->rows * parts[p]->columns * sizeof(double));
        }
        for (size_t i = 0; i < network.count; i++) {
            char what[64];
            snprintf(what, sizeof what, "model %d, layer %zu", model, i);
            compare_slopes(&network, &pass, &network.layers[i].weights.values, slopes[i][0], what);
            compare_slopes(&network, &pass, &network.layers[i].bias.values, slopes[i][1], what);
        }
        pml_network_free(&network);
        pml_pass_free(&pass);
    }
}

/* Slopes are added to those that are there, so that losses may share a matrix. */
static void test_slopes_are_added(void)
{
    struct pml_pass pass;
    struct pml_network network = make_network(PML_LABEL_MIXTURE, &pass, 12);
    (void)loss_of(&network, &pass);
    const double once = network.layers[PML_LAYER_SPREAD].weights.slope.values[5];
    (void)loss_of(&network, &pass);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 2.0 * once, network.layers[PML_LAYER_SPREAD].weights.slope.values[5]);
    pml_network_free(&network);
    pml_pass_free(&pass);
}

/* ---- losses ---- */

static void test_losses_have_known_values(void)
{
    double zeros[6] = {0}, slope[6] = {0}, marked[6] = {1, 0, 0, 1, 1, 0};
    const struct pml_matrix scores = {zeros, 2, 3}, marks = {marked, 2, 3};
    struct pml_matrix slopes = {slope, 2, 3};
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 3.0 * log(2.0), pml_loss_entropy(&scores, &marks, 1.0, &slopes));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, -0.25, slope[0]); /* (½ − 1) / 2 rows */
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.25, slope[1]);
    memset(slope, 0, sizeof slope);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, log(3.0), pml_loss_contrast(&scores, &marks, 1.0, &slopes));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, (1.0 / 3.0 - 1.0) / 2.0, slope[0]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, (1.0 / 3.0 - 0.5) / 2.0, slope[3]);
    double huge[6] = {800, -800, -800, 800, 800, -800};
    const struct pml_matrix certain = {huge, 2, 3}; /* nothing overflows */
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.0, pml_loss_entropy(&certain, &marks, 1.0, &slopes));
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.5 * log(2.0), pml_loss_contrast(&certain, &marks, 1.0, &slopes));
}

/* One row, two labels in one dimension, by hand. */
static void test_the_mixture_has_known_values(void)
{
    double row[2] = {1.0, 0.0}, row_slope[2] = {0}, places[4] = {1.0, 0.0, 3.0, log(4.0)}, place_slope[4] = {0};
    double draw[1] = {0.5}, marked[2] = {1, 0}, scratch[4];
    const struct pml_matrix values = {row, 1, 2}, noise = {draw, 1, 1}, components = {places, 2, 2};
    const struct pml_matrix marks = {marked, 1, 2};
    struct pml_matrix slopes = {row_slope, 1, 2}, component_slopes = {place_slope, 2, 2};
    const struct pml_latents rows = {&values, &slopes, 1}, parts = {&components, &component_slopes, 1};
    /* q is the component itself: nothing to gain. */
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.0, pml_loss_mixture(&rows, &parts, &noise, &marks, 1.0, scratch));
    marked[1] = 1.0; /* z = 1.5: log q = −⅛; densities e^−⅛ and ½·e^(−2.25/8) */
    const double mixed = log(0.5 * (exp(-0.125) + 0.5 * exp(-2.25 / 8.0)));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, -0.125 - mixed, pml_loss_mixture(&rows, &parts, &noise, &marks, 1.0, scratch));
    marked[0] = marked[1] = 0.0;
    TEST_ASSERT_EQUAL_DOUBLE(0.0, pml_loss_mixture(&rows, &parts, &noise, &marks, 1.0, scratch));
}

/* ---- measures ---- */

/* Predicted above 0: rows {0, 1}, {2}, {}; true: {0}, {1, 2}, {}. */
static void test_measures_by_hand(void)
{
    double values[9] = {1, 2, -1, -3, -2, 0.5, -1, 0, -4};
    const uint8_t marks[9] = {1, 0, 0, 0, 1, 1, 0, 0, 0};
    const struct pml_matrix scores = {values, 3, 3};
    const struct pml_label_measures measures = pml_label_measure(&scores, marks, 0.0);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, (2.0 / 3.0 + 2.0 / 3.0 + 1.0) / 3.0, measures.example_f1);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 2.0 * 2.0 / (3.0 + 3.0), measures.micro_f1);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, (1.0 + 0.0 + 1.0) / 3.0, measures.macro_f1);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 7.0 / 9.0, measures.hamming);
}

static void test_the_best_threshold_by_hand(void)
{
    double values[6] = {5, 4, 4, 3, 2, 1}, threshold, micro_f1;
    const uint8_t marks[6] = {1, 1, 0, 0, 0, 0};
    const struct pml_matrix scores = {values, 2, 3};
    TEST_ASSERT_EQUAL(PML_DONE, pml_label_threshold(&scores, marks, &threshold, &micro_f1));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 2.0 * 2.0 / (3.0 + 2.0), micro_f1); /* equal scores come together */
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 3.5, threshold);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, micro_f1, pml_label_measure(&scores, marks, threshold).micro_f1);
}

/* ---- neighbours ---- */

static void test_neighbours_vote(void)
{
    double rows[12] = {1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1};
    const uint8_t marks[12] = {1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0};
    double asked[2] = {0.8, 0.6};
    const struct pml_label_part train = {{rows, 6, 2}, marks};
    const struct pml_matrix row = {asked, 1, 2};
    struct pml_matrix scores;
    TEST_ASSERT_EQUAL(PML_DONE, pml_label_votes_score(&train, &row, 2, 4, &scores));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.75, scores.values[0]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.5, scores.values[1]);
    pml_matrix_free(&scores);
}

/* ---- training ---- */

enum { COLUMNS = 16, NAMES = 6 };
static struct trained_rows rows[2];
static uint8_t marked[2][ROWS_MAX * NAMES];
static struct pml_marks marks[2];
static struct pml_label_set sets[2];

/* Sums of one to three of six directions, and a little noise. */
static void draw_composed(size_t set, size_t count, uint64_t seed)
{
    struct pml_generator directions = pml_generator_start(5, 5), generator = pml_generator_start(seed, 6);
    double parts[NAMES][COLUMNS];
    for (size_t c = 0; c < NAMES; c++)
        for (size_t j = 0; j < COLUMNS; j++)
            parts[c][j] = draw_normal(&directions);
    memset(marked[set], 0, sizeof marked[set]);
    for (size_t i = 0; i < count; i++) {
        float *row = rows[set].values[0] + i * COLUMNS;
        for (size_t j = 0; j < COLUMNS; j++)
            row[j] = (float)(0.4 * draw_normal(&generator));
        for (size_t part = 1 + (size_t)pml_generator_below(&generator, 3); part > 0; part--) {
            const size_t c = (size_t)pml_generator_below(&generator, NAMES);
            for (size_t j = 0; j < COLUMNS && !marked[set][i * NAMES + c]; j++)
                row[j] += (float)parts[c][j];
            marked[set][i * NAMES + c] = 1;
        }
    }
    view_rows(&rows[set], count, COLUMNS, 0, false);
    marks[set] = (struct pml_marks){marked[set], count, NAMES};
    sets[set] = (struct pml_label_set){rows[set].set, &marks[set]};
}

static struct pml_label_result train_labels(uint64_t seed)
{
    const struct pml_label_options options = {.seed = seed, .epochs = 20, .threads = 1};
    struct pml_label_result result;
    struct pml_message message = {""};
    draw_composed(0, 300, 1);
    draw_composed(1, 200, 2);
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, pml_label_train(&options, &sets[0], &sets[1], &sets[1], &result, &message),
                              message.text);
    return result;
}

static void test_training_tells_labels(void)
{
    struct pml_label_result result = train_labels(1);
    TEST_ASSERT_TRUE(result.last < 0.8 * result.first);
    TEST_ASSERT_TRUE(result.epochs <= 20 && result.best >= 1 && result.best <= result.epochs);
    for (int way = 0; way < PML_WAYS; way++)
        TEST_ASSERT_TRUE(result.ways[way].micro_f1 > 0.8); /* all labels everywhere: 0.5 */
    TEST_ASSERT_TRUE(result.head.micro_f1 > 0.8);
    pml_label_result_free(&result);
}

static void test_the_same_seed_gives_the_same_bytes(void)
{
    struct pml_label_result first = train_labels(3), same = train_labels(3), other = train_labels(4);
    TEST_ASSERT_EQUAL_UINT64(first.size, same.size);
    TEST_ASSERT_EQUAL_MEMORY(first.bytes, same.bytes, first.size);
    TEST_ASSERT_TRUE(memcmp(first.bytes, other.bytes, first.size) != 0);
    pml_label_result_free(&first);
    pml_label_result_free(&same);
    pml_label_result_free(&other);
}

/* The device's sums, over the file's own bytes, say what the report says. */
static void test_the_head_opens_and_tells_labels(void)
{
    struct pml_label_result result = train_labels(1);
    struct pml_message message = {""};
    struct pml_rows quantised = {0};
    pml_front head;
    TEST_ASSERT_EQUAL(PML_OK, pml_front_open(&head, result.bytes, result.size));
    TEST_ASSERT_TRUE(head.kind == PML_FRONT_MATRIX && head.labels && head.outputs == NAMES && head.inputs == COLUMNS);
    TEST_ASSERT_EQUAL(PML_DONE, pml_train_rows(&sets[1].rows, 0, 1, &quantised, &message));
    double right = 0.0, both = 0.0;
    for (size_t c = 0; c < NAMES; c++)
        TEST_ASSERT_EQUAL_UINT64(c, load_le(head.labels + 4 * c, 4));
    for (size_t i = 0; i < quantised.count; i++)
        for (size_t c = 0; c < NAMES; c++) {
            int64_t sum = 0;
            for (size_t j = 0; j < COLUMNS; j++)
                sum += head.values[c * COLUMNS + j] * quantised.values[i * COLUMNS + j];
            sum = sum * (int64_t)load_le(head.body + 12 * c + 8, 4) * quantised.inverse[i] +
                  (int64_t)load_le(head.body + 12 * c, 8);
            right += sum > 0 && marked[1][i * NAMES + c];
            both += (sum > 0) + marked[1][i * NAMES + c];
        }
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 2.0 * right / both, result.head.micro_f1);
    pml_rows_free(&quantised);
    pml_label_result_free(&result);
}

/* Scores of a network may lie anywhere; those of its head lie around 0. */
static void test_the_head_has_its_threshold_at_0(void)
{
    struct pml_message message = {""};
    struct pml_rows quantised = {0};
    struct pml_matrix units, taught, scores;
    struct pml_front_bytes file;
    pml_front head;
    draw_composed(0, 300, 1);
    TEST_ASSERT_EQUAL(PML_DONE, pml_train_rows(&sets[0].rows, 0, 1, &quantised, &message));
    TEST_ASSERT_EQUAL(PML_DONE, pml_scatter_units(&quantised, &units));
    TEST_ASSERT_EQUAL(PML_DONE, pml_matrix_allocate(&taught, 300, NAMES));
    for (size_t i = 0; i < 300 * NAMES; i++)
        taught.values[i] = marked[0][i] ? 51.0 : 49.0;
    const struct pml_label_part part = {units, marked[0]};
    TEST_ASSERT_EQUAL(PML_DONE, pml_label_head_make(&part, &taught, &part, &file, &message));
    TEST_ASSERT_EQUAL(PML_OK, pml_front_open(&head, file.bytes, file.size));
    TEST_ASSERT_EQUAL(PML_DONE, pml_label_head_score(&head, &quantised, &scores));
    TEST_ASSERT_TRUE(pml_label_measure(&scores, marked[0], 0.0).micro_f1 > 0.9);
    pml_rows_free(&quantised);
    pml_matrix_free(&units);
    pml_matrix_free(&taught);
    pml_matrix_free(&scores);
    free(file.bytes);
}

static void refuse(const char *part)
{
    const struct pml_label_options options = {.epochs = 1, .threads = 1};
    struct pml_label_result result;
    struct pml_message message = {""};
    TEST_ASSERT_EQUAL(PML_REFUSED, pml_label_train(&options, &sets[0], &sets[1], &sets[1], &result, &message));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(message.text, part), message.text);
    TEST_ASSERT_NULL(result.bytes);
}

static void test_what_cannot_be_trained_is_refused(void)
{
    draw_composed(0, 19, 1);
    draw_composed(1, 30, 2);
    refuse("19 rows");
    draw_composed(0, 40, 1);
    memset(marked[0], 0, sizeof marked[0]);
    refuse("no row to train with has a label");
    draw_composed(0, 40, 1);
    memset(marked[1], 0, sizeof marked[1]);
    refuse("no row to validate with has a label");
    draw_composed(1, 30, 2);
    marks[1].columns = NAMES - 1;
    refuse("5 labels");
    draw_composed(1, 30, 2);
    rows[1].features[0].columns = COLUMNS - 1;
    refuse("15 features");
    draw_composed(1, 30, 2);
    for (size_t i = 0; i < 40 * COLUMNS; i++)
        rows[0].values[0][i] = 1.0f;
    refuse("equal");
}

int main(void)
{
    UNITY_BEGIN();
    if (!pml_train_has_lapack())
        return UNITY_END();
    RUN_TEST(test_slopes_of_every_layer_are_differences);
    RUN_TEST(test_slopes_are_added);
    RUN_TEST(test_losses_have_known_values);
    RUN_TEST(test_the_mixture_has_known_values);
    RUN_TEST(test_measures_by_hand);
    RUN_TEST(test_the_best_threshold_by_hand);
    RUN_TEST(test_neighbours_vote);
    RUN_TEST(test_training_tells_labels);
    RUN_TEST(test_the_same_seed_gives_the_same_bytes);
    RUN_TEST(test_the_head_opens_and_tells_labels);
    RUN_TEST(test_the_head_has_its_threshold_at_0);
    RUN_TEST(test_what_cannot_be_trained_is_refused);
    return UNITY_END();
}
