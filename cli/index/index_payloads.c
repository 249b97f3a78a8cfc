/* SPDX-License-Identifier: Apache-2.0
 * Finds the payloads of a folder by the numbers in their names, and reads them. */
#define _POSIX_C_SOURCE 200809L
#include "index_payloads.h"

#include "common/files.h"
#include "common/message.h"
#include "common/system.h"

#include <privatemail.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool index_number_read(const char *text, const char *end, uint64_t *number)
{
    uint64_t value = 0;
    if (text == end)
        return false;
    for (; text < end; text++) {
        unsigned digit = (unsigned)(unsigned char)*text - '0';
        if (digit > 9 || value > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

static const struct index_number *find_number(const struct index_number *numbers, size_t count, uint64_t item)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (numbers[middle].item < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && numbers[low].item == item ? &numbers[low] : NULL;
}

/* The path of a file in the folder, to be freed; NULL when out of memory. */
static char *path_of(const struct index_payloads *payloads, const char *name)
{
    size_t room = strlen(payloads->folder) + strlen(name) + 2;
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s/%s", payloads->folder, name);
    return path;
}

/* A file that belongs to a row. */
static exit_code keep(const struct command *command, struct index_payloads *payloads, size_t row, const char *name,
                      uint64_t item, uint64_t size)
{
    if (size > PML_PAYLOAD_MAX)
        return command_fail(command, EXIT_INPUT, "%s/%s has %llu bytes; a payload has at most %u. Make it smaller.",
                            payloads->folder, name, (unsigned long long)size, PML_PAYLOAD_MAX);
    if (payloads->names[row])
        return command_fail(command, EXIT_INPUT, "%s has both %s and %s for item %llu. Remove one of them.",
                            payloads->folder, payloads->names[row], name, (unsigned long long)item);
    payloads->names[row] = strdup(name);
    if (!payloads->names[row])
        return command_no_memory(command);
    payloads->found++;
    payloads->bytes += size;
    return EXIT_OK;
}

static exit_code look_at(const struct command *command, struct index_payloads *payloads, const char *name,
                         const struct index_number *numbers)
{
    struct pml_found found;
    uint64_t item;
    if (name[0] == '.')
        return EXIT_OK;
    const struct index_number *number = NULL;
    if (index_number_read(name, name + strcspn(name, "."), &item))
        number = find_number(numbers, payloads->rows, item);
    if (!number) {
        payloads->unused++;
        return EXIT_OK;
    }
    /* A payload is public: what a link leads to may not be meant to be. */
    if (pml_system_look(payloads->opened, name, false, &found) != 0 || found.kind != PML_KIND_FILE)
        return command_fail(
            command, EXIT_INPUT,
            "%s/%s is not a plain file (links are not followed). Put the payload of item %llu there, or "
            "remove it.",
            payloads->folder, name, (unsigned long long)item);
    return keep(command, payloads, number->row, name, item, found.size);
}

struct search {
    const struct command *command;
    struct index_payloads *payloads;
    const struct index_number *numbers;
    exit_code code;
};

static int look_at_next(void *context, const char *name)
{
    struct search *search = context;
    search->code = look_at(search->command, search->payloads, name, search->numbers);
    return search->code == EXIT_OK ? 0 : -1;
}

exit_code index_payloads_find(const struct command *command, const char *folder, const struct index_number *numbers,
                              size_t rows, struct index_payloads *payloads)
{
    *payloads = (struct index_payloads){.folder = folder, .opened = -1, .rows = rows};
    payloads->names = calloc(rows, sizeof *payloads->names);
    if (!payloads->names)
        return command_no_memory(command);
    int error = pml_system_open_folder(PML_HERE, folder, true, &payloads->opened);
    if (error != 0)
        return command_fail(command, EXIT_INPUT, "%s: cannot be opened (%s). Give the path of a folder for --payloads.",
                            folder, strerror(error));
    struct search search = {command, payloads, numbers, EXIT_OK};
    error = pml_system_list(payloads->opened, look_at_next, &search);
    if (error > 0)
        return command_fail(command, EXIT_INPUT, "%s: cannot be read (%s). Check the disk.", folder, strerror(error));
    return search.code;
}

void index_payloads_free(struct index_payloads *payloads)
{
    for (size_t i = 0; payloads->names && i < payloads->rows; i++)
        free(payloads->names[i]);
    free(payloads->names);
    free(payloads->loaded);
    if (payloads->folder && payloads->opened >= 0) /* it may be zero throughout */
        pml_system_close(payloads->opened);
    *payloads = (struct index_payloads){0};
}

pml_outcome index_payloads_load(void *context, size_t row, const uint8_t **bytes, size_t *size,
                                struct pml_message *message)
{
    struct index_payloads *payloads = context;
    *bytes = NULL;
    *size = 0;
    if (!payloads->names || !payloads->names[row])
        return PML_DONE;
    char *path = path_of(payloads, payloads->names[row]);
    if (!path)
        return pml_say_memory(message);
    free(payloads->loaded);
    pml_outcome outcome = pml_file_read_in(payloads->opened, payloads->names[row], path, PML_PAYLOAD_MAX,
                                           &payloads->loaded, size, message);
    free(path);
    *bytes = payloads->loaded;
    return outcome;
}
