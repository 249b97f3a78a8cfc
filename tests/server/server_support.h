/* SPDX-License-Identifier: Apache-2.0
 * What the builder's tests share: a folder that goes away, features and labels. Define _POSIX_C_SOURCE first. */
#ifndef TEST_SERVER_SUPPORT_H
#define TEST_SERVER_SUPPORT_H

#include "common/npy.h"
#include "privacy/draws.h"
#include "support/support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char test_folder[256];
static struct pml_message said;

static inline void make_folder(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(test_folder, sizeof test_folder, "%s/pml-test-XXXXXX", parent ? parent : "/tmp");
    TEST_ASSERT_NOT_NULL(mkdtemp(test_folder));
    memset(&said, 0, sizeof said);
}

static inline const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    return path;
}

/* Removes what is in the folder, answers how many files that were. */
static inline size_t empty_folder(void)
{
    size_t count = 0;
    DIR *folder = opendir(test_folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            count += unlink(in_folder(entry->d_name)) == 0;
    if (folder)
        closedir(folder);
    return count;
}

static inline void remove_folder(void)
{
    empty_folder();
    rmdir(test_folder);
}

static inline void put_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");
    TEST_ASSERT_NOT_NULL(file);
    TEST_ASSERT_EQUAL_UINT64(size, fwrite(bytes, 1, size, file));
    TEST_ASSERT_EQUAL(0, fclose(file));
}

/* What is said names its subject and what to do next. */
static inline void assert_said(const char *part)
{
    if (!strstr(said.text, part)) {
        char line[700];
        snprintf(line, sizeof line, "said '%s', not '%s'", said.text, part);
        TEST_FAIL_MESSAGE(line);
    }
    TEST_ASSERT_TRUE(strchr(".?", said.text[strlen(said.text) - 1]));
}

/* Rows around one centre a class, so that neighbours and cells mean something; row i has class i mod classes. */
static inline void draw_rows(uint64_t seed, size_t rows, size_t columns, size_t classes, float *out)
{
    for (size_t i = 0; i < rows; i++) {
        uint64_t centre = 1000 * seed + i % classes, own = 77777 * seed + i;
        for (size_t j = 0; j < columns; j++)
            out[i * columns + j] = (float)draw_between(&centre, -1000, 1000) + (float)draw_between(&own, -700, 700);
    }
}

#endif
