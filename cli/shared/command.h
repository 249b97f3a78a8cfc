/* SPDX-License-Identifier: Apache-2.0
 * What the commands share. There is one file per command, and main.c has the table of them. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "common/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes of every command, printed by --help. A step of a command returns EXIT_OK to continue; any other code ends
 * the command, and its message has been printed. */
typedef enum exit_code {
    EXIT_OK = 0,
    EXIT_USAGE = 2,   /* an option is unknown, missing or out of range */
    EXIT_INPUT = 3,   /* an input file cannot be read or is not what it should be */
    EXIT_OUTPUT = 4,  /* an output cannot be written (full disk, unwritable folder, it exists) */
    EXIT_BUDGET = 5,  /* the budget is spent, damaged or somebody else's */
    EXIT_PRIVACY = 6, /* the pack or the parameters cannot give the promise that was asked for */
    EXIT_FAULT = 7,   /* the machine fails: no entropy, out of memory */
    EXIT_NETWORK = 8  /* a server cannot be reached or refuses, or an address cannot be listened on */
} exit_code;

/* What messages print before a command's name: "privatemail ", or nothing in a program that has one command. Every
 * program defines it. */
extern const char command_program[];

struct command {
    const char *name;
    const char *summary;
    const char *help;                        /* usage, every option, an example */
    exit_code (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command command_pack, command_inspect, command_privatize, command_decode, command_audit,
    command_sample, command_index, command_serve, command_find, command_query, command_evaluate, command_crowd,
    command_keys, command_relay, command_train, command_guess, command_map, command_groups, command_gallery,
    command_publish, command_advise;

/* options.c: options are `--name value` or flags. */
enum { OPTION_LIST_MAX = 16 };

struct option_list { /* the values of an option that may be given several times */
    const char *values[OPTION_LIST_MAX];
    size_t count;
};

struct option_spec {
    const char *name; /* without the dashes */
    enum { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER, OPTION_COUNT, OPTION_LIST } kind;
    void *value; /* bool *, const char **, double *, uint64_t *, struct option_list * */
    bool required;
    bool given; /* set by options_parse */
};

/* Prints the help and returns true when --help is among the arguments. */
bool options_help(const struct command *command, int argc, char **argv);

/* Parses argv. Positional arguments go to `positional`, at least `positional_min` and at most `positional_max` of them. */
exit_code options_parse(const struct command *command, int argc, char **argv, struct option_spec *specs, size_t count,
                        const char **positional, size_t positional_min, size_t positional_max);

struct count_limit {
    const char *name; /* of the option */
    uint64_t value, least, most;
};

/* Refuses the first value that is out of its limits; `zero_is_absent`: 0 stands for "not given" and passes. */
exit_code options_check_limits(const struct command *command, const struct count_limit *limits, size_t count,
                               bool zero_is_absent);

/* Prints "privatemail COMMAND: MESSAGE" on stderr and returns `code`. */
exit_code command_fail(const struct command *command, exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same when memory runs out; returns EXIT_FAULT. */
exit_code command_no_memory(const struct command *command);

/* Prints the message of a function that failed to read an input. Returns EXIT_FAULT when memory ran out, otherwise
 * EXIT_INPUT. */
exit_code command_input(const struct command *command, pml_outcome outcome, const struct pml_message *message);

/* The same for a function that failed to write an output; returns EXIT_FAULT or EXIT_OUTPUT. */
exit_code command_output(const struct command *command, pml_outcome outcome, const struct pml_message *message);

/* Prints "privatemail COMMAND: SUBJECT: what the pml_status says, and what to do next" on stderr. */
exit_code command_status(const struct command *command, const char *subject, int status);

/* Returns the word that is most like `word`, or NULL when none is. */
const char *command_suggest(const char *word, const char *const *words, size_t count);

/* progress.c: a progress bar on stderr if that is a terminal, otherwise nothing. */
void progress_show(void *context, const char *stage, double done);
void progress_end(void);
void progress_interrupted(void); /* for a signal handler */

/* interrupt.c: from now on, a signal that ends the process removes half-written files, locks and the progress bar. */
void interrupts_watch(void);

/* json.c: a small writer to stdout. Strings are escaped (bytes that are not UTF-8 become U+FFFD), numbers are the
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
