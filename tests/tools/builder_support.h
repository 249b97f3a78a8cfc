/* SPDX-License-Identifier: Apache-2.0
 * Input for the builder, and a pack built from it. */
#ifndef TEST_BUILDER_SUPPORT_H
#define TEST_BUILDER_SUPPORT_H

#include "server/server_support.h"
#include "tools/pack/pack_builder.h"

struct input {
    struct pml_features features;
    struct pml_labels labels;
    struct pml_build_options options;
};

struct built {
    uint8_t *bytes;
    size_t size;
    struct pml_build_report report;
    pml_pack pack;
    pml_pack_info info;
};

/* Labels are negative, have gaps, and come in no order. */
static inline int32_t label_of(size_t row, size_t classes)
{
    return 7 * (int32_t)(row * 7919 % classes) - 20;
}

/* Everything that a pack can hold, from rows that everybody may read. */
static inline struct input make_input(size_t rows, size_t columns, size_t classes)
{
    struct input input = {
        {malloc(rows * columns * sizeof(float)), rows, columns},
        {malloc(rows * sizeof(int32_t)), rows},
        {.slots = PML_SLOTS_CLASS,
         .cells = 8,
         .rows_per_prototype = 1,
         .rows_are_public = 1,
         .gaussian = 1,
         .seed = 3,
         .threads = 2},
    };
    TEST_ASSERT_TRUE(input.features.values && input.labels.values);
    draw_rows(1, rows, columns, classes, input.features.values);
    for (size_t i = 0; i < rows; i++)
        input.labels.values[i] = label_of(i % classes, classes);
    return input;
}

static inline void free_input(struct input *input)
{
    pml_features_free(&input->features);
    pml_labels_free(&input->labels);
}

static inline struct built build(const struct input *input)
{
    struct built built;
    memset(&built, 0, sizeof built);
    pml_outcome outcome = pml_pack_build(&input->features, &input->labels, &input->options, &built.bytes, &built.size,
                                         &built.report, &said);
    TEST_ASSERT_EQUAL_MESSAGE(PML_DONE, outcome, said.text);
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_open(&built.pack, built.bytes, built.size, NULL, NULL));
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(&built.pack, &built.info));
    return built;
}

#endif
