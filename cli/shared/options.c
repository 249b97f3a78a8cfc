/* SPDX-License-Identifier: Apache-2.0
 * Reads the command line, and prints messages. */
#include "command.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

exit_code command_fail(const struct command *command, exit_code code, const char *format, ...)
{
    char text[4096]; /* longer ones are cut */
    va_list arguments;
    progress_end();
    fflush(stdout);
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *at = text; *at != 0; at++) { /* names of files may hold control sequences of a terminal */
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            *at = '?';
    }
    fprintf(stderr, "%s%s: %s\n", command_program, command->name, text);
    return code;
}

exit_code command_no_memory(const struct command *command)
{
    return command_fail(command, EXIT_FAULT, "out of memory. Close other programs.");
}

exit_code command_input(const struct command *command, pml_outcome outcome, const struct pml_message *message)
{
    return command_fail(command, outcome == PML_NO_MEMORY ? EXIT_FAULT : EXIT_INPUT, "%s", message->text);
}

exit_code command_output(const struct command *command, pml_outcome outcome, const struct pml_message *message)
{
    return command_fail(command, outcome == PML_NO_MEMORY ? EXIT_FAULT : EXIT_OUTPUT, "%s", message->text);
}

/* ---- suggestions ---- */

enum { WORD_MAX = 31 };

/* The number of insertions, deletions and replacements that turn one word into the other. */
static size_t distance(const char *from, const char *to)
{
    size_t row[WORD_MAX + 1], to_length = strlen(to);
    for (size_t j = 0; j <= to_length; j++)
        row[j] = j;
    for (size_t i = 1; from[i - 1] != 0; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= to_length; j++) {
            size_t best = diagonal + (from[i - 1] != to[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[to_length];
}

const char *command_suggest(const char *word, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    size_t length = strlen(word), least = length / 3 + 2;
    if (length > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t changes = strlen(words[i]) <= WORD_MAX ? distance(word, words[i]) : SIZE_MAX;
        if (length >= 3 && strncmp(words[i], word, length) == 0)
            changes = 1;
        if (changes < least) {
            least = changes;
            nearest = words[i];
        }
    }
    return nearest;
}

static exit_code unknown_option(const struct command *command, const char *word, const struct option_spec *specs,
                                size_t count)
{
    const char *names[64], *name = word + strspn(word, "-");
    char bare[WORD_MAX + 1];
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < count && i < 64; i++)
        names[i] = specs[i].name;
    snprintf(bare, sizeof bare, "%.*s", (int)(length < WORD_MAX ? length : WORD_MAX), name);
    const char *near = command_suggest(bare, names, count < 64 ? count : 64);
    return command_fail(command, EXIT_USAGE, "there is no option '%.*s'.%s%s%s %s%s --help lists all of them.",
                        (int)strcspn(word, "="), word, near ? " Did you mean --" : "", near ? near : "",
                        near ? "?" : "", command_program, command->name);
}

/* ---- values ---- */

static exit_code set_number(const struct command *command, const struct option_spec *spec, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != 0 || !isfinite(value))
        return command_fail(command, EXIT_USAGE, "--%s needs a number, such as 4 or 0.5.", spec->name);
    *(double *)spec->value = value;
    return EXIT_OK;
}

static exit_code set_count(const struct command *command, const struct option_spec *spec, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != 0 || errno == ERANGE)
        return command_fail(command, EXIT_USAGE, "--%s needs a whole number that is not negative, not '%s'.",
                            spec->name, text);
    *(uint64_t *)spec->value = value;
    return EXIT_OK;
}

static exit_code set_text(const struct command *command, const struct option_spec *spec, const char *text)
{
    struct option_list *list = spec->value;
    if (*text == 0)
        return command_fail(command, EXIT_USAGE, "--%s needs a value that is not empty.", spec->name);
    if (spec->kind == OPTION_TEXT)
        *(const char **)spec->value = text;
    else if (list->count < OPTION_LIST_MAX)
        list->values[list->count++] = text;
    else
        return command_fail(command, EXIT_USAGE, "--%s is given more than %d times. Leave some out.", spec->name,
                            OPTION_LIST_MAX);
    return EXIT_OK;
}

