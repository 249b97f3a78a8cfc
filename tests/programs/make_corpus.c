/* SPDX-License-Identifier: Apache-2.0
 * Writes the golden packs, front files, releases and answers, and requests of an epoch, as seeds of the fuzz targets:
 * make_corpus DIR fills DIR/pack, DIR/front, DIR/release, DIR/answer and DIR/epoch. */
#define _POSIX_C_SOURCE 200809L
#include "golden/head_vectors.h"
#include "golden/sketch_vectors.h"
#include "golden/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#include <direct.h>
#define make_folder(path) _mkdir(path)
#else
#include <sys/stat.h>
#define make_folder(path) mkdir(path, 0777)
#endif

static void fail(const char *path)
{
    perror(path);
    exit(1);
}

static void make_folders(const char *directory)
{
    static const char *const kinds[] = {"", "/pack", "/front", "/release", "/answer", "/epoch"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s%s", directory, kinds[i]);
        (void)make_folder(path); /* it may be there; if it cannot be made, writing into it fails */
    }
}

/* `control` goes before the bytes: what fuzz_answer takes its choices from. */
static void write_seed(const char *directory, const char *kind, size_t index, const uint8_t *control, size_t controls,
                       const uint8_t *bytes, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/%zu", directory, kind, index);
    FILE *file = fopen(path, "wb");
    if (!file)
        fail(path);
    if ((controls > 0 && fwrite(control, controls, 1, file) != 1) || fwrite(bytes, size, 1, file) != 1 ||
        fclose(file) != 0)
        fail(path);
}

/* SPEC 10.6: 1 + index messages of 131 bytes, with the header of the only algorithms. */
static void write_epoch(const char *directory, size_t index)
{
    enum { HEAD = 32, MESSAGE = 131, MOST = 3 };
    static const uint8_t header[] = {7, 0x00, 0x20, 0x00, 0x01, 0x00, 0x03};
    uint8_t bytes[HEAD + MOST * MESSAGE] = {[27] = (uint8_t)(index + 1), [31] = MESSAGE};
    for (size_t i = 0; i <= index && i < MOST; i++)
        memcpy(bytes + HEAD + i * MESSAGE, header, sizeof header);
    write_seed(directory, "epoch", index, NULL, 0, bytes, HEAD + (index + 1) * MESSAGE);
}

/* fuzz_answer's number of a pack: the plain ones 0, 1, 2 are its first, and then five others; it takes pieces of
 * 1 + index bytes. */
static void write_answer(const char *directory, size_t index, unsigned pack, const uint8_t *bytes, size_t size,
                         size_t limit)
{
    uint8_t control[2] = {(uint8_t)(pack + 10 * (index % 20)), (uint8_t)(limit % 128)};
    write_seed(directory, "answer", index, control, sizeof control, bytes, size);
}

static void write_answers(const char *directory)
{
    static const unsigned coded[] = {0, 10, 14, 15, 16}; /* packs 5 to 9 of fuzz_answer */
    static const uint8_t lists[][16] = {/* number, capacity and a bit; count, form, class; candidates of one byte */
                                        {5, 135, 3, 0, 4, 0, 'S', 0, 'S', 127, 'S'},
                                        {15, 136, 2, 1, 200, 0, 0, 'S', 128, 1, 128, 1, 'T'},
                                        {25, 137, 2, 2, 0, 7, 'S', 2, 'p', 'q', 0, 'T', 0},
                                        {35, 138, 1, 3, 9, 255, 255, 3, 5, 'S', 1, 'p'}};
    static const size_t sizes[] = {11, 13, 13, 12};
    size_t number = 0;
    for (size_t i = 0; i < GOLDEN_ANSWER_COUNT; i++, number++) {
        const struct golden_answer *g = golden_answers + i;
        write_answer(directory, number, g->pack % 5, g->bytes, g->size, g->limit);
    }
    for (size_t i = 0; i < GOLDEN_CODED_ANSWER_COUNT; i++)
        for (unsigned p = 0; p < sizeof coded / sizeof coded[0]; p++) {
            const struct golden_answer *g = golden_coded_answers + i;
            if (coded[p] == g->pack)
                write_answer(directory, number++, 5 + p, g->bytes, g->size, g->limit);
        }
    for (size_t i = 0; i < GOLDEN_REFUSED_ANSWER_COUNT; i++)
        if (golden_refused_answers[i].pack == 0 && golden_refused_answers[i].size > 0)
            write_answer(directory, number++, 5, golden_refused_answers[i].bytes, golden_refused_answers[i].size, 8);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        write_seed(directory, "answer", number++, NULL, 0, lists[i], sizes[i]);
}

static void write_packs(const char *directory)
{
    size_t number = 0;
    for (size_t i = 0; i < GOLDEN_PACK_COUNT; i++)
        write_seed(directory, "pack", number++, NULL, 0, golden_packs[i].bytes, golden_packs[i].size);
    for (size_t i = 0; i < GOLDEN_HEAD_COUNT; i++)
        write_seed(directory, "pack", number++, NULL, 0, golden_heads[i].bytes, golden_heads[i].size);
    for (size_t i = 0; i < GOLDEN_CODED_PACK_COUNT; i++)
        write_seed(directory, "pack", number++, NULL, 0, golden_coded_packs[i].bytes, golden_coded_packs[i].size);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: make_corpus DIR\n");
        return 2;
    }
    const char *directory = arguments[1];
    make_folders(directory);
    write_packs(directory);
    for (size_t i = 0; i < GOLDEN_FRONT_FILE_COUNT; i++)
        write_seed(directory, "front", i, NULL, 0, golden_front_files[i].bytes, golden_front_files[i].size);
    for (size_t i = 0; i < GOLDEN_HEAD_COUNT; i++) {
        const struct golden_head *g = golden_heads + i;
        write_seed(directory, "front", GOLDEN_FRONT_FILE_COUNT + i, NULL, 0, g->file, g->file_size);
    }
    (void)golden_guesses, (void)golden_looks_cases;
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++)
        write_seed(directory, "release", i, NULL, 0, golden_releases[i].release, golden_releases[i].release_size);
    write_answers(directory);
    for (size_t i = 0; i < 3; i++)
        write_epoch(directory, i);
    return 0;
}
