/* SPDX-License-Identifier: Apache-2.0
 * Writes the golden packs, front files, releases and answers, and requests of an epoch, as seeds of the fuzz targets:
 * make_corpus DIR fills DIR/pack, DIR/front, DIR/release, DIR/answer and DIR/epoch. */
#define _POSIX_C_SOURCE 200809L
#include "golden/head_vectors.h"
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

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: make_corpus DIR\n");
        return 2;
    }
    const char *directory = arguments[1];
    make_folders(directory);
    for (size_t i = 0; i < GOLDEN_PACK_COUNT; i++)
        write_seed(directory, "pack", i, NULL, 0, golden_packs[i].bytes, golden_packs[i].size);
    for (size_t i = 0; i < GOLDEN_FRONT_FILE_COUNT; i++)
        write_seed(directory, "front", i, NULL, 0, golden_front_files[i].bytes, golden_front_files[i].size);
    for (size_t i = 0; i < GOLDEN_HEAD_COUNT; i++) {
        const struct golden_head *g = golden_heads + i;
        write_seed(directory, "pack", GOLDEN_PACK_COUNT + i, NULL, 0, g->bytes, g->size);
        write_seed(directory, "front", GOLDEN_FRONT_FILE_COUNT + i, NULL, 0, g->file, g->file_size);
    }
    (void)golden_guesses, (void)golden_looks_cases;
    for (size_t i = 0; i < GOLDEN_RELEASE_COUNT; i++)
        write_seed(directory, "release", i, NULL, 0, golden_releases[i].release, golden_releases[i].release_size);
    for (size_t i = 0; i < GOLDEN_ANSWER_COUNT; i++) {
        const struct golden_answer *g = golden_answers + i;
        /* fuzz_answer's number of the pack (packs 0, 1, 2 are its first), pieces of 1 + i bytes; the capacity */
        uint8_t control[2] = {(uint8_t)(g->pack % 5 + 5 * i), (uint8_t)g->limit};
        write_seed(directory, "answer", i, control, sizeof control, g->bytes, g->size);
    }
    for (size_t i = 0; i < 3; i++)
        write_epoch(directory, i);
    return 0;
}
