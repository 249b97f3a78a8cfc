/* SPDX-License-Identifier: Apache-2.0
 * inspect: what a pack holds, what a device certifies about it, and what each epsilon buys. */
#include "cli/shared/pack_file.h"

#include <inttypes.h>
#include <math.h>
#include <privatemail_platform.h>
#include <stdio.h>
#include <stdlib.h>

#define TABLE_DELTA 1e-5
static const double table_epsilons[] = {0.1, 1.0, 2.0, 4.0, 8.0};
enum { TABLE_ROWS = sizeof table_epsilons / sizeof table_epsilons[0] };

/* NaN where the pack lacks a mechanism, or its noise would be too large. */
struct table_row {
    double epsilon, keep, curve, sigma, ratio, mu, ceiling;
    size_t response_bytes, gaussian_bytes;
};

struct findings {
    size_t response_memory, gaussian_memory;
    pml_status certified;
    pml_certificate certificate;
    struct table_row rows[TABLE_ROWS];
};

static int persist_nothing(void *context, const uint8_t *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

/* What a client of this pack would charge and send; false when there can be none. */
static bool read_receipt(const struct pack_file *file, pml_mechanism mechanism, double epsilon, pml_receipt *receipt)
{
    pml_config config = {.mechanism = mechanism,
                         .epsilon = epsilon,
                         .delta = mechanism == PML_GAUSSIAN ? TABLE_DELTA : 0.0,
                         .entropy = pml_platform_entropy,
                         .persist = persist_nothing};
    pml_client *client;
    size_t size = pml_client_size(&file->pack, &config);
    void *memory = size > 0 ? malloc(size) : NULL;
    bool made = memory && pml_client_init(&client, memory, size, &file->pack, &config) == PML_OK &&
                pml_client_receipt(client, receipt) == PML_OK;
    free(memory);
    return made;
}

static void fill_response(const struct pack_file *file, struct table_row *row)
{
    pml_receipt receipt;
    if (file->info.cells == 0 || !read_receipt(file, PML_RESPONSE, row->epsilon, &receipt))
        return;
    row->keep = receipt.keep;
    row->curve = pml_recall_ceiling(row->epsilon, 1.0 / file->info.cells);
    row->response_bytes = receipt.bytes;
}

/* The certificate is the slow part and the same for every epsilon, so it is not computed again here. */
static void fill_gaussian(const struct pack_file *file, const pml_certificate *certificate, struct table_row *row)
{
#if PML_WITH_GAUSSIAN
    pml_calibration calibration;
    if (pml_pack_calibrate(&file->pack, certificate, row->epsilon, TABLE_DELTA, 1, &calibration) != PML_OK)
        return;
    row->sigma = calibration.sigma;
    row->ratio = calibration.sigma / certificate->sensitivity;
    row->mu = calibration.mu;
    if (file->info.cells > 0)
        row->ceiling = pml_gaussian_recall_ceiling(calibration.mu, 1.0 / file->info.cells);
#else
    (void)file, (void)certificate, (void)row;
#endif
}

static void examine(const struct pack_file *file, struct findings *findings)
{
    pml_receipt receipt = {0};
    findings->response_memory = pack_file_memory(file, PML_RESPONSE);
    findings->gaussian_memory = pack_file_memory(file, PML_GAUSSIAN);
    findings->certified = pack_file_certify(file, &findings->certificate);
    if (findings->certified == PML_OK && !read_receipt(file, PML_GAUSSIAN, PML_EPSILON_MAX, &receipt))
        receipt.bytes = 0;
    for (size_t i = 0; i < TABLE_ROWS; i++) {
        struct table_row *row = &findings->rows[i];
        *row = (struct table_row){.epsilon = table_epsilons[i],
                                  .keep = NAN,
                                  .curve = NAN,
                                  .sigma = NAN,
                                  .ratio = NAN,
                                  .mu = NAN,
                                  .ceiling = NAN};
        fill_response(file, row);
        if (findings->certified == PML_OK)
            fill_gaussian(file, &findings->certificate, row);
        row->gaussian_bytes = isnan(row->sigma) ? 0 : receipt.bytes;
    }
}

/* ---- text ---- */

static const char *slot_kind_name(uint32_t kind)
{
    return kind == PML_SLOTS_ONE ? "one" : kind == PML_SLOTS_CLASS ? "class" : "group";
}

static void print_cell(int width, int digits, double value)
{
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.*g", width, digits, value);
}

static void print_bytes(int width, size_t bytes)
{
    if (bytes == 0)
        printf(" %*s", width, "-");
    else
        printf(" %*zu", width, bytes);
}

static void print_memory(const char *name, size_t bytes)
{
    if (bytes == 0)
        printf("client memory, %s  not supported by this pack or build\n", name);
    else
        printf("client memory, %s  %zu bytes\n", name, bytes);
}

static const char *front_kind_name(pml_front_kind kind)
{
    static const char *const names[] = {[PML_FRONT_NONE] = "none",
                                        [PML_FRONT_SIGNS] = "signs",
                                        [PML_FRONT_MATRIX] = "matrix",
                                        [PML_FRONT_KERNELS] = "kernels"};
    return names[kind];
}

/* The modality and its front. Returns false beyond the last. */
static bool take_front(const struct pack_file *file, size_t index, pml_modality *modality, pml_front *front)
{
    return index < file->info.modalities && pml_pack_modality(&file->pack, index, modality) == PML_OK &&
           pml_pack_front(&file->pack, index, front) == PML_OK;
}

static void print_fronts(const struct pack_file *file)
{
    pml_modality modality;
    pml_front front;
    for (size_t i = 0; take_front(file, i, &modality, &front); i++) {
        printf("modality %zu      %s: %" PRIu32 " features, front of kind %s", i, modality.name, modality.features,
               front_kind_name(front.kind));
        if (front.centres > 0)
            printf(" with %" PRIu32 " centres", front.centres);
        printf("%s, %zu bytes\n", front.root ? " on square roots" : "", front.body_size);
    }
}

static void print_parameters(const struct pack_file *file)
{
    const pml_pack_info *info = &file->info;
    printf("pack            %s\n", file->id);
    printf("model           %s\n", pack_file_model(file) ? pack_file_model(file) : "(not named)");
    printf("size            %" PRIu64 " bytes\n", info->size);
    printf("features        %" PRIu32 "%s\n", info->features, info->modalities > 0 ? " behind the fronts" : "");
    print_fronts(file);
    printf("slots           %" PRIu32 " (%s), classes %" PRIu32 "\n", info->slots, slot_kind_name(info->slot_kind),
           info->classes);
    printf("cells           %" PRIu32 " per slot, prototypes %" PRIu32 "%s\n", info->cells, info->prototypes,
           info->cell_codes ? ", with codes" : "");
    printf("anchors         %" PRIu32 ", neighbours %" PRIu32 "%s\n", info->anchors, info->neighbours,
           info->lists ? ", with lists" : "");
    printf("dimensions      %" PRIu32 "\n", info->dimensions);
    if (info->lambda > 0)
        printf("bandwidth       %.6g, alpha %.6g\n", sqrt(65536.0 / info->lambda), info->alpha / 256.0);
    if (info->directions > 0)
        printf("sketch          %" PRIu32 " bytes, coded along %" PRIu32 " directions\n", info->sketch, info->directions);
    else
        printf("sketch          %" PRIu32 " bytes\n", info->sketch);
    if (info->labels > 0)
        printf("head            guesses %" PRIu32 " labels\n", info->labels);
}

static void print_findings(const struct pack_file *file, const struct findings *findings)
{
    print_parameters(file);
    print_memory("response", findings->response_memory);
    print_memory("gaussian", findings->gaussian_memory);
    if (findings->certified == PML_OK)
        printf("certificate     sensitivity %.6g, row bound %.6g, beta %.6g (embedding units)\n",
               findings->certificate.sensitivity, findings->certificate.row_bound,
               findings->certificate.floor_weight / 65536.0);
    else if (findings->gaussian_memory > 0)
        printf("certificate     refused: %s\n", pml_status_text(findings->certified));
    printf("\n         response                          gaussian, delta 1e-5\n"
           "epsilon       keep      curve  bytes      sigma sigma/sens         mu    ceiling  bytes\n");
    for (size_t i = 0; i < TABLE_ROWS; i++) {
        const struct table_row *row = &findings->rows[i];
        printf("%7g", row->epsilon);
        print_cell(10, 4, row->keep);
        print_cell(10, 4, row->curve);
        print_bytes(6, row->response_bytes);
        print_cell(10, 4, row->sigma);
        print_cell(10, 4, row->ratio);
        print_cell(10, 4, row->mu);
        print_cell(10, 4, row->ceiling);
        print_bytes(6, row->gaussian_bytes);
        putchar('\n');
    }
    printf("\nkeep: the probability that the true cell is released. curve (response) and ceiling (gaussian): the best "
           "chance\n"
           "that any method with this epsilon has to return the right cell if an answer carries 1 of %" PRIu32
           " cells per slot.\n",
           file->info.cells);
}

/* ---- JSON ---- */

static void write_bytes(struct json *json, const char *key, size_t bytes)
{
    json_number(json, key, bytes > 0 ? (double)bytes : NAN);
}

static void write_fronts(struct json *json, const struct pack_file *file)
{
    pml_modality modality;
    pml_front front;
    json_open(json, "modalities", '[');
    for (size_t i = 0; take_front(file, i, &modality, &front); i++) {
        json_open(json, NULL, '{');
        json_text(json, "name", modality.name);
        json_count(json, "features", modality.features);
        json_text(json, "kind", front_kind_name(front.kind));
        json_bool(json, "root", front.root);
        json_count(json, "centres", front.centres);
        json_count(json, "bytes", front.body_size);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_parameters(struct json *json, const struct pack_file *file)
{
    const pml_pack_info *info = &file->info;
    json_text(json, "pack", file->id);
    json_text(json, "model", pack_file_model(file));
    json_count(json, "bytes", info->size);
    json_count(json, "features", info->features);
    write_fronts(json, file);
    json_count(json, "anchors", info->anchors);
    json_count(json, "neighbours", info->neighbours);
    json_count(json, "dimensions", info->dimensions);
    json_count(json, "slots", info->slots);
    json_text(json, "slot_kind", slot_kind_name(info->slot_kind));
    json_count(json, "cells", info->cells);
    json_count(json, "prototypes", info->prototypes);
    json_count(json, "classes", info->classes);
    json_number(json, "bandwidth", info->lambda > 0 ? sqrt(65536.0 / info->lambda) : NAN);
    json_number(json, "alpha", info->alpha / 256.0);
    json_count(json, "sketch", info->sketch);
    json_count(json, "directions", info->directions);
    json_count(json, "labels", info->labels);
    json_bool(json, "cell_codes", info->cell_codes);
    json_bool(json, "lists", info->lists);
}

static void write_findings(const struct pack_file *file, const struct findings *findings)
{
    struct json json = {0};
    bool certified = findings->certified == PML_OK;
    json_open(&json, NULL, '{');
    write_parameters(&json, file);
    write_bytes(&json, "response_memory", findings->response_memory);
    write_bytes(&json, "gaussian_memory", findings->gaussian_memory);
    json_number(&json, "sensitivity", certified ? findings->certificate.sensitivity : NAN);
    json_number(&json, "row_bound", certified ? findings->certificate.row_bound : NAN);
    json_number(&json, "beta", certified ? findings->certificate.floor_weight / 65536.0 : NAN);
    json_number(&json, "delta", TABLE_DELTA);
    json_open(&json, "table", '[');
    for (size_t i = 0; i < TABLE_ROWS; i++) {
        const struct table_row *row = &findings->rows[i];
        json_open(&json, NULL, '{');
        json_number(&json, "epsilon", row->epsilon);
        json_number(&json, "keep", row->keep);
        json_number(&json, "curve", row->curve);
        write_bytes(&json, "response_bytes", row->response_bytes);
        json_number(&json, "sigma", row->sigma);
        json_number(&json, "ratio", row->ratio);
        json_number(&json, "mu", row->mu);
        json_number(&json, "ceiling", row->ceiling);
        write_bytes(&json, "gaussian_bytes", row->gaussian_bytes);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

/* ---- command ---- */

static exit_code run(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false;
    struct option_spec specs[] = {{"json", OPTION_FLAG, &json, false, false}};
    exit_code code = options_parse(&command_inspect, argc, argv, specs, sizeof specs / sizeof specs[0], &path, 1, 1);
    if (code != EXIT_OK)
        return code;
    struct pack_file file;
    code = pack_file_open(&command_inspect, path, &file);
    if (code != EXIT_OK)
        return code;
    struct findings findings = {0};
    examine(&file, &findings);
    if (json)
        write_findings(&file, &findings);
    else
        print_findings(&file, &findings);
    pack_file_close(&file);
    return EXIT_OK;
}

static const char help[] =
    "Usage: privatemail inspect P.pmpk [--json]\n\n"
    "Shows what a pack holds, what a device certifies about it (sensitivity, row bound, beta), how much memory a "
    "client\n"
    "needs, and for epsilon 0.1, 1, 2, 4 and 8 the chance of a correct release, its noise and its bytes.\n\n"
    "Options:\n"
    "  --json    JSON on stdout instead of text (docs/CLI.md). Default: text\n"
    "  --help    this text\n\n"
    "Exit codes: 0 done, 2 wrong options, 3 the pack cannot be read or is damaged, 4 stdout cannot be written,\n"
    "7 out of memory.\n\n"
    "Example: privatemail inspect collection.pmpk\n";

const struct command command_inspect = {"inspect", "show what a pack holds, and what each epsilon gives", help, run};
