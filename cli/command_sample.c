/* SPDX-License-Identifier: Apache-2.0
 * sample: draws pictures of simple shapes, computes their features, and splits them into what is public, what a server
 * holds, and what devices ask for. */
#include "cli/shared/command.h"
#include "common/npy.h"
#include "lab/sample/sample_features.h"
#include "lab/sample/sample_folder.h"
#include "lab/sample/sample_image.h"
#include "lab/sample/sample_png.h"
#include "lab/sample/sample_shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERIES_PER_CLASS 2
#define SHEET_EXAMPLES 8 /* of each class on the contact sheet */
#define PER_CLASS_MIN 8
#define PER_CLASS_MAX 1000

enum { PUBLIC, GALLERY, QUERIES, PARTS };
static const char *const part_names[PARTS] = {"public", "gallery", "queries"};

struct plan {
    const char *out;
    uint64_t classes, per_class, size, seed;
    bool no_images, json;
    uint64_t per_part[PARTS]; /* pictures of a class */
};

struct part {
    float *features;
    int32_t *labels;
};

/* The steps here fill a message instead of printing it. */
static exit_code no_memory(struct pml_message *message)
{
    snprintf(message->text, sizeof message->text, "out of memory. Ask for fewer or smaller pictures.");
    return EXIT_FAULT;
}

/* ---- the pictures of one part --------------------------------------------------------------------------------- */

static exit_code write_image(const struct plan *plan, const char *folder, int part, uint64_t row, const uint8_t *pixels,
                             struct pml_message *message)
{
    size_t length = strlen(folder) + 64;
    char *path = malloc(length);
    if (!path)
        return no_memory(message);
    snprintf(path, length, "%s/images/%s/%04" PRIu64 ".png", folder, part_names[part], row);
    pml_outcome outcome = sample_png_write(path, pixels, (unsigned)plan->size, (unsigned)plan->size, message);
    free(path);
    return outcome != PML_DONE ? EXIT_OUTPUT : EXIT_OK;
}

/* Classes take turns, so that any first few rows show all of them. */
static exit_code make_part(const struct plan *plan, const char *folder, int which, struct part *part,
                           struct pml_message *message)
{
    uint8_t pixels[SAMPLE_SIZE_MAX * SAMPLE_SIZE_MAX];
    uint64_t first = 0, rows = plan->per_part[which] * plan->classes;
    for (int before = 0; before < which; before++)
        first += plan->per_part[before];
    for (uint64_t row = 0; row < rows; row++) {
        unsigned class_index = (unsigned)(row % plan->classes);
        unsigned number = (unsigned)(first + row / plan->classes);
        sample_paint(plan->seed, class_index, number, (unsigned)plan->size, pixels);
        sample_features(pixels, (unsigned)plan->size, part->features + row * SAMPLE_FEATURES);
        part->labels[row] = (int32_t)class_index;
        exit_code code = plan->no_images ? EXIT_OK : write_image(plan, folder, which, row, pixels, message);
        if (code != EXIT_OK)
            return code;
        if (row % 64 == 0)
            progress_show(NULL, part_names[which], (double)row / (double)rows);
    }
    return EXIT_OK;
}

static exit_code write_part(const struct plan *plan, const char *folder, int which, struct pml_message *message)
{
    size_t rows = (size_t)(plan->per_part[which] * plan->classes), length = strlen(folder) + 64;
    struct part part = {calloc(rows * SAMPLE_FEATURES, sizeof(float)), calloc(rows, sizeof(int32_t))};
    char *path = malloc(length);
    exit_code code = no_memory(message);
    if (part.features && part.labels && path)
        code = make_part(plan, folder, which, &part, message);
    if (code == EXIT_OK) {
        snprintf(path, length, "%s/%s.npy", folder, part_names[which]);
        pml_outcome outcome = pml_features_write(path, part.features, rows, SAMPLE_FEATURES, message);
        snprintf(path, length, "%s/%s_labels.npy", folder, part_names[which]);
        if (outcome == PML_DONE)
            outcome = pml_labels_write(path, part.labels, rows, message);
        if (outcome != PML_DONE)
            code = EXIT_OUTPUT;
    }
    free(part.features);
    free(part.labels);
    free(path);
    return code;
}

/* ---- the contact sheet ---------------------------------------------------------------------------------------- */

