/* SPDX-License-Identifier: Apache-2.0
 * In: .npy files, hostile or not. Out: features and labels that are valid to the last value, or a message that names file
 * and row. Never allocates memory for values that the file does not hold. */
#include "npy.h"
#include "files.h"
#include "message.h"
#include "npy_header.h"
#include "privatemail.h"
#include "system.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_LIMIT ((size_t)1 << 20) /* far more than plain arrays have */
#define SHOWN 200                      /* characters of a path in a message */

struct array {
    const char *path;
    int file; /* descriptor: a stream would keep values in a buffer that nobody wipes */
    struct pml_npy_header header;
    uint64_t left;  /* bytes behind the header */
    bool variances; /* rows may be zero, but not negative */
    struct pml_message *message;
};

/* Through a volatile pointer: a compiler may not leave this out as useless. */
static void *(*const volatile fill)(void *, int, size_t) = memset;

static void wipe_and_free(void *values, size_t size)
{
    if (values)
        fill(values, 0, size);
    free(values);
}

static bool take(const struct array *array, void *bytes, size_t size)
{
    size_t got;
    return pml_system_read(array->file, bytes, size, &got) == 0 && got == size;
}

/* ---- the header ---- */

static pml_outcome read_header(struct array *array)
{
    uint8_t start[12];
    struct pml_message *message = array->message;
    if (!take(array, start, 10) || memcmp(start, "\x93NUMPY", 6) != 0)
        return pml_say(message, "%.*s: is not a .npy file: save the array with numpy.save.", SHOWN, array->path);
    if (start[6] < 1 || start[6] > 3)
        return pml_say(message, "%.*s: has .npy version %u, which is unknown: save the array with numpy.save.", SHOWN,
                       array->path, start[6]);
    size_t used = 10, size = (size_t)start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        if (!take(array, start + 10, 2))
            return pml_say(message, "%.*s: ends within its header: save it again.", SHOWN, array->path);
        used = 12;
        size |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (array->left < used || size > array->left - used)
        return pml_say(message, "%.*s: ends within its header: save it again.", SHOWN, array->path);
    if (size > HEADER_LIMIT)
        return pml_say(message, "%.*s: has a header of %zu bytes, not that of a plain array: save it again.", SHOWN,
                       array->path, size);
    array->left -= used + size;
    char *text = malloc(size + 1);
    if (!text)
        return pml_say_memory(message);
    const bool parsed = take(array, text, size) && pml_npy_parse(text, size, &array->header);
    free(text);
    if (!parsed)
        return pml_say(message, "%.*s: has a damaged header: save the array again with numpy.save.", SHOWN,
                       array->path);
    return PML_DONE;
}

static pml_outcome open_array(struct array *array, const char *path, struct pml_message *message)
{
    *array = (struct array){.path = path, .message = message};
    array->file = pml_file_open(path, &array->left, message);
    if (array->file < 0)
        return PML_REFUSED;
    return read_header(array);
}

static pml_outcome close_array(struct array *array, pml_outcome outcome)
{
    if (array->file >= 0)
        pml_system_close(array->file);
    return outcome;
}

/* ---- what both kinds of array must be ---- */

static pml_outcome check_order(const struct array *array, const char *type_wanted)
{
    if (array->header.type[0] == '>' || array->header.type[0] == '=')
        return pml_say(array->message, "%.*s: is not little-endian (%s): save it after .astype('%s').", SHOWN,
                       array->path, array->header.type, type_wanted);
    if (array->header.fortran_order && array->header.axes > 1)
        return pml_say(array->message, "%.*s: is in Fortran order: save numpy.ascontiguousarray of it.", SHOWN,
                       array->path);
    return PML_DONE;
}

