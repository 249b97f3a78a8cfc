/* SPDX-License-Identifier: Apache-2.0
 * Memory is exact: macro and function agree, one byte less fails, any alignment works, nothing outside is touched. */
#include "client.h"
#include "golden/vectors.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* What a pack's fronts add. */
static size_t of_fronts(const pml_pack *pack)
{
    pml_pack_info info;
    TEST_ASSERT_EQUAL(PML_OK, pml_pack_describe(pack, &info));
    return info.modalities > 0 ? PML_FRONT_MEMORY(info.inputs, info.features) : 0;
}

static size_t by_macro(const pml_pack *pack, pml_mechanism mechanism)
{
    return of_fronts(pack) + (mechanism == PML_GAUSSIAN
                                  ? PML_GAUSSIAN_MEMORY(pack->features, pack->slots, pack->neighbours, pack->dimensions)
                                  : PML_RESPONSE_MEMORY(pack->features, pack->slots));
}

static void each_client(void (*check)(struct fixture *))
{
    unsigned done = 0;
    for (unsigned pack = 0; pack < GOLDEN_PACK_COUNT; pack++)
        for (int mechanism = PML_RESPONSE; mechanism <= PML_GAUSSIAN; mechanism++) {
            struct fixture f;
            setup_fixture(&f, pack, mechanism, 1.0);
            if (pml_client_size(&f.pack, &f.config) == 0)
                continue;
            check(&f);
            done++;
        }
    TEST_ASSERT_TRUE(done >= 4);
}

static void macro_is_function(struct fixture *f)
{
    TEST_ASSERT_EQUAL(by_macro(&f->pack, f->config.mechanism), pml_client_size(&f->pack, &f->config));
}

static void test_macro_and_function_agree(void)
{
    each_client(macro_is_function);
}

static void test_macro_is_a_constant_expression(void)
{
    static uint8_t memory[PML_RESPONSE_MEMORY(512, 100) + PML_GAUSSIAN_MEMORY(1, 1, 1, 1) + PML_RANKING_MEMORY(1, PML_SKETCH_MAX, PML_DIRECTIONS_MAX) +
                          PML_FRONT_MEMORY(7, 3) + PML_GUESS_MEMORY(5) + PML_LOOKS_MEMORY(5)];
    TEST_ASSERT_TRUE(sizeof memory > 0);
}

static void one_byte_less_fails(struct fixture *f)
{
    size_t size = pml_client_size(&f->pack, &f->config);
    uint8_t *memory = malloc(size);
    memset(memory, 0xA5, size);
    TEST_ASSERT_EQUAL(PML_ERROR_MEMORY, pml_client_init(&f->client, memory, size - 1, &f->pack, &f->config));
    TEST_ASSERT_NULL(f->client);
    for (size_t i = 0; i < size; i++)
        TEST_ASSERT_EQUAL_HEX8(0xA5, memory[i]);
    free(memory);
}

static void test_one_byte_less_fails_and_touches_nothing(void)
{
    each_client(one_byte_less_fails);
}

/* A whole life in exactly the memory asked for, at every alignment, between guards. */
static void lives_at_any_alignment(struct fixture *f)
{
    size_t size = pml_client_size(&f->pack, &f->config);
    float features[64];
    uint8_t out[256], first[256];
    size_t written, length = 0;
    make_features(&f->pack, 7, features);
    f->script.seed = (const uint8_t *)"thirty-two bytes of fixed seed!!";
    for (size_t shift = 0; shift < 16; shift++) {
        uint8_t *memory = malloc(size + 64);
        memset(memory, 0xC3, size + 64);
        uint8_t *place = memory + 16 + shift;
        TEST_ASSERT_EQUAL(PML_OK, pml_client_init(&f->client, place, size, &f->pack, &f->config));
        TEST_ASSERT_EQUAL(PML_OK, pml_client_arm(f->client, &f->budget));
        TEST_ASSERT_EQUAL(PML_OK,
                          release_query(f->client, features, f->pack.features, some_label(&f->pack), out, sizeof out));
        written = pml_client_release_size(f->client);
        if (shift == 0) {
            memcpy(first, out, written);
            length = written;
        }
        TEST_ASSERT_EQUAL(length, written);
        TEST_ASSERT_EQUAL_HEX8_ARRAY(first, out, written);
        for (size_t i = 0; i < 16 + shift; i++)
            TEST_ASSERT_EQUAL_HEX8(0xC3, memory[i]);
        for (size_t i = 16 + shift + size; i < size + 64; i++)
            TEST_ASSERT_EQUAL_HEX8(0xC3, memory[i]);
        free(memory);
    }
}

static void test_a_client_lives_at_any_alignment_between_guards(void)
{
    each_client(lives_at_any_alignment);
}