/* Classes stand in rows, the rows in as many columns as make the sheet about as wide as it is high. */
struct sheet {
    unsigned size, zoom, gap, margin, columns, lines, width, height;
};

static struct sheet plan_sheet(const struct plan *plan)
{
    struct sheet sheet = {.size = (unsigned)plan->size, .columns = 1};
    unsigned classes = (unsigned)plan->classes;
    sheet.zoom = sheet.size < 48 ? 2 : 1;
    sheet.gap = sheet.size * sheet.zoom / 16;
    sheet.margin = 4 * sheet.gap;
    while (sheet.columns * SHEET_EXAMPLES * sheet.columns < classes)
        sheet.columns++;
    sheet.lines = (classes + sheet.columns - 1) / sheet.columns;
    unsigned pitch = sheet.size * sheet.zoom + sheet.gap;
    sheet.width = sheet.columns * (SHEET_EXAMPLES * pitch - sheet.gap + sheet.margin) + sheet.margin;
    sheet.height = sheet.lines * pitch - sheet.gap + 2 * sheet.margin;
    return sheet;
}

static void place_on_sheet(const struct sheet *sheet, unsigned class_index, unsigned example, const uint8_t *pixels,
                           uint8_t *canvas)
{
    unsigned shown = sheet->size * sheet->zoom, pitch = shown + sheet->gap;
    unsigned column = class_index / sheet->lines, line = class_index % sheet->lines;
    size_t left = sheet->margin + column * (SHEET_EXAMPLES * pitch - sheet->gap + sheet->margin) + example * pitch;
    size_t top = sheet->margin + line * pitch;
    for (unsigned row = 0; row < shown; row++)
        for (unsigned across = 0; across < shown; across++)
            canvas[(top + row) * sheet->width + left + across] =
                pixels[row / sheet->zoom * sheet->size + across / sheet->zoom];
}

static exit_code write_sheet(const struct plan *plan, const char *folder, struct pml_message *message)
{
    uint8_t pixels[SAMPLE_SIZE_MAX * SAMPLE_SIZE_MAX];
    struct sheet sheet = plan_sheet(plan);
    size_t length = strlen(folder) + 16;
    uint8_t *canvas = malloc((size_t)sheet.width * sheet.height);
    char *path = malloc(length);
    exit_code code = no_memory(message);
    if (canvas && path) {
        memset(canvas, 255, (size_t)sheet.width * sheet.height);
        for (unsigned i = 0; i < plan->classes * SHEET_EXAMPLES; i++) {
            sample_paint(plan->seed, i / SHEET_EXAMPLES, i % SHEET_EXAMPLES, sheet.size, pixels);
            place_on_sheet(&sheet, i / SHEET_EXAMPLES, i % SHEET_EXAMPLES, pixels, canvas);
        }
        snprintf(path, length, "%s/contact.png", folder);
        code = sample_png_write(path, canvas, sheet.width, sheet.height, message) == PML_DONE ? EXIT_OK : EXIT_OUTPUT;
    }
    free(canvas);
    free(path);
    return code;
}

/* ---- the command ---------------------------------------------------------------------------------------------- */

static void report(const struct plan *plan)
{
    if (!plan->json) {
        printf("%s: %" PRIu64 " classes, %d features per picture\n", plan->out, plan->classes, SAMPLE_FEATURES);
        for (int i = 0; i < PARTS; i++)
            printf("  %-8s %6" PRIu64 " pictures\n", part_names[i], plan->per_part[i] * plan->classes);
        return;
    }
    struct json json = {0};
    json_open(&json, NULL, '{');
    json_text(&json, "out", plan->out);
    json_count(&json, "classes", plan->classes);
    json_count(&json, "features", SAMPLE_FEATURES);
    json_count(&json, "size", plan->size);
    json_count(&json, "seed", plan->seed);
    for (int i = 0; i < PARTS; i++)
        json_count(&json, part_names[i], plan->per_part[i] * plan->classes);
    json_bool(&json, "images", !plan->no_images);
    json_open(&json, "names", '[');
    for (uint64_t i = 0; i < plan->classes; i++)
        json_text(&json, NULL, sample_shapes[i].name);
    json_close(&json, ']');
    json_close(&json, '}');
}