/* `values` numbers of `width` bytes must be exactly what is left, and no more than memory has addresses for. */
static pml_outcome check_length(const struct array *array, uint64_t values, unsigned width)
{
    if (array->left < values * width)
        return pml_say(array->message, "%.*s: is truncated: %ju bytes of values instead of %ju. Copy or save it again.",
                       SHOWN, array->path, (uintmax_t)array->left, (uintmax_t)(values * width));
    if (array->left > values * width)
        return pml_say(array->message, "%.*s: is %ju bytes longer than its header says: save one array per file.",
                       SHOWN, array->path, (uintmax_t)(array->left - values * width));
    return values <= SIZE_MAX / sizeof(uint64_t) ? PML_DONE : pml_say_memory(array->message);
}

static uint64_t load_le(const uint8_t *bytes, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static pml_outcome say_unread(const struct array *array)
{
    return pml_say(array->message, "%.*s: cannot be read to its end: check the disk and try again.", SHOWN,
                   array->path);
}

/* ---- features ---- */

static pml_outcome check_features(const struct array *array)
{
    const struct pml_npy_header *header = &array->header;
    if (check_order(array, "<f4") != PML_DONE)
        return PML_REFUSED;
    if (strcmp(header->type, "<f4") != 0)
        return pml_say(array->message, "%.*s: has type %s instead of float32: save it after .astype('<f4').", SHOWN,
                       array->path, header->type[0] != 0 ? header->type : "structure");
    if (header->axes != 2)
        return pml_say(array->message, "%.*s: has %u dimensions instead of 2 (rows, features): reshape it.", SHOWN,
                       array->path, header->axes);
    if (header->shape[0] == 0 || header->shape[1] == 0)
        return pml_say(array->message, "%.*s: is empty: it needs at least one row and one feature.", SHOWN,
                       array->path);
    if (header->shape[1] > PML_FRONT_INPUTS_MAX)
        return pml_say(array->message, "%.*s: has %ju features per row; at most %u are possible: reduce them first.",
                       SHOWN, array->path, (uintmax_t)header->shape[1], PML_FRONT_INPUTS_MAX);
    return check_length(array, header->shape[0] * header->shape[1], 4);
}

/* Turns the file's bytes into floats where they lie, and looks at each. */
static pml_outcome decode_rows(const struct array *array, struct pml_features *features)
{
    for (size_t row = 0; row < features->rows; row++) {
        int zero = !array->variances;
        for (size_t i = 0; i < features->columns; i++) {
            float *value = features->values + row * features->columns + i;
            uint8_t bytes[4];
            memcpy(bytes, value, 4);
            uint32_t bits = (uint32_t)load_le(bytes, 4);
            memcpy(value, &bits, 4);
            if (!isfinite(*value))
                return pml_say(array->message,
                               "%.*s: row %zu (counting from 0) holds NaN or an infinite value: leave it out, or "
                               "correct it.",
                               SHOWN, array->path, row);
            if (array->variances && *value < 0.0f)
                return pml_say(array->message,
                               "%.*s: row %zu (counting from 0) holds a negative number, which is no variance: give "
                               "squares of standard deviations.",
                               SHOWN, array->path, row);
            zero &= (bits & 0x7FFFFFFF) == 0;
        }
        if (zero)
            return pml_say(array->message,
                           "%.*s: row %zu (counting from 0) is all zero and has no direction: leave it out.", SHOWN,
                           array->path, row);
    }
    return PML_DONE;
}

static pml_outcome read_rows(const struct array *array, struct pml_features *features)
{
    features->rows = (size_t)array->header.shape[0];
    features->columns = (size_t)array->header.shape[1];
    size_t count = features->rows * features->columns;
    features->values = malloc(count * sizeof *features->values);
    if (!features->values)
        return pml_say_memory(array->message);
    if (!take(array, features->values, count * sizeof *features->values))
        return say_unread(array);
    return decode_rows(array, features);
}

static pml_outcome read_floats(const char *path, bool variances, struct pml_features *features,
                               struct pml_message *message)
{
    struct array array;
    *features = (struct pml_features){0};
    pml_outcome outcome = open_array(&array, path, message);
    array.variances = variances;
    if (outcome == PML_DONE && variances && array.header.axes == 1) { /* one per row */
        array.header.axes = 2;
        array.header.shape[1] = 1;
    }
    if (outcome == PML_DONE)
        outcome = check_features(&array);
    if (outcome == PML_DONE)
        outcome = read_rows(&array, features);
    if (outcome != PML_DONE)
        pml_features_free(features);
    return close_array(&array, outcome);
}

pml_outcome pml_features_read(const char *path, struct pml_features *features, struct pml_message *message)
{
    return read_floats(path, false, features, message);
}

pml_outcome pml_variances_read(const char *path, struct pml_features *variances, struct pml_message *message)
{
    return read_floats(path, true, variances, message);
}

void pml_features_free(struct pml_features *features)
{
    wipe_and_free(features->values, features->rows * features->columns * sizeof *features->values);
    *features = (struct pml_features){0};
}

/* ---- labels ---- */

/* Bytes of an integer type such as "<i8" or "|u1"; 0 when it is none. */
static unsigned integer_width(const char *type)
{
    if (strlen(type) != 3 || (type[1] != 'i' && type[1] != 'u'))
        return 0;
    unsigned width = (unsigned)(type[2] - '0');
    if (width == 1)
        return type[0] == '|' || type[0] == '<' ? 1 : 0;
    return type[0] == '<' && (width == 2 || width == 4 || width == 8) ? width : 0;
}

static pml_outcome check_labels(const struct array *array)
{
    const struct pml_npy_header *header = &array->header;
    if (check_order(array, "<i4") != PML_DONE)
        return PML_REFUSED;
    if (integer_width(header->type) == 0)
        return pml_say(array->message, "%.*s: has type %s instead of integers: save it after .astype('<i4').", SHOWN,
                       array->path, header->type[0] != 0 ? header->type : "structure");
    if (header->axes != 1)
        return pml_say(array->message, "%.*s: has %u dimensions instead of 1: save .ravel() of it.", SHOWN, array->path,
                       header->axes);
    if (header->shape[0] == 0)
        return pml_say(array->message, "%.*s: is empty: it needs one label per row.", SHOWN, array->path);
    return check_length(array, header->shape[0], integer_width(header->type));
}

static pml_outcome decode_integers(const struct array *array, const uint8_t *bytes, struct pml_labels *labels)
{
    const unsigned width = integer_width(array->header.type);
    const int is_signed = array->header.type[1] == 'i';
    for (size_t i = 0; i < labels->rows; i++) {
        uint64_t bits = load_le(bytes + i * width, width), sign = (uint64_t)1 << (8 * width - 1);
        int negative = is_signed && (bits & sign) != 0;
        uint64_t size = negative ? (sign - (bits & (sign - 1))) : bits; /* of its two's complement */
        if (size > (uint64_t)INT32_MAX + (negative ? 1 : 0))
            return pml_say(array->message,
                           "%.*s: the label of row %zu (counting from 0) does not fit 32 bits: renumber the classes.",
                           SHOWN, array->path, i);
        labels->values[i] = (int32_t)(negative ? -(int64_t)size : (int64_t)size);
    }
    return PML_DONE;
}

static pml_outcome read_integers(const struct array *array, struct pml_labels *labels)
{
    const size_t rows = (size_t)array->header.shape[0], size = rows * integer_width(array->header.type);
    uint8_t *bytes = malloc(size);
    labels->values = malloc(rows * sizeof *labels->values);
    pml_outcome outcome;
    if (!bytes || !labels->values) {
        outcome = pml_say_memory(array->message);
    } else {
        labels->rows = rows;
        outcome = take(array, bytes, size) ? decode_integers(array, bytes, labels) : say_unread(array);
    }
    wipe_and_free(bytes, size);
    return outcome;
}

pml_outcome pml_labels_read(const char *path, struct pml_labels *labels, struct pml_message *message)
{
    struct array array;
    *labels = (struct pml_labels){0};
    pml_outcome outcome = open_array(&array, path, message);
    if (outcome == PML_DONE)
        outcome = check_labels(&array);
    if (outcome == PML_DONE)
        outcome = read_integers(&array, labels);
    if (outcome != PML_DONE)
        pml_labels_free(labels);
    return close_array(&array, outcome);
}

void pml_labels_free(struct pml_labels *labels)
{
    wipe_and_free(labels->values, labels->rows * sizeof *labels->values);
    *labels = (struct pml_labels){0};
}

/* ---- marks ---- */

/* Bytes of a type that can hold zeros and ones; 0 when it cannot. */
static unsigned mark_width(const char *type)
{
    return strcmp(type, "|b1") == 0 ? 1 : strcmp(type, "<f4") == 0 ? 4 : integer_width(type);
}

static pml_outcome check_marks(const struct array *array)
{
    const struct pml_npy_header *header = &array->header;
    if (check_order(array, "u1") != PML_DONE)
        return PML_REFUSED;
    if (mark_width(header->type) == 0)
        return pml_say(array->message,
                       "%.*s: has type %s instead of booleans or integers: save it after .astype('u1').", SHOWN,
                       array->path, header->type[0] != 0 ? header->type : "structure");
    if (header->axes != 2)
        return pml_say(array->message,
                       "%.*s: has %u dimensions instead of 2: give a row of zeros and ones, one per label, per row of "
                       "features.",
                       SHOWN, array->path, header->axes);
    if (header->shape[0] == 0 || header->shape[1] == 0 || header->shape[1] > PML_LABELS_MAX)
        return pml_say(array->message, "%.*s: has %ju rows of %ju labels: it needs a row and 1 to %u labels.", SHOWN,
                       array->path, (uintmax_t)header->shape[0], (uintmax_t)header->shape[1], PML_LABELS_MAX);
    return check_length(array, header->shape[0] * header->shape[1], mark_width(header->type));
}

static pml_outcome decode_marks(const struct array *array, const uint8_t *bytes, struct pml_marks *marks)
{
    const unsigned width = mark_width(array->header.type);
    const uint64_t one = array->header.type[1] == 'f' ? 0x3F800000 : 1; /* 1 as binary32 */
    for (size_t i = 0; i < marks->rows * marks->columns; i++) {
        const uint64_t bits = load_le(bytes + i * width, width);
        if (bits != 0 && bits != one)
            return pml_say(array->message,
                           "%.*s: row %zu (counting from 0) holds something else than 0 and 1: give 1 for a label that "
                           "the row has, else 0.",
                           SHOWN, array->path, i / marks->columns);
        marks->values[i] = bits == one;
    }
    return PML_DONE;
}

static pml_outcome read_marks(const struct array *array, struct pml_marks *marks)
{
    const size_t rows = (size_t)array->header.shape[0], columns = (size_t)array->header.shape[1];
    const size_t size = rows * columns * mark_width(array->header.type);
    uint8_t *bytes = malloc(size);
    pml_outcome outcome;
    marks->values = malloc(rows * columns);
    if (!bytes || !marks->values) {
        outcome = pml_say_memory(array->message);
    } else {
        marks->rows = rows;
        marks->columns = columns;
        outcome = take(array, bytes, size) ? decode_marks(array, bytes, marks) : say_unread(array);
    }
    wipe_and_free(bytes, size);
    return outcome;
}

pml_outcome pml_marks_read(const char *path, struct pml_marks *marks, struct pml_message *message)
{
    struct array array;
    *marks = (struct pml_marks){0};
    pml_outcome outcome = open_array(&array, path, message);
    if (outcome == PML_DONE)
        outcome = check_marks(&array);
    if (outcome == PML_DONE)
        outcome = read_marks(&array, marks);
    if (outcome != PML_DONE)
        pml_marks_free(marks);
    return close_array(&array, outcome);
}

void pml_marks_free(struct pml_marks *marks)
{
    wipe_and_free(marks->values, marks->rows * marks->columns);
    *marks = (struct pml_marks){0};
}