/* A ranking likewise, for packs with sketches. */
static void rank_at_any_alignment(const struct golden_answer *g)
{
    pml_pack pack = open_golden(g->pack);
    const size_t size = pml_ranking_size(&pack);
    float features[64];
    pml_match matches[PML_MATCHES_MAX];
    pml_answer_summary summary;
    memcpy(features, g->bits, g->d * sizeof *features);
    const pml_query query = {.features = features, .count = g->d, .label = g->label, .modality = g->modality};
    const pml_ranking_config config = {
        .matches = matches, .capacity = g->limit, .scope = g->all_slots ? PML_ALL_SLOTS : PML_OWN_SLOT};
    TEST_ASSERT_EQUAL(PML_RANKING_MEMORY(pack.features, pack.sketch, pack.directions) + of_fronts(&pack), size);
    for (size_t shift = 0; shift < 16; shift++) {
        uint8_t *memory = malloc(size + 64), *place = memory + 16 + shift;
        memset(memory, 0xC3, size + 64);
        pml_ranking *ranking = (pml_ranking *)(void *)memory;
        TEST_ASSERT_EQUAL(PML_ERROR_MEMORY, pml_ranking_begin(&ranking, place, size - 1, &pack, &query, &config));
        TEST_ASSERT_NULL(ranking);
        for (size_t i = 0; i < size + 64; i++)
            TEST_ASSERT_EQUAL_HEX8(0xC3, memory[i]);
        TEST_ASSERT_EQUAL(PML_OK, pml_ranking_begin(&ranking, place, size, &pack, &query, &config));
        TEST_ASSERT_EQUAL(PML_OK, pml_ranking_feed(ranking, g->bytes, g->size));
        TEST_ASSERT_EQUAL(PML_OK, pml_ranking_finish(ranking, &summary));
        TEST_ASSERT_EQUAL(g->match_count, summary.found);
        for (size_t i = 0; i < summary.found; i++)
            TEST_ASSERT_EQUAL_UINT64(g->matches[i].item, matches[i].item);
        for (size_t i = 0; i < 16 + shift; i++)
            TEST_ASSERT_EQUAL_HEX8(0xC3, memory[i]);
        for (size_t i = 16 + shift + size; i < size + 64; i++)
            TEST_ASSERT_EQUAL_HEX8(0xC3, memory[i]);
        free(memory);
    }
}

static void test_a_ranking_lives_at_any_alignment_between_guards(void)
{
    unsigned done = 0;
    for (size_t i = 0; i < GOLDEN_ANSWER_COUNT; i++)
        if (open_golden(golden_answers[i].pack).sketch > 0) {
            rank_at_any_alignment(golden_answers + i);
            done++;
        }
    TEST_ASSERT_TRUE(done >= 4);
}

static char *read_text(const char *name)
{
    char path[1024], *text = malloc(65536);
    snprintf(path, sizeof path, "%s%s", PML_TESTS_DIR, name);
    FILE *file = fopen(path, "r");
    TEST_ASSERT_NOT_NULL_MESSAGE(file, name);
    text[fread(text, 1, 65535, file)] = 0;
    fclose(file);
    return text;
}

static void test_the_tables_of_header_and_document(void)
{
    static const struct {
        const char *object;
        unsigned features, slots, neighbours, dimensions;
        size_t bytes, limit;
    } table[] = {
        {"response", 512, 100, 0, 0, PML_RESPONSE_MEMORY(512, 100), 8192},
        {"response", 64, 10, 0, 0, PML_RESPONSE_MEMORY(64, 10), 512},
        {"response", 512, 1, 0, 0, PML_RESPONSE_MEMORY(512, 1), 8192},
        {"crowd", 512, 0, 0, 0, PML_CROWD_MEMORY(512), 8192},
        {"Gaussian", 512, 100, 10, 2, PML_GAUSSIAN_MEMORY(512, 100, 10, 2), 16384},
        {"Gaussian", 512, 1, 10, 2, PML_GAUSSIAN_MEMORY(512, 1, 10, 2), 16384},
        {"ranking", 512, 0, 0, 0, PML_RANKING_MEMORY(512, 128, 512), 1792},
        {"plain", 512, 0, 0, 0, PML_RANKING_MEMORY(512, 256, 0), 1024},
    };
    char *header = read_text("/../core/include/privatemail.h"), *document = read_text("/../docs/PLATFORMS.md");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const unsigned optional[3] = {table[i].slots, table[i].neighbours, table[i].dimensions};
        char text[3][12], line[80], cells[80];
        for (int j = 0; j < 3; j++)
            optional[j] > 0 ? snprintf(text[j], sizeof text[j], "%u", optional[j])
                            : snprintf(text[j], sizeof text[j], "-");
        snprintf(line, sizeof line, "%-10s %-9u %-6s %-11s %-11s %zu\n", table[i].object, table[i].features, text[0],
                 text[1], text[2], table[i].bytes);
        printf("%s", line);
        TEST_ASSERT_TRUE(table[i].bytes < table[i].limit);
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(header, line), line);
        snprintf(cells, sizeof cells, "| %s | %u | %s | %s | %s | %zu |", table[i].object, table[i].features, text[0],
                 text[1], text[2], table[i].bytes);
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(document, cells), cells);
    }
    free(header);
    free(document);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_macro_and_function_agree);
    RUN_TEST(test_macro_is_a_constant_expression);
    RUN_TEST(test_one_byte_less_fails_and_touches_nothing);
    RUN_TEST(test_a_client_lives_at_any_alignment_between_guards);
    RUN_TEST(test_a_ranking_lives_at_any_alignment_between_guards);
    RUN_TEST(test_the_tables_of_header_and_document);
    return UNITY_END();
}
