/* SPDX-License-Identifier: Apache-2.0
 * What the commands share. One file per command, one function per file; main.c holds the table of them. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "common/npy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes of every command, printed by --help. */
enum {
    EXIT_OK = 0,
    EXIT_USAGE = 2,   /* an option is unknown, missing or out of range */
    EXIT_INPUT = 3,   /* an input file cannot be read or is not what it should be */
    EXIT_OUTPUT = 4,  /* an output cannot be written (full disk, unwritable folder, it exists) */
    EXIT_BUDGET = 5,  /* the budget is spent, damaged or another's */
    EXIT_PRIVACY = 6, /* the pack or the parameters cannot give the promise that was asked for */
    EXIT_FAULT = 7,   /* entropy, memory: the machine's fault */
    EXIT_NETWORK = 8  /* a server cannot be reached or refuses, or an address cannot be listened on */
};

/* What stands before a command's name in messages: "privatemail ", or nothing in a program that has one command. Every
 * program defines it. */
extern const char command_program[];

struct command {
    const char *name;
    const char *summary;
    const char *help;                  /* usage, every option, an example */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command command_pack, command_inspect, command_privatize, command_decode, command_audit,
    command_sample, command_index, command_serve, command_find, command_query, command_evaluate,
    command_crowd;

/* options.c: options are `--name value` or flags. */
enum { OPTION_LIST_MAX = 16 };

struct option_list { /* of an option that may be given several times */
    const char *values[OPTION_LIST_MAX];
    size_t count;
};

struct option_spec {
    const char *name; /* without the dashes */
    enum { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER, OPTION_COUNT, OPTION_LIST } kind;
    void *value; /* bool *, const char **, double *, uint64_t *, struct option_list * */
    bool required;
    bool given; /* set when it was */
};

/* Parses argv; positional arguments go to `positional` (at most `positional_max`; exactly that many unless
 * `positional_min` is smaller). Prints help for --help. Answers −1 to go on, else the exit code. */
int options_parse(const struct command *command, int argc, char **argv, struct option_spec *specs, size_t count,
                  const char **positional, size_t positional_min, size_t positional_max);

/* "privatemail COMMAND: MESSAGE" on stderr; answers `code`. */
int command_fail(const struct command *command, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for memory that is missing: EXIT_FAULT. */
int command_no_memory(const struct command *command);

/* The same for what a function with a message answered about an input: EXIT_FAULT without memory, else EXIT_INPUT. */
int command_input(const struct command *command, int status, const struct pml_message *message);

/* "privatemail COMMAND: SUBJECT: what the status says, and what to do next" on stderr; answers the exit code. */
int command_status(const struct command *command, const char *subject, int status);

/* The word that is most like `word`, or NULL when none is near. */
const char *command_suggest(const char *word, const char *const *words, size_t count);

/* A progress bar on stderr when it is a terminal; nothing else. */
void progress_show(void *context, const char *stage, double done);
void progress_end(void);
void progress_interrupted(void); /* from a signal's handler */

/* interrupt.c: from now on, signals that end the process leave no half file, lock or bar behind. */
void interrupts_watch(void);

/* json.c: a small writer to stdout. Strings are escaped (bytes that are no UTF-8 become U+FFFD), numbers are the
 * shortest that read back the same, NaN and infinity become null. */
struct json {
    bool comma;
    int depth;
};
void json_open(struct json *json, const char *key, char bracket); /* '{' or '['; key may be NULL */
void json_close(struct json *json, char bracket);
void json_text(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, double value);
void json_count(struct json *json, const char *key, uint64_t value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);

#endif