static exit_code set_value(const struct command *command, struct option_spec *spec, const char *text)
{
    if (spec->given && spec->kind != OPTION_LIST)
        return command_fail(command, EXIT_USAGE, "--%s is given twice. Give it once.", spec->name);
    spec->given = true;
    switch (spec->kind) {
    case OPTION_NUMBER:
        return set_number(command, spec, text);
    case OPTION_COUNT:
        return set_count(command, spec, text);
    case OPTION_TEXT:
    case OPTION_LIST:
        return set_text(command, spec, text);
    default:
        *(bool *)spec->value = true;
        return EXIT_OK;
    }
}

/* ---- the line ---- */

static struct option_spec *find(struct option_spec *specs, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(specs[i].name) == length && memcmp(specs[i].name, name, length) == 0)
            return &specs[i];
    }
    return NULL;
}

/* The option at argv[*at]; moves *at onto its value. */
static exit_code take_option(const struct command *command, int argc, char **argv, int *at, struct option_spec *specs,
                             size_t count)
{
    const char *word = argv[*at];
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
    struct option_spec *spec = length > 0 ? find(specs, count, word + 2, length) : NULL;
    if (!spec)
        return unknown_option(command, word, specs, count);
    const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
    if (spec->kind == OPTION_FLAG)
        return value ? command_fail(command, EXIT_USAGE, "--%s takes no value. Leave out what follows it.", spec->name)
                     : set_value(command, spec, "");
    if (!value && *at + 1 >= argc)
        return command_fail(command, EXIT_USAGE, "--%s needs a value after it.", spec->name);
    if (!value)
        value = argv[++*at];
    return set_value(command, spec, value);
}

static exit_code check_complete(const struct command *command, const struct option_spec *specs, size_t count,
                                size_t positional_count, size_t positional_min)
{
    for (size_t i = 0; i < count; i++) {
        if (specs[i].required && !specs[i].given)
            return command_fail(command, EXIT_USAGE, "--%s is missing. %s%s --help explains what it is.", specs[i].name,
                                command_program, command->name);
    }
    if (positional_count < positional_min)
        return command_fail(command, EXIT_USAGE, "the file to read is missing. %s%s --help shows an example.",
                            command_program, command->name);
    return EXIT_OK;
}

bool options_help(const struct command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(command->help, stdout);
            return true;
        }
    }
    return false;
}

exit_code options_parse(const struct command *command, int argc, char **argv, struct option_spec *specs, size_t count,
                        const char **positional, size_t positional_min, size_t positional_max)
{
    size_t positional_count = 0;
    bool options_end = false;
    for (int i = 1; i < argc; i++) {
        if (!options_end && strcmp(argv[i], "--") == 0) {
            options_end = true;
        } else if (!options_end && argv[i][0] == '-' && argv[i][1] != 0) {
            exit_code code = take_option(command, argc, argv, &i, specs, count);
            if (code != EXIT_OK)
                return code;
        } else if (positional_count == positional_max) {
            const size_t shown = strcspn(argv[i], strchr(argv[i], '@') ? ":" : ""); /* there may be a password */
            return command_fail(command, EXIT_USAGE,
                                "'%.*s' is one argument too many. %s%s --help shows how to call it.", (int)shown,
                                argv[i], command_program, command->name);
        } else {
            positional[positional_count++] = argv[i];
        }
    }
    return check_complete(command, specs, count, positional_count, positional_min);
}

exit_code options_check_limits(const struct command *command, const struct count_limit *limits, size_t count,
                               bool zero_is_absent)
{
    for (const struct count_limit *limit = limits; limit < limits + count; limit++) {
        if (zero_is_absent && limit->value == 0)
            continue;
        if (limit->value < limit->least || limit->value > limit->most)
            return command_fail(command, EXIT_USAGE, "--%s must be %llu to %llu.", limit->name,
                                (unsigned long long)limit->least, (unsigned long long)limit->most);
    }
    return EXIT_OK;
}