static exit_code make_sample(const struct plan *plan, struct pml_message *message)
{
    static const char *const all[] = {"images", "images/public", "images/gallery", "images/queries", NULL};
    static const char *const none[] = {NULL};
    struct folder folder;
    if (folder_begin(&folder, plan->out, plan->no_images ? none : all, message) != PML_DONE)
        return EXIT_OUTPUT;
    exit_code code = EXIT_OK;
    for (int i = 0; i < PARTS && code == EXIT_OK; i++)
        code = write_part(plan, folder.temporary, i, message);
    progress_end();
    if (code == EXIT_OK && !plan->no_images)
        code = write_sheet(plan, folder.temporary, message);
    if (code == EXIT_OK && folder_finish(&folder, message) != PML_DONE)
        code = EXIT_OUTPUT;
    folder_drop(&folder);
    return code;
}

static exit_code out_of_range(const char *name, uint64_t low, uint64_t high)
{
    return command_fail(&command_sample, EXIT_USAGE, "--%s must be from %" PRIu64 " to %" PRIu64 ".", name, low, high);
}

static exit_code run(int argc, char **argv)
{
    struct plan plan = {.classes = 12, .per_class = 60, .size = 32, .seed = 1};
    struct option_spec specs[] = {
        {"out", OPTION_TEXT, &plan.out, true, false},
        {"classes", OPTION_COUNT, &plan.classes, false, false},
        {"per-class", OPTION_COUNT, &plan.per_class, false, false},
        {"size", OPTION_COUNT, &plan.size, false, false},
        {"seed", OPTION_COUNT, &plan.seed, false, false},
        {"no-images", OPTION_FLAG, &plan.no_images, false, false},
        {"json", OPTION_FLAG, &plan.json, false, false},
    };
    exit_code code = options_parse(&command_sample, argc, argv, specs, sizeof specs / sizeof *specs, NULL, 0, 0);
    if (code != EXIT_OK)
        return code;
    if (plan.classes < 2 || plan.classes > SAMPLE_CLASSES_MAX)
        return out_of_range("classes", 2, SAMPLE_CLASSES_MAX);
    if (plan.per_class < PER_CLASS_MIN || plan.per_class > PER_CLASS_MAX)
        return out_of_range("per-class", PER_CLASS_MIN, PER_CLASS_MAX);
    if (plan.size < SAMPLE_SIZE_MIN || plan.size > SAMPLE_SIZE_MAX)
        return out_of_range("size", SAMPLE_SIZE_MIN, SAMPLE_SIZE_MAX);

    plan.per_part[PUBLIC] = (plan.per_class * 35 + 50) / 100;
    plan.per_part[QUERIES] = QUERIES_PER_CLASS;
    plan.per_part[GALLERY] = plan.per_class - plan.per_part[PUBLIC] - plan.per_part[QUERIES];
    struct pml_message message = {""};
    code = make_sample(&plan, &message);
    if (code != EXIT_OK)
        return command_fail(&command_sample, code, "%s", message.text);
    report(&plan);
    return EXIT_OK;
}

static const char help[] =
    "Usage: privatemail sample --out DIR [OPTIONS]\n\n"
    "Draws pictures of simple shapes (discs, stars, arrows, spirals ...) with jitter and noise, computes their "
    "features,\n"
    "and splits them into three parts that share no picture: public (35 of 100), queries (2 per class), gallery (the\n"
    "rest).\n\n"
    "Options:\n"
    "  --out DIR        the folder to make; it must not exist yet, or be empty\n"
    "  --classes N      kinds of shapes, 2 to 64. Default: 12\n"
    "  --per-class N    pictures per class, 8 to 1000. Default: 60\n"
    "  --size N         width and height in pixels, 16 to 128. Default: 32\n"
    "  --seed N         another seed gives other pictures, the same seed the same bytes. Default: 1\n"
    "  --no-images      write features and labels only\n"
    "  --json           JSON on stdout instead of text (docs/CLI.md)\n"
    "  --help           this text\n\n"
    "Makes DIR/public.npy, gallery.npy and queries.npy (float32, one row per picture), their labels in "
    "PART_labels.npy,\n"
    "the picture of each row in DIR/images/PART/ROW.png, and DIR/contact.png with examples of every class.\n\n"
    "Exit codes: 0 done, 2 wrong options, 4 the folder cannot be made (it is not empty, full disk ...),\n"
    "7 out of memory.\n\n"
    "Example: privatemail sample --out shapes --classes 20\n";

const struct command command_sample = {"sample", "draw a small gallery of shapes to try things with", help, run};
