/* SPDX-License-Identifier: Apache-2.0
 * Makes many releases of a few records as an app does, for tests/law/outside_audit.py.
 *
 *   make_releases PACK response|gaussian EPSILON DELTA COUNT <records >bodies
 *
 * In: records, each an int32 label and the features as floats. Out: the size of a body as uint32, then COUNT bodies (SPEC
 * 2) of each record, one record after the other. */
#include "privatemail_platform.h"
#include "privatemail_public.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int persist_nothing(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

static void check(pml_status status)
{
    if (status == PML_OK)
        return;
    fprintf(stderr, "make_releases: %s\n", pml_status_text(status));
    exit(1);
}

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t room = 0;
    for (*size = 0; file && !feof(file) && !ferror(file);) {
        uint8_t *grown = *size == room ? realloc(bytes, room = 2 * room + 65536) : bytes;
        if (!grown)
            exit(1);
        bytes = grown;
        *size += fread(bytes + *size, 1, room - *size, file);
    }
    if (file)
        fclose(file);
    return bytes;
}

/* A budget is for one person and ends; here every one is made anew. */
static void arm(pml_client *client, pml_budget *budget, const pml_config *config)
{
    static const uint8_t owner[16] = "nobody";
    const pml_budget_caps gaussian = {.epsilon_gaussian = 256.0, .delta = config->delta},
                          response = {.epsilon_response = 4095.0};
    if (pml_client_arm(client, budget) == PML_OK)
        return;
    check(pml_budget_create(budget, owner, config->mechanism == PML_GAUSSIAN ? &gaussian : &response));
    check(pml_client_arm(client, budget));
}

static void make(pml_client *client, const pml_pack *pack, const pml_config *config, const pml_query *query,
                 size_t count)
{
    static uint8_t release[65536];
    static bool told;
    static pml_budget budget;
    const size_t size = pml_client_release_size(client);
    for (size_t i = 0; i < count; i++) {
        pml_release_view view;
        arm(client, &budget, config);
        check(pml_client_release(client, query, release, sizeof release));
        check(pml_release_parse(pack, release, size, &view));
        const uint32_t body_size = (uint32_t)view.body_size;
        if (!told && fwrite(&body_size, sizeof body_size, 1, stdout) != 1)
            exit(1);
        told = true;
        if (fwrite(view.body, 1, view.body_size, stdout) != view.body_size)
            exit(1);
    }
}

int main(int argc, char **argv)
{
    static float features[PML_FEATURES_MAX];
    pml_pack pack;
    pml_pack_info info;
    pml_client *client;
    size_t size;
    if (argc != 6)
        return fprintf(stderr, "usage: make_releases PACK MECHANISM EPSILON DELTA COUNT\n"), 2;
    const pml_config config = {.mechanism = strcmp(argv[2], "gaussian") == 0 ? PML_GAUSSIAN : PML_RESPONSE,
                               .epsilon = strtod(argv[3], NULL),
                               .delta = strtod(argv[4], NULL),
                               .entropy = pml_platform_entropy,
                               .persist = persist_nothing,
                               .kernels = pml_platform_kernels()};
    void *bytes = read_file(argv[1], &size);
    check(pml_pack_open(&pack, bytes, size, NULL, NULL));
    check(pml_pack_describe(&pack, &info));
    size = pml_client_size(&pack, &config);
    void *memory = malloc(size > 0 ? size : 1);
    check(pml_client_init(&client, memory, size, &pack, &config));
    int32_t label;
    while (fread(&label, sizeof label, 1, stdin) == 1 &&
           fread(features, sizeof *features, info.features, stdin) == info.features) {
        const pml_query query = {.features = features, .count = info.features, .label = label};
        make(client, &pack, &config, &query, strtoul(argv[5], NULL, 10));
    }
    pml_client_wipe(client);
    free(memory);
    free(bytes);
    return fflush(stdout) == 0 ? 0 : 1;
}
